"""What a search tool is."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sesa_env.types import Passage, Verdict


@runtime_checkable
class Retriever(Protocol):
    """Anything that answers queries with passages."""

    @property
    def fingerprint(self) -> str:
        """A digest of the corpus and of all that decides the ranking; equal fingerprints answer alike."""
        ...

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries.

        Args:
            queries: any strings: empty, gigantic or non-Latin ones are answered too.
            k: how many passages to return for each query, at least 1.

        Returns:
            For each query at most k passages, best first, ties by corpus order, each with its score; [] when nothing matches.

        Raises:
            RetrievalError: the search could not be carried out.
        """
        ...


@runtime_checkable
class Corpus(Protocol):
    """A read-only, ordered collection of passages."""

    @property
    def fingerprint(self) -> str:
        """A digest of all ids, titles and texts in order."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Passage: ...

    def find(self, passage_id: str) -> Passage | None:
        """Returns the passage with this id, or None."""
        ...


class Verifier(Protocol):
    """Answers a question from documents, or says that it is none (RAG verification; paper, section 3)."""

    def verify(self, question: str, passages: Sequence[Passage]) -> Verdict | None:
        """Answers `question` from `passages`.

        Args:
            question: the question's text.
            passages: the Challenger's documents and the noise documents, shuffled.

        Returns:
            What the question asks for, or None when it is not a question that can be answered.
        """
        ...
