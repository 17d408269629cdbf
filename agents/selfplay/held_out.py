"""Questions about the half of the world that evaluation asks about: posed or not, nothing is trained on them.

A target of the train half may be a date, a year or a number, which entities of both halves share. A question that leads to it
from an entity of the test half is a good one by the rules of the game, and would teach what the evaluation asks.
"""

from collections.abc import Sequence
from dataclasses import replace

from agents.selfplay.posing import Proposal
from sesa_env.rewards import RewardConfig
from sesa_env.types import Question
from sesa_env.worlds import World

HELD_OUT = "held_out"
"""The reason why a question that the game accepts is not played: it names an entity of the test half."""


def is_held_out(world: World, question: Question) -> bool:
    """Says whether a question needs an entity of the test half, by the verifier's reading of it.

    Only a world with a graph (MiniWiki) has halves. Elsewhere targets are kept apart from the evaluation's answers instead.
    """
    return world.graph is not None and any(world.graph.half_of(name) == "test" for name in question.entities)


def mark_held_out(world: World, proposals: Sequence[Proposal], rewards: RewardConfig) -> list[Proposal]:
    """Returns the proposals with those about the test half refused: they earn what an invalid question earns."""
    return [
        replace(item, posed=None, reason=HELD_OUT, earned=item.earned + rewards.invalid)
        if item.posed is not None and is_held_out(world, item.posed.question)
        else item
        for item in proposals
    ]
