"""A world: a corpus with its search tool, its verifier and its pools of questions and targets, made by name."""

import hashlib
import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesa_env.corpus.flashrag import Benchmarks, load_benchmarks, load_questions
from sesa_env.corpus.seeds import load_targets, mentioned_titles
from sesa_env.errors import ConfigError
from sesa_env.search.base import Corpus, Retriever, Verifier
from sesa_env.search.bm25 import BM25Settings
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.shared import shared_bm25
from sesa_env.search.tokenise import Tokeniser
from sesa_env.types import Question, Target

if TYPE_CHECKING:
    from sesa_env.corpus.miniwiki import MiniWiki


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

    "miniwiki" is the built-in invented encyclopaedia. Its options are those of `sesa_env.corpus.miniwiki.MiniWiki`, and

    - `split` ("train"): the half of the entities, "train" or "test", that questions and targets are about;
    - `benchmark` (None): the questions are of this mixture, for example "nq"; None mixes all families;
    - `families` (None): without a benchmark, weights by family, for example {"bridge": 1.0};
    - `n_questions` (200), `n_targets` (1000), `pool_seed` (0): the pools.

    "flashrag" is a directory of real benchmarks (see `sesa_env.corpus.flashrag`), one corpus over their union. Its options are

    - `data`: the directory; must be given;
    - `benchmarks` (None): a list of names; None takes all that are found;
    - `limit` (None): the first so many questions of each benchmark;
    - `questions` (None): a file of questions, JSONL or verl parquet, to take instead of the benchmarks' own;
    - `targets` (None): a file of targets as SSP publishes them; None samples `n_targets` (1000) titles by `pool_seed` (0), none
      of which is an answer of any question read.

    Both take `k1`, `b` and `stop_words` for BM25, and `index_dir`, a directory that keeps indices between processes.

    Args:
        corpus: the world's name.
        options: JSON values.

    Returns:
        The world, to be treated as read-only.

    Raises:
        ConfigError: an unknown name or option, a missing directory, malformed files.
        StoreError: a damaged index in `index_dir`.
    """
    factory = _FACTORIES.get(corpus)
    if factory is None:
        raise ConfigError(f"the corpus must be one of {', '.join(sorted(_FACTORIES))}; came {corpus!r}; type corpus='miniwiki'")
    known = _options(factory)
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ConfigError(f"corpus {corpus!r} has no option {', '.join(map(repr, unknown))}; it has {', '.join(sorted(known))}")
    key = _key(corpus, {name: default for name, default in known.items() if default is not inspect.Parameter.empty} | options)
    with _lock:
        if key not in _made:
            _made[key] = factory(**options)
        return _made[key]


def _key(corpus: str, options: dict[str, Any]) -> str:
    try:
        return json.dumps([corpus, options], sort_keys=True)
    except TypeError as error:
        raise ConfigError(f"the options of a world must be JSON values (names, numbers, lists); {error}") from error


def _options(factory: Callable[..., World]) -> dict[str, Any]:
    """Returns the options of a world with their defaults."""
    parameters = dict(inspect.signature(factory).parameters)
    if parameters.pop("wiki", None) is not None:
        from sesa_env.corpus.miniwiki import MiniWiki

        parameters |= inspect.signature(MiniWiki).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def _settings(k1: float | None, b: float | None, stop_words: Sequence[str]) -> BM25Settings:
    given = {name: value for name, value in (("k1", k1), ("b", b)) if value is not None}
    return BM25Settings(**given, tokeniser=Tokeniser(tuple(stop_words)))


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
def _wiki(options: str) -> tuple["MiniWiki", ListCorpus]:
    """Makes a MiniWiki and its corpus once for all worlds on it; `options` is JSON."""
    from sesa_env.corpus.miniwiki import MiniWiki

    wiki = MiniWiki(**json.loads(options))
    return wiki, ListCorpus(wiki.passages())


def _miniwiki(
    split: str = "train",
    benchmark: str | None = None,
    families: Mapping[str, float] | None = None,
    n_questions: int = 200,
    n_targets: int = 1000,
    pool_seed: int = 0,
    k1: float | None = None,
    b: float | None = None,
    stop_words: Sequence[str] = (),
    index_dir: str | None = None,
    **wiki: Any,
) -> World:
    graph, corpus = _wiki(json.dumps(wiki, sort_keys=True))
    if benchmark is not None and families is not None:
        raise ConfigError(f"give benchmark or families, not both; came benchmark={benchmark!r}, families={families!r}")
    if benchmark is not None:
        questions = graph.benchmark(benchmark, n_questions, split=split, seed=pool_seed)
    else:
        questions = graph.questions(n_questions, split=split, families=families, seed=pool_seed)
    targets = graph.targets(n_targets, split=split, seed=pool_seed)
    retriever = shared_bm25(corpus, _settings(k1, b, stop_words), index_dir)
    return _assemble("miniwiki", corpus, retriever, graph, (questions, targets), graph)


@lru_cache(maxsize=4)
def _benchmarks(data: Path, names: tuple[str, ...] | None) -> tuple[Benchmarks, ListCorpus]:
    """Reads benchmarks once for all worlds on them."""
    loaded = load_benchmarks(data, names)
    return loaded, ListCorpus(loaded.passages)


def _flashrag(
    data: str | None = None,
    benchmarks: Sequence[str] | None = None,
    limit: int | None = None,
    questions: str | None = None,
    targets: str | None = None,
    n_targets: int = 1000,
    pool_seed: int = 0,
    k1: float | None = None,
    b: float | None = None,
    stop_words: Sequence[str] = (),
    index_dir: str | None = None,
) -> World:
    from sesa_env.players.reader import ScriptedReader

    if data is None:
        raise ConfigError("corpus 'flashrag' needs data=DIR, a directory that holds NAME/test.jsonl and NAME/corpus.jsonl.gz")
    if limit is not None and limit < 1:
        raise ConfigError(f"limit must be at least 1 question a benchmark, or None for all; came {limit!r}")
    if isinstance(benchmarks, str):
        raise ConfigError(f"benchmarks must be a list of names; came the string {benchmarks!r}; write [{benchmarks!r}]")
    loaded, corpus = _benchmarks(Path(data).absolute(), None if benchmarks is None else tuple(benchmarks))
    read = [question for of_one in loaded.questions.values() for question in of_one]
    asked = [question for of_one in loaded.questions.values() for question in of_one[:limit]]
    if questions is not None:
        asked = list(load_questions(questions)[:limit])
    seeds = _seeds(corpus, [*read, *asked], targets, n_targets, pool_seed)
    retriever = shared_bm25(corpus, _settings(k1, b, stop_words), index_dir)
    return _assemble("flashrag", corpus, retriever, ScriptedReader(), (asked, seeds))


def _seeds(corpus: Corpus, read: Sequence[Question], path: str | None, n: int, seed: int) -> tuple[Target, ...]:
    """Returns the targets; no benchmark answer may seed training, so the answers of all questions that were read are barred."""
    if path is not None:
        return load_targets(path)
    return mentioned_titles(corpus, n, seed, forbidden=[answer for question in read for answer in question.answers])


_FACTORIES: dict[str, Callable[..., World]] = {"miniwiki": _miniwiki, "flashrag": _flashrag}
