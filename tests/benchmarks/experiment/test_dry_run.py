"""The dry run: nothing is written, what is missing is told, and the cost is arithmetic that can be checked."""

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from agents.selfplay.arms import merged
from benchmarks.experiment.amount import amount_of
from benchmarks.experiment.design import EXPERIMENTS, experiment_of, training_config
from benchmarks.experiment.dry_run import cost, dry_run, parameters
from sesa_env.errors import ConfigError


def test_the_quick_experiment_has_all_it_needs():
    told = "\n".join(dry_run(EXPERIMENTS["quick"]))
    assert "MISSING" not in told
    assert "model tiny: here" in told
    assert "MiB for two policies" in told
    assert told.count("enough for that") == 1
    assert "updates; a CPU core makes one in about a second" in told


def test_what_is_missing_is_told():
    told = "\n".join(dry_run(experiment_of("paper", "somebody/Model-4B", "no/such/directory")))
    assert "world flashrag: MISSING:" in told
    assert "model somebody/Model-4B: not on this machine" in told


def test_a_packaged_model_is_trained_from_its_warm_start_with_its_own_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("SESA_CACHE", str(tmp_path))
    experiment = experiment_of("quick", "smollm2")
    told = list(dry_run(experiment))
    assert any(line.startswith("  model smollm2-warm: MISSING: smollm2 does not know the game's protocol") for line in told)
    assert told[-1] == "  not known: the model's size is neither here nor in its name"
    for cell in experiment.cells():
        made = training_config(cell)
        assert (made.model, made.rules.group_size, made.questions.hops) == ("smollm2-warm", 4, (1, 0, 0))


def test_memory_is_compared_with_what_is_there(monkeypatch):
    monkeypatch.setattr("benchmarks.experiment.dry_run.memory_here", lambda: ("small GPU", 24.0 * 1024**3))
    told = "\n".join(dry_run(experiment_of("paper", "somebody/Model-4B", "no/such/directory")))
    assert "memory here: 24.0 GiB (small GPU): NOT ENOUGH on one device" in told


MODEL = "openai:somebody@http://localhost:1/v1"
TARGETS = {"world_options": {"targets": "FILE"}}
INDEX = {"world_options": {"index": "FOLDER"}}
OWN = "the benchmarks' own passages are searched"


