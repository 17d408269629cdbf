"""The small parts of the loop: draws, replay pool, families, metrics, guard, live view."""

import io
import json
import logging
from collections import Counter
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from agents.demonstrations import QUICK_WORLD
from agents.selfplay.config import GuardConfig, SkillConfig
from agents.selfplay.draws import Stream, generator, in_turn, seeds
from agents.selfplay.families import effective_number, kind_of, repetition, same_key, wording_of
from agents.selfplay.guard import CollapseError, ValidRate
from agents.selfplay.live import LiveView, plain_line, rejected, sparkline
from agents.selfplay.metrics import METRICS, MetricsFile, read_metrics, reproducible, scalars
from agents.selfplay.pool import Posed, ReplayPool
from agents.selfplay.row import machine_row
from agents.selfplay.skillrl import WeakCategories, category
from sesa_env.errors import StoreError
from sesa_env.memory.base import Failure
from sesa_env.types import Attempt, Group, Passage, Question
from sesa_env.worlds import make_world
from tests.toy import toy_world


def question(text, entities=(), evidence=("p1",), answer="Corin", **fields):
    return Question(text, text, (answer,), entities=entities, evidence=evidence, **fields)


# ---- draws -----------------------------------------------------------------------------------------------------------


def test_draws_depend_on_seed_stream_and_step_alone():
    first = seeds(1, Stream.SOLVER, 2, 5)
    assert first == seeds(1, Stream.SOLVER, 2, 5)
    others = [seeds(2, Stream.SOLVER, 2, 5), seeds(1, Stream.CHALLENGER, 2, 5), seeds(1, Stream.SOLVER, 3, 5)]
    assert all(set(first).isdisjoint(other) for other in others)


@pytest.mark.parametrize("count", [1, 3, 7, 10, 25])
def test_a_pool_is_gone_through_epoch_by_epoch(count):
    pool = list(range(10))
    drawn = [item for step in range(30) for item in in_turn(pool, 4, step, count)]
    for start in range(0, len(drawn) - 10, 10):
        assert sorted(drawn[start : start + 10]) == pool
    assert drawn[:10] != drawn[10:20]


# ---- the replay pool -------------------------------------------------------------------------------------------------


def test_the_pool_gives_different_questions_first_and_is_emptied_in_time():
    pool = ReplayPool(reset_every=3)
    assert pool.fill(2, generator(0, Stream.POOL, 0)) == []
    pool.add([Posed(question(f"q{number}")) for number in range(4)])
    drawn = [item.question.text for item in pool.fill(6, generator(0, Stream.POOL, 0))]
    assert sorted(drawn[:4]) == ["q0", "q1", "q2", "q3"]
    assert len(drawn) == 6
    pool.make_room(0)
    assert len(pool) == 4
    pool.make_room(1)  # what was there before the first step
    assert len(pool) == 0
    pool.add([Posed(question("q4"))])
    pool.begin(4)
    pool.make_room(1)
    assert len(pool) == 1
    pool.begin(6)
    pool.make_room(0)
    pool.begin(7)
    assert len(pool) == 1
    pool.make_room(1)
    assert len(pool) == 0


def test_the_pool_survives_json():
    pool, other = ReplayPool(), ReplayPool()
    pool.add([Posed(question("who?", ("Alda",)), (Passage("p1", "Alda", "Alda wed Corin."),))])
    other.load_state_dict(json.loads(json.dumps(pool.state_dict())))
    assert (other.items, other.due) == (pool.items, True)
    other.make_room(1)
    pool.load_state_dict(json.loads(json.dumps(other.state_dict())))
    assert (pool.items, pool.due) == ([], False)


# ---- families --------------------------------------------------------------------------------------------------------


def test_questions_are_the_same_by_what_they_ask_where_that_is_known():
    one = question("Frankly, who is the spouse of Alda Wern?", ("Alda Wern",))
    same = question("As all know, who is the spouse of Alda Wern?", ("Alda Wern",))
    other = question("Frankly, who is the spouse of Alda Wern?", ("Alda Wern",), evidence=("p2",))
    assert same_key(one) == same_key(same) != same_key(other)
    assert same_key(question("Who is it?")) != same_key(question("Who was it?"))


