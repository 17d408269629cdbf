"""Rollouts: a policy plays seats of games, and every id of it is kept with a mask of those that it sampled.

The text that a policy wrote is never tokenised again. A rollout is prompt ids, a sampled turn, the ids of what the game
answered, the next sampled turn, and so on; the game is given the decoded turns, and the learner the ids. All games of a batch
take their turns together, so their searches share one call of the retriever.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.decode import Decoder, Row, Sampling, SamplingError
from agents.policy import Policy
from sesa_env.errors import ConfigError
from sesa_env.game import SearchGame, Seat
from sesa_env.play import step

__all__ = ["Rollout", "Sampling", "SamplingError", "roll_out"]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One seat's part of an episode, in ids.

    Attributes:
        ids: prompt, sampled turns, and what the game answered between them. Nothing follows the last turn.
        sampled: which ids the policy sampled; as long as `ids`.
        logprobs: the log-probability of each sampled id under the distribution that it was sampled from (temperature
            included; greedy: temperature 1), 0.0 for the others; as long as `ids`. None: unknown, to be taken as on-policy.
        turns: [start, stop) of each sampled turn in `ids`, never empty.
        texts: the text of each turn: the decoded ids, which is what the game was given.
        cut: a budget of ids ended it: in the midst of its last turn, because the game's answer left no room for another, or
            before its first turn, for a prompt that is too long.
    """

    ids: tuple[int, ...]
    sampled: tuple[bool, ...]
    logprobs: tuple[float, ...] | None
    turns: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]
    cut: bool = False


def roll_out(policy: Policy, games: Sequence[SearchGame], sampling: Sampling, seeds: Sequence[int]) -> list[Rollout]:
    """Plays the seat whose turn it is in each game, until its part is over: answered, posed, forfeited, out of turns or cut.

    A game whose seat comes up again at once, as in a group of attempts, is played for one attempt. A part that has begun is
    gone on with; what was written before is tokenised and not marked as sampled.

    Args:
        policy: who plays.
        games: running games, on one world.
        sampling: how.
        seeds: one for each game; at least 0. A rollout is a function of policy, game, sampling and its own seed.

    Returns:
        A rollout for each game, in order.

    Raises:
        ConfigError: games and seeds differ in number, or the model cannot be sampled from.
        SamplingError: the policy's logits are not finite.
        SesaError: a game is over, or its verifier failed (see `SearchGame.submit`).
    """
    if len(games) != len(seeds):
        raise ConfigError(f"seeds: expected one for each of {len(games)} games; got {len(seeds)}")
    parts = [_Part(policy, game, seed) for game, seed in zip(games, seeds, strict=True)]
    for start in range(0, len(parts), sampling.batch):
        _play(Decoder(policy, sampling), parts[start : start + sampling.batch])
    return [part.rollout() for part in parts]


class _Part:
    """A seat's part of one game while it is played."""

    def __init__(self, policy: Policy, game: SearchGame, seed: int) -> None:
        view = game.view()
        prompt = policy.prompt_ids(view)
        self.game = game
        self.row = Row(history_ids(policy, prompt, view.turns), seed, len(view.turns), prompt=len(prompt))
        self.texts: list[str] = []
        self.cut = False
        self._seat: Seat | None = game.state.seat

    @property
    def plays(self) -> bool:
        return self._seat is not None and self.game.state.seat is self._seat

    @property
    def observation(self) -> str:
        return self.game.state.transcript[-1].observation

    def cut_off(self, text: str = "") -> None:
        self.game.cut_off(text)
        self.cut = True

    def rollout(self) -> Rollout:
        row = self.row
        return Rollout(
            tuple(row.ids), tuple(row.sampled), tuple(row.logprobs), tuple(row.spans), tuple(self.texts), cut=self.cut
        )


def history_ids(policy: Policy, ids: Sequence[int], turns: Sequence[tuple[str, str]]) -> list[int]:
    """Returns ids followed by the ids of turns that somebody else wrote, and of what the game answered to each."""
    history = list(ids)
    for text, observation in turns:
        history += policy.tokenizer(text, add_special_tokens=False)["input_ids"]
        history += policy.observation_ids(observation)
    return history


def _play(decoder: Decoder, parts: Sequence[_Part]) -> None:
    """Plays parts to their ends, turn by turn."""
    playing = [part for part in parts if _has_room(decoder, part)]
    while playing:
        decoder.sample_turns([part.row for part in playing])
        _hand_over(decoder, playing)
        playing = [part for part in playing if part.plays and _has_room(decoder, part, part.observation)]


def _hand_over(decoder: Decoder, parts: Sequence[_Part]) -> None:
    """Gives the games the turns that were sampled."""
    whole = []
    for part in parts:
        start, stop = part.row.spans[-1]
        part.texts.append(decoder.policy.decode(part.row.ids[start:stop]))
        if part.row.ended or decoder.room(part.row):
            whole.append(part)
        else:
            part.cut_off(part.texts[-1])
    step([part.game for part in whole], [part.texts[-1] for part in whole])


def _has_room(decoder: Decoder, part: _Part, observation: str | None = None) -> bool:
    """Appends what the game answered, if that leaves room for another turn; cuts the part off if not."""
    answer = [] if observation is None else decoder.policy.observation_ids(observation)
    if len(answer) >= decoder.room(part.row):
        part.cut_off()
        return False
    part.row.observe(answer)
    return True
