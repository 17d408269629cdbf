"""Priming a bank: the hand-written seeds, and cards mined in a bootstrap phase (paper, section 4: 15 and 142)."""

from collections import Counter
from collections.abc import Sequence

from sesa_env.memory.admission import Candidate
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import ConsolidationReport, Distiller, Failure, Provenance
from sesa_env.memory.card import make_card, question_key
from sesa_env.memory.pending import failures_of
from sesa_env.memory.seeds import SEEDS
from sesa_env.memory.teacher import ask
from sesa_env.types import Group

MINED_CARDS = 142
"""How many cards the paper mined; with the 15 seeds 157."""


def prime(bank: SkillBank) -> ConsolidationReport:
    """Puts the fifteen seeds into a bank. Doing so again changes nothing."""
    return bank.prime(SEEDS)


def mine(bank: SkillBank, groups: Sequence[Group], distiller: Distiller, target: int = MINED_CARDS) -> ConsolidationReport:
    """Mines permanent cards from a bootstrap phase: episodes played before training, on questions that no evaluation asks.

    The distiller is asked in batches of `consolidate_max` until enough cards have entered, each batch through the door in one
    transaction. An outage keeps what the batches before it brought: call again to go on; failures that gave a card are not
    asked about twice. Counters, queue and steps are left alone.

    Args:
        bank: the bank, primed before.
        groups: the episodes of the bootstrap phase.
        distiller: writes the cards.
        target: how many mined cards the bank shall hold; those that it holds already count.

    Returns:
        What was added and, by reason, refused.

    Raises:
        TeacherError: the distiller could not answer.
    """
    mined = [card for card in bank.cards() if card.provenance.origin == "mined"]
    known = {card.provenance.failure for card in mined}
    failures = [failure for failure in failures_of(-1, groups, bank.config) if failure.id not in known]
    asked, added, rejected = 0, list[str](), Counter[str]()
    while asked < len(failures) and len(mined) + len(added) < target:
        batch = failures[asked : asked + bank.config.consolidate_max]
        report = bank.admit(_candidates(bank, batch, distiller), limit=target - len(mined) - len(added))
        asked += len(batch)
        added += report.added
        rejected.update(report.rejected)
    return ConsolidationReport(failures=asked, added=tuple(added), rejected=dict(sorted(rejected.items())))


def _candidates(bank: SkillBank, failures: Sequence[Failure], distiller: Distiller) -> list[Candidate]:
    answers = ask(distiller, failures, {card.id: card for card in bank.cards()})
    origins = [
        Provenance("mined", (question_key(failure.question.text),), failure.id, -1, bank.run, distiller.name)
        for failure in failures
    ]
    return [
        Candidate.of(make_card(draft, origin, permanent=True), failure)
        for failure, origin, drafts in zip(failures, origins, answers, strict=True)
        for draft in drafts
    ]
