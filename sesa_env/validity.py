"""What makes a question valid: SSP's filters, one function each, in the paper's order (section 3), with reject reasons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sesa_env.errors import ConfigError
from sesa_env.grading import contains_answer, exact_match, normalise
from sesa_env.search.base import Verifier
from sesa_env.types import Passage, SearchCall, Target, Verdict


@dataclass(frozen=True, slots=True)
class ValidityConfig:
    """The numbers in the filters; the defaults are the paper's (section 3)."""

    min_chars: int = 10
    """Fewest characters of a question."""
    max_chars: int = 1000
    """Most characters of a question."""
    min_words: int = 10
    """Fewest blank-separated words of a question."""
    noise: int = 4
    """N: how many other trajectories' documents are shuffled into the documents for RAG verification."""

    def __post_init__(self) -> None:
        """Refuses values that no question can satisfy."""
        if not 0 <= self.min_chars <= self.max_chars:
            raise ConfigError(f"expected 0 <= min_chars <= max_chars; got {self.min_chars} and {self.max_chars}")
        if self.min_words < 0 or self.noise < 0:
            raise ConfigError(f"expected min_words and noise of at least 0; got {self.min_words} and {self.noise}")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the Challenger hands in: its question, the target it was given, and its searches in order."""

    question: str
    target: Target
    searches: tuple[SearchCall, ...]


def good_length(proposal: Proposal, config: ValidityConfig) -> bool:
    """Between `min_chars` and `max_chars` characters."""
    return config.min_chars <= len(proposal.question) <= config.max_chars


def enough_words(proposal: Proposal, config: ValidityConfig) -> bool:
    """At least `min_words` words."""
    return len(proposal.question.split()) >= config.min_words


def answer_hidden(proposal: Proposal, config: ValidityConfig) -> bool:
    """No accepted answer occurs in the question, at word boundaries and after normalisation."""
    return not contains_answer(proposal.question, proposal.target.answers)


def found_something(proposal: Proposal, config: ValidityConfig) -> bool:
    """At least one search brought a passage."""
    return any(call.passages for call in proposal.searches)


def enough_searches(proposal: Proposal, config: ValidityConfig) -> bool:
    """At least as many searches as hops."""
    return len(proposal.searches) >= proposal.target.hops


def no_repeated_query(proposal: Proposal, config: ValidityConfig) -> bool:
    """No query twice, after normalisation."""
    queries = [normalise(call.query) or call.query for call in proposal.searches]
    return len(set(queries)) == len(queries)


FILTERS: tuple[tuple[str, Callable[[Proposal, ValidityConfig], bool]], ...] = (
    ("length", good_length),
    ("words", enough_words),
    ("answer_in_question", answer_hidden),
    ("nothing_found", found_something),
    ("too_few_searches", enough_searches),
    ("repeated_query", no_repeated_query),
)
"""The filters after the first, by reject reason. The first, one question tag, is the protocol's: reason "no_question"."""

REJECT_REASONS = ("no_question", *(reason for reason, _ in FILTERS), "unverified")
"""Every reject reason, in the order of the filters."""


def reject_reason(proposal: Proposal, config: ValidityConfig) -> str:
    """Returns the reason of the first filter that refuses the question, "" if none does."""
    return next((reason for reason, passes in FILTERS if not passes(proposal, config)), "")


def rag_verify(proposal: Proposal, verifier: Verifier, noise: Sequence[Passage], seed: int) -> Verdict | None:
    """RAG verification: answers the question from the Challenger's own documents, shuffled with noise documents (section 3).

    An error in the verifier is never caught here: no question is accepted because its verification failed.

    Args:
        proposal: the question, its target and the Challenger's searches.
        verifier: who answers.
        noise: documents of other trajectories.
        seed: of the shuffle.

    Returns:
        The verdict when it agrees with the target, else None.
    """
    own = {passage.id: passage for call in proposal.searches for passage in call.passages}
    documents = list((own | {passage.id: passage for passage in noise}).values())
    order = np.random.default_rng((seed, len(documents))).permutation(len(documents))
    verdict = verifier.verify(proposal.question, [documents[i] for i in order])
    if verdict is None or not exact_match(verdict.answers[0], proposal.target.answers):
        return None
    return verdict
