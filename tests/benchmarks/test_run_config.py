"""Arms, presets, plans: what is refused, what is shared, what is split."""

import json
from dataclasses import replace

import pytest

from benchmarks.arms import ARMS, Arm, parse_arms
from benchmarks.config import DEVELOPMENT_SEEDS, PRESETS, differing_fields, make_config
from benchmarks.plan import make_plan
from benchmarks.suites import BENCHMARKS
from sesa_env.errors import ConfigError

PLENTY = dict.fromkeys(BENCHMARKS, 10_000)


def config(preset="smoke", arms=("naive", "skilled"), **more):
    return make_config("miniwiki", preset, parse_arms(list(arms)), **more)


def test_arms_are_read():
    assert parse_arms(["naive", "mine=pkg.mod:make", "yours=pkg:make@seeds", "third=skilled@blind:naive"]) == (
        ARMS["naive"],
        Arm("mine", "pkg.mod:make", ""),
        Arm("yours", "pkg:make", "seeds"),
        Arm("third", "skilled", "blind:naive"),
    )


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (["nobody"], r"choose from naive, skilled, or give NAME=PLAYER\[@BANK\]"),
        (["a="], "unknown arm 'a='"),
        (["a/b=naive"], "becomes a directory"),
        ([".=naive"], "becomes a directory"),
        (["naive", "naive"], "came twice: naive"),
        (["a=naive@gold"], "choose 'loop', 'blind', 'loop:PLAYER', 'blind:PLAYER', 'seeds', 'file:PATH' or 'none'"),
        (["a=naive@loop:"], "unknown bank 'loop:'"),
        (["a=naive@seeds:naive"], "unknown bank 'seeds:naive'"),
        ([], "no arm given"),
    ],
)
def test_bad_arms_are_refused(arms, said):
    with pytest.raises(ConfigError, match=said):
        parse_arms(arms)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_preset_makes_a_plan(preset):
    made = config(preset)
    plan = make_plan(made, PLENTY)
    scale = PRESETS[preset]
    a_seed = 6 * scale.questions + scale.bamboogle
    assert plan.questions == a_seed * scale.seeds * 2 * 2
    assert len(plan.banks) == scale.seeds
    assert all(unit.stop - unit.start <= scale.shard for unit in plan.evaluations)
    assert len({unit.id for unit in plan.units}) == len(plan.units)
    assert max(made.seeds) < DEVELOPMENT_SEEDS


def test_the_paper_s_preset_has_the_paper_s_numbers():
    assert sum(config("paper").questions.values()) == 3125
    assert (config("paper").max_turns, config("paper").top_k) == (10, 3)


def test_arms_whose_banks_have_one_source_share_a_bank_unit():
    plan = make_plan(config(arms=["naive", "skilled", "own=skilled@loop", "hand=skilled@seeds"], seeds=2), PLENTY)
    assert {unit.id for unit in plan.banks} == {
        f"bank-{name}-s{seed}" for name in ("naive-blind", "skilled", "seeds") for seed in (0, 1)
    }
    assert {(unit.arm, unit.bank) for unit in plan.evaluations if unit.seed == 1} == {
        ("naive", "bank-naive-blind-s1"),
        ("skilled", "bank-naive-blind-s1"),
        ("own", "bank-skilled-s1"),
        ("hand", "bank-seeds-s1"),
    }


def test_only_a_solver_that_follows_cards_is_shown_any_in_the_loop():
    plan = make_plan(config(arms=["naive", "own=skilled@loop"]), PLENTY)
    assert {unit.request.player: unit.request.show_cards for unit in plan.banks} == {"naive": False, "skilled": True}


def test_development_worlds_are_never_reported():
    with pytest.raises(ConfigError, match="--seeds must be at most 1000"):
        config(seeds=DEVELOPMENT_SEEDS + 1)


def test_banks_come_from_train_entities_and_scores_from_held_out_ones():
    plan = make_plan(config(), PLENTY)
    assert {unit.request.world["options"]["split"] for unit in plan.banks} == {"train"}
    assert {unit.world["options"]["split"] for unit in plan.evaluations} == {"test"}


def test_shards_cover_each_question_once():
    plan = make_plan(replace(config(), shard=7), {**PLENTY, "bamboogle": 5})
    for benchmark, count in (("nq", 20), ("bamboogle", 5)):
        units = [unit for unit in plan.evaluations if (unit.arm, unit.benchmark) == ("naive", benchmark)]
        assert [number for unit in units for number in range(unit.start, unit.stop)] == list(range(count))


def test_real_data_has_no_train_entities_so_every_bank_is_written_by_hand():
    made = make_config("flashrag", "smoke", parse_arms(["naive", "skilled"]), data="somewhere")
    assert {arm.bank for arm in made.arms} == {"seeds"}
    for bank in ("", "@seeds"):
        assert make_config("flashrag", "smoke", parse_arms([f"a=skilled{bank}"]), data="x").arms[0].bank == "seeds"
    with pytest.raises(
        ConfigError, match="flashrag has no train entities to distil from; expected @seeds, @none or @file:PATH, got @loop"
    ):
        make_config("flashrag", "smoke", parse_arms(["a=skilled@loop"]), data="x")


def test_an_arm_that_names_no_bank_gets_the_loop_s_on_the_built_in_world():
    assert [arm.bank for arm in config(arms=["naive", "a=skilled"]).arms] == ["blind", "loop"]


@pytest.mark.parametrize("option", ["seeds", "questions"])
@pytest.mark.parametrize("number", [0, -1])
def test_numbers_below_one_are_refused(option, number):
    with pytest.raises(ConfigError, match=f"--{option} must be at least 1, but is {number}"):
        config(**{option: number})


def test_fewer_questions_never_ask_more_of_bamboogle():
    assert config("paper", questions=300).questions == {**dict.fromkeys(BENCHMARKS, 300), "bamboogle": 125}
    assert set(config(questions=4).questions.values()) == {4}


def test_a_configuration_survives_json():
    value = config().to_json()
    assert json.loads(json.dumps(value)) == value


def test_differing_fields_are_named_with_their_place():
    old = {"a": 1, "b": {"c": [1, 2]}, "d": [{"e": 1}]}
    new = {"a": 1, "b": {"c": [1, 2, 3]}, "d": [{"e": 2}], "f": 0}
    assert differing_fields(old, new) == ["b.c: [1, 2] -> [1, 2, 3]", "d[0].e: 1 -> 2", "f: None -> 0"]
    assert differing_fields(old, old) == []
