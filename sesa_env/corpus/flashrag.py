"""Benchmarks in the layout of FlashRAG and Search-R1: JSONL files of questions and passages, plain or compressed.

```
DIR/<benchmark>/test.jsonl[.gz]    {"id", "question", "golden_answers": [str, ...], "metadata": {...}}; no metadata is fine
DIR/<benchmark>/test.parquet       or the same questions as verl parquet (see `sesa_env.corpus.parquet`)
DIR/<benchmark>/corpus.jsonl[.gz]  {"id", "contents"}: the quoted title, a newline, the text; or {"id", "title", "text"}
DIR/corpus.jsonl[.gz]              or one corpus for all benchmarks
```

Each may be `.zst` in place of `.gz`.

Ids get the benchmark's name in front, "nq/test_74", since the originals collide; ids of a common corpus stay as they are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesa_env.corpus import fields
from sesa_env.corpus.jsonl import read_objects
from sesa_env.corpus.parquet import read_rows
from sesa_env.corpus.problems import Malformed, Problems, require_file
from sesa_env.errors import ConfigError
from sesa_env.types import Passage, Question

PAPER_ORDER = ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")
"""The seven benchmarks in the order of the paper's tables (section 6); others follow by name."""

_QUESTION_FILES = ("test.jsonl", "test.jsonl.gz", "test.jsonl.zst", "test.parquet")
_CORPUS_FILES = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst")


@dataclass(frozen=True)
class Benchmarks:
    """Everything read from a directory.

    Attributes:
        questions: the questions of each benchmark in file order; evidence ids are ids of `passages`.
        passages: the union of the corpora, passages with equal title and text once, in the order of the benchmarks.
    """

    questions: dict[str, tuple[Question, ...]]
    passages: tuple[Passage, ...]


def find_benchmarks(directory: str | Path) -> tuple[str, ...]:
    """Names the benchmarks of a directory, in the paper's order.

    Raises:
        ConfigError: there is no such directory, or no benchmark in it.
    """
    root = Path(directory)
    if not root.is_dir():
        raise ConfigError(
            f"expected a directory of benchmarks; there is no directory {root}; give one that holds NAME/test.jsonl"
        )
    found = [child.name for child in root.iterdir() if child.is_dir() and _first(child, _QUESTION_FILES)]
    if not found:
        held = ", ".join(sorted(child.name for child in root.iterdir())[:10]) or "nothing"
        raise ConfigError(f"expected benchmarks as NAME/test.jsonl[.gz] or NAME/test.parquet in {root}; it holds {held}")
    rank = {name: place for place, name in enumerate(PAPER_ORDER)}
    return tuple(sorted(found, key=lambda name: (rank.get(name, len(rank)), name)))


def load_benchmarks(directory: str | Path, benchmarks: Iterable[str] | None = None, need_corpus: bool = True) -> Benchmarks:
    """Reads and validates questions and passages.

    Args:
        directory: the directory, laid out as this module says.
        benchmarks: which to read, in which order; None reads all.
        need_corpus: whether a benchmark without passages is a fault; where searches go to a server it is none.

    Raises:
        ConfigError: a benchmark is missing, or files are malformed: the first problems are named by file and line.
    """
    names = _chosen(Path(directory), benchmarks)
    problems = Problems()
    union = _Union(problems)
    common = _first(Path(directory), _CORPUS_FILES)
    if common:
        union.read(common, "")
    without = common is not None or not need_corpus
    questions = {name: _read_benchmark(Path(directory) / name, union, without, problems) for name in names}
    problems.stop()
    return Benchmarks(questions, tuple(union.passages))


def answers_of_all(directory: str | Path) -> tuple[str, ...]:
    """Returns the answers of every benchmark in a directory; the corpora are not read.

    Raises:
        ConfigError: there is no benchmark, or files are malformed: the first problems are named by file and line.
    """
    problems = Problems()
    read = [
        question
        for name in find_benchmarks(directory)
        for question in read_questions(_question_file(Path(directory) / name), name, problems)
    ]
    problems.stop()
    return tuple(dict.fromkeys(answer for question in read for answer in question.answers))


def _chosen(root: Path, benchmarks: Iterable[str] | None) -> tuple[str, ...]:
    found = find_benchmarks(root)
    if isinstance(benchmarks, str):
        raise ConfigError(f"benchmarks must be a list of names; came the string {benchmarks!r}; write [{benchmarks!r}]")
    chosen = found if benchmarks is None else tuple(dict.fromkeys(benchmarks))
    unknown = [name for name in chosen if name not in found]
    if unknown or not chosen:
        raise ConfigError(f"no benchmark {', '.join(map(repr, unknown)) or 'was named'} in {root}; it holds {', '.join(found)}")
    return chosen


