"""Which questions are the same, and which are of one kind: what duplicates, repetition and diversity are counted by."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from sesa_env.memory.card import question_key
from sesa_env.types import Question


def same_key(question: Question) -> str:
    """Returns a key that questions share when they ask for the same thing.

    Where the verifier knows what is asked (it names entities), two questions with one answer from the same passages are the
    same, however they are worded; elsewhere two questions are when their texts are.
    """
    if question.entities and question.evidence:
        return "\n".join((question.answers[0], *sorted(question.evidence)))
    return question_key(question.text)


def family(question: Question) -> str:
    """Returns the kind of a question: its wording with the names taken out, without the opening phrase before a comma.

    Questions without known names are of the kind that the verifier gave them, or of their number of hops.
    """
    if not question.entities:
        return question.family or f"{question.hops} hops"
    text = question.text
    for name in sorted(question.entities, key=len, reverse=True):
        text = text.replace(name, "_")
    return " ".join(text.lower().rpartition(", ")[2].split())


def effective_number(kinds: Iterable[str]) -> float:
    """Returns exp(entropy) of a collection of kinds: how many equally frequent kinds would be as diverse; 0 for none."""
    counts = Counter(kinds)
    total = counts.total()
    if not total:
        return 0.0
    return math.exp(-sum(count / total * math.log(count / total) for _, count in sorted(counts.items())))


def repetition(kinds: Sequence[str], total: int) -> list[float]:
    """Returns for each of some items how many of the *other* items are of its kind, as a share of `total` - 1, in [0, 1].

    Args:
        kinds: of the items that have one: valid questions.
        total: how many items there are, those without a kind included. Were the share one of valid questions only, the few
            valid ones of a poor batch, mostly alike, would lose more than the many of a good one.
    """
    counts = Counter(kinds)
    return [(counts[kind] - 1) / max(total - 1, 1) for kind in kinds]
