"""Players by name."""

import sys
import textwrap

import pytest

from sesa_env.errors import ConfigError
from sesa_env.players.base import Player
from sesa_env.players.load import BUILT_IN, SEATS, load_player

OUTSIDER = """
class Echo:
    def __init__(self, seed):
        self.seed = seed

    def act(self, view):
        return f"<answer>{view.question} {self.seed}</answer>"


def make(world, seed=0):
    return Echo(seed)


def broken(world, seed=0):
    return object()


number = 3
"""


@pytest.fixture
def outsider(tmp_path, monkeypatch):
    (tmp_path / "outside_players.py").write_text(textwrap.dedent(OUTSIDER), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "outside_players"
    sys.modules.pop("outside_players", None)


def test_a_ten_line_player_from_outside_the_repository_plays(outsider, make_world, make_view):
    player = load_player(f"{outsider}:make", make_world(), seed=7)
    assert player.act(make_view("Who?")) == "<answer>Who? 7</answer>"


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_short_names_make_players(name, make_world):
    assert isinstance(load_player(name, make_world(), role=SEATS[name]), Player)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "module:factory"),
        ("", "module:factory"),
        (":make", "module:factory"),
        ("outside_players:", "module:factory"),
        ("no_such_module_anywhere:make", "no module 'no_such_module_anywhere'"),
        ("outside_players:missing", "has no 'missing'"),
        ("outside_players:number", "not callable"),
        ("outside_players:broken", r"act\(view\)"),
        ("os:getcwd", "cannot be called as it should be"),
        ("..:make", "no module"),
    ],
)
def test_a_wrong_name_is_told_what_to_type(outsider, make_world, name, words):
    with pytest.raises(ConfigError, match=words):
        load_player(name, make_world())


def test_an_error_inside_the_module_is_not_hidden(tmp_path, monkeypatch, make_world):
    (tmp_path / "faulty_players.py").write_text("import a_module_that_is_missing\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="a_module_that_is_missing"):
        load_player("faulty_players:make", make_world())


@pytest.mark.parametrize("name", ["model:tiny", "sb3:agent.zip", "openai:some-model@http://127.0.0.1:1/v1"])
def test_the_names_of_the_harness_are_told_apart(name, make_world):
    with pytest.raises(ConfigError, match=r"are players of benchmarks/run_all\.py; expected here a scripted player's name"):
        load_player(name, make_world())


def test_a_module_may_have_a_name_of_the_harness(tmp_path, monkeypatch, make_world):
    (tmp_path / "model.py").write_text(textwrap.dedent(OUTSIDER), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert isinstance(load_player("model:make", make_world()), Player)
    finally:
        sys.modules.pop("model", None)
