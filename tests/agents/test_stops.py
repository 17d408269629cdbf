"""Where a turn ends: on token ids, for every kind of tokenizer, whatever the tokens of a tag are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers", reason="needs the llm extra")

from sesa_env.integrations.stops import StopTags
from tests.agents.toy_policy import TOKENIZERS, toy_policy

CLOSING = ("</search>", "</answer>", "</question>")
PARTS = [
    "</search>",
    "</answer>",
    "</question>",
    "</think>",
    "<search>",
    "< /search>",
    "</SEARCH>",
    "</search >",
    "</",
    ">",
    "\n",
]
KINDS = sorted(TOKENIZERS)
POLICIES = {kind: toy_policy(kind) for kind in KINDS}


def first_end(policy, ids):
    """Where the turn is over by its text, looked at as a whole after every token; None if it goes on."""
    for count in range(1, len(ids) + 1):
        if ids[count - 1] in policy.stops.eos or any(tag in policy.decode(ids[:count]) for tag in CLOSING):
            return count
    return None


def stopped(policy, ids):
    return next((count for count in range(1, len(ids) + 1) if policy.stops.ends(ids[:count])), None)


def tag_pieces(policy):
    """The tokens that tags can be spelt with, and some of the others."""
    vocabulary = sorted(policy.tokenizer.get_vocab().items())
    pieces = [index for token, index in vocabulary if any(token.strip("Ġ▁Ċ") in tag for tag in CLOSING)]
    return sorted({*pieces, *policy.stops.candidates, *(index for _, index in vocabulary[::40])})


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_turn_ends_with_the_token_that_completes_a_closing_tag(kind, data):
    policy = POLICIES[kind]
    text = "".join(data.draw(st.lists(st.sampled_from([*PARTS, " ", "Ada Vale", "é", "🙂", "?"]), max_size=8)))
    ids = policy.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert stopped(policy, ids) == first_end(policy, ids)


@pytest.mark.parametrize("kind", ["bytes", "words"])  # broken bytes of a byte fall-back have a test of their own
@given(data=st.data())
def test_any_sequence_of_tokens_ends_where_its_text_does(kind, data):
    policy = POLICIES[kind]
    ids = data.draw(st.lists(st.sampled_from(tag_pieces(policy)), max_size=30))
    assert stopped(policy, ids) == first_end(policy, ids)


@pytest.mark.parametrize("tag", CLOSING)
@pytest.mark.parametrize("kind", ["bytes", "bos"])
def test_a_tag_written_one_character_a_token(kind, tag):
    policy = POLICIES[kind]
    vocabulary = policy.tokenizer.get_vocab()
    ids = [vocabulary["a"]] * 20 + [vocabulary[character] for character in tag]
    assert stopped(policy, ids) == len(ids)


def test_a_tag_written_in_single_bytes():
    policy = POLICIES["bos"]
    ids = [policy.tokenizer.get_vocab()[f"<0x{byte:02X}>"] for byte in b"</answer>"]
    assert stopped(policy, ids) == len(ids)


def test_tokens_that_decode_to_nothing_hide_no_tag():
    texts = {1: "</sea", 2: "", 3: "rch", 4: ">"}
    stops = StopTags({"</sea": 1, "": 2, "rch": 3, ">": 4}, lambda ids: "".join(texts[index] for index in ids))
    assert stops.ends([1, *[2] * 100, 3, 4])
    assert not stops.ends([3, *[2] * 100, 1, 4])


@pytest.mark.parametrize("rest", [".", "\n\n", ">>>>>>>>>>>>>>>>>>>>>>", " <search> x </"])
def test_what_the_last_token_holds_beyond_the_tag_is_of_the_turn(rest):
    texts = {1: "</question", 2: ">" + rest}
    stops = StopTags({"</question": 1, ">" + rest: 2}, lambda ids: "".join(texts[index] for index in ids))
    assert not stops.ends([1])
    assert stops.ends([1, 2])


def test_the_ends_of_a_message_end_a_turn():
    policy = POLICIES["words"]
    assert policy.stops.ends([0, policy.tokenizer.eos_token_id])
    assert not policy.stops.ends([])
    assert StopTags({}, lambda ids: "", eos=(7, 8)).ends([3, 8])


def test_an_answer_costs_the_same_at_the_end_of_a_long_turn():
    decoded = []

    def decode(ids):
        decoded.append(len(ids))
        return "".join("xyz>"[index] for index in ids)

    stops = StopTags({"x": 0, "y": 1, "z": 2, ">": 3}, decode)
    turn = [0, 1, 2, 3] * 500
    assert not any(stops.ends(turn[:count]) for count in range(1, len(turn) + 1))
    assert max(decoded) <= 2 * len("</question>")
    assert len(decoded) <= 2 * turn.count(3), "text is looked at only where a token could complete a tag"
