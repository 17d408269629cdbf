"""How fast the skill memory is: one retrieval, embedding, a step boundary. Aim: one retrieval from 800 cards under 0.1 ms."""

import numpy as np
import pytest

from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import Provenance, SkillCard
from sesa_env.memory.card import question_key
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.embed import HashEmbedder
from sesa_env.memory.retrieve import BankSnapshot
from sesa_env.types import Attempt, Group, Passage, Question, SearchCall

QUESTION = "Who is the spouse of the director of film The Unholy Wife?"
DIMENSION = HashEmbedder.dimension


def cards(count: int) -> tuple[SkillCard, ...]:
    made = ("Find it.", "Questions.", "Guessing.", ("{entity} record",))
    return tuple(SkillCard(f"c{i}", *made, provenance=Provenance(question_keys=(f"k{i}",))) for i in range(count))


def vectors(count: int) -> np.ndarray:
    rows = np.random.default_rng(0).normal(size=(count, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def snapshot(count: int) -> BankSnapshot:
    """A bank of so many cards, of which about one in twelve is above the floor, as with real ones."""
    return BankSnapshot(cards(count), vectors(count), HashEmbedder(), top_k=3, floor=0.06, utility_weight=0.0)


@pytest.mark.parametrize("count", [100, 800, 10_000])
def test_one_retrieval_of_an_embedded_question(benchmark, count):
    frozen, query, key = snapshot(count), vectors(1)[0], question_key(QUESTION)
    assert len(benchmark(frozen.nearest, query, key)) == 3


@pytest.mark.parametrize("count", [800])
def test_one_retrieval_with_utility(benchmark, count):
    frozen = BankSnapshot(cards(count), vectors(count), HashEmbedder(), top_k=3, floor=0.06, utility_weight=0.1)
    assert len(benchmark(frozen.nearest, vectors(1)[0])) == 3


def test_embedding_a_question_not_seen_before(benchmark):
    embedder, numbers = HashEmbedder(), iter(range(10**9))
    # The trailing number is dropped by the embedder, but makes each question a new one for its cache.
    assert benchmark(lambda: embedder.embed_queries([f"{QUESTION} {next(numbers)}"])).shape == (1, DIMENSION)


def test_retrieval_for_a_batch_of_256_questions(benchmark):
    frozen, questions = snapshot(800), [f"{QUESTION} {i}" for i in range(256)]
    assert len(benchmark(frozen.retrieve, questions)) == 256


def test_freezing_a_bank_of_800_cards(benchmark):
    made, rows = cards(800), vectors(800)
    assert len(benchmark(BankSnapshot, made, rows, HashEmbedder(), 3, 0.06, 0.0).fingerprint) == 32


def test_committing_a_step_of_256_questions(benchmark):
    found = SearchCall("query", tuple(Passage(f"p{i}", "Title", "text " * 100) for i in range(3)))
    wrong = Attempt("wrong", correct=False, malformed=False, searches=(found,) * 3, cards=(("c1", 0.5), ("c2", 0.4)))
    right = Attempt("right", correct=True, malformed=False, searches=(found,) * 3, cards=(("c1", 0.5), ("c2", 0.4)))
    steps = iter(range(10**6))
    with SkillBank.open(config=MemoryConfig(duplicate_cosine=2.0)) as bank:
        bank.prime(cards(800))

        def commit() -> int:
            step = next(steps)
            asked = [Question(f"{step}-{i}", f"question {step} {i}", ("right",)) for i in range(256)]
            return bank.commit(step, [Group(question, (wrong, right, wrong, right, right)) for question in asked]).queued

        assert benchmark(commit) > 0


def test_opening_a_bank_of_800_cards(benchmark, tmp_path):
    path = tmp_path / "bank.sqlite"
    with SkillBank.open(path, MemoryConfig(duplicate_cosine=2.0)) as bank:
        bank.prime(cards(800))

    def reopen() -> int:
        with SkillBank.open(path) as again:
            return len(again.cards())

    assert benchmark(reopen) == 800
