"""Asking a server: replies in order, outages that are no replies, keys that are never missing in silence."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.chat import ChatConfig, NoReply, OpenAIChat, Reply, Usage, open_chat
from agents.names import Endpoint, endpoint, local_model, names_model, public_name
from sesa_env.errors import ConfigError
from tests.agents.fake_openai import FakeOpenAI, completion

pytest.importorskip("openai")

QUICK = ChatConfig(retries=2, timeout_s=20.0, concurrency=4)


def ask(*texts):
    return [[{"role": "user", "content": text}] for text in texts]


def said(body):
    return body["messages"][-1]["content"]


def chat(server, config=QUICK):
    return open_chat(f"openai:some/model@{server.url}", config)


def test_replies_come_in_the_order_of_the_prompts():
    with FakeOpenAI(lambda body: f"re: {said(body)}") as server:
        talk = chat(server)
        found = talk.complete(ask(*map(str, range(20))))
    assert [reply.text for reply in found] == [f"re: {number}" for number in range(20)]
    assert talk.usage == Usage(replies=20, prompt_tokens=140, completion_tokens=60)
    assert {(body["model"], body["temperature"], body["max_tokens"]) for body in server.bodies} == {("some/model", 0.0, 512)}


def test_an_empty_reply_is_a_reply_and_a_missing_one_is_not():
    with FakeOpenAI(lambda body: (200, completion("" if said(body) == "empty" else None))) as server:
        empty, missing = chat(server).complete(ask("empty", "missing"))
    assert empty == Reply("", 7, 3)
    assert isinstance(missing, NoReply)
    assert not missing.refused


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_what_passes_is_tried_again(status):
    answers = iter([(status, {"error": {"message": "busy"}})] * 2 + ["at last"])
    with FakeOpenAI(lambda body: next(answers)) as server:
        assert chat(server).complete(ask("x")) == [Reply("at last", 7, 3)]
        assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [429, 500])
def test_what_does_not_pass_is_an_outage_with_its_reason(status):
    with FakeOpenAI(lambda body: (status, {"error": {"message": "out of order"}})) as server:
        talk = chat(server)
        (found,) = talk.complete(ask("x"))
        assert len(server.bodies) == 1 + QUICK.retries
    assert isinstance(found, NoReply)
    assert not found.refused
    assert str(status) in found.reason
    assert "out of order" in found.reason
    assert talk.usage == Usage(failures=1)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_at_fault_is_refused_and_harms_no_other(status):
    with FakeOpenAI(lambda body: (status, {"error": {"message": "too long"}}) if said(body) == "long" else "fine") as server:
        found = chat(server).complete(ask("long", "short"))
    assert isinstance(found[0], NoReply)
    assert found[0].refused
    assert found[1] == Reply("fine", 7, 3)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_a_person_must_mend_is_told_at_once(status):
    with FakeOpenAI(lambda body: (status, {"error": {"message": "no"}})) as server:
        with pytest.raises(ConfigError, match=rf"answered {status} for the model 'some/model'.*OPENAI_API_KEY"):
            chat(server).complete(ask("x"))
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>busy</html>",
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"message": null}]}',
        b"\xff\xfe",
    ],
)
def test_garbage_is_an_outage(garbage):
    with FakeOpenAI(lambda body: garbage) as server:
        (found,) = chat(server, ChatConfig(retries=0, timeout_s=20.0)).complete(ask("x"))
    assert isinstance(found, NoReply)
    assert not found.refused


def test_a_dropped_connection_and_a_closed_port_are_outages():
    with FakeOpenAI(lambda body: None) as server:
        (dropped,) = chat(server, ChatConfig(retries=0, timeout_s=20.0)).complete(ask("x"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (closed,) = open_chat(f"openai:m@http://127.0.0.1:{port}/v1", ChatConfig(retries=0)).complete(ask("x"))
    assert isinstance(dropped, NoReply)
    assert isinstance(closed, NoReply)


def test_a_server_that_does_not_answer_is_not_waited_for():
    with FakeOpenAI(lambda body: 5.0) as server:
        (found,) = chat(server, ChatConfig(retries=0, timeout_s=0.2)).complete(ask("x"))
    assert isinstance(found, NoReply)
    assert "APITimeoutError" in found.reason


def test_a_reply_that_the_limit_cut_says_so():
    with FakeOpenAI(lambda body: (200, completion("and then", "length"))) as server:
        assert chat(server).complete(ask("x"))[0].cut


def test_no_count_of_tokens_is_no_fault():
    answer = completion("fine")
    answer["usage"] = None
    with FakeOpenAI(lambda body: (200, answer)) as server:
        assert chat(server).complete(ask("x")) == [Reply("fine")]


def test_a_key_goes_with_the_request_and_is_missed_where_it_must_be(monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    with FakeOpenAI(lambda body: "fine") as server:
        chat(server, ChatConfig(key_variable="MY_KEY")).complete(ask("x"))
        assert server.keys == ["Bearer secret"]
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(ConfigError, match=r"https://api\.example\.org/v1 needs a key: set the environment variable MY_KEY"):
        OpenAIChat(Endpoint("m", "https://api.example.org/v1"), ChatConfig(key_variable="MY_KEY"))


def test_further_fields_of_a_request_are_sent():
    with FakeOpenAI(lambda body: "fine") as server:
        chat(server, ChatConfig(extra_body={"chat_template_kwargs": {"enable_thinking": False}})).complete(ask("x"))
    assert server.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize("field", [{"max_tokens": 0}, {"retries": -1}, {"concurrency": 0}, {"temperature": -0.1}])
def test_numbers_that_nobody_can_be_asked_with_are_refused(field):
    with pytest.raises(ConfigError, match=next(iter(field))):
        ChatConfig(**field)


def test_tokens_have_a_price():
    assert Usage(prompt_tokens=2_000_000, completion_tokens=500_000).cost(prompt=0.5, completion=2.0) == 2.0


# ---- names ----------------------------------------------------------------------------------------------------------


@given(
    st.from_regex(r"[A-Za-z0-9][\w./:@-]*[A-Za-z0-9]", fullmatch=True).filter(lambda model: "@http" not in model),
    st.from_regex(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9/]*)?", fullmatch=True),
)
def test_a_served_model_is_read_back(model, url):
    assert endpoint(f"openai:{model}@{url}") == Endpoint(model, url)
    assert public_name(f"openai:{model}@{url}") == f"openai:{model}"


@pytest.mark.parametrize(
    "name",
    ["openai:", "openai:m", "openai:m@", "openai:m@host", "openai:@http://h", "openai:m@ftp://h", "openai:m@http://u@h/v1"],
)
def test_a_malformed_server_is_told(name):
    with pytest.raises(ConfigError, match=r"expected openai:MODEL@URL"):
        endpoint(name)


def test_other_names_are_no_models():
    assert not any(map(names_model, ("naive", "pkg:make", "hindsight")))
    assert (endpoint("naive"), local_model("pkg:make")) == (None, None)
    with pytest.raises(ConfigError, match="expected model:NAME_OR_DIR"):
        local_model("model:")
    with pytest.raises(ConfigError, match="names no model to ask"):
        open_chat("naive")


def test_what_records_call_a_model_holds_no_machine():
    assert public_name("model:Qwen/Qwen3-4B") == "model:Qwen/Qwen3-4B"
    assert public_name("model:/somewhere/runs/sesa/solver") == "model:sesa/solver"
    assert public_name("naive") == "naive"
