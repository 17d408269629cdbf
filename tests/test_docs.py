"""The documentation tells of the tree as it is: its examples run, and the files, extras and commands that it names exist."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sesa_env.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TREE = re.compile(r"(?<![\w/.-])(?:sesa_env|agents|benchmarks|tests|docs)/[\w/.-]*\w")
SNIPPET = "--8<-- "
EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, (language, code) in enumerate(FENCE.findall(page.read_text(encoding="utf-8")), 1)
    if language == "python" and not code.startswith(SNIPPET)  # those run in tests/hands/test_examples.py
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples_run(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page):
    named = set(TREE.findall(page.read_text(encoding="utf-8")))
    assert not sorted(name for name in named if not (ROOT / name).exists())


def test_every_script_of_the_documentation_stands_in_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    scripts = sorted((ROOT / "docs" / "examples").glob("*.py"))
    assert scripts
    assert not [script.name for script in scripts if f"docs/examples/{script.name}" not in pages]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_linked_pages_exist(page):
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


def test_commands_exist():
    named = {
        tuple(words.split())
        for page in PAGES
        for words in re.findall(r"^sesa (\w+(?: [a-z]+)?)", page.read_text("utf-8"), re.MULTILINE)
    }
    assert {words[0] for words in named} >= {"list", "check", "replay", "bank"}
    for words in sorted(named):
        with pytest.raises(SystemExit) as leaving:
            main([*words, "--help"])
        assert leaving.value.code == 0


def test_options_of_the_harness_are_told():
    help_text = subprocess.run(
        [sys.executable, "benchmarks/run_all.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    known = set(re.findall(r"^ +(--[\w-]+)", help_text, re.MULTILINE))
    told = set(re.findall(r"^\| `(--[\w-]+)`", (ROOT / "docs" / "harness.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert told == known


def test_the_extras_table_is_complete():
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])
    rows = re.findall(r"^\| (`[^|]+) \|", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == extras


SMALL = ROOT / "docs/results/small"
COUNTS = {0: "none", 7: "seven", 13: "thirteen"}


def test_the_readmes_results_are_the_committed_ones():
    """Each row of its table of self-play: the scores that it goes from and to, the difference and its corrected interval."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("**Self-play, six worlds.**")[2].split("\n\n")[1]
    rows = re.findall(r"^\| ([^|]*?) ([\d.]+) \| ([^|]*?) ([\d.]+) \| (\S+) \[(\S+), (\S+)\] \|", section, re.MULTILINE)
    assert len(rows) == len(section.splitlines()) - 2
    groups = json.loads((SMALL / "tables/main.json").read_text(encoding="utf-8"))["groups"]
    scores = {(row["arm"], row["mode"]): f"{100 * row['macro']:.1f}" for group in groups for row in group}
    claims = json.loads((SMALL / "claims.json").read_text(encoding="utf-8"))
    committed = {
        (
            *(scores.get(tuple(claim[side])) for side in ("before", "after")),
            *(f"{100 * claim[name]:+.1f}".replace("-", "\u2212") for name in ("estimate", "low", "high")),
        )
        for claim in claims
        if claim["measure"] == "em"
    }
    for _, before, _, after, *numbers in rows:
        assert (before, after, *numbers) in committed


def test_the_results_page_counts_the_verdicts():
    verdicts = [claim["verdict"] for claim in json.loads((SMALL / "claims.json").read_text(encoding="utf-8"))]
    hold, opened, turned = (COUNTS[verdicts.count(one)] for one in ("holds", "not established", "reversed"))
    page = " ".join((ROOT / "docs/results/index.md").read_text(encoding="utf-8").split())
    assert f"{hold} hold, {opened} are not established, {turned} is reversed" in page
