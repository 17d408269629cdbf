"""Corpora of passages in the layouts that are about, read as a stream: nothing is held in memory.

```
FILE.jsonl[.gz|.zst]   {"id", "contents"}: the quoted title, a newline, the text (FlashRAG, Search-R1);
                       or {"id", "title", "text"}
DIR/corpus.jsonl[...]  {"_id", "title", "text"}: BEIR's layout, in which the title may be missing; queries and judgements
                       beside it are left alone
FILE.tsv[.gz|.zst]     id, text, title, with a line of names: Wikipedia passages as DPR publishes them
DIR/**/*.txt           a folder of texts, divided into passages of so many words; the title is the file's name
```
"""

import csv
import zlib
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from sesa_env.corpus import fields
from sesa_env.corpus.compressed import ENDINGS, open_bytes, without_ending
from sesa_env.corpus.jsonl import read_objects
from sesa_env.corpus.problems import Malformed, Problems, shorten
from sesa_env.errors import ConfigError
from sesa_env.types import Passage

WORDS = 100
"""How many words a passage of a text folder has, as in wiki-18."""

_COLUMNS = ("id", "text", "title")


def read_passages(sources: Sequence[str | Path], problems: Problems, words: int = WORDS) -> Iterator[Passage]:
    """Yields the passages of files and folders, in the order given; ids stay as they are.

    Args:
        sources: files and folders, laid out as this module says.
        problems: where malformed lines are noted; reading goes on with the next line.
        words: how many words a passage of a text folder has, at least 1.

    Raises:
        ConfigError: a source is missing or of no known layout.
    """
    if words < 1:
        raise ConfigError(f"a passage needs at least one word; came {words!r}")
    for source in [_recognised(Path(source)) for source in sources]:  # all of them, before the first is read
        yield from _read(source, problems, words)


def _recognised(path: Path) -> Path:
    """Returns the file or folder to be read."""
    if path.is_dir():
        if found := next((file for end in ENDINGS if (file := path / f"corpus.jsonl{end}").is_file()), None):
            return found
        if next(path.rglob("*.txt"), None):
            return path
        raise ConfigError(f"expected corpus.jsonl[.gz|.zst] or texts (*.txt) in the folder {path}; found neither")
    if not path.exists():
        raise ConfigError(f"expected a corpus at {path}; there is nothing; give a file or a folder")
    if not without_ending(path.name).endswith((".jsonl", ".tsv")):
        raise ConfigError(f"expected a corpus as .jsonl or .tsv, plain, .gz or .zst, or a folder; came {path}")
    return path


def _read(path: Path, problems: Problems, words: int) -> Iterator[Passage]:
    if path.is_dir():
        yield from _read_texts(path, problems, words)
    elif without_ending(path.name).endswith(".tsv"):
        yield from _read_table(path, problems)
    else:
        yield from _read_lines(path, problems)


def _read_lines(path: Path, problems: Problems) -> Iterator[Passage]:
    for number, record in read_objects(path, problems):
        try:
            named = record if "id" in record else _from_beir(record)
            yield Passage(fields.identifier(named), *fields.title_and_text(named))
        except Malformed as error:
            problems.add(path, f"line {number}", str(error))


def _from_beir(record: dict[str, Any]) -> dict[str, Any]:
    """Names the fields of a record of BEIR's as the other layouts do; there, a title may be missing."""
    title = record.get("title")
    return {**record, "id": record.get("_id"), "title": "" if title is None else title}


def _read_table(path: Path, problems: Problems) -> Iterator[Passage]:
    line = 0
    try:
        # Bytes that are no UTF-8 come as lone surrogates, so that reading can go on after them.
        with open_bytes(path) as file, TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text:
            # Strict: without it a quote that nobody closes swallows the rows up to the next one, and nothing is said.
            rows = csv.reader(text, delimiter="\t", strict=True)
            names = next(rows, [])
            if not set(_COLUMNS) <= set(names):
                problems.add(path, "line 1", f"expected the names id, text and title; came {shorten(names)}")
                return
            order = [names.index(name) for name in _COLUMNS]
            for line, row in _numbered(rows, path, problems):
                yield from _row(row, order, path, line, problems)
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        problems.add(path, f"after line {line}", f"cannot be read further ({error}); is the file complete?")


def _numbered(rows: Any, path: Path, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows that can be read, each with the number of the line on which it begins."""
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            problems.add(
                path, f"line {line}", f"{error}; a field that begins with a quote must end with one and double those within"
            )
            continue
        if row is None:
            return
        yield line, row


def _row(row: list[str], order: list[int], path: Path, line: int, problems: Problems) -> Iterator[Passage]:
    if not row:
        return
    if len(row) <= max(order):
        problems.add(path, f"line {line}", f"expected the columns id, text and title; came {shorten(row)}")
        return
    passage_id, text, title = (row[place] for place in order)
    if not passage_id.strip():
        problems.add(path, f"line {line}", f"the id must not be empty; came {shorten(row)}")
    elif not all(map(_is_utf8, row)):
        problems.add(path, f"line {line}", f"expected UTF-8; came {shorten(row)}")
    else:
        yield Passage(passage_id.strip(), title.strip(), text)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _read_texts(folder: Path, problems: Problems, words: int) -> Iterator[Passage]:
    for path in sorted(folder.rglob("*.txt")):
        try:
            found = path.read_bytes().decode("utf-8-sig").split()
        except OSError as error:
            problems.add(path, "", f"cannot be read ({error})")
        except UnicodeDecodeError as error:
            problems.add(path, "", f"expected UTF-8; byte {error.start} is not ({error.reason})")
        else:
            if not found:
                problems.add(path, "", "expected a text; came none; remove the file")
            name = path.relative_to(folder).as_posix()
            for number, start in enumerate(range(0, len(found), words), start=1):
                passage_id = name if len(found) <= words else f"{name}#{number}"
                yield Passage(passage_id, path.stem, " ".join(found[start : start + words]))
