"""The warm start: masks by construction, resuming to the bit, and the targets that the shipped file must meet."""

import json
from dataclasses import asdict, replace

import pytest

torch = pytest.importorskip("torch")

from agents import warmstart
from agents.demonstrations import QUICK_RULES, QUICK_WORLD, Demonstration, Recipe, demonstrate
from agents.passrates import DEVELOPMENT_SEED, SAMPLING, PassRates, pass_rates, posed
from agents.policy import ModelConfig, load_policy
from agents.pretrained import start_digest, start_name, warm_start_path
from agents.rollout import Sampling, roll_out
from agents.tiny import WARM_START, TinyShape
from agents.warmstart import (
    RECIPE_FILE,
    Training,
    WarmStart,
    batches,
    lesson,
    loss_of,
    main,
    make,
    rate_at,
    settings_for,
    settings_of,
    start_policy,
)
from agents.weights import weights_digest
from sesa_env.errors import ConfigError
from sesa_env.game import SearchGame
from sesa_env.worlds import make_world

SMALL = WarmStart(
    shape=TinyShape(hidden=32, layers=1, heads=2, feed_forward=48),
    recipe=Recipe(worlds=2, tail_worlds=1),
    demonstrations=40,
    steps=6,
    batch=8,
    climb=2,
    short_steps=3,
    short_ids=90,
)


@pytest.fixture(scope="module")
def played():
    return list(demonstrate(SMALL.recipe, 40, 0))


@pytest.fixture(scope="module")
def policy():
    return start_policy(SMALL, ModelConfig())


def weights(directory):
    return {name: value.clone() for name, value in load_policy(str(directory)).model.state_dict().items()}


# ---- lessons --------------------------------------------------------------------------------------------------------


def test_the_mask_covers_the_turns_and_nothing_else(policy, played):
    for one in played:
        made = lesson(policy, one)
        assert len(made.ids) == len(made.written)
        runs, text = [], []
        for index, (token, written) in enumerate(zip(made.ids, made.written, strict=True)):
            if written and (not index or not made.written[index - 1]):
                runs.append(text := [])
            if written:
                text.append(token)
        assert [policy.decode(run).replace(" ", "") for run in runs] == [turn.lower().replace(" ", "") for turn in one.turns]


def test_a_lesson_is_what_a_rollout_of_the_same_turns_is(played):
    """A rollout of the shipped model, taken as a demonstration, must give the rollout's own ids and mask."""
    tiny = load_policy("tiny")
    world = make_world("miniwiki", seed=DEVELOPMENT_SEED, **QUICK_WORLD, n_targets=60, n_questions=0)
    games = [SearchGame(world, replace(QUICK_RULES, group_size=1)) for _ in range(12)]
    for game, question in zip(games, posed(world, 1, 12), strict=True):
        game.reset(question)
    views = [game.view() for game in games]
    rollouts = roll_out(tiny, games, Sampling(greedy=True, tokens=512), range(12))
    compared = 0
    for game, view, rollout in zip(games, views, rollouts, strict=True):
        shown = tuple(turn.observation for turn in game.state.transcript[:-1])
        made = lesson(tiny, Demonstration(view, rollout.texts, shown, good=True))
        if not rollout.cut and game.attempts[0].end == "answered":
            compared += 1
            assert made.ids == rollout.ids
            assert made.written == rollout.sampled
    assert compared > 6


def test_the_loss_is_that_of_the_written_tokens_alone(policy, played):
    lessons = [lesson(policy, one) for one in played[:5]]
    expected = []
    for one in lessons:
        with torch.no_grad():
            logits = policy.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        expected += [-logits[place - 1, token] for place, token in enumerate(one.ids) if one.written[place]]
    assert loss_of(policy, lessons).item() == pytest.approx(torch.stack(expected).mean().item(), abs=1e-5)


def test_what_was_read_weighs_what_it_is_told_to(policy, played):
    lessons = [lesson(policy, one) for one in played[:5]]
    everything = [replace(one, written=(True,) * len(one.ids)) for one in lessons]
    assert loss_of(policy, lessons, 1.0).item() == pytest.approx(loss_of(policy, everything).item(), abs=1e-5)
    own, both = loss_of(policy, lessons).item(), loss_of(policy, everything).item()
    between = loss_of(policy, lessons, 0.3).item()
    assert min(own, both) < between < max(own, both)


