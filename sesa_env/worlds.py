"""A world: a corpus with its search tool, its verifier and its pools of questions and targets, made by name."""

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sesa_env.corpus.flashrag import Benchmarks, answers_of_all, load_benchmarks, load_questions
from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.corpus.seeds import load_targets, mentioned_titles
from sesa_env.errors import ConfigError
from sesa_env.plain import build
from sesa_env.search.base import Corpus, Retriever, Verifier
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.opening import open_corpus
from sesa_env.types import Question, Target
from sesa_env.world_options import FlashragOptions, MiniWikiOptions


@dataclass(frozen=True)
class World:
    """All that a game is played on. Read-only, shared by every environment of one process.

    Attributes:
        name: the name it was made by, for example "miniwiki".
        fingerprint: a digest of the corpus, the retriever's settings and the pools.
        corpus: the passages.
        retriever: the search tool over them.
        verifier: answers questions from documents (RAG verification).
        questions: ready questions for the Solver.
        targets: seeds for the Challenger; may be empty.
        graph: what a scripted Challenger may walk on: the `MiniWiki`; None where there is none.
    """

    name: str
    fingerprint: str
    corpus: Corpus
    retriever: Retriever
    verifier: Verifier
    questions: Sequence[Question]
    targets: Sequence[Target]
    graph: Any = None


_lock = threading.RLock()
_made: dict[str, World] = {}


def make_world(corpus: str = "miniwiki", **options: Any) -> World:
    """Makes a world by name, once a process: the same arguments give the same object.

    Args:
        corpus: "miniwiki", the built-in invented encyclopaedia, or "flashrag", a directory of real benchmarks.
        options: JSON values: the fields of `sesa_env.world_options.MiniWikiOptions` or `FlashragOptions`.

    Returns:
        The world, to be treated as read-only.

    Raises:
        ConfigError: an unknown name or option, an option of another type or out of range, a missing directory, malformed files.
        StoreError: a damaged index in `index_dir`.
    """
    names = sorted(_WORLDS)
    if corpus not in names:
        raise ConfigError(f"the corpus must be one of {', '.join(names)}; came {corpus!r}; type corpus='miniwiki'")
    kind, factory = _WORLDS[corpus]
    given = build(kind, options, f"make_world({corpus!r})")
    key = _key(corpus, asdict(given))
    with _lock:
        if key not in _made:
            _made[key] = factory(given)
        return _made[key]


def _key(corpus: str, options: dict[str, Any]) -> str:
    try:
        return json.dumps([corpus, options], sort_keys=True)
    except TypeError as error:
        raise ConfigError(f"the options of a world must be JSON values (names, numbers, lists); {error}") from error


def _assemble(
    name: str,
    corpus: Corpus,
    retriever: Retriever,
    verifier: Verifier,
    pools: tuple[Sequence[Question], Sequence[Target]],
    graph: Any = None,
) -> World:
    questions, targets = tuple(pools[0]), tuple(pools[1])
    digest = hashlib.sha256(json.dumps([name, corpus.fingerprint, retriever.fingerprint]).encode())
    pool: list[dict[str, Any]] = [asdict(question) for question in questions] + [asdict(target) for target in targets]
    for item in pool:
        digest.update(json.dumps(item, sort_keys=True).encode())
    return World(name, digest.hexdigest(), corpus, retriever, verifier, questions, targets, graph)


@lru_cache(maxsize=8)
def _wiki(arguments: str) -> tuple[MiniWiki, ListCorpus]:
    """Makes a MiniWiki and its corpus once for all worlds on it; `arguments` is JSON."""
    wiki = MiniWiki(**json.loads(arguments))
    return wiki, ListCorpus(wiki.passages())


def _miniwiki(options: MiniWikiOptions) -> World:
    graph, corpus = _wiki(json.dumps(options.wiki()))
    pool: dict[str, Any] = {"n": options.n_questions, "split": options.split, "seed": options.pool_seed}
    if options.benchmark is not None:
        questions = graph.benchmark(options.benchmark, **pool)
    else:
        questions = graph.questions(families=options.families, **pool)
    targets = graph.targets(options.n_targets, split=options.split, seed=options.pool_seed)
    return _assemble("miniwiki", corpus, options.open(corpus), graph, (questions, targets), graph)


@lru_cache(maxsize=4)
def _benchmarks(data: Path, names: tuple[str, ...] | None, need_corpus: bool) -> tuple[Benchmarks, ListCorpus]:
    """Reads benchmarks once for all worlds on them."""
    loaded = load_benchmarks(data, names, need_corpus)
    return loaded, ListCorpus(loaded.passages)


def _flashrag(options: FlashragOptions) -> World:
    from sesa_env.players.reader import ScriptedReader

    elsewhere = options.remote is not None or options.index is not None
    loaded, own = _benchmarks(Path(options.data).absolute(), options.benchmarks, not elsewhere)
    corpus = own if options.index is None else open_corpus(options.index)
    asked = [question for of_one in loaded.questions.values() for question in of_one[: options.limit]]
    if options.questions is not None:
        asked = list(load_questions(options.questions)[: options.limit])
    targets = _targets(options, corpus, asked)
    return _assemble("flashrag", corpus, options.open(corpus), ScriptedReader(), (asked, targets))


def _targets(options: FlashragOptions, corpus: Corpus, asked: Sequence[Question]) -> tuple[Target, ...]:
    """Returns the targets, none of them an answer of a question asked or of any benchmark in the directory, loaded or not."""
    if options.targets is None and not options.n_targets:
        return ()
    barred = {*answers_of_all(options.data), *(answer for question in asked for answer in question.answers)}
    if options.targets is not None:
        return load_targets(options.targets, barred)
    return mentioned_titles(corpus, options.n_targets, options.pool_seed, barred)


_WORLDS: dict[str, tuple[type[Any], Callable[[Any], World]]] = {
    "miniwiki": (MiniWikiOptions, _miniwiki),
    "flashrag": (FlashragOptions, _flashrag),
}
