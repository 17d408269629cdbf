"""verifiers' environment against a server on loopback: both seats, their traces and rewards."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers", reason="verifiers 0.4 wants an older openai than the project's: see docs/faces/verifiers.md")
if shutil.which("uv") is None:
    pytest.skip("verifiers prepares its chat program with uv: pip install uv", allow_module_level=True)

import verifiers.v1 as vf

from sesa_env.errors import ConfigError
from sesa_env.integrations.seats import shared_tasks
from sesa_env.integrations.verifiers import load_environment
from sesa_env.players.load import load_player
from sesa_env.types import Role
from tests.agents.fake_openai import FakeOpenAI

ROOT = Path(__file__).resolve().parents[2]
WORLD = {"corpus": "miniwiki", "rules": {"group_size": 2}}


def streamed(text):
    """An answer as the chat program asks for it: server-sent events."""
    chunk = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
    parts = [({"role": "assistant", "content": text}, None), ({}, "stop")]
    lines = [json.dumps(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}) for delta, end in parts]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


def episode(answer, index=0, **taskset):
    with FakeOpenAI(lambda body: streamed(answer(body["messages"]))) as server:
        environment = load_environment(WORLD | taskset)
        context = vf.ModelContext(model="fake", client=vf.EvalClientConfig(base_url=server.url, api_key_var="NO_KEY"))

        async def inside():
            async with environment.serving():
                (task,) = environment.taskset.include(idx=[index])
                return await environment.run_episode(task, context)

        return asyncio.run(inside()), server.bodies


def test_a_solver_s_episode_is_one_conversation():
    question = shared_tasks(role="solver", corpus_options={}, memory=None, **WORLD).tasks[3]

    def answer(messages):
        return "<search>the town</search><answer>no" if len(messages) == 1 else f"<answer>{question.answers[0]}</answer>"

    played, bodies = episode(answer, 3)
    assert played.ok
    (trace,) = played.traces
    assert trace.agent.name == "solver"
    assert trace.rewards["game"].score == 1.0
    assert trace.metrics["correct"] == 1.0
    first, second = (body["messages"] for body in bodies)
    assert question.text in first[0]["content"]
    assert [message["role"] for message in second] == ["user", "assistant", "user"]
    assert second[2]["content"].startswith("<information>")


def test_self_play_rewards_both_seats():
    tasks = shared_tasks(role="challenger", corpus_options={}, memory=None, **WORLD)
    game = tasks.begin(0)
    player = load_player("challenger", game.world, role=Role.CHALLENGER)
    posed = []
    while tasks.plays(game):
        posed.append(player.act(game.view()))
        tasks.step([game], posed[-1:])
    assert game.question is not None
    solved = []

    def answer(messages):
        if "Target answer:" in messages[0]["content"]:
            return posed[len(messages) // 2]
        solved.append(game.question.answers[0] if not solved else "nobody at all")
        return f"<answer>{solved[-1]}</answer>"

    played, _ = episode(answer, role="challenger")
    assert played.ok
    assert [trace.agent.name for trace in played.traces] == ["challenger", "solver", "solver"]
    assert [trace.rewards["game"].score for trace in played.traces] == [1.0, 1.0, 0.0]  # 4 p (1 - p) at p = 1/2
    assert played.traces[0].metrics["valid"] == 1.0


def test_an_outage_is_an_error_of_the_trace_and_no_turn():
    with FakeOpenAI(lambda body: (500, {"error": {"message": "out"}})) as server:
        environment = load_environment(WORLD)
        context = vf.ModelContext(model="fake", client=vf.EvalClientConfig(base_url=server.url, api_key_var="NO_KEY"))

        async def inside():
            async with environment.serving():
                return await environment.run_episode(next(iter(environment.taskset)), context)

        played = asyncio.run(inside())
    assert not played.ok
    assert played.traces[0].errors


def test_the_command_line_s_module_is_the_environment(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))
    monkeypatch.delitem(sys.modules, "sesa_search", raising=False)
    config = vf.resolve_env_config({"taskset": {"id": "sesa-search", "role": "challenger"}})
    environment = vf.load_environment(config)
    assert type(environment).__name__ == "SearchEnvironment"
    assert next(iter(environment.taskset)).data.info == {"index": 0}


def test_a_wrong_world_is_refused_at_once():
    with pytest.raises(ConfigError, match="corpus must be one of"):
        load_environment({"corpus": "nowhere"})


def test_the_example_runs():
    with FakeOpenAI(
        lambda body: streamed("<search>who</search>" if len(body["messages"]) == 1 else "<answer>x</answer>")
    ) as server:
        command = [sys.executable, "docs/examples/verifiers_play.py", "--url", server.url, "--model", "m"]
        done = subprocess.run(
            [*command, "--role", "solver", "--episodes", "1"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "task 0, solver: reward +0.00, turns 2\n"