def test_batches_take_each_lesson_at_most_once_and_pad_little():
    lengths = [10 + (index * 37) % 190 for index in range(500)]
    rows = batches(lengths, 16, epoch=0, seed=1)
    taken = [index for row in rows for index in row]
    assert len(taken) == len(set(taken)) > 480
    assert {len(row) for row in rows} == {16}
    padded = sum(16 * max(lengths[index] for index in row) for row in rows)
    assert padded < 1.2 * sum(lengths[index] for index in taken)
    assert rows == batches(lengths, 16, epoch=0, seed=1)
    assert rows != batches(lengths, 16, epoch=1, seed=1)


def test_the_learning_rate_climbs_and_falls():
    settings = WarmStart(steps=1000, climb=100, rate=1.0)
    rates = [rate_at(settings, step) for step in range(1000)]
    assert rates.index(max(rates)) in (99, 100)
    assert rates[0] == pytest.approx(0.01)
    assert rates[-1] == pytest.approx(0.05, abs=1e-4)


# ---- training -------------------------------------------------------------------------------------------------------


def test_training_lowers_the_loss(tmp_path, played):
    training = Training(replace(SMALL, steps=20, rate=2e-2), tmp_path / "out")
    lessons = [lesson(training.policy, one) for one in played[:8]]
    before = loss_of(training.policy, lessons).item()
    for _ in range(20):
        training.learn(lessons)
    assert loss_of(training.policy, lessons).item() < 0.6 * before


def test_short_demonstrations_come_first_and_names_are_new(tmp_path, monkeypatch):
    seen = []
    learn = Training.learn
    monkeypatch.setattr(Training, "learn", lambda self, lessons: seen.append(lessons) or learn(self, lessons))
    Training(SMALL, tmp_path / "out").run()
    longest = [max(len(one.ids) for one in lessons) for lessons in seen]
    assert len(seen) == SMALL.steps
    assert max(longest[:3]) <= SMALL.short_ids < max(longest[3:])
    known = {lesson(start_policy(SMALL, ModelConfig()), one).ids for one in demonstrate(SMALL.recipe, 40, 0)}
    assert not known & {one.ids for lessons in seen for one in lessons}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_stopped_warm_start_goes_on_to_the_same_weights(tmp_path, monkeypatch, dtype):
    config = ModelConfig(dtype=dtype)
    Training(SMALL, tmp_path / "whole", config).run(checkpoint_every=2)
    stopped = Training(SMALL, tmp_path / "stopped", config)
    assert {weight.dtype for weight in stopped.policy.model.parameters()} == {getattr(torch, dtype)}
    learn, done = Training.learn, []

    def learn_thrice(self, lessons):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(1)
        return learn(self, lessons)

    monkeypatch.setattr(Training, "learn", learn_thrice)
    with pytest.raises(KeyboardInterrupt):
        stopped.run(checkpoint_every=2)
    monkeypatch.setattr(Training, "learn", learn)
    resumed = Training(SMALL, tmp_path / "stopped", config)
    assert resumed.step == 2
    resumed.run(checkpoint_every=2)
    one, other = weights(tmp_path / "whole"), weights(tmp_path / "stopped")
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped", "whole"]


def test_steps_too_small_for_bfloat16_add_up(tmp_path, played):
    """A thousandth of a weight at a time is below half a unit in its last place, and rounding undid it every time."""
    training = Training(replace(SMALL, steps=200, rate=1e-5, climb=1), tmp_path / "out", ModelConfig(dtype="bfloat16"))
    lessons = [lesson(training.policy, one) for one in played[:8]]
    head = training.policy.network.lm_head.weight
    before = head.detach().clone()
    for _ in range(2):
        training.learn(lessons)
    barely = (head != before).float().mean().item()
    for _ in range(40):
        training.learn(lessons)
    assert (head != before).float().mean().item() > 4 * barely + 0.02


def test_another_recipes_checkpoint_is_refused(tmp_path):
    training = Training(SMALL, tmp_path / "out")
    training.keep()
    with pytest.raises(ConfigError, match="other settings"):
        Training(replace(SMALL, seed=1), tmp_path / "out")


def test_the_recipe_lies_beside_the_weights(tmp_path):
    Training(SMALL, tmp_path / "out").run()
    assert settings_of(tmp_path / "out") == SMALL
    assert load_policy(str(tmp_path / "out")).style.name == "tiny"
    with pytest.raises(ConfigError, match=RECIPE_FILE):
        settings_of(tmp_path)


