"""One seat's part of a game in token ids: what was sampled is kept as it was sampled, and never tokenised again."""

from collections.abc import Sequence

from sesa_env.errors import ConfigError
from sesa_env.game import SearchGame
from sesa_env.integrations.tokens import GameTokens


class SeatIds:
    """One seat's part of a game, in ids.

    Args:
        tokens: the tokenizer.
        game: the game, at the seat's first turn.
        limit: ids after the prompt, at most.
        context: ids in all, at most.

    Raises:
        ConfigError: the prompt leaves no room for a turn.

    Attributes:
        prompt: ids of the prompt.
        ids: the sampled turns and what the game answered between them. Nothing follows the last turn.
        mask: 1 for each id that was sampled, 0 for the others; as long as `ids`.
        logprobs: of each sampled id, 0.0 for the others; as long as `ids`.
        turns: how many turns were sampled.
    """

    def __init__(self, tokens: GameTokens, game: SearchGame, limit: int, context: int) -> None:
        self.game, self._tokens = game, tokens
        self.prompt = tokens.prompt_ids(game.view())
        self._limit = min(limit, context - len(self.prompt))
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []
        self.turns = 0
        if self._limit < 1:
            raise ConfigError(
                f"a prompt of {len(self.prompt)} tokens leaves no room for a turn: there may be {context} tokens in all and "
                f"{limit} of them in the completion; allow more, or leave long prompts out"
            )

    @property
    def room(self) -> int:
        """How many ids may still follow."""
        return self._limit - len(self.ids)

    def write(self, ids: Sequence[int], logprobs: Sequence[float]) -> str | None:
        """Appends a sampled turn, without what was sampled after its end.

        Args:
            ids: at least one.
            logprobs: as many.

        Returns:
            Its text, to be played; None where the room ended it before it was over, and with it the seat's part.
        """
        count = min(self._tokens.length(ids), self.room)
        turn = list(ids[:count])
        self._extend(turn, [1] * count, logprobs[:count])
        self.turns += 1
        text = self._tokens.decode(turn)
        if self.room or self._tokens.ends(turn):
            return text
        self.game.cut_off(text)
        return None

    def read(self) -> None:
        """Appends what the game answered; where that leaves no room for another turn, the seat's part is over instead."""
        ids = self._tokens.observation_ids(self.game.state.transcript[-1].observation)
        if len(ids) < self.room:
            self._extend(ids, [0] * len(ids), [0.0] * len(ids))
        else:
            self.game.cut_off()

    def _extend(self, ids: Sequence[int], mask: Sequence[int], logprobs: Sequence[float]) -> None:
        self.ids += ids
        self.mask += mask
        self.logprobs += logprobs
