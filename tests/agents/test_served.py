"""Against a real OpenAI-compatible server: `transformers serve` on loopback, with a small model in a directory."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")
for package in ("openai", "fastapi", "uvicorn"):
    pytest.importorskip(package, reason="needs the openai extra, and transformers' own server")

from agents.chat import ChatConfig, LocalChat, Reply, open_chat
from agents.judge import Judgement, open_judge
from agents.players import open_player
from agents.policy import load_policy
from sesa_env.play import play_questions
from tests.agents.taught import ANSWER, RULES, SEARCH, taught_policy
from tests.toy import QUESTION, toy_world

pytestmark = pytest.mark.slow

HELLO = [{"role": "user", "content": "Who wrote the book?"}]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The name of a served model that knows one episode, and its directory."""
    directory = tmp_path_factory.mktemp("served") / "solver"
    taught_policy().save(directory)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["serve", str(directory), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    code = "import sys; from transformers.cli.transformers import main; sys.exit(main())"
    log = (directory.parent / "log").open("wb")
    server = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    try:
        _wait(server, port, directory.parent / "log")
        yield f"openai:{directory}@http://127.0.0.1:{port}/v1", directory
    finally:
        server.kill()
        server.wait()
        log.close()


def _wait(server, port, log):
    for _ in range(600):
        if server.poll() is not None:
            pytest.fail(f"transformers serve ended: {log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"transformers serve did not come up: {log.read_text()[-2000:]}")


def test_a_served_model_plays_an_episode(served):
    player = open_player(served[0], toy_world(), sampling={"turn_tokens": 48})
    (attempt,) = play_questions(toy_world(), [QUESTION], player, RULES)
    assert attempt.texts == (SEARCH, ANSWER)
    assert attempt.correct
    assert player.chat.usage.replies == 2
    assert player.chat.usage.completion_tokens > 0


def test_a_served_and_a_loaded_model_reply_alike(served):
    name, directory = served
    config = ChatConfig(max_tokens=12)
    (there,) = open_chat(name, config).complete([HELLO])
    (here,) = LocalChat(load_policy(str(directory)), config).complete([HELLO])
    assert isinstance(there, Reply)
    assert there.text == here.text
    assert there.prompt_tokens == here.prompt_tokens


def test_a_judge_that_cannot_write_a_verdict_judges_nothing(served):
    judge = open_judge(served[0], ChatConfig(max_tokens=16))
    assert judge.judge([("Who?", ("Ada",), "Eve"), ("Who?", ("Ada",), "Ada")]) == [Judgement.NOT_JUDGED, Judgement.EXACT]
    assert judge.reasons[0].startswith("no verdict")
