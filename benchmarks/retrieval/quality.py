"""How often search finds an answer: hit@1, hit@3, hit@10 and MRR of each search tool on the real benchmarks.

python -m benchmarks.retrieval.quality --data ../shared/data --index quality-index
python -m benchmarks.retrieval.quality --data ../shared/data --index quality-index --rerank cross-encoder/ms-marco-MiniLM-L6-v2

A question is asked as it stands. A passage is a hit when title or text holds a normalised answer; questions of yes or no are
left out. MRR is the mean of 1/rank of the first hit among ten, 0 where there is none. The union of all passages is searched.
Encoding them takes long on a CPU; it is kept in the index directory and goes on where it was. --passages takes an even sample.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.stats import Differences, macro_interval
from sesa_env.corpus.flashrag import Benchmarks, load_benchmarks
from sesa_env.errors import ConfigError
from sesa_env.grading import contains_answer
from sesa_env.search.base import Retriever
from sesa_env.search.bm25 import BM25Settings
from sesa_env.search.bm25_build import build_bm25
from sesa_env.search.dense import DenseSettings, build_dense
from sesa_env.search.hybrid import HybridSettings
from sesa_env.search.index_files import MANIFEST
from sesa_env.search.opening import open_corpus, open_index
from sesa_env.search.rerank import RerankSettings
from sesa_env.search.stderr_progress import StderrProgress
from sesa_env.search.store import StoredCorpus, write_corpus
from sesa_env.search.tokenise import Tokeniser
from sesa_env.types import Question

DEPTH = 10
HITS = (1, 3, 10)
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """What a search tool reaches on some questions.

    Attributes:
        hits: the share of questions with a hit among the first 1, 3 and 10.
        mrr: mean reciprocal rank of the first hit among ten.
        questions: how many were asked.
    """

    hits: tuple[float, ...]
    mrr: float
    questions: int

    @classmethod
    def of(cls, found: Floats) -> "Score":
        """Sums reciprocal ranks up."""
        return cls(tuple(float(np.mean(found >= 1 / k)) for k in HITS), float(found.mean()), len(found))


def reciprocal_ranks(retriever: Retriever, questions: Sequence[Question]) -> Floats:
    """Asks questions; returns 1/rank of each one's first hit among ten, 0 where there is none."""
    found = retriever.search([question.text for question in questions], DEPTH)
    ranks = np.zeros(len(questions))
    for number, (question, passages) in enumerate(zip(questions, found, strict=True)):
        texts = (f"{passage.title}\n{passage.text}" for passage in passages)
        hits = (rank for rank, text in enumerate(texts, 1) if contains_answer(text, question.answers))
        ranks[number] = 1 / next(hits, math.inf)
    return ranks


def askable(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions whose answers can be looked for in a text."""
    return [question for question in questions if not {answer.lower() for answer in question.answers} & {"yes", "no"}]


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds what is missing, measures, and writes Markdown; with --json also JSON."""
    options = _parser().parse_args(arguments)
    loaded = load_benchmarks(options.data, options.benchmarks)
    corpus = _corpus(options.index, loaded, options.passages)
    questions = {name: askable(asked)[: options.questions] for name, asked in loaded.questions.items()}
    ranks = {}
    for name, retriever in _tools(options, corpus):
        ranks[name] = {benchmark: reciprocal_ranks(retriever, asked) for benchmark, asked in questions.items() if asked}
        sys.stderr.write(f"{name}: done\n")
    rows = {name: {benchmark: Score.of(found) for benchmark, found in row.items()} for name, row in ranks.items()}
    sys.stdout.write(_table(len(corpus), rows) + "\n" + _differences(ranks))
    if options.json:
        plain = {name: {benchmark: vars(each) for benchmark, each in row.items()} for name, row in rows.items()}
        options.json.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="benchmarks in FlashRAG's layout")
    parser.add_argument("--index", type=Path, required=True, help="an index directory of this measurement, kept between runs")
    parser.add_argument("--benchmarks", nargs="+", help="which (all)")
    parser.add_argument("--questions", type=int, help="the first so many of each benchmark (all)")
    parser.add_argument("--passages", type=int, help="so many passages, evenly taken (all)")
    parser.add_argument(
        "--tools", nargs="+", choices=("bm25", "stemmed", "dense", "hybrid"), default=["bm25", "dense", "hybrid"]
    )
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--rerank", help="a cross-encoder, which puts the first hits of each tool in order anew")
    parser.add_argument("--depth", type=int, default=RerankSettings.depth, help="how many first hits (%(default)s)")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    return parser


