"""The first phase of a step: where its questions come from (paper, sections 1 and 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.policy import Policy
from agents.rollout import Rollout, roll_out
from agents.selfplay.compositions import allowed
from agents.selfplay.config import QuestionConfig, RunConfig
from agents.selfplay.draws import Stream, generator, in_turn, seeds
from agents.selfplay.families import same_key
from agents.selfplay.pool import Posed, ReplayPool
from sesa_env.corpus.miniwiki import BENCHMARKS
from sesa_env.errors import ConfigError
from sesa_env.game import SearchGame
from sesa_env.types import Question, Target
from sesa_env.worlds import World

DUPLICATE = "duplicate"
"""The reason why a valid question is not played: it was posed before."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One Challenger rollout and what came of it.

    Attributes:
        target: what it was given.
        rollout: its tokens.
        posed: its question; None if it was invalid.
        reason: why it is not played: a reject reason, `DUPLICATE`, or "" for a question that is.
        earned: what the game gave it so far: penalties for malformed turns, and the reward of an invalid question.
        searches: how many searches it made.
        failed_searches: searches that could not be carried out: the rollout says nothing about the Challenger then.
    """

    target: Target
    rollout: Rollout
    posed: Posed | None
    reason: str
    earned: float
    searches: int = 0
    failed_searches: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of the batch: a question to be played.

    Attributes:
        posed: the question.
        proposal: index of the Challenger rollout that posed it in this step; None for a replayed or a ready question.
        ready: whether no Challenger posed it, in this step or before.
    """

    posed: Posed
    proposal: int | None = None
    ready: bool = False


