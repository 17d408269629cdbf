"""A language model in a seat, as every other player: asked for a turn, or given the whole seat to play."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from agents.decode import Decoder, Row
from agents.policy import Policy
from agents.rollout import Sampling, history_ids, roll_out
from sesa_env.game import SearchGame
from sesa_env.players.base import View

_REMEMBERED = 4096  # turns whose exact ids are kept


class LlmPlayer:
    """A policy as a player of either seat (`sesa_env.play.SeatPlayer`, `BatchPlayer`).

    `play` gives it whole seats (`play_seat`), which keeps its past in the model's cache; asked turn by turn (`act`) it writes
    the same, as long as the budget of ids lasts. Its own turns are remembered as it sampled them and never tokenised again;
    turns in a view that it did not write, or wrote too long ago, are.

    Args:
        policy: who plays.
        sampling: how; greedy by default, as in evaluation (paper, section 6).
        seed: of sampled play; at least 0. What is sampled is a function of seed, prompt, attempt and turn, so neither batches
            nor their order change it. A view does not tell the attempt: `act` plays the first.
    """

    def __init__(self, policy: Policy, sampling: Sampling | None = None, seed: int = 0) -> None:
        self.policy = policy
        self.sampling = sampling or Sampling(greedy=True)
        self.seed = seed
        self._memory: OrderedDict[bytes, list[int]] = OrderedDict()

    def play_seat(self, games: Sequence[SearchGame]) -> None:
        """Plays the seat whose turn it is in each game until another's turn comes: all attempts of a group, one after another.

        Args:
            games: running games on one world, with the same actor.

        Raises:
            SesaError: see `agents.rollout.roll_out`.
        """
        playing, role = list(games), games[0].actor if games else None
        while playing:
            prompts = (self.policy.prompt_ids(game.view()) for game in playing)
            seeds = [self._seed(ids, len(game.attempts)) for ids, game in zip(prompts, playing, strict=True)]
            roll_out(self.policy, playing, self.sampling, seeds)
            playing = [game for game in playing if game.actor is role]

    def act(self, view: View) -> str:
        """Writes the next turn."""
        return self.act_batch([view])[0]

    def act_batch(self, views: Sequence[View]) -> list[str]:
        """Writes the next turn for each view; "" where the budget of ids leaves no room for any."""
        prompts = [self.policy.prompt_ids(view) for view in views]
        rows = [
            Row(self._history(ids, view.turns), self._seed(ids, 0), len(view.turns), prompt=len(ids))
            for ids, view in zip(prompts, views, strict=True)
        ]
        for start in range(0, len(rows), self.sampling.batch):
            decoder = Decoder(self.policy, self.sampling)
            if fitting := [row for row in rows[start : start + self.sampling.batch] if decoder.room(row) > 0]:
                decoder.sample_turns(fitting)
        return [self._written(*asked) for asked in zip(prompts, views, rows, strict=True)]

    def _written(self, prompt: Sequence[int], view: View, row: Row) -> str:
        """The text of a row's turn; its ids are remembered."""
        if not row.spans:
            return ""
        start, stop = row.spans[-1]
        text = self.policy.decode(row.ids[start:stop])
        self._memory[_key(prompt, view.turns, text)] = row.ids
        while len(self._memory) > _REMEMBERED:
            self._memory.popitem(last=False)
        return text

    def _history(self, prompt: list[int], turns: Sequence[tuple[str, str]]) -> list[int]:
        """The ids of a prompt and the turns after it, as they were sampled where they are remembered."""
        if not turns:
            return list(prompt)
        (*earlier, (text, observation)) = turns
        known = self._memory.get(_key(prompt, earlier, text))
        if known is None:
            return history_ids(self.policy, self._history(prompt, earlier), turns[-1:])
        return known + self.policy.observation_ids(observation)

    def _seed(self, prompt: Sequence[int], attempt: int) -> int:
        return int.from_bytes(hashlib.blake2b(repr((self.seed, prompt, attempt)).encode(), digest_size=8).digest())


def _key(prompt: Sequence[int], turns: Sequence[tuple[str, str]], text: str) -> bytes:
    return hashlib.blake2b(repr((prompt, tuple(turns), text)).encode(), digest_size=16).digest()
