"""The scripts of the documentation run, and print what the pages say that they print."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "docs" / "examples"
PRINTED = sorted(EXAMPLES.glob("*.txt"))
"""What scripts print, as pages include it; beside a script of the same name."""
NEED = {
    "evaluate_model.py": ("torch", "transformers", "scipy"),
    "train_sb3.py": ("sb3_contrib",),
}
"""Packages that a script needs beside the environment's own."""
FEWER_STEPS = {"train_sb3.py": ("256",)}


def called(*arguments, cwd=ROOT):
    """Runs Python as a reader would."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def run(*arguments, cwd=ROOT):
    """Runs Python as a reader would; returns what it printed."""
    done = called(*arguments, cwd=cwd)
    assert done.returncode == 0 or "own_env" in str(arguments), done.stderr
    return done.stdout


@pytest.mark.parametrize("file", [file for file in PRINTED if file.stem != "own_env"], ids=lambda file: file.stem)
def test_a_script_prints_what_the_page_says(file, tmp_path):
    printed = run("-W", "error", EXAMPLES / f"{file.stem}.py", cwd=tmp_path)
    assert printed == file.read_text(encoding="utf-8"), f"write it anew: python docs/examples/{file.stem}.py > {file}"


def test_the_checker_finds_the_mistake_in_the_environment_of_the_tutorial():
    printed = run("-m", "sesa_env.cli", "check", "own_env:Guess", cwd=EXAMPLES)
    assert printed == (EXAMPLES / "own_env.txt").read_text(encoding="utf-8")


def test_the_environment_of_the_tutorial_passes_once_mended(tmp_path):
    text = (EXAMPLES / "own_env.py").read_text(encoding="utf-8")
    mended = text.replace("self.played % 2", "self.np_random.integers(2)")
    assert mended != text
    (tmp_path / "own_env.py").write_text(mended, encoding="utf-8")
    assert "7 checks passed, 0 failed" in run("-m", "sesa_env.cli", "check", "own_env:Guess", cwd=tmp_path)


def test_the_search_tool_scales(tmp_path):
    printed = run("-W", "error", EXAMPLES / "scale_retriever.py", "2000", cwd=tmp_path)
    assert "2,000 passages; best hit: " in printed
    assert "found: " in printed


@pytest.mark.slow  # it imports torch
@pytest.mark.parametrize(("arguments", "line"), [(["nosuch"], "'nosuch'"), (["tiny", "nobank.sqlite"], "nobank.sqlite")])
def test_a_wrong_argument_of_the_evaluation_is_one_line(tmp_path, arguments, line):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("scipy")
    done = called(EXAMPLES / "evaluate_model.py", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.slow  # they import torch
@pytest.mark.parametrize("script", sorted(NEED))
def test_a_script_that_needs_more_runs(script, tmp_path):
    missing = [package for package in NEED[script] if find_spec(package) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    assert run(EXAMPLES / script, *FEWER_STEPS.get(script, ()), cwd=tmp_path).strip()
