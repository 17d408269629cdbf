"""Prompt styles: text files with placeholders, safe against foreign text, one source for training and evaluation."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers", reason="needs the llm extra")

from agents.prompts import FOLDER, load_style
from sesa_env.errors import ConfigError
from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.protocol import render_cards, render_information
from sesa_env.types import Passage
from tests.agents.toy_policy import CARD, CHALLENGER, SOLVER, WITH_CARDS

ROOT = Path(__file__).resolve().parents[2]
STYLES = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())
TAG = re.compile(r"<\s*/?\s*(?:think|search|answer|question|information|skills)\b", re.IGNORECASE)
HOSTILE = st.lists(
    st.sampled_from(
        [
            "</information>",
            "<answer>",
            "</ search >",
            "<SKILLS>",
            "</question>",
            "{cards}",
            "{prompt}",
            "\n",
            "Doc 1 ",
            "x",
            "<",
            ">",
        ]
    ),
    max_size=8,
).map("".join)


def write_style(folder, **texts):
    plain = {"solver": "{question}", "challenger": "{target}", "card": "{trigger}", "observation": "{observation}"}
    for name, text in (plain | texts).items():
        (folder / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    return str(folder)


def test_the_styles_there_are():
    assert {"search-r1", "tags"} <= set(STYLES)


def test_tags_is_the_games_own_prompt():
    style = load_style("tags")
    assert style.user(SOLVER) == SOLVER.prompt
    assert style.user(CHALLENGER) == CHALLENGER.prompt
    assert style.observation("<information>\nx\n</information>") == "\n\n<information>\nx\n</information>\n\n"


@pytest.mark.parametrize("name", ["tags", "search-r1"])
def test_cards_look_as_in_the_games_prompt(name):
    style = load_style(name)
    assert style._cards(WITH_CARDS.cards) == render_cards(WITH_CARDS.cards)
    assert style._cards(()) == render_cards(()) == ""


def test_search_r1_names_its_tags_and_budget():
    text = load_style("search-r1").user(WITH_CARDS)
    assert {f"<{name}>" for name in ("think", "search", "information", "answer", "skills")} <= set(re.findall(r"<\w+>", text))
    assert "up to 9 times" in text
    assert text.endswith("Question: Who wrote it?")
    assert "author of {entity} | {bridge} writer" in text


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("view", [SOLVER, WITH_CARDS, CHALLENGER], ids=["solver", "cards", "challenger"])
def test_a_prompt_stays_the_same_during_the_seats_turns(name, view):
    style = load_style(name)
    later = replace(view, turns=(("<search> a </search>", "Error: x"),) * 3, turns_left=7)
    assert style.user(later) == style.user(view)


@pytest.mark.parametrize("name", STYLES)
def test_every_fact_that_a_seat_needs_is_in_its_prompt(name):
    style = load_style(name)
    view = replace(WITH_CARDS, prompt=f"{render_cards(WITH_CARDS.cards)}Question: {SOLVER.question}")
    assert "Who wrote it?" in style.user(view)
    assert "author of {entity}" in style.user(view)
    posing = replace(CHALLENGER, prompt="Over 2 facts. Target answer: Ada Vale")
    assert "Ada Vale" in style.user(posing)
    assert "2" in style.user(posing)


@pytest.mark.parametrize("name", STYLES)
@given(data=st.data())
def test_foreign_text_opens_and_closes_no_tag(name, data):
    style = load_style(name)
    draw = data.draw
    card = SkillCard("c", draw(HOSTILE), draw(HOSTILE), draw(HOSTILE), (draw(HOSTILE),))
    hostile = replace(SOLVER, question=draw(HOSTILE), cards=(CardHit(card, 1.0),))
    benign = replace(SOLVER, question="x", cards=(CardHit(CARD, 1.0),))
    assert TAG.findall(style.user(hostile)) == TAG.findall(style.user(benign))
    posing = replace(CHALLENGER, target=draw(HOSTILE))
    assert TAG.findall(style.user(posing)) == TAG.findall(style.user(CHALLENGER))
    found = style.observation(render_information([Passage("p", draw(HOSTILE), draw(HOSTILE))], 500))
    assert TAG.findall(found) == TAG.findall(style.observation(render_information([Passage("p", "x", "x")], 500)))


def test_a_folder_of_ones_own(tmp_path):
    name = write_style(
        tmp_path, solver="{cards}Q: {question} ({turns}/{searches})", cards="[{cards}]\n", card="{number}. {trigger}"
    )
    (tmp_path / "chat.jinja").write_text("{{ messages[0]['content'] }}\n")
    style = load_style(name)
    assert style.user(SOLVER) == "Q: Who wrote it? (10/9)"
    assert style.user(WITH_CARDS) == "[1. the author of\n2. the author of]\nQ: Who wrote it? (10/9)"
    assert style.name == tmp_path.name
    assert style.chat_template == "{{ messages[0]['content'] }}"


def test_placeholders_in_foreign_text_stay_as_they_are(tmp_path):
    style = load_style(write_style(tmp_path, solver="{question} {cards}", card="{queries}"))
    card = replace(CARD, queries=("{entity} {question} {number}",))
    text = style.user(replace(SOLVER, question="{cards} {target}?", cards=(CardHit(card, 1.0),)))
    assert text == "{cards} {target}? {entity} {question} {number}"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"solver": "{question} {target}"}, r"solver\.txt: nothing fills \{target\}; .* are \{cards\} \{prompt\} \{question\}"),
        ({"observation": "{information}"}, r"observation\.txt: nothing fills \{information\}"),
    ],
)
def test_an_unknown_placeholder_is_refused(tmp_path, texts, message):
    with pytest.raises(ConfigError, match=message):
        load_style(write_style(tmp_path, **texts))


def test_a_missing_file_is_named(tmp_path):
    name = write_style(tmp_path)
    (tmp_path / "card.txt").unlink()
    with pytest.raises(ConfigError, match=r"needs the text file .*card\.txt"):
        load_style(name)


def test_a_style_that_is_not_there():
    with pytest.raises(ConfigError, match=r"style: expected one of .*search-r1.*tags.* or the path of a folder.*; got 'tagz'"):
        load_style("tagz")


ALLOWED = {
    "agents/policy.py": {"user", "observation", "apply_chat_template"},
    "agents/chat.py": {"apply_chat_template"},  # teachers and judges: no seat of the game
    "agents/players.py": {"user", "observation"},  # a seat behind a server: the same style, sent as a chat
    "agents/selfplay/leak.py": {"user"},  # a style that wraps another
}


def test_seats_get_their_text_from_one_place():
    """Training and evaluation use the same strings, since nobody else renders a view, an observation or a chat."""
    found = []
    for path in sorted((ROOT / "agents").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        called = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        wrong = called & {"user", "observation", "apply_chat_template"} - ALLOWED.get(name, set())
        found += [(name, sorted(wrong))] if wrong else []
    assert not found
