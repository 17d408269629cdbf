"""Which questions are the same, and which are of one kind: what duplicates, repetition and diversity are counted by."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from sesa_env.memory.card import question_key
from sesa_env.types import Question
from sesa_env.worlds import World


def same_key(question: Question) -> str:
    """Returns a key that questions share when they ask for the same thing.

    Where the verifier knows what is asked (it names entities), two questions with one answer from the same passages are the
    same, however they are worded; elsewhere two questions are when their texts are.
    """
    if question.entities and question.evidence:
        return "\n".join((question.answers[0], *sorted(question.evidence)))
    return question_key(question.text)


def kind_of(world: World, question: Question) -> str:
    """Returns the kind of a question: what it asks about, whoever it is asked about and however it is worded.

    In MiniWiki that is its form and the relations that it chains, in order. Elsewhere it is its wording with the names that
    the verifier knows taken out, without the opening phrase before a comma; without known names the kind that the verifier
    gave it, or its number of hops.
    """
    needs = None if world.graph is None else world.graph.needs(question.text)
    if needs is not None:
        return " ".join((question.family, *(str(need.rank) for need in needs)))
    if not question.entities:
        return question.family or f"{question.hops} hops"
    return _without_names(question, question.text.lower(), str.lower)


def wording_of(question: Question) -> str:
    """Returns a question as it reads, with its names taken out where they are spelt as the verifier spells them.

    A Challenger that writes in lower case keeps its names, so that two of its questions share a wording only where they ask
    for the same thing. Runs were made with this before `kind_of` was (`questions.repetition`).
    """
    if not question.entities:
        return question.family or f"{question.hops} hops"
    return _without_names(question, question.text, str)


def _without_names(question: Question, text: str, spelt: Callable[[str], str]) -> str:
    for name in sorted(question.entities, key=len, reverse=True):
        text = text.replace(spelt(name), "_")
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