def _first(directory: Path, names: Iterable[str]) -> Path | None:
    return next((directory / name for name in names if (directory / name).is_file()), None)


def _question_file(directory: Path) -> Path:
    path = _first(directory, _QUESTION_FILES)
    assert path is not None  # `find_benchmarks` finds only directories that have one
    return path


class _Union:
    """The union of several corpora. Ids of passages left out as copies lead to the copy that was kept."""

    def __init__(self, problems: Problems) -> None:
        self.passages: list[Passage] = []
        self.kept: dict[str, str] = {}
        self._by_contents: dict[tuple[str, str], str] = {}
        self._problems = problems

    def read(self, path: Path, prefix: str) -> None:
        """Adds the passages of a file.

        Args:
            path: JSONL, plain or compressed; malformed lines, and a file without passages, are noted as problems.
            prefix: goes before each id.
        """
        before = len(self.kept)
        for number, record in read_objects(path, self._problems):
            try:
                self._add(prefix + fields.identifier(record), *fields.title_and_text(record))
            except Malformed as error:
                self._problems.add(path, f"line {number}", str(error))
        if len(self.kept) == before:
            self._problems.add(path, "", "expected passages; came none")

    def _add(self, passage_id: str, title: str, text: str) -> None:
        if passage_id in self.kept:
            raise Malformed(f'"id" must be unique; {passage_id!r} came before')
        kept = self._by_contents.setdefault((title, text), passage_id)
        self.kept[passage_id] = kept
        if kept == passage_id:
            self.passages.append(Passage(passage_id, title, text))


def _read_benchmark(directory: Path, union: _Union, without: bool, problems: Problems) -> tuple[Question, ...]:
    """Reads a benchmark's questions and its own corpus, which it may be `without`."""
    own = _first(directory, _CORPUS_FILES)
    if own:
        union.read(own, f"{directory.name}/")
    elif not without:
        problems.add(directory, "", "expected corpus.jsonl or corpus.jsonl.gz, here or in the directory above; found neither")
    prefix = f"{directory.name}/"
    return read_questions(_question_file(directory), directory.name, problems, union.kept, prefix if own else "")


def load_questions(path: str | Path) -> tuple[Question, ...]:
    """Reads and validates a file of questions on its own, JSONL or verl parquet; evidence is left unchecked.

    Each question's source is its "data_source", or the file's name where it has none.

    Raises:
        ConfigError: there is no such file, or it is malformed; the first problems are named by line or row.
    """
    require_file(path, "questions")
    problems = Problems()
    questions = read_questions(Path(path), None, problems)
    problems.stop()
    return questions


def read_questions(
    path: Path, source: str | None, problems: Problems, passages: dict[str, str] | None = None, passage_prefix: str = ""
) -> tuple[Question, ...]:
    """Reads one file of questions.

    Args:
        path: JSONL, plain or compressed, or verl parquet.
        source: the benchmark's name, which goes before each id; None takes each record's "data_source", or the file's name.
        problems: where malformed records are noted.
        passages: the id that each passage id leads to; evidence that is not in it is a problem. None leaves evidence unchecked.
        passage_prefix: goes before each evidence id.

    Returns:
        The questions that are well-formed, in file order.
    """
    place = "row" if path.suffix == ".parquet" else "line"
    read = read_rows if path.suffix == ".parquet" else read_objects
    questions: dict[str, Question] = {}
    for number, record in read(path, problems):
        try:
            named = source or fields.source(record) or path.name.partition(".")[0]
            question = _question(record, named, passages, passage_prefix)
        except Malformed as error:
            problems.add(path, f"{place} {number}", str(error))
        else:
            if questions.setdefault(question.id, question) is not question:
                problems.add(path, f"{place} {number}", f'"id" must be unique; {question.id!r} came before')
    if not questions:
        problems.add(path, "", "expected questions; found none that is well-formed")
    return tuple(questions.values())


def _question(record: dict[str, Any], source: str, passages: dict[str, str] | None, passage_prefix: str) -> Question:
    metadata = fields.mapping(record, "metadata")
    evidence = [passage_prefix + passage_id for passage_id in fields.evidence(metadata.get("passage_ids"))]
    if passages is not None:  # what a smaller corpus lacks is left out, so that the same questions can be asked of it
        evidence = [passages[passage_id] for passage_id in evidence if passage_id in passages]
    return Question(
        id=f"{source}/{fields.identifier(record)}",
        text=fields.question_text(record.get("question")),
        answers=fields.answers(record.get("golden_answers"), "golden_answers"),
        hops=fields.hops(metadata.get("hops")),
        family=fields.family(metadata.get("type")),
        evidence=tuple(dict.fromkeys(evidence)),
        source=source,
    )