def _corpus(index: Path, loaded: Benchmarks, most: int | None) -> StoredCorpus:
    step = 1 if most is None else max(1, len(loaded.passages) // most)
    if not (index / "corpus" / MANIFEST).is_file():
        write_corpus(index / "corpus", loaded.passages[::step][:most])
    corpus = open_corpus(index)
    if len(corpus) != len(loaded.passages[::step][:most]):
        raise ConfigError(f"{index} holds {len(corpus)} passages of another measurement; give another directory")
    return corpus


def _tools(options: argparse.Namespace, corpus: StoredCorpus) -> Iterator[tuple[str, Retriever]]:
    progress, rerank = StderrProgress(), None
    if options.rerank:
        rerank = RerankSettings(options.rerank, options.depth)
    if {"bm25", "hybrid"} & set(options.tools):
        build_bm25(options.index / "bm25", corpus, progress=progress)
    if {"dense", "hybrid"} & set(options.tools):
        build_dense(options.index / "dense", corpus, DenseSettings(options.encoder), progress=progress)
    if "stemmed" in options.tools:
        stemmed = BM25Settings(tokeniser=Tokeniser((), "english"))
        yield "bm25, stemmed", build_bm25(options.index / "stemmed", corpus, stemmed, progress=progress)
    for name in (name for name in ("bm25", "dense") if name in options.tools):
        yield name, open_index(options.index, name)
        if rerank:
            yield f"{name}, reranked", open_index(options.index, name, rerank=rerank)
    if "hybrid" in options.tools:
        for label, settings in _FUSIONS.items():
            yield label, open_index(options.index, "hybrid", hybrid=settings)
        if rerank:
            yield "hybrid, reranked", open_index(options.index, "hybrid", rerank=rerank)


_FUSIONS = {
    "hybrid, reciprocal ranks": HybridSettings(),
    "hybrid, weighted 1:1": HybridSettings("weighted", (1.0, 1.0)),
    "hybrid, weighted 2:1": HybridSettings("weighted", (2.0, 1.0)),
}


def _table(passages: int, rows: dict[str, dict[str, Score]]) -> str:
    names = list(next(iter(rows.values())))
    asked = sum(each.questions for each in next(iter(rows.values())).values())
    lines = [f"{passages:,} passages, {asked:,} questions; hit@1 / @3 / @10, MRR; in per cent", ""]
    lines += [f"| | {' | '.join(names)} | mean |", "|---" * (len(names) + 2) + "|"]
    for tool, row in rows.items():
        columns = [row[name] for name in names]
        mean = Score(
            tuple(sum(each.hits[place] for each in columns) / len(columns) for place in range(len(HITS))),
            sum(each.mrr for each in columns) / len(columns),
            asked,
        )
        lines.append(f"| {tool} | {' | '.join(map(_cell, [*columns, mean]))} |")
    return "\n".join(lines) + "\n"


def _differences(ranks: Mapping[str, Mapping[str, Floats]]) -> str:
    """Compares the mean reciprocal ranks of each tool with those of each before it, paired by question."""
    lines = ["Mean of the benchmarks' MRR, differences in points with paired 95 % intervals over questions:", ""]
    for (before, one), (after, other) in combinations(ranks.items(), 2):
        estimate = macro_interval({name: Differences((other[name] - one[name],), crossed=False) for name in one})
        value, low, high = (100 * number for number in (estimate.value, estimate.low, estimate.high))
        lines.append(f"- {before} to {after}: {value:+.1f} [{low:+.1f}, {high:+.1f}]")
    return "\n".join(lines) + "\n"


def _cell(each: Score) -> str:
    return f"{' / '.join(f'{100 * share:.1f}' for share in each.hits)}, {100 * each.mrr:.1f}"


if __name__ == "__main__":
    sys.exit(main())
