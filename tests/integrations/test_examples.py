"""The examples of the trainers' pages run as they are written down."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(name, *arguments):
    command = [sys.executable, f"docs/examples/{name}", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_verl_data(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    output = run("verl_data.py", "--out", tmp_path)
    assert output.splitlines() == [f"{tmp_path}/solver.parquet: 200 rows", f"{tmp_path}/challenger.parquet: 1000 rows"]
    row = parquet.read_table(tmp_path / "challenger.parquet").to_pylist()[7]
    assert row["agent_name"] == "sesa_challenger"
    assert row["extra_info"] == {"index": 7}
    assert "Target answer:" in row["prompt"][0]["content"]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["solver", "challenger"])
def test_train_trl(tmp_path, role):
    pytest.importorskip("trl")
    output = run("train_trl.py", "--steps", 1, "--role", role, "--out", tmp_path)
    assert "step 1: reward " in output


@pytest.mark.slow
def test_trl_tools(tmp_path):
    pytest.importorskip("trl")
    from tests.integrations.toy_tools import save_tool_model

    save_tool_model(tmp_path / "model")
    options = ("--steps", 1, "--batch", 2, "--length", 16, "--out", tmp_path / "out")
    assert "step 1: reward 0.000" in run("trl_tools.py", "--model", tmp_path / "model", *options)
