"""A world: a corpus with its search tool, its verifier and its pools of questions and targets, made by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sesa_env.search.base import Corpus, Retriever, Verifier
from sesa_env.types import Question, Target


@dataclass(frozen=True)
class World:
    """All that a game is played on. Read-only, shared by every environment of one process.

    Attributes:
        name: the name it was made by, for example "miniwiki".
        fingerprint: a digest of the corpus, the retriever's settings and the pools.
        corpus: the passages.
        retriever: the search tool over them.
        verifier: answers questions from documents (RAG verification).
        questions: ready questions for the Solver.
        targets: seeds for the Challenger; may be empty.
        graph: what a scripted Challenger may walk on: the `MiniWiki`; None where there is none.
    """

    name: str
    fingerprint: str
    corpus: Corpus
    retriever: Retriever
    verifier: Verifier
    questions: Sequence[Question]
    targets: Sequence[Target]
    graph: Any = None
