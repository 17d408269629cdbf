"""The fields of a question or passage record, checked: each function returns the value or raises `Malformed` and says why."""

import re
from collections.abc import Mapping
from typing import Any

from sesa_env.corpus.problems import Malformed, shorten

_CSV_FIELD = re.compile(r'"(?:[^"]|"")*"')


def identifier(record: Mapping[str, Any]) -> str:
    """Returns the record's id; a whole number is taken as its digits."""
    value = record.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise Malformed(f'"id" must be a string that is not empty; came {shorten(value)}')


def question_text(value: Any) -> str:
    """Returns a question's text, stripped and with CSV quoting undone."""
    if not isinstance(value, str) or not value.strip():
        raise Malformed(f'"question" must be a string that is not empty; came {shorten(value)}')
    return undo_csv(value.strip())


def undo_csv(text: str) -> str:
    """Undoes the CSV quoting that some TriviaQA questions keep: a whole field in quotes, with the quotes inside doubled."""
    if '""' in text and _CSV_FIELD.fullmatch(text) and len(text) > len('""'):
        return text[1:-1].replace('""', '"')
    return text


def answers(value: Any, name: str) -> tuple[str, ...]:
    """Returns the accepted answers, stripped, without repetitions, in order.

    Args:
        value: must be a list of at least one string, none of them blank. A bare string is refused: iterated over by mistake, it
            becomes a list of letters, and every answer is then wrong without a word.
        name: the field's name, for the message.
    """
    if isinstance(value, str):
        raise Malformed(f'"{name}" must be a list of strings; came the string {shorten(value)}; write [{shorten(value)}]')
    if not isinstance(value, list) or not value:
        raise Malformed(f'"{name}" must be a list of at least one string; came {shorten(value)}')
    for answer in value:
        if not isinstance(answer, str) or not answer.strip():
            raise Malformed(f'"{name}" must hold strings that are not empty; one is {shorten(answer)}')
    return tuple(dict.fromkeys(undo_csv(answer.strip()) for answer in value))


def mapping(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns the record's object of this name; {} where it has none."""
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Malformed(f'"{name}" must be an object; came {shorten(value)}')
    return value


def source(record: Mapping[str, Any]) -> str:
    """Returns the benchmark that a record says it is from, "" if it says none."""
    value = record.get("data_source")
    if value is None or isinstance(value, str):
        return value or ""
    raise Malformed(f'"data_source" must be a string; came {shorten(value)}')


def turns(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the role and content, "" for null, of each turn of the record's "prompt"; [] where it has none."""
    value = record.get("prompt")
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f'"prompt" must be a list of turns; came {shorten(value)}')
    return [_turn(item) for item in value]


def _turn(item: Any) -> tuple[str, str]:
    found = [item.get(name) for name in ("role", "content")] if isinstance(item, Mapping) else [item]
    if len(found) == 1 or not all(part is None or isinstance(part, str) for part in found):
        raise Malformed(f'a turn of "prompt" must have the strings "role" and "content"; one is {shorten(item)}')
    return found[0] or "", found[1] or ""


def hops(value: Any) -> int:
    """Returns a hop count of at least 1; None is 1."""
    if value is None:
        return 1
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise Malformed(f'"hops" must be a whole number of at least 1; came {shorten(value)}')


def family(value: Any) -> str:
    """Returns the kind of question; None is ""."""
    if value is None or isinstance(value, str):
        return value or ""
    raise Malformed(f'"type" must be a string; came {shorten(value)}')


def evidence(value: Any) -> tuple[str, ...]:
    """Returns the ids of the evidence passages; None is ()."""
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise Malformed(f'"passage_ids" must be a list of strings; came {shorten(value)}')


def title_and_text(record: Mapping[str, Any]) -> tuple[str, str]:
    """Returns a passage's title and text, from "contents" (the quoted title, a newline, the text) or "title" and "text"."""
    contents = record.get("contents")
    if isinstance(contents, str):
        title, newline, text = contents.partition("\n")
        if not newline:
            raise Malformed(f'"contents" must be the quoted title, a newline, the text; came {shorten(contents)}')
        return _unquote(title.strip()), text
    fields = record.get("title"), record.get("text")
    if contents is None and isinstance(fields[0], str) and isinstance(fields[1], str):
        return fields[0].strip(), fields[1]
    raise Malformed(f'a passage needs the string "contents", or the strings "title" and "text"; came {shorten(dict(record))}')


def _unquote(title: str) -> str:
    return title[1:-1] if len(title) > 1 and title.startswith('"') and title.endswith('"') else title
