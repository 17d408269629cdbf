"""A model loaded here as teacher and judge: greedy, the same alone and in a batch, refused where there is no room."""

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")

from agents.chat import ChatConfig, LocalChat, NoReply, Reply
from agents.judge import Judge, Judgement
from agents.policy import load_policy
from sesa_env.models import model_path
from tests.agents.toy_policy import toy_policy

TALKS = [[{"role": "user", "content": text}] for text in ("Who wrote the book?", "Which town is it? Say only its name.", "Hi")]


def test_replies_are_greedy_and_no_matter_of_company():
    config = ChatConfig(max_tokens=12, concurrency=2)
    together = LocalChat(toy_policy(), config).complete(TALKS)
    assert together == [LocalChat(toy_policy(), config).complete([talk])[0] for talk in TALKS]
    assert all(isinstance(reply, Reply) and reply.completion_tokens <= 12 for reply in together)


def test_a_prompt_without_room_for_a_reply_is_refused_and_harms_no_other():
    chat = LocalChat(toy_policy(), ChatConfig(max_tokens=12))
    long, short = chat.complete([[{"role": "user", "content": "author " * 2000}], TALKS[0]])
    assert isinstance(long, NoReply)
    assert long.refused
    assert isinstance(short, Reply)
    assert (chat.usage.replies, chat.usage.failures) == (1, 1)


def test_a_model_without_a_chat_template_is_asked_bare():
    policy = toy_policy("words")
    policy.tokenizer.chat_template = None
    assert isinstance(LocalChat(policy, ChatConfig(max_tokens=4)).complete(TALKS)[0], Reply)


def test_random_words_are_no_verdict():
    judge = Judge(LocalChat(toy_policy(), ChatConfig(max_tokens=8)), tries=2)
    judge.chat._policy.model.config.max_position_embeddings = 8192
    assert judge.judge([("Who?", ("Ada",), "Eve")]) == [Judgement.NOT_JUDGED]


@pytest.mark.models
def test_smollm2_replies():
    if not model_path("smollm2").exists():
        pytest.skip("smollm2 is not in the cache; type: sesa models get smollm2")
    chat = LocalChat(load_policy("smollm2"), ChatConfig(max_tokens=12))
    (reply,) = chat.complete([[{"role": "user", "content": "What is the capital of France? Answer in one word."}]])
    assert "Paris" in reply.text