def test_the_command_trains(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(warmstart, "TINY", SMALL)
    assert main(["--out", str(tmp_path / "made"), "--steps", "2", "--batch", "4"]) == 0
    assert "step 2 of 2" in capsys.readouterr().err
    assert settings_of(tmp_path / "made") == replace(SMALL, steps=2, batch=4)


def test_too_few_demonstrations_are_told(tmp_path):
    with pytest.raises(ConfigError, match="demonstrations"):
        Training(replace(SMALL, demonstrations=3), tmp_path / "out").run()


# ---- targets --------------------------------------------------------------------------------------------------------


def check_targets(rates: PassRates, rare: float, slack: float) -> None:
    """Asserts the targets that are met, each widened by `slack` for the sample's size; docs/training.md tells those missed.

    Without cards both matter: what is never solved gives no reward to learn from, what is solved too often leaves nothing to
    learn. No floor is 0 or below, which nothing could miss.

    Args:
        rates: what was measured.
        rare: right answers without cards at three hops in `RARE` questions: too small a share for the sample of `rates`.
        slack: about two standard errors of a rate near .1.
    """
    assert 0.25 - 0.1 - slack <= rates.plain[0] <= 0.25 + 0.1 + slack
    assert 0.09 - slack <= rates.plain[1] <= 0.15 + slack
    assert rates.plain[2] <= 0.08 + slack
    assert 0.01 - 0.007 <= rare <= 0.08
    assert rates.carded[0] >= 0.6 - slack
    assert rates.carded[1] >= 0.2 - slack
    assert rates.carded[2] >= 0.05  # the aim itself: four times as many were measured
    assert rates.carded[0] > rates.plain[0] + 0.2
    assert rates.valid[0] > 0.4 - slack
    # Missed: garbled names below .05, valid questions above .4 for two and three hops. No worse than this, at least:
    assert rates.garbled < 0.4 + slack
    assert rates.valid[1] > 0.18 - slack
    assert rates.valid[2] > 0.11 - slack


SLACK = 0.05
RARE = 700


def rare_passes(policy) -> float:
    """The share of right answers without cards at three hops."""
    world = make_world("miniwiki", seed=DEVELOPMENT_SEED, **QUICK_WORLD, n_targets=6 * RARE, n_questions=0)
    games = [SearchGame(world, replace(QUICK_RULES, group_size=1)) for _ in range(RARE)]
    for game, question in zip(games, posed(world, 3, RARE), strict=True):
        game.reset(question, cards=())
    roll_out(policy, games, SAMPLING, range(RARE))
    return sum(game.attempts[0].correct for game in games) / RARE


GOOD = PassRates((0.25, 0.09, 0.01), (0.74, 0.45, 0.2), (0.59, 0.24, 0.11), 0.32, {}, (95.0, 92.0), 82.0)
"""What docs/training.md says that the shipped file can do."""


@pytest.mark.parametrize("field", ["plain", "carded", "valid"])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_policy_that_never_does_one_of_these_meets_no_targets(field, hops):
    check_targets(GOOD, 0.01, SLACK)
    shares = tuple(0.0 if place == hops else share for place, share in enumerate(getattr(GOOD, field), 1))
    never = replace(GOOD, **{field: shares})
    with pytest.raises(AssertionError):
        check_targets(never, 0.0 if (field, hops) == ("plain", 3) else 0.01, SLACK)


def test_the_shipped_warm_start_meets_its_targets():
    tiny = load_policy("tiny")
    check_targets(pass_rates(tiny, count=150), rare_passes(tiny), SLACK)


def test_check_prints_the_rates(capsys):
    assert main(["--check", "tiny", "--count", "6"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == set(PassRates.__dataclass_fields__)


@pytest.mark.rebuild
def test_the_recipe_gives_what_is_shipped(tmp_path):
    made = make(settings_of(WARM_START), tmp_path / "made")
    policy = load_policy(str(made))
    check_targets(pass_rates(policy, count=200), rare_passes(policy), slack=0.03)


def test_the_shipped_recipe_begins_with_the_default_one():
    settings = settings_of(WARM_START)
    assert settings.exchange_duties
    assert settings.recipe == Recipe()
    while settings.began_with is not None:
        settings = settings.began_with
        assert not settings.exchange_duties
    assert settings == WarmStart()


def test_a_warm_start_goes_on_from_another_and_says_so(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    Training(SMALL, first).run()
    monkeypatch.setattr(warmstart, "TINY", SMALL)
    assert main(["--model", str(first), "--out", str(second), "--steps", "1", "--short-steps", "0"]) == 0
    monkeypatch.undo()
    settings = settings_of(second)
    assert settings.began_with == SMALL
    assert settings.model == str(first)
    one, other = weights(first), weights(second)
    assert max(float((one[name] - other[name]).abs().max()) for name in one) < 0.05
    assert any(not torch.equal(one[name], other[name]) for name in one)


TWO_PARTS = replace(SMALL, began_with=replace(SMALL, steps=3, short_steps=1), steps=2, short_steps=1, seed=1)


def test_a_warm_start_is_made_with_what_it_began_with(tmp_path):
    made = make(TWO_PARTS, tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert settings_of(made) == replace(TWO_PARTS, model=str(tmp_path / "made.before"))
    by_hand = tmp_path / "by-hand"
    Training(TWO_PARTS.began_with, tmp_path / "first").run()
    Training(replace(TWO_PARTS, model=str(tmp_path / "first")), by_hand).run()
    assert all(torch.equal(weight, weights(by_hand)[name]) for name, weight in weights(made).items())


@pytest.mark.parametrize("stop", [1, 3, 4, 5])
def test_stopped_at_any_step_of_any_part_it_goes_on_to_the_bit(stop, tmp_path, monkeypatch):
    whole, learn, seen = make(TWO_PARTS, tmp_path / "whole"), Training.learn, []

    def stopped(self, lessons):
        if len(seen) == stop:
            raise KeyboardInterrupt
        seen.append(self.settings.steps)
        return learn(self, lessons)

    with monkeypatch.context() as during:
        during.setattr(Training, "learn", stopped)
        if stop == 5:  # all steps were made
            make(TWO_PARTS, tmp_path / "made")
        else:
            with pytest.raises(KeyboardInterrupt):
                make(TWO_PARTS, tmp_path / "made")
    seen.clear()
    monkeypatch.setattr(Training, "learn", lambda self, lessons: (seen.append(1), learn(self, lessons))[1])
    made = make(TWO_PARTS, tmp_path / "made")
    assert len(seen) == 5 - stop
    assert all(torch.equal(weight, weights(whole)[name]) for name, weight in weights(made).items())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "whole"]


def test_a_directory_with_another_warm_start_is_left_alone(tmp_path):
    made = make(TWO_PARTS, tmp_path / "made")
    before = weights(made)
    with pytest.raises(ConfigError, match="other settings"):
        make(replace(TWO_PARTS, seed=2), made)
    assert all(torch.equal(weight, before[name]) for name, weight in weights(made).items())


def test_a_known_warm_start_lies_in_the_cache_and_is_found_by_the_models_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SESA_CACHE", str(tmp_path))
    monkeypatch.setitem(warmstart.KNOWN, "smollm2", (TWO_PARTS, ModelConfig(dtype="bfloat16")))
    with pytest.raises(ConfigError, match=r"its warm start is not in the cache .*python -m agents\.warmstart --for smollm2"):
        load_policy(start_name("smollm2"))
    for _ in range(2):  # the second time it is there
        assert main(["--for", "smollm2", "--dtype", "float32"]) == 0
        assert capsys.readouterr().out == f"{warm_start_path('smollm2')}\n"
    assert warm_start_path("smollm2").parent == tmp_path / "models"
    policy = load_policy(start_name("smollm2"))
    assert policy.style.name == "tiny"
    assert start_digest("smollm2-warm") == weights_digest(warm_start_path("smollm2"))


@pytest.mark.parametrize("more", [["--steps", "3"], ["--out", "here"], ["--style", "tags"], ["--tail-worlds", "0"]])
def test_a_known_warm_start_is_made_by_its_recipe_alone(more, capsys):
    assert main(["--for", "smollm2", *more]) == 2
    assert capsys.readouterr().err.startswith("warmstart: --for: the recipe, the prompts and the directory are known")


def test_a_known_warm_start_without_its_model_says_how_to_get_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SESA_CACHE", str(tmp_path))
    assert main(["--for", "smollm2"]) == 2
    assert "type: sesa models get smollm2" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.json"))


def test_a_model_that_can_read_has_another_recipe_and_a_warm_start_goes_on_with_its_own(tmp_path):
    assert settings_for({}) == WarmStart()
    assert settings_for({"model": "tiny", "steps": 3}) == WarmStart(steps=3)
    read = settings_for({"model": "smollm2", "steps": 3})
    assert (read.short_steps, read.read_weight, read.steps) == (0, 0.0, 3)
    earlier = WarmStart(batch=7, steps=9)
    (tmp_path / RECIPE_FILE).write_text(json.dumps(asdict(earlier)))
    assert settings_for({"model": str(tmp_path), "steps": 3}) == replace(
        earlier, model=str(tmp_path), steps=3, began_with=earlier
    )
