"""Questions about what evaluation asks: posed or not, nothing is trained on them.

Two things are held out. All entities of the test half: a target of the train half may be a date, a year or a number, which
entities of both halves share, and a question that leads to it from an entity of the test half is a good one by the rules of the
game, and would teach what the evaluation asks. And, where a run says so, a share of the compositions of relations: then some of
the evaluation's questions ask for relations that training met in other company only.
"""

from collections.abc import Sequence
from dataclasses import replace

from agents.selfplay.compositions import is_composed_apart
from agents.selfplay.config import RunConfig
from agents.selfplay.posing import Proposal
from sesa_env.types import Question
from sesa_env.worlds import World

HELD_OUT = "held_out"
"""The reason why a question that the game accepts is not played: evaluation asks such."""


def is_held_out(world: World, question: Question, compositions: float = 0.0) -> bool:
    """Says whether a question needs an entity of the test half, or is of a composition held out, by the verifier's reading.

    Only a world with a graph (MiniWiki) has halves. Elsewhere targets are kept apart from the evaluation's answers instead.

    Args:
        world: what is played on.
        question: a valid one.
        compositions: the share of compositions that are held out.
    """
    if world.graph is None:
        return False
    foreign = any(world.graph.half_of(name) == "test" for name in question.entities)
    return foreign or is_composed_apart(world, question.text, compositions)


def mark_held_out(world: World, config: RunConfig, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Returns the proposals with those that are held out refused: they earn what an invalid question earns."""
    share = config.questions.held_out_compositions
    return [
        replace(item, posed=None, reason=HELD_OUT, earned=item.earned + config.rules.reward.invalid)
        if item.posed is not None and is_held_out(world, item.posed.question, share)
        else item
        for item in proposals
    ]
