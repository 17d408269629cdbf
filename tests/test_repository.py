"""The tree as a reader finds it: no paths of a machine, nothing left for later, commands that are what they say."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MACHINE_PATH = re.compile(r"(?<![\w.:/~<-])/(?:home|root|tmp|work|Users|mnt|opt|srv|scratch)/\w|[A-Z]:\\{1,2}Users", re.ASCII)
LEFT_FOR_LATER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")  # in halves, so as not to find itself
TEST_COMMAND = "python3 -m venv .venv && .venv/bin/pip install -c constraints.txt tox && .venv/bin/tox"


def tracked_texts() -> list[tuple[str, str]]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if names.returncode != 0:
        pytest.skip("not a git checkout")
    files = [name for name in names.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    contents = [(name, (ROOT / name).read_bytes()) for name in files]
    return [(name, data.decode("utf-8")) for name, data in contents if b"\0" not in data]


def findings(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in tracked_texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def shell_commands(page: str) -> list[str]:
    """The lines of a page's fenced bash blocks."""
    blocks = re.findall(r"^```bash\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_no_paths_of_a_machine():
    assert not findings(MACHINE_PATH)


def test_nothing_is_left_for_later():
    assert not findings(LEFT_FOR_LATER)


def test_contributing_is_one_page():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_the_second_command_of_readme_is_what_ci_runs():
    assert shell_commands("README.md")[1] == TEST_COMMAND
    assert TEST_COMMAND in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("page", ["docs/index.md", "CONTRIBUTING.md"])
def test_other_pages_give_the_same_test_command(page):
    assert TEST_COMMAND in shell_commands(page)


def test_the_first_command_of_readme_stands_in_the_documentation():
    assert shell_commands("README.md")[0] in shell_commands("docs/index.md")


def test_tox_environments_and_markers_that_are_named_exist():
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    environments = {*re.findall(r"^\[testenv:(\w+)\]", tox, re.MULTILINE), "py311", "py312", "py313", "py314"}
    named = {name for _, text in tracked_texts() for name in re.findall(r"\btox -e (\w+)", text)}
    assert named <= environments
    markers = re.findall(
        r'^  "(\w+): .*run by `tox -e (\w+)`"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(markers) >= 3
    assert all(
        f"pytest -m {marker}" in tox.partition(f"[testenv:{environment}]")[2].partition("\n[")[0]
        for marker, environment in markers
    )
