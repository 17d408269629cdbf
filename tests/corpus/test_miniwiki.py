"""The world: its size, its facts on its pages, its splits, and that it is the same everywhere."""

import hashlib
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from sesa_env.corpus.miniwiki import BENCHMARKS, MiniWiki
from sesa_env.errors import ConfigError
from sesa_env.types import Passage
from tests.corpus.miniwiki_oracle import Oracle

GOLDEN = "7866f5dcffb5e89a662038bcfef04319735fdca37fb08d740ec9541733dd8706"
WORLDS = [
    {},
    {"size": 300},
    {"size": 1001, "relations": 16, "phrasings": 1},
    {"size": 2000, "relations": 81, "phrasings": 2},
    {"size": 900, "relations": 512, "phrasings": 3, "aliases": 1.0},
    {"size": 700, "decoys": 0.37, "distance": 0.55, "aliases": 0.0},
    {"size": 800, "distance": 0.0},
]


def digest(world: MiniWiki) -> str:
    """A digest of all that a world gives."""
    parts = [f"{p.id}|{p.title}|{p.text}" for p in world.passages()]
    parts += [repr(q) for name in BENCHMARKS for q in world.benchmark(name, 20)]
    targets = world.targets(30)
    parts += [repr(t) for t in targets] + [repr(world.pose(t, seed)) for t in targets for seed in range(2)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@pytest.fixture(scope="module", params=WORLDS, ids=str)
def oracle(request) -> tuple[MiniWiki, Oracle]:
    world = MiniWiki(seed=5, **request.param)
    return world, Oracle(world)


def test_a_world_has_exactly_its_size_and_every_id_once(oracle):
    world, read = oracle
    assert len(world) == len(read.passages) == len({p.id for p in read.passages})


def test_every_fact_is_stated_once_on_the_page_that_is_its_evidence(oracle):
    world, read = oracle
    facts = [fact for node in world.graph.entities() for fact in world.graph.facts(node)]
    assert read.statements == len(facts) == len(read.facts)
    for subject, relation, target in facts:
        key = world.graph.label(subject).lower(), relation.index
        assert read.facts[key] == world.graph.label(target).lower()
        assert read.source[key] == world.layout.evidence(subject, relation)


def test_pages_are_short_and_plain(oracle):
    _, read = oracle
    entity_pages = [p for p in read.passages if not p.id.startswith("list-")]
    words = [len(p.text.split()) for p in entity_pages]
    assert min(words) >= 12
    assert max(words) <= 120
    assert all(p.title in p.text and '"' not in p.title and p.text.isprintable() for p in entity_pages)


def test_names_are_unique_and_no_name_begins_another(oracle):
    world, _ = oracle
    graph = world.graph
    names = [n for node in graph.entities() for n in (graph.label(node), graph.names.nickname(*node)) if n]
    lowered = sorted(tuple(name.lower().split()) for name in names)
    assert len(set(lowered)) == len(lowered)
    assert all(later[: len(name)] != name for name, later in pairwise(lowered))


def test_facts_stay_within_a_split_and_the_splits_share_no_name():
    world = MiniWiki(size=2000, aliases=1.0)
    seen: list[set[str]] = []
    for split in ("train", "test"):
        questions = [q for name in BENCHMARKS for q in world.benchmark(name, 150, split=split)]
        questions += [q for t in world.targets(60, split=split) if (q := world.pose(t, 0))]
        seen.append({name for q in questions for name in q.entities if name[0].isalpha()})
    assert len(seen[0]) > 200
    assert len(seen[1]) > 200
    assert seen[0].isdisjoint(seen[1])


def test_all_kinds_and_relations_are_there():
    world = MiniWiki(size=3000, relations=40)
    assert len({r.subject for r in world.schema.relations}) >= 8
    assert {"date", "year", "number", "person", "city"} <= {r.object for r in world.schema.relations}
    assert all(world.graph.subject_count(relation) > 3 for relation in world.schema.relations)


def test_far_facts_have_a_decoy_that_repeats_the_question_words_with_a_wrong_object():
    world = MiniWiki(seed=2)
    pages: dict[str, list[str]] = {}
    for passage in world.passages():
        pages.setdefault(passage.title, []).append(passage.text)
    for node in world.graph.entities():
        for subject, relation, target in world.graph.facts(node):
            name = world.graph.label(subject)
            lines = [text for text in pages[name] if f"{' or '.join(relation.nouns)} of {name}" in text]
            assert bool(lines) == relation.far
            assert all(world.graph.label(target) not in _sentence(text, relation.nouns[0]) for text in lines)


def _sentence(text: str, noun: str) -> str:
    return next(part for part in text.split(". ") if f" {noun} or " in part)


def test_near_namesakes_share_a_word():
    world = MiniWiki()
    persons = [p.title for p in world.passages() if p.id.startswith("person-") and p.id.endswith("-0")]
    surnames = Counter(name.split()[1] for name in persons)
    assert sum(count for count in surnames.values() if count > 1) > len(persons) / 2
    assert sum("(namesakes)" in p.title for p in world.passages()) >= 10


def test_another_seed_gives_another_world_and_the_same_seed_the_same():
    assert digest(MiniWiki(seed=1, size=300)) == digest(MiniWiki(seed=1, size=300)) != digest(MiniWiki(seed=2, size=300))
    assert MiniWiki(seed=1).fingerprint == MiniWiki(seed=1).fingerprint != MiniWiki(seed=2).fingerprint
    assert MiniWiki(distance=0.5).fingerprint != MiniWiki().fingerprint


def test_the_world_is_the_committed_one():
    """A change of this digest is a new version of the built-in corpus: raise `world.VERSION` and tell it in the changelog."""
    assert digest(MiniWiki(seed=7, size=300)) == GOLDEN


@pytest.mark.parametrize("hash_seed", ["0", "1234"])
def test_the_world_does_not_depend_on_the_hash_seed(hash_seed):
    code = (
        "import sys; sys.path.insert(0, '.'); from tests.corpus.test_miniwiki import digest, MiniWiki;"
        "sys.stdout.write(digest(MiniWiki(seed=7, size=300)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True, check=True)
    assert result.stdout == GOLDEN


def test_reading_a_world_does_not_change_it():
    world = MiniWiki(size=300)
    before = digest(world)
    world.questions(50, seed=9)
    world.verify("What is the capital of Nowhere?")
    assert digest(world) == before


def test_passages_are_streamed():
    world = MiniWiki(size=10_000)
    tracemalloc.start()
    try:
        lengths = sum(len(passage.text) for passage in world.passages())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lengths > 10_000 * 150
    assert peak < lengths / 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 299},
        {"size": 500.0},
        {"size": "500"},
        {"seed": 0.5},
        {"seed": True},
        {"relations": 15},
        {"relations": 513},
        {"phrasings": 0},
        {"phrasings": 7},
        {"sentences": 0},
        {"sentences": 3},
        {"sentences": 1.0},
        {"zipf": -1},
        {"zipf": float("nan")},
        {"zipf": "0.7"},
        {"aliases": True},
        {"distance": 1.1},
        {"aliases": -0.1},
        {"decoys": 2},
    ],
)
def test_a_bad_argument_is_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        MiniWiki(**wrong)


def test_passages_are_plain_data():
    assert all(type(p) is Passage and type(p.text) is str for p in MiniWiki(size=300).passages())
