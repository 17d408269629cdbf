"""`sesa check` on environments of one's own, and `sesa bench`."""

import sys
import textwrap

import pytest

from sesa_env.bench import measure
from sesa_env.cli import main
from sesa_env.errors import ConfigError
from sesa_env.worlds import make_world

MINE = """
import gymnasium

from sesa_env.spaces import Utf8


class Guess(gymnasium.Env):
    action_space = observation_space = Utf8()

    def __init__(self, word="yes"):
        self.word = word

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 5
        return "guess a word", {}

    def step(self, action):
        self.left -= 1
        return "no", float(self.word in action), self.left == 0, False, {}


class Raises(Guess):
    def step(self, action):
        action.encode()
        return super().step(action)


class Draws(Guess):
    def reset(self, *, seed=None, options=None):
        import random
        first = super().reset(seed=seed)
        self.left += random.randrange(3)
        return first


def number():
    return 3


gymnasium.register("Guess-v3", entry_point=Guess)
gymnasium.register("Bare", entry_point=Guess)
"""


@pytest.fixture(autouse=True)
def _mine(tmp_path, monkeypatch):
    (tmp_path / "mine_for_checks.py").write_text(textwrap.dedent(MINE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # the command puts the working directory at its end
    yield
    sys.modules.pop("mine_for_checks", None)


@pytest.mark.filterwarnings("ignore:.*Overriding environment:UserWarning")  # each test imports the module anew
@pytest.mark.parametrize("name", ["Guess", "Guess-v3", "Bare"])
def test_a_class_or_a_registered_id_in_the_working_directory_is_checked(capsys, name):
    assert main(["check", f"mine_for_checks:{name}"]) == 0
    assert "7 checks passed, 0 failed" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:.*Overriding environment:UserWarning")
@pytest.mark.parametrize(
    ("name", "failures"),
    [
        ("Raises", ["FAIL hostile text: expected no text, seed or call to raise; the environment raised UnicodeEncodeError"]),
        ("Draws", ["FAIL same seed, same episode: seed", "FAIL no global randomness"]),
    ],
)
def test_every_check_that_fails_is_told(capsys, name, failures):
    assert main(["check", f"mine_for_checks:{name}"]) == 1
    told = capsys.readouterr().out
    assert all(failure in told for failure in failures)
    assert "  ok   types" in told


@pytest.mark.filterwarnings("ignore:.*Overriding environment:UserWarning")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine_for_checks:Missing"], "has no 'Missing'; type sesa check my_env:MyEnv"),
        (["no_such_module_here:Mine"], "no module 'no_such_module_here'"),
        (["mine_for_checks:number"], "it made a int"),
        (["mine_for_checks:Guess", "--kwargs", '{"wrd": 1}'], "; give its arguments with --kwargs JSON"),
        (["CartPole-v1"], "sesa_env.spaces.Utf8() admits every text"),
    ],
)
def test_what_cannot_be_checked_is_told(capsys, arguments, message):
    assert main(["check", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("value", ["{", "[]", "3"])
def test_arguments_that_are_no_json_object_are_told(capsys, value):
    with pytest.raises(SystemExit):
        main(["check", "--kwargs", value])
    assert "such as '{\"size\": 300}'" in capsys.readouterr().err


def test_the_bench_measures_every_line_beside_the_core(capsys):
    assert main(["bench", "--corpus-options", '{"size": 300, "n_questions": 3, "n_targets": 1}', "--seconds", "0.01"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert lines[1].endswith("1.000")
    assert all(float(line.split()[-1]) > 0 for line in lines[1:])


@pytest.mark.parametrize(("options", "seconds"), [({"n_questions": 0}, 1.0), ({"n_questions": 1}, 0.0)])
def test_the_bench_needs_questions_and_time(options, seconds):
    with pytest.raises(ConfigError, match="expected a time above 0 and a world with questions"):
        measure(make_world("miniwiki", size=300, n_targets=1, **options), seconds)