@pytest.mark.parametrize("spelt", [str, str.lower, str.upper])
def test_a_kind_is_the_wording_without_names_and_opening_however_they_are_spelt(spelt):
    world = toy_world()
    assert (
        kind_of(world, question(spelt("Frankly, who is the spouse of Alda Wern?"), ("Alda Wern",))) == "who is the spouse of _?"
    )
    assert kind_of(world, question("Who?", family="bridge")) == "bridge"
    assert kind_of(world, question("Who?", hops=2)) == "2 hops"


def test_in_miniwiki_a_kind_is_the_form_and_its_relations():
    world = make_world("miniwiki", seed=1000, **QUICK_WORLD)
    kinds = {}
    for one in world.graph.questions(300, split="train"):
        ranks = [need.rank for need in world.graph.needs(one.text)]
        kinds.setdefault(kind_of(world, one), []).append(one)
        assert kind_of(world, one) == " ".join([one.family, *map(str, ranks)])
        for spelt in (str.lower, str.upper):
            assert kind_of(world, replace(one, text=spelt(one.text))) == kind_of(world, one)
    many = max(kinds.values(), key=len)
    assert len({one.text for one in many}) == len(many) > 5


def test_a_wording_keeps_names_that_are_spelt_another_way():
    one = question("Frankly, who is the spouse of Alda Wern?", ("Alda Wern",))
    assert wording_of(one) == "who is the spouse of _?"
    assert wording_of(replace(one, text=one.text.lower())) == "who is the spouse of alda wern?"
    assert wording_of(question("Who?", family="bridge")) == "bridge"
    assert wording_of(question("Who?", hops=2)) == "2 hops"


def test_diversity_and_repetition():
    assert effective_number([]) == 0.0
    assert effective_number("aabb") == pytest.approx(2.0)
    assert effective_number("aaab") < 2.0
    assert repetition(["a", "a", "b"], 3) == [0.5, 0.5, 0.0]
    assert repetition(["a", "a", "b"], 5) == [0.25, 0.25, 0.0]
    assert repetition(["a"], 1) == [0.0]


# ---- metrics ---------------------------------------------------------------------------------------------------------


def test_rows_after_the_checkpoint_are_cut_off(tmp_path):
    path = tmp_path / METRICS
    file = MetricsFile(path)
    for step in range(3):
        file.add({"step": step})
    with path.open("a") as torn:
        torn.write('{"step": 3, "sol')
    MetricsFile(path, 2).add({"step": 2, "again": True})
    assert read_metrics(tmp_path) == [{"step": 0}, {"step": 1}, {"again": True, "step": 2}]
    with pytest.raises(StoreError, match="at least 9 rows"):
        MetricsFile(path, 9)


def test_missing_metrics_are_told(tmp_path):
    with pytest.raises(StoreError, match="there is no such file"):
        read_metrics(tmp_path)


def test_what_is_reproducible_and_what_is_drawn():
    row = {"step": 1, "solve_s": 0.1, "machine": {"peak_memory_mib": 7}, "rejected": {"words": 2}, "rates": [1, 2]}
    assert reproducible(row) == {"step": 1, "rejected": {"words": 2}, "rates": [1, 2]}
    assert scalars(row) == {"step": 1.0, "solve_s": 0.1, "machine/peak_memory_mib": 7.0, "rejected/words": 2.0}


def test_the_memory_of_a_device_is_told_only_where_there_is_one_in_use(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert machine_row().keys() == {"peak_memory_mib"}
    assert machine_row()["peak_memory_mib"] > 1
    allocated = [3 * 1024**2, 7 * 1024**2 + 1000]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(allocated))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: allocated[device])
    assert machine_row()["peak_device_memory_mib"] == 7


# ---- the guard -------------------------------------------------------------------------------------------------------


def test_a_collapse_stops_the_run_after_so_many_bad_steps_in_a_row(caplog):
    guard = ValidRate(GuardConfig(valid_rate=0.2, patience=2))
    assert [guard.see(step, valid, 10) for step, valid in enumerate((1, 2, 0))] == [False, False, False]
    assert "none of 10 questions is valid" in caplog.text
    assert not guard.healthy
    with pytest.raises(CollapseError, match="2 steps in a row"):
        guard.see(3, 1, 10)


