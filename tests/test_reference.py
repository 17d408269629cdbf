"""The reference is complete: every module that a user imports from is in it, and only the insides are not."""

import re

from tests.conftest import ROOT

INSIDE = {  # what the modules in the reference are made of, and commands, which `sesa --help` tells of
    "check_cli", "cli", "integrations.stops", "json_option", "models", "output", "sentence_models",
    "corpus.compressed", "corpus.fields", "corpus.jsonl", "corpus.parquet", "corpus.problems",
    "memory.admission", "memory.change", "memory.cli", "memory.door", "memory.events", "memory.file", "memory.leaks",
    "memory.markdown", "memory.pending", "memory.record", "memory.recorded", "memory.routes", "memory.shelf",
    "memory.store", "memory.telling", "memory.utility", "memory.vectors", "memory.whole",
    "players.asking", "players.blank", "players.cloze", "players.compare", "players.decisions", "players.following",
    "players.spans", "terminal.cli", "terminal.hints",
    "search.answers_file", "search.bm25_files", "search.building", "search.counts", "search.index_cli",
    "search.index_files", "search.postings", "search.progress", "search.pruning", "search.ranking", "search.shared",
    "search.stderr_progress", "search.torch_flat", "search.vectors", "search.vocabulary", "search.server.batching",
    "search.server.cli", "search.server.failures", "search.server.guard", "search.server.metrics",
    "search.server.schema",
}  # fmt: skip
PAGES = [path for path in (ROOT / "docs").rglob("*.md") if "reference" in path.parts or "faces" in path.parts]


def modules() -> set[str]:
    """Every module of the package by its dotted name below `sesa_env`, packages that hold nothing left out."""
    files = [path for path in (ROOT / "sesa_env").rglob("*.py") if path.name != "__init__.py"]
    return {".".join(path.relative_to(ROOT / "sesa_env").with_suffix("").parts) for path in files}


def test_every_module_is_in_the_reference_or_known_to_be_inside():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    told = set(re.findall(r"^::: sesa_env\.([\w.]+)", text, re.MULTILINE))
    packages = {module.rpartition(".")[0] for module in modules()}
    assert not sorted(told - modules() - packages)
    covered = {module for module in modules() if module in told or module.rpartition(".")[0] in told}
    assert sorted(modules() - covered - INSIDE) == []
    assert sorted(INSIDE - modules()) == []
