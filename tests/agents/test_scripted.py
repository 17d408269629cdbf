"""The loop: what it leaves, that it resumes at any instant to the same bank, and that cards of its own failures pay."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agents.scripted import BANK, METRICS, ScriptedConfig, main, read_metrics, run_scripted
from sesa_env.errors import ConfigError, StoreError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.grading import contains_answer
from sesa_env.memory.bank import SkillBank
from sesa_env.play import play_questions
from sesa_env.players.load import load_player
from sesa_env.worlds import make_world

WORLD = {"size": 300}


def config(out, **fields):
    return ScriptedConfig(**{"out": str(out), "world_options": WORLD, "steps": 4, "questions": 6, **fields})


def opened(path):
    return SkillBank.open(path, run="selfplay")


def test_it_leaves_metrics_and_a_bank_with_distilled_cards(tmp_path):
    fast = {"consolidate_every": 2, "consolidate_min": 2}
    path = run_scripted(config(tmp_path, memory=fast))
    assert path == tmp_path / BANK
    rows = read_metrics(tmp_path)
    assert [row["step"] for row in rows] == [0, 1, 2, 3]
    assert all(row["valid"] + sum(row["rejected"].values()) == row["proposed"] == 6 for row in rows)
    assert sum(row["valid"] for row in rows) > 0
    assert rows[0]["cards"] == 15
    with opened(path) as bank:
        cards = bank.cards()
        assert bank.last_step == 3
    distilled = [card for card in cards if card.provenance.origin == "distilled"]
    assert distilled
    assert {card.provenance.teacher for card in distilled} == {"hindsight"}
    assert {card.provenance.run for card in distilled} == {"selfplay"}
    assert all(card.provenance.question_keys and card.provenance.failure and card.provenance.step >= 0 for card in distilled)


def test_two_runs_are_the_same_and_another_seed_is_another(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run_scripted(config(tmp_path / name, seed=seed, memory={"consolidate_every": 2, "consolidate_min": 2}))
    digests = []
    for name in "abc":
        with opened(tmp_path / name / BANK) as bank:
            digests.append((bank.digest(), (tmp_path / name / METRICS).read_text()))
    assert digests[0] == digests[1]
    assert digests[0][1] != digests[2][1]


def test_more_steps_later_are_the_same_as_all_at_once(tmp_path):
    run_scripted(config(tmp_path / "whole", steps=6))
    run_scripted(config(tmp_path / "parts", steps=2))
    run_scripted(config(tmp_path / "parts", steps=6), resume=True)
    run_scripted(config(tmp_path / "parts", steps=6), resume=True)  # a finished run changes nothing
    with opened(tmp_path / "whole" / BANK) as whole, opened(tmp_path / "parts" / BANK) as parts:
        assert whole.digest() == parts.digest()
    assert (tmp_path / "whole" / METRICS).read_bytes() == (tmp_path / "parts" / METRICS).read_bytes()


def test_half_a_row_is_mended(tmp_path):
    run_scripted(config(tmp_path, steps=2))
    rows = (tmp_path / METRICS).read_bytes()
    (tmp_path / METRICS).write_bytes(rows + b'{"step": 2, "car')
    run_scripted(config(tmp_path, steps=3), resume=True)
    assert (tmp_path / METRICS).read_bytes().startswith(rows)
    assert [row["step"] for row in read_metrics(tmp_path)] == [0, 1, 2]


def kill(tmp_path, kills, seed):
    driver = Path(__file__).with_name("kill_driver.py")
    command = [sys.executable, str(driver), str(tmp_path), str(kills), str(seed)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, env=_environment(root))
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["killed"] >= kills
    assert summary["finished"] >= 1
    assert summary["distinct_steps_seen"] > min(kills // 4, 10)  # the kills fell at many different places of the run
    assert summary["cards"] > 15
    return summary


def _environment(root):
    import os

    return {**os.environ, "PYTHONPATH": str(root)}


def test_killed_eight_times_nothing_is_lost_or_doubled(tmp_path):
    kill(tmp_path, 8, seed=1)


@pytest.mark.slow
def test_killed_fifty_times_nothing_is_lost_or_doubled(tmp_path):
    kill(tmp_path, 50, seed=2)


def test_a_directory_is_never_taken_over(tmp_path):
    run_scripted(config(tmp_path / "run"))
    with pytest.raises(ConfigError, match="type --resume"):
        run_scripted(config(tmp_path / "run"))
    with pytest.raises(ConfigError, match=r"--resume: seed was 0 in .*, now it is 1"):
        run_scripted(config(tmp_path / "run", seed=1), resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("dear")
    with pytest.raises(ConfigError, match="is not empty and holds no run"):
        run_scripted(config(tmp_path / "other"))
    with pytest.raises(StoreError, match="expected the metrics of a run"):
        read_metrics(tmp_path / "other")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"steps": 0}, "steps: expected at least 1; got 0"),
        ({"questions": 0}, "questions: expected at least 1"),
        ({"solver": "naif"}, "expected one of naive, skilled, challenger or module:factory"),
        ({"teacher": "foresight"}, "expected one of hindsight or module:factory"),
        ({"rules": {"group": 1}}, "rules: 'group' is not known"),
        ({"memory": {"topk": 1}}, "memory: 'topk' is not known"),
        ({"world": "wiki"}, "miniwiki"),
    ],
)
def test_wrong_values_say_what_is_expected(tmp_path, fields, message):
    with pytest.raises(ConfigError, match=message):
        run_scripted(config(tmp_path, **fields))


def test_the_command(tmp_path, capsys):
    arguments = ["--out", str(tmp_path), "--steps", "2", "--questions", "3", "--world-options", json.dumps(WORLD)]
    assert main(arguments) == 0
    assert str(tmp_path / BANK) in capsys.readouterr().out
    assert main(arguments) == 2
    assert "type --resume" in capsys.readouterr().err


def test_bootstrap_mines_permanent_cards_from_train_questions(tmp_path):
    with opened(run_scripted(config(tmp_path, steps=1, bootstrap=40))) as bank:
        mined = [card for card in bank.cards() if card.provenance.origin == "mined"]
    assert mined
    assert all(card.permanent for card in mined)


def test_skilled_beats_itself_with_the_cards_distilled_from_naives_failures(tmp_path):
    """Held-out questions about held-out entities; the bank comes from train entities alone."""
    options = {"size": 1000, "seed": 1007}
    path = run_scripted(config(tmp_path, world_options=options, steps=40, questions=16, show_cards=False))
    world = make_world("miniwiki", **options)
    questions = world.graph.questions(150, split="test", families={"single": 1.0}, seed=5)
    solver = load_player("skilled", world)
    with opened(path) as bank:
        memory = bank.snapshot()
    off = play_questions(world, questions, solver)
    on = play_questions(world, questions, solver, memory=memory)
    gained = sum(b.correct and not a.correct for a, b in zip(off, on, strict=True))
    lost = sum(a.correct and not b.correct for a, b in zip(off, on, strict=True))
    assert gained > 2 * lost + 10
    naive = load_player("naive", world)
    assert play_questions(world, questions[:40], naive) == [
        type(attempt)(**{**vars_of(attempt), "cards": ()})
        for attempt in play_questions(world, questions[:40], naive, memory=memory)
    ]


def test_no_prompt_gives_the_answer_away(tmp_path):
    """With a distilled bank, what the Solver reads before it searches holds no answer but the question's own words."""
    path = run_scripted(config(tmp_path, steps=12, questions=16, show_cards=False, memory={"consolidate_every": 2}))
    world = make_world("miniwiki", **WORLD)
    with opened(path) as bank:
        game = SearchGame(world, GameConfig(group_size=1), bank.snapshot())
    asked = [*world.graph.questions(150, split="test", seed=1), *world.graph.questions(150, split="train", seed=1)]
    shown = 0
    for question in asked:
        prompt = game.reset(question)
        shown += len(game.view().cards)
        names_it_itself = contains_answer(question.text, question.answers) or question.family == "yesno"
        assert names_it_itself or not contains_answer(prompt, question.answers), prompt
    assert shown > 100


def vars_of(attempt):
    return {name: getattr(attempt, name) for name in type(attempt).__dataclass_fields__}


def test_there_must_be_a_run_to_go_on_with(tmp_path, capsys):
    assert main(["--out", str(tmp_path / "nope"), "--resume"]) == 2
    assert "holds no run to go on with" in capsys.readouterr().err
    assert not (tmp_path / "nope").exists()
