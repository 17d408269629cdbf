"""The leak ablation: the Challenger's prompt shows cards of the bank too. Nothing else in this project may do so.

The game stays as it is: its Challenger's view never holds a card. What leaks does so here, in the text that is made of a view,
and only for a policy that `leaky` returned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from agents.policy import Policy
from agents.prompts import Style
from agents.selfplay.draws import Stream, generator
from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.players.base import View
from sesa_env.types import Role


@dataclass(frozen=True)
class LeakyStyle(Style):
    """A style whose Challenger reads cards before its task.

    Attributes:
        leaked: the cards.
    """

    leaked: tuple[CardHit, ...] = ()

    def user(self, view: View) -> str:
        """Renders the prompt of a seat as `Style.user` does, with the leaked cards before the Challenger's."""
        text = super().user(view)
        return text if view.role is Role.SOLVER else self._cards(self.leaked) + text


def leaky(policy: Policy, cards: Sequence[CardHit]) -> Policy:
    """Returns a view of a policy, on the same weights, whose Challenger is shown these cards."""
    plain = {field.name: getattr(policy.style, field.name) for field in fields(Style)}
    return Policy(policy.name, policy.model, policy.tokenizer, LeakyStyle(**plain, leaked=tuple(cards)), policy.config)


def leaked_cards(cards: Sequence[SkillCard], seed: int, step: int, count: int) -> list[CardHit]:
    """Draws the cards that leak at a step: there is no question yet by which to retrieve any."""
    places = generator(seed, Stream.LEAK, step).permutation(len(cards))[:count]
    return [CardHit(cards[int(place)], 0.0) for place in sorted(places)]
