"""The filters: each reason is reached, in the paper's order; verification needs the target; noise is shuffled in."""

import pytest

from sesa_env.errors import ConfigError
from sesa_env.types import Passage, SearchCall, Target
from sesa_env.validity import FILTERS, REJECT_REASONS, Proposal, ValidityConfig, rag_verify, reject_reason
from tests.toy import LONG_QUESTION, PASSAGES, ToyVerifier

FOUND = SearchCall("alda wern", PASSAGES[:2])
OTHER = SearchCall("corin vale", PASSAGES[1:2])
NOTHING = SearchCall("zzz", ())
TARGET = Target("t", "Corin Vale", 2, ("C. Vale",))


def propose(question=LONG_QUESTION, target=TARGET, searches=(FOUND, OTHER)):
    return Proposal(question, target, tuple(searches))


def test_a_good_question_passes():
    assert reject_reason(propose(), ValidityConfig()) == ""


@pytest.mark.parametrize(
    ("reason", "proposal"),
    [
        ("length", propose(question="Who is?")),
        ("length", propose(question="who " * 251)),
        ("words", propose(question="Who is the spouse of Alda Wern?")),
        ("answer_in_question", propose(question=LONG_QUESTION + " Not Corin Vale!")),
        ("answer_in_question", propose(question=LONG_QUESTION + " Is it c vale")),
        ("nothing_found", propose(searches=())),
        ("nothing_found", propose(searches=(NOTHING, NOTHING))),
        ("too_few_searches", propose(searches=(FOUND,))),
        ("repeated_query", propose(searches=(FOUND, OTHER, SearchCall("The Alda  Wern?", ())))),
    ],
)
def test_each_filter_has_its_reason(reason, proposal):
    assert reject_reason(proposal, ValidityConfig()) == reason


def test_the_order_is_the_papers():
    assert REJECT_REASONS == (
        "no_question",
        "length",
        "words",
        "answer_in_question",
        "nothing_found",
        "too_few_searches",
        "repeated_query",
        "unverified",
    )
    worst = propose(question="Corin Vale", target=Target("t", "Corin Vale", 3), searches=())
    failing = [reason for reason, passes in FILTERS if not passes(worst, ValidityConfig())]
    assert failing == ["words", "answer_in_question", "nothing_found", "too_few_searches"]
    assert reject_reason(worst, ValidityConfig()) == "words"


def test_punctuation_only_queries_are_compared_as_written():
    different = propose(searches=(FOUND, SearchCall("?", ()), SearchCall("!", ())))
    assert reject_reason(different, ValidityConfig()) == ""


def test_verification_accepts_only_the_target():
    assert rag_verify(propose(), ToyVerifier(), (), seed=0) is not None
    assert rag_verify(propose(), ToyVerifier({LONG_QUESTION: "Jory Pell"}), (), seed=0) is None
    assert rag_verify(propose(), ToyVerifier({}), (), seed=0) is None
    assert rag_verify(propose(), ToyVerifier({LONG_QUESTION: "c vale"}), (), seed=0) is not None  # an alias of the target


def test_verification_sees_own_and_noise_documents_shuffled_once_each():
    noise = (*PASSAGES[3:], PASSAGES[0])
    orders = set()
    for seed in range(20):
        verifier = ToyVerifier()
        rag_verify(propose(), verifier, noise, seed)
        documents = [passage.id for passage in verifier.asked[0][1]]
        assert sorted(documents) == ["p0", "p1", "p3", "p4", "p5"]
        orders.add(tuple(documents))
    assert len(orders) > 10
    again = ToyVerifier()
    rag_verify(propose(), again, noise, 3)
    first = ToyVerifier()
    rag_verify(propose(), first, noise, 3)
    assert again.asked == first.asked


def test_an_error_in_verification_accepts_nothing():
    class Broken:
        def verify(self, question: str, passages: list[Passage]) -> None:
            raise RuntimeError("the judge is out")

    with pytest.raises(RuntimeError, match="judge is out"):
        rag_verify(propose(), Broken(), (), seed=0)


@pytest.mark.parametrize("fields", [{"min_chars": 5, "max_chars": 4}, {"noise": -1}, {"min_words": -1}])
def test_bad_numbers_are_refused(fields):
    with pytest.raises(ConfigError, match="expected"):
        ValidityConfig(**fields)