def test_what_is_advised_after_a_collapse_depends_on_whether_there_was_a_warm_start():
    for cold in (True, False):
        guard = ValidRate(GuardConfig(patience=1), "smollm2", lambda cold=cold: cold)
        with pytest.raises(CollapseError, match=r"look at the reject reasons.*rules\.reward\.invalid.*recover") as caught:
            guard.see(0, 0, 10)
        assert ("python -m agents.warmstart --model smollm2 --out WARM" in str(caught.value)) == cold


def test_a_collapse_can_be_recovered_from(caplog):
    guard = ValidRate(GuardConfig(valid_rate=0.2, patience=2, on_collapse="recover"))
    with caplog.at_level(logging.ERROR):
        assert [guard.see(step, 0, 10) for step in range(3)] == [False, True, False]
    assert "newest healthy checkpoint" in caplog.text


def test_a_collapse_can_be_warned_of_alone(caplog):
    guard = ValidRate(GuardConfig(valid_rate=0.2, patience=2, on_collapse="warn"))
    with caplog.at_level(logging.ERROR):
        assert not any(guard.see(step, 0, 10) for step in range(5))
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["step 1", "step 3"]
    assert not guard.healthy


def test_without_a_challenger_nothing_collapses():
    guard = ValidRate(GuardConfig(patience=1))
    assert not guard.see(0, 0, 0)
    assert guard.healthy


# ---- SkillRL ---------------------------------------------------------------------------------------------------------


def attempt(correct):
    return Attempt("x", correct=correct, malformed=False)


def test_only_weak_categories_get_skills_the_weakest_first():
    weak = WeakCategories(SkillConfig(weak_below=0.4))
    asked = {name: question(name, family=name) for name in ("good", "weak", "weaker")}
    for name, right in (("good", 2), ("weak", 1), ("weaker", 0)):
        weak.count([Group(asked[name], tuple(attempt(number < right) for number in range(4)))])
    failures = [Failure(name, asked[name], attempt(False), (), 0) for name in ("good", "weak", "weaker")]
    assert [failure.id for failure in weak.choose(failures)] == ["weaker", "weak"]
    other = WeakCategories(SkillConfig())
    other.load_state_dict(json.loads(json.dumps(weak.state_dict())))
    assert other.rates() == weak.rates() == {"good-1": 0.5, "weak-1": 0.25, "weaker-1": 0.0}
    weak.restart()
    assert weak.choose(failures) == []
    assert category(question("q")) == "any-1"


# ---- the live view ---------------------------------------------------------------------------------------------------

ROW = {
    "step": 4,
    "solve_rate": 0.5,
    "valid_rate": 0.75,
    "rejected": {"words": 1, "unverified": 3, "length": 0},
    "duplicates": 2,
    "cards": 40,
    "hops": 1.5,
    "challenger_reward": 0.3,
}


def test_without_a_terminal_an_update_is_a_plain_line():
    stream = io.StringIO()
    with LiveView("sesa", 10, stream) as view:
        view.show(ROW)
    assert stream.getvalue() == plain_line("sesa", 10, ROW) + "\n"
    for part in (
        "sesa 5/10",
        "solve rate 0.50",
        "valid rate 0.75",
        "unverified 3, words 1, duplicate 2",
        "bank 40",
        "hops 1.50",
    ):
        assert part in stream.getvalue()


def test_on_a_terminal_it_is_a_table(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    with LiveView("sesa", 10, stream) as view:
        view.show(ROW)
        view.show({**ROW, "step": 5, "cards": 41})
    assert "update 6 of 10" in stream.getvalue()
    assert "unverified 3" in stream.getvalue()


def test_sparklines():
    assert sparkline([0.0, 0.5, 1.0], 1.0) == "▁▅█"
    assert sparkline([-1.0, 0.0]) == "▁▁"
    assert rejected({}) == "none"
    assert Counter(sparkline([1.0, 2.0, 4.0]))["█"] == 1