def propose(world: World, config: RunConfig, policy: Policy, step: int, count: int) -> list[Proposal]:
    """Lets the Challenger pose a question for each of a step's targets.

    Args:
        world: what is played on.
        config: the run.
        policy: the Challenger.
        step: the step, which all draws depend on.
        count: how many rollouts; `per_target` of them for each target.
    """
    each = config.questions.per_target
    targets = [target for target in draw_targets(world, config, step, -(-count // each)) for _ in range(each)][:count]
    games = [SearchGame(world, config.rules) for _ in targets]
    for game, target, seed in zip(games, targets, seeds(config.seed, Stream.GAMES, step, count), strict=True):
        game.reset(target, seed=seed)
    rollouts = roll_out(policy, games, config.challenger.sampling, seeds(config.seed, Stream.CHALLENGER, step, count))
    return [_proposal(game, target, rollout) for game, target, rollout in zip(games, targets, rollouts, strict=True)]


def draw_targets(world: World, config: RunConfig, step: int, count: int) -> list[Target]:
    """Takes a step's targets, the pool gone through epoch by epoch; one of weight w comes w times in each.

    Raises:
        ConfigError: the world has no targets, or none of a number of hops that is to be drawn.
    """
    weights = config.questions.hops
    pool = [target for target in world.targets for _ in range(weights[target.hops - 1] if target.hops <= len(weights) else 0)]
    if not pool:
        raise ConfigError(
            f"world {world.name!r} has {len(world.targets)} targets for the Challenger, none of them of hops that "
            f"questions.hops={weights} draws; expected at least one"
        )
    return in_turn(pool, config.seed, step, count)


def _proposal(game: SearchGame, target: Target, rollout: Rollout) -> Proposal:
    state = game.state
    posed = None if game.question is None else Posed(game.question, state.evidence)
    seen = [turn for turn in state.transcript if turn.actor == "challenger"]
    searches = sum(turn.event == "search" for turn in seen)
    failed = sum(turn.event == "search_failed" for turn in seen)
    return Proposal(target, rollout, posed, state.reject_reason, sum(state.rewards["challenger"].values()), searches, failed)


class Recent:
    """The questions of the last steps, by which duplicates are known across steps.

    Args:
        steps: how many steps a question is remembered for; 0 remembers none.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.keys: list[list[str]] = []

    def known(self) -> set[str]:
        """Returns the keys of the questions remembered."""
        return {key for step in self.keys for key in step}

    def add(self, proposals: Sequence[Proposal]) -> None:
        """Remembers a step's questions and forgets the oldest step's."""
        keys = [same_key(item.posed.question) for item in proposals if item.posed is not None and not item.reason]
        self.keys = [*self.keys, keys][-self.steps :] if self.steps else []


def mark_duplicates(proposals: Sequence[Proposal], known: set[str]) -> list[Proposal]:
    """Returns the proposals with those marked whose question is known or was posed earlier in the batch."""
    seen, marked = set(known), list[Proposal]()
    for item in proposals:
        key = "" if item.posed is None else same_key(item.posed.question)
        marked.append(replace(item, reason=DUPLICATE) if key and key in seen else item)
        seen.add(key)
    return marked


def until_full(proposals: Sequence[Proposal], config: QuestionConfig) -> list[Proposal]:
    """Leaves out what was proposed after the question that filled the batch, the rest of its target's group excepted.

    So the Challenger learns from all that it proposed up to there, good and bad, and from nothing whose worth is unknown.
    """
    fresh = [place for place, item in enumerate(proposals) if item.posed is not None and not item.reason]
    if len(fresh) < config.per_update:
        return list(proposals)
    last = fresh[config.per_update - 1]
    return list(proposals[: (last // config.per_target + 1) * config.per_target])


def slots_of(
    proposals: Sequence[Proposal], pool: ReplayPool, config: RunConfig, step: int, ready: "ReadyQuestions | None" = None
) -> list[Slot]:
    """Fills the batch: each new question once, and for every other slot one from the replay pool, this step's own included.

    Args:
        proposals: the step's Challenger rollouts.
        pool: the replay pool, which takes in the new questions.
        config: the run.
        step: the step, which all draws depend on.
        ready: what stands in where the pool is empty: nothing was ever valid.

    Returns:
        `per_update` slots, so that every step plays as many questions; fewer only where `refill` is off, or where nothing was
        ever valid and there are no ready questions either.
    """
    fresh = [Slot(item.posed, place) for place, item in enumerate(proposals) if item.posed is not None and not item.reason]
    fresh = fresh[: config.questions.per_update] if config.questions.refill else fresh
    empty = config.questions.per_update - len(fresh)
    if not config.questions.refill or not empty:
        pool.make_room(len(fresh))
        pool.add([slot.posed for slot in fresh])
        return fresh
    draw = generator(config.seed, Stream.POOL, step)
    pool.make_room(len(fresh))
    replayed = pool.fill(min(empty, len(pool)), draw)
    pool.add([slot.posed for slot in fresh])
    replayed += pool.fill(empty - len(replayed), draw)
    if not replayed and ready is not None:
        return ready.take(step, empty)
    return fresh + [Slot(posed) for posed in replayed]


class ReadyQuestions:
    """Questions that no Challenger poses: a finite fixed set, or an endless balanced stream (arms `skillrl` and `oracle`).

    Where there is a Challenger, the stream stands in for it in steps before its first valid question.

    On a world with a graph (MiniWiki) they are drawn from the train half; elsewhere they are the world's own questions.
    """

    def __init__(self, world: World, config: RunConfig) -> None:
        self._world, self._config = world, config
        self._set = self._draw(config.questions.fixed, config.seed) if config.questions.source == "fixed" else []

    def take(self, step: int, count: int) -> list[Slot]:
        """Returns the questions of one step."""
        if self._set:
            chosen = in_turn(self._set, self._config.seed, step, count)
        elif self._world.graph is not None:
            seed = seeds(self._config.seed, Stream.QUESTIONS, step, 1)[0]
            balanced = self._config.questions.source == "stream" and self._config.questions.families is None
            chosen = self._balanced(step, count, seed) if balanced else self._draw(count, seed)
        else:
            chosen = in_turn(self._world.questions, self._config.seed, step, count)
        return [Slot(self._with_evidence(question), ready=True) for question in chosen]

    def _balanced(self, step: int, count: int, seed: int) -> list[Question]:
        """Draws from MiniWiki's seven benchmarks in turn, on and on through the steps."""
        names = [BENCHMARKS[place % len(BENCHMARKS)] for place in range(step * count, (step + 1) * count)]
        drawn = {name: iter(self._of_benchmark(name, names.count(name), seed)) for name in BENCHMARKS}
        return [next(drawn[name]) for name in names]

    def _of_benchmark(self, name: str, count: int, seed: int) -> list[Question]:
        graph, share = self._world.graph, self._config.questions.held_out_compositions
        return allowed(self._world, count, share, lambda n: graph.benchmark(name, n, split="train", seed=seed))

    def _draw(self, count: int, seed: int) -> list[Question]:
        graph, config = self._world.graph, self._config.questions
        if graph is None:
            return list(self._world.questions[:count])
        families, share = config.families, config.held_out_compositions
        return allowed(self._world, count, share, lambda n: graph.questions(n, split="train", families=families, seed=seed))

    def _with_evidence(self, question: Question) -> Posed:
        found = (self._world.corpus.find(passage_id) for passage_id in question.evidence)
        return Posed(question, tuple(passage for passage in found if passage is not None))
