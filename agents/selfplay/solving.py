"""The second phase of a step: the Solver group plays each question, with cards from the frozen bank (paper, sections 1, 4)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.policy import Policy
from agents.rollout import Rollout, roll_out
from agents.selfplay.config import RunConfig
from agents.selfplay.draws import Stream, generator, seeds
from agents.selfplay.posing import Slot
from sesa_env.game import GameConfig, SearchGame
from sesa_env.memory.base import CardHit, MemorySnapshot
from sesa_env.types import Attempt, Group
from sesa_env.worlds import World


@dataclass(frozen=True, slots=True)
class Solved:
    """A question and the Solver rollouts that played it, in order.

    Attributes:
        slot: the question's place in the batch.
        rollouts: their tokens.
        attempts: what each left behind.
        rewards: what each earned: 1 for a right answer, less its penalties for malformed turns.
        unjudged: places of the answers that a judge was asked about in vain.
    """

    slot: Slot
    rollouts: tuple[Rollout, ...]
    attempts: tuple[Attempt, ...]
    rewards: tuple[float, ...]
    unjudged: frozenset[int] = frozenset()

    @property
    def counted(self) -> list[int]:
        """The places of the rollouts that say something: void are those with a search that failed or an unjudged answer."""
        whole = [place for place, attempt in enumerate(self.attempts) if not attempt.failed_searches]
        return [place for place in whole if place not in self.unjudged]

    @property
    def group(self) -> Group | None:
        """The question with its attempts, for the bank and the solve rate; None if all are void."""
        attempts = tuple(self.attempts[place] for place in self.counted)
        return Group(self.slot.posed.question, attempts, self.slot.posed.evidence) if attempts else None

    @property
    def solve_rate(self) -> float | None:
        """The share of right attempts; None if all are void."""
        group = self.group
        return None if group is None else group.solve_rate


def retrieve(snapshot: MemorySnapshot | None, slots: Sequence[Slot]) -> list[list[CardHit]]:
    """Finds each question's cards once; the rollouts of its group share them. Without a memory there are none."""
    if snapshot is None:
        return [[] for _ in slots]
    return snapshot.retrieve([slot.posed.question.text for slot in slots])


def solve(
    world: World,
    config: RunConfig,
    policy: Policy,
    slots: Sequence[Slot],
    cards: Sequence[Sequence[CardHit]],
    step: int,
) -> list[Solved]:
    """Plays G rollouts for each question, all of them in one batch.

    Args:
        world: what is played on.
        config: the run: G, the rules, the sampler, card dropout.
        policy: the Solver.
        slots: the questions.
        cards: each question's cards; `card_dropout` of the rollouts are not shown them.
        step: the step, which all draws depend on.
    """
    size, rules = config.rules.group_size, single(config.rules)
    withheld = generator(config.seed, Stream.CARDS, step).random(len(slots) * size) < config.skills.card_dropout
    games = [SearchGame(world, rules) for _ in range(len(slots) * size)]
    for place, game in enumerate(games):
        game.reset(slots[place // size].posed.question, cards=() if withheld[place] else cards[place // size])
    rollouts = roll_out(policy, games, config.solver.sampling, seeds(config.seed, Stream.SOLVER, step, len(games)))
    starts = range(0, len(games), size)
    return [
        _solved(slot, games[start : start + size], rollouts[start : start + size])
        for slot, start in zip(slots, starts, strict=True)
    ]


def single(rules: GameConfig) -> GameConfig:
    """Returns the rules of a game of one attempt: the loop puts groups together itself, so that a step is one batch."""
    return replace(rules, group_size=1)


def _solved(slot: Slot, games: Sequence[SearchGame], rollouts: Sequence[Rollout]) -> Solved:
    rewards = tuple(sum(game.state.rewards["solver"].values()) for game in games)
    return Solved(slot, tuple(rollouts), tuple(game.attempts[0] for game in games), rewards)


def without_cards(world: World, config: RunConfig, policy: Policy, solved: Solved, place: int) -> Rollout:
    """Returns a rollout as if its cards had not been shown: the same sampled tokens behind the card-less prompt.

    Its log-probabilities are unknown: what the policy gives these tokens without the cards is what is to be learnt.
    """
    rollout, game = solved.rollouts[place], SearchGame(world, single(config.rules))
    game.reset(solved.slot.posed.question, cards=())
    prompt, start = policy.prompt_ids(game.view()), rollout.turns[0][0]
    shift = len(prompt) - start
    return replace(
        rollout,
        ids=(*prompt, *rollout.ids[start:]),
        sampled=(*(False for _ in prompt), *rollout.sampled[start:]),
        logprobs=None,
        turns=tuple((first + shift, last + shift) for first, last in rollout.turns),
    )
