"""What a policy can do before training: sampled pass rates by hops with and without fitting cards, and valid questions.

The warm start's targets are stated in these numbers. They are taken on development worlds, whose seeds begin at 1000: never on
worlds of demonstrations, nor on those that are reported.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.demonstrations import QUICK_RULES, QUICK_WORLD
from agents.policy import Policy
from agents.rollout import Rollout, Sampling, roll_out
from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.corpus.miniwiki.graph import read_value
from sesa_env.game import GameConfig, SearchGame
from sesa_env.grading import normalise
from sesa_env.memory.base import CardDraft, CardHit, Failure, Provenance
from sesa_env.memory.card import make_card
from sesa_env.memory.hindsight import hindsight
from sesa_env.types import Attempt, Question
from sesa_env.worlds import World, make_world

DEVELOPMENT_SEED = 1000
SAMPLING = Sampling(temperature=1.0, turn_tokens=64, tokens=512, batch=128)
_HOPS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class PassRates:
    """What was measured; shares in [0, 1], by hops 1, 2 and 3.

    Attributes:
        plain: right answers without cards.
        carded: right answers with the card that the scripted teacher writes for each hop.
        valid: questions that passed all filters.
        garbled: the share of given answers that are no name, value, yes or no of the world.
        rejected: how many questions were refused, by reason.
        solver_ids: mean length of a Solver rollout in ids, prompt included, without cards and with.
        challenger_ids: mean length of a Challenger rollout.
    """

    plain: tuple[float, ...]
    carded: tuple[float, ...]
    valid: tuple[float, ...]
    garbled: float
    rejected: dict[str, int]
    solver_ids: tuple[float, float]
    challenger_ids: float


def pass_rates(policy: Policy, count: int = 200, seed: int = DEVELOPMENT_SEED, rules: GameConfig = QUICK_RULES) -> PassRates:
    """Measures a policy at temperature 1 on one development world.

    Args:
        policy: who plays both seats.
        count: questions, and targets, for each hop count.
        seed: of the world and of all draws.
        rules: the game's numbers.
    """
    world = make_world("miniwiki", seed=seed, **QUICK_WORLD, n_targets=6 * count, n_questions=0)
    alone = replace(rules, group_size=1)
    groups = [posed(world, hops, count) for hops in _HOPS]
    shown = [_ideal_cards(world, group) for group in groups]
    plain = [_solve(policy, world, alone, group, [()] * len(group)) for group in groups]
    carded = [_solve(policy, world, alone, group, cards) for group, cards in zip(groups, shown, strict=True)]
    asked = [_challenge(policy, world, alone, hops, count) for hops in _HOPS]
    attempts = [attempt for played, _ in (*plain, *carded) for attempt in played]
    return PassRates(
        plain=tuple(_share(played) for played, _ in plain),
        carded=tuple(_share(played) for played, _ in carded),
        valid=tuple(reasons.count("") / len(reasons) for reasons, _ in asked),
        garbled=_garbled(world.graph, attempts),
        rejected=dict(sorted(Counter(reason for reasons, _ in asked for reason in reasons if reason).items())),
        solver_ids=(_length([rollouts for _, rollouts in plain]), _length([rollouts for _, rollouts in carded])),
        challenger_ids=_length([rollouts for _, rollouts in asked]),
    )


def posed(world: World, hops: int, count: int) -> list[Question]:
    """Returns questions about targets of the train half, worded as the Challenger's are.

    Args:
        world: a MiniWiki world with enough targets.
        hops: how many facts each chains.
        count: how many at most.
    """
    targets = (target for target in world.targets if target.hops == hops)
    found = (world.graph.pose(target, place) for place, target in enumerate(targets))
    return [question for question in found if question is not None][:count]


def _ideal_cards(world: World, questions: Sequence[Question]) -> list[tuple[CardHit, ...]]:
    """Lets the scripted teacher write what each question asks for, as if it had just been failed."""
    evidence = ([world.corpus.find(key) for key in question.evidence] for question in questions)
    failures = [
        Failure(question.id, question, Attempt("", False, False), tuple(page for page in pages if page is not None), 0)
        for question, pages in zip(questions, evidence, strict=True)
    ]
    return [tuple(map(_hit, drafts)) for drafts in hindsight(world).distil(failures, {})]


def _hit(draft: CardDraft) -> CardHit:
    return CardHit(make_card(draft, Provenance()), 1.0)


def _solve(
    policy: Policy, world: World, rules: GameConfig, questions: Sequence[Question], cards: Sequence[Sequence[CardHit]]
) -> tuple[list[Attempt], list[Rollout]]:
    games = [SearchGame(world, rules) for _ in questions]
    for game, question, shown in zip(games, questions, cards, strict=True):
        game.reset(question, cards=shown)
    rollouts = roll_out(policy, games, SAMPLING, range(len(games)))
    return [game.attempts[0] for game in games], rollouts


def _challenge(policy: Policy, world: World, rules: GameConfig, hops: int, count: int) -> tuple[list[str], list[Rollout]]:
    """Returns why each question was refused, "" for valid ones."""
    targets = [target for target in world.targets if target.hops == hops][:count]
    games = [SearchGame(world, rules) for _ in targets]
    for game, target in zip(games, targets, strict=True):
        game.reset(target, noise=())
    rollouts = roll_out(policy, games, SAMPLING, range(len(games)))
    return [game.state.reject_reason for game in games], rollouts


def _share(attempts: Sequence[Attempt]) -> float:
    return sum(attempt.correct for attempt in attempts) / len(attempts)


def _garbled(wiki: MiniWiki, attempts: Sequence[Attempt]) -> float:
    known = {normalise(wiki.graph.label(node)) for node in wiki.graph.entities()} | {"yes", "no"}
    given = [attempt.prediction for attempt in attempts if attempt.end == "answered"]
    wrong = [text for text in given if normalise(text) not in known and read_value(text.strip().title()) is None]
    return len(wrong) / max(1, len(given))


def _length(groups: Sequence[Sequence[Rollout]]) -> float:
    lengths = [len(rollout.ids) for group in groups for rollout in group]
    return sum(lengths) / len(lengths)
