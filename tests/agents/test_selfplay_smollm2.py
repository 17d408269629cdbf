"""Self-play with SmolLM2, a real language model as it comes: the loop plays, learns, saves, and goes on."""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from safetensors.torch import load_file

from agents.pretrained import warm_start_path
from agents.selfplay.__main__ import main as selfplay
from agents.selfplay.__main__ import train
from agents.selfplay.metrics import read_metrics, reproducible
from agents.selfplay.presets import configure
from agents.warmstart import KNOWN
from agents.warmstart import main as warmstart
from agents.weights import weights_digest
from sesa_env.models import cache_folder, model_path

pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(not (cache_folder() / "models").is_dir(), reason="no model in the cache; type: sesa models get smollm2"),
]
# Whoever is wrong is told apart by its malformed turns and by entropy: a raw model is hardly ever right, and must learn here.
TINY_UPDATES = {
    "world_options": {"size": 600, "n_targets": 12},
    "rules": {"group_size": 2, "max_turns": 2, "challenger_max_turns": 2},
    "questions": {"per_update": 2, "proposals": 1},
    "policy": {"style": "tiny", "lora": {"rank": 4}},  # in full, three checkpoints are six gigabytes
    "solver": {"learner": {"entropy": 0.01}, "sampling": {"turn_tokens": 12, "tokens": 400}},
    "challenger": {"sampling": {"turn_tokens": 12, "tokens": 400}},
    "skills": {"bootstrap": 0},
    "checkpoint_every": 1,
    "tensorboard": False,
}


def config(updates):
    raw = str(model_path("smollm2"))
    return configure("quick", "sesa", model=raw, updates=updates, seed=1000, settings=[TINY_UPDATES])


def test_the_loop_runs_learns_saves_and_goes_on(tmp_path):
    out = train(config(1), tmp_path / "run", show=False)
    (first,) = read_metrics(out)
    assert (first["questions"], first["rollouts"], first["proposed"]) == (2, 4, 2)
    assert (first["valid"], first["ready"]) == (0, 2)  # the raw model poses nothing valid: ready questions stand in
    assert first["solver_tokens_sampled"] > 0 < first["challenger_tokens_sampled"]
    assert first["solver_steps"] == 1
    assert 0 < first["solver_entropy"] < 11
    assert moved(out, 0, 1)
    train(config(2), out, resume=True, show=False)
    rows = read_metrics(out)
    assert [row["step"] for row in rows] == [0, 1]
    assert reproducible(rows[0]) == reproducible(first)
    assert rows[1]["solver_steps"] == 1
    assert moved(out, 1, 2)
    # The final directory is a plain model, what was learnt merged in.
    start, saved = (load_file(folder / "model.safetensors") for folder in (model_path("smollm2"), out / "solver"))
    assert saved.keys() == start.keys()
    changed = {name.split(".")[-2] for name, weight in saved.items() if not torch.equal(weight, start[name])}
    assert changed >= {"q_proj", "v_proj"}


def test_the_models_name_trains_from_its_warm_start(tmp_path, monkeypatch):
    raw = model_path("smollm2")
    monkeypatch.setenv("SESA_CACHE", str(tmp_path / "cache"))
    there = tmp_path / "cache" / "models" / raw.name
    there.parent.mkdir(parents=True)
    there.symlink_to(raw, target_is_directory=True)
    options = ["--preset", "quick", "--model", "smollm2", "--updates", "1", "--out", str(tmp_path / "run")]
    for name, value in {**TINY_UPDATES, "skills": {"bootstrap": 2}}.items():
        for field, one in value.items() if isinstance(value, dict) else [("", value)]:
            options += ["--set", f"{name}.{field}".rstrip(".") + f"={json.dumps(one)}"]
    assert selfplay(options) == 2  # no warm start yet
    assert not (tmp_path / "run").exists()
    settings, loading = KNOWN["smollm2"]
    short = {"steps": 1, "short_steps": 1, "demonstrations": 24, "batch": 2}
    brief = replace(settings, began_with=replace(settings.began_with, **short), **short)
    monkeypatch.setitem(KNOWN, "smollm2", (brief, loading))
    assert warmstart(["--for", "smollm2"]) == 0
    assert selfplay(options) == 0
    (row,) = read_metrics(tmp_path / "run")
    assert row["rollouts"] == 4
    start = json.loads((tmp_path / "run" / "start.json").read_text())
    assert start == {"model": "smollm2-warm", "weights": weights_digest(warm_start_path("smollm2"))}
    assert start["weights"] != weights_digest(raw)


def solver_at(out, updates):
    """What of the Solver is trained, in a checkpoint."""
    return load_file(out / "checkpoints" / f"{updates:06d}" / "solver.safetensors")


def moved(out, before, after):
    one, other = solver_at(out, before), solver_at(out, after)
    return any(not torch.equal(weight, other[name]) for name, weight in one.items())