@pytest.mark.parametrize(
    ("settings", "judge", "missing"),
    [
        ([], "", ["targets", OWN, "the teacher hindsight", "nobody judges in training", "nobody judges evaluations"]),
        (
            [TARGETS, {"judge": MODEL}],
            "",
            [OWN, "the teacher hindsight", "nobody judges evaluations"],
        ),
        ([TARGETS, {"judge": MODEL}, {"skills": {"teacher": MODEL}}, INDEX], MODEL, []),
    ],
)
def test_what_is_not_the_papers_is_told(settings, judge, missing):
    pytest.importorskip("openai")
    told = list(dry_run(experiment_of("paper", "somebody/Model-4B", "no/such/directory", 1, settings, judge)))
    said = [line.removeprefix("  NOT THE PAPER'S: ") for line in told if "NOT THE PAPER'S" in line]
    assert len(said) == len(missing)
    assert all(line.startswith(what) for line, what in zip(said, missing, strict=True))
    answering = [line.split(" openai")[0].strip() for line in told if "must answer when the run begins" in line]
    assert answering == [name for name, given in (("teacher", MODEL in str(settings[2:])), ("judge", bool(settings)),
                                                  ("judge", bool(judge))) if given]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "  teacher hindsight: here; no language model"),
        ({"teacher": "deepseek"}, "  teacher deepseek: MISSING: expected hindsight, module:factory, openai:MODEL@URL"),
        ({"teacher": "no.such.module:make"}, "  teacher no.such.module:make: MISSING"),
        ({"teacher": "model:tiny"}, "  teacher model:tiny: here"),
        ({"teacher": "openai:m@https://example.com/v1"}, "  teacher openai:m@https://example.com/v1: MISSING:"),
        ({"embedder": "somebody/e5"}, "  embedder somebody/e5: not on this machine: it will be fetched from the hub"),
        ({"embedder": "no/such/name"}, "  embedder no/such/name: MISSING"),
    ],
)
def test_who_embeds_and_who_teaches_is_looked_for(settings, line, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytest.importorskip("sentence_transformers")
    told = list(dry_run(experiment_of("smoke", settings=[{"skills": settings}] if settings else [])))
    assert any(one.startswith(line) for one in told), told


def test_ways_out_are_told_where_memory_is_short_and_only_such_as_help(monkeypatch):
    def ways(there, **policy):
        monkeypatch.setattr("benchmarks.experiment.dry_run.memory_here", lambda: ("GPU", there * 1024.0**3))
        made = experiment_of("paper", "somebody/Model-4B", "DIR", 1, [{"policy": policy}] if policy else [])
        return [line.strip() for line in dry_run(made) if "way out" in line or "smaller --model" in line]

    lora = "a way out: --set 'policy.lora={\"rank\": 16}'"
    assert ways(200) == []
    assert ways(24) == [f"{lora}: 14.9 GiB without the adapters, enough"]
    assert ways(20, dtype="float32") == [
        f"{lora}: 29.8 GiB without the adapters, still not enough",
        f"{lora} --set policy.dtype=mixed: 14.9 GiB without the adapters, enough",
    ]
    assert ways(20, dtype="float32", lora={"rank": 4}) == [
        "a way out: --set policy.dtype=mixed: 14.9 GiB without the adapters, enough"
    ]
    (only,) = ways(4, dtype="mixed", lora={"rank": 4})
    assert only.startswith("a smaller --model is needed")


def test_all_that_is_run_is_counted():
    """By hand: 150 trainings, in six worlds ten of 400 updates, in three 24 of 200; four continuations of 50 a world."""
    amount = amount_of(EXPERIMENTS["small"])
    assert (amount.updates, amount.continued) == (6 * 10 * 400 + 3 * 24 * 200, 6 * 4 * 50) == (38_400, 1_200)
    told = "\n".join(amount.told())
    assert "38,400 of 150 trainings and 1,200 of 24 continuations" in told
    assert told.splitlines()[0].endswith("(coupling): 39,600")
    assert "those of ssp-tokens: 6 of the trainings go on, 5 updates at a time" in told
    main = amount.evaluations["main-sesa-s40"]
    assert (main.count, main.answers) == (3 + 2, 700 * (2 * 5 + 6))
    assert amount.evaluations["main-ssp-s40"].answers == 700 * (3 + 2 + 1)


def test_the_plan_comes_first_and_what_takes_long_is_named_before(monkeypatch):
    made = []

    def make(name, **options):
        made.append(name)
        raise ConfigError("none")

    monkeypatch.setattr("benchmarks.experiment.dry_run.make_world", make)
    lines = dry_run(EXPERIMENTS["quick"])
    plan = [next(lines) for _ in range(3)]
    assert [line.split()[0] for line in plan] == ["Experiment", "main:", "What"]
    assert next(lines) == "  world miniwiki: looking for it"
    assert made == []
    assert next(lines) == "  world miniwiki: MISSING: none"
    assert next(lines) == "  model tiny: looking for it"


def test_worlds_are_named_by_what_tells_them_apart(monkeypatch):
    def make(name, **options):
        raise ConfigError("none")

    monkeypatch.setattr("benchmarks.experiment.dry_run.make_world", make)
    missing = [line for line in dry_run(experiment_of("small", seeds=2)) if line.endswith("MISSING: none")]
    told = [line.split("world miniwiki, ")[1].removesuffix(": MISSING: none") for line in missing]
    assert told == [f"relations {size}, seed {seed}" for size in (108, 48, 68, 158) for seed in (40, 41)]


def test_the_papers_arms_without_ready_questions_are_left_to_miniwiki():
    (with_data,), (without,) = experiment_of("paper", data="DIR").studies, experiment_of("paper").studies
    assert set(without.arms) - set(with_data.arms) == {"skillrl", "oracle"}


def test_memory_and_hours_by_hand():
    """Two trained policies in bfloat16 with a KL: 2 + 16 + 2 bytes a parameter each."""
    cell = next(cell for cell in experiment_of("paper", "somebody/Model-4B", "DIR").cells() if cell.arm == "ssp")
    found = cost(cell)
    assert found.parameters == 4e9
    assert found.memory == 2 * 4e9 * 20
    tokens = 150 * 256 * (5 + 1) * 12_288
    assert found.hours == pytest.approx(tokens * 4e9 * (2 / 0.05 + 8 / 0.35) / 989e12 / 3600)
    bootstrap = cost(replace(cell, config=merged(cell.config, {"skills": {"enabled": True}}))).hours - found.hours
    assert bootstrap == pytest.approx(1024 * (1 + 5) * 12_288 * 4e9 * 2 / 0.05 / 989e12 / 3600)


def test_parameters_are_counted_or_read_off_the_name():
    assert 0.4e6 < parameters("tiny") < 0.9e6
    assert parameters("Qwen/Qwen2.5-7B-Instruct") == 7e9


def test_an_unknown_preset_is_told():
    with pytest.raises(ConfigError, match="smoke, quick, three-worlds, paper, small"):
        experiment_of("huge")
