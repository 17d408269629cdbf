"""Arms whose players have an "@" of their own, and banks that are there already or are none."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arms import Arm, parse_arm
from benchmarks.config import make_config
from benchmarks.contenders import contenders
from benchmarks.plan import make_plan
from benchmarks.suites import BENCHMARKS
from sesa_env.errors import ConfigError

SERVED = "openai:Qwen/Qwen3-4B@http://localhost:8000/v1"
PLAYERS = ("naive", "pkg.mod:make", "model:smollm2", "model:runs/a b/solver", SERVED, "openai:a@b@https://host/v1")
BANKS = ("", "seeds", "none", "loop", "blind", "loop:naive", f"blind:{SERVED}", "loop:model:tiny")


@given(st.sampled_from(PLAYERS), st.sampled_from(BANKS))
def test_every_player_goes_with_every_bank(player, bank):
    assert parse_arm(f"a={player}{'@' + bank if bank else ''}") == Arm("a", player, bank)


def test_a_bank_in_a_file_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arm = parse_arm(f"a={SERVED}@file:sub/b@nk.sqlite")
    assert arm == Arm("a", SERVED, f"file:{tmp_path / 'sub' / 'b@nk.sqlite'}")
    assert (arm.bank_file, arm.bank_player) == (str(tmp_path / "sub" / "b@nk.sqlite"), "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=model:smollm2@gold", "unknown bank 'gold'"),
        ("a=openai:m@nowhere", "expected openai:MODEL@URL"),
        ("a=openai:m@http://h/v1@gold", "expected openai:MODEL@URL"),
        ("a=model:", "expected model:NAME_OR_DIR"),
        ("a=@seeds", "unknown arm"),
        ("a=naive@file:", "unknown bank 'file:'"),
    ],
)
def test_what_is_neither_is_told(text, said):
    with pytest.raises(ConfigError, match=said):
        parse_arm(text)


def config(*arms, **more):
    return make_config("miniwiki", "smoke", tuple(map(parse_arm, arms)), **more)


def test_models_get_the_hand_written_cards_unless_told_otherwise():
    made = config("a=model:smollm2", f"b={SERVED}", "c=model:smollm2@none", "d=skilled", "e=model:smollm2@loop")
    assert [arm.bank for arm in made.arms] == ["seeds", "seeds", "none", "loop", "loop"]


def test_real_benchmarks_take_a_bank_that_is_there_and_none():
    arms = tuple(map(parse_arm, ("a=model:m@file:/x/bank.sqlite", "b=model:m@none", "c=model:m")))
    assert [arm.bank for arm in make_config("flashrag", "smoke", arms, data="d").arms] == [
        "file:/x/bank.sqlite",
        "none",
        "seeds",
    ]


def test_without_a_bank_there_is_no_on_mode():
    plan = make_plan(config("a=naive@none", "b=naive@seeds"), dict.fromkeys(BENCHMARKS, 20))
    assert {(unit.arm, unit.modes) for unit in plan.evaluations} == {("a", ("off",)), ("b", ("off", "on"))}
    assert {unit.bank for unit in plan.evaluations if unit.arm == "a"} == {""}
    assert [unit.id for unit in plan.banks] == ["bank-seeds-s0"]
    assert plan.questions == 7 * 20 * 3


def test_all_seeds_share_a_bank_that_is_there():
    plan = make_plan(config("a=naive@file:/x/bank.sqlite", seeds=3), dict.fromkeys(BENCHMARKS, 20))
    assert [(unit.id, unit.request.file) for unit in plan.banks] == [("bank-of-a", "/x/bank.sqlite")]


def test_options_of_models_go_to_models_alone():
    made = replace(config("a=model:m", "b=naive"), model={"dtype": "bfloat16"}, sampling={"turn_tokens": 9})
    assert [(each.model, each.sampling) for each in contenders(made)] == [({"dtype": "bfloat16"}, {"turn_tokens": 9}), ({}, {})]


def test_a_judge_looks_at_every_evaluation():
    plan = make_plan(config("a=naive@seeds", judge=SERVED), dict.fromkeys(BENCHMARKS, 20))
    assert [(unit.records, unit.judge) for unit in plan.judgements] == [(unit.id, SERVED) for unit in plan.evaluations]
    assert plan.units[-1] == plan.judgements[-1]
    with pytest.raises(ConfigError, match="--judge 'gpt': expected openai:MODEL@URL or model:NAME_OR_DIR"):
        config("a=naive", judge="gpt")
