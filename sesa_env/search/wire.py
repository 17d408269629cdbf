"""The shapes of `POST /retrieve`, Search-R1's wire, from passages and back: server and client both stand on it.

```
{"queries": [str, ...], "topk": int or null, "return_scores": bool}        asked
{"result": [[{"document": {"id", "contents"}, "score"}, ...], ...]}         answered: a list of hits for each query
{"result": [[{"id", "contents"}, ...], ...]}                                the same without scores
```

`contents` is the quoted title, a newline, the text. Where a title would not come back from that as it was, because it holds a
line break, the document has "title" and "text" beside it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sesa_env.types import Passage

FINGERPRINT_HEADER = "x-sesa-fingerprint"
"""Says with each answer which index it comes from, so that a client notices another one behind the same address."""


def writable(query: str) -> str:
    """Returns a query without lone surrogates, which models write now and then, and which UTF-8 cannot."""
    return query if query.isascii() else query.encode("utf-8", "replace").decode("utf-8")


def contents(passage: Passage) -> str:
    """Returns a passage as one text: the quoted title, a newline, the text."""
    return f'"{passage.title}"\n{passage.text}'


def document(passage: Passage) -> dict[str, str]:
    """Returns the document of a hit."""
    whole = contents(passage)
    plain = {"id": passage.id, "contents": whole}
    if _split(whole) == (passage.title, passage.text):
        return plain
    return {**plain, "title": passage.title, "text": passage.text}


def write_request(queries: Sequence[str], k: int) -> bytes:
    """Returns the body of a request for hits with scores."""
    return json.dumps({"queries": [writable(query) for query in queries], "topk": k, "return_scores": True}).encode()


def write_hits(hits: Sequence[Passage], return_scores: bool) -> str:
    """Returns the JSON of one query's answer."""
    if return_scores:
        return json.dumps([{"document": document(hit), "score": hit.score} for hit in hits])
    return json.dumps([document(hit) for hit in hits])


def write_result(answers: Sequence[str]) -> bytes:
    """Returns the body of a response from the JSON of each query's answer."""
    return f'{{"result": [{", ".join(answers)}]}}'.encode()


def read_result(body: bytes, queries: int, k: int) -> list[list[Passage]]:
    """Reads the body of a response, of this server or another that speaks the same.

    Args:
        body: JSON.
        queries: how many queries were asked.
        k: how many hits of each query to take, at most.

    Returns:
        The hits of each query.

    Raises:
        ValueError: it is not what it must be; the message says what was expected and what came.
    """
    try:
        value = json.loads(body)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    result = value.get("result") if isinstance(value, Mapping) else None
    if not isinstance(result, list) or len(result) != queries:
        came = f"{len(result)} lists" if isinstance(result, list) else _shorten(value)
        raise ValueError(f'expected {{"result": [...]}} with a list of hits for each of {queries} queries; came {came}')
    return [_read_hits(hits, k) for hits in result]


def _read_hits(hits: Any, k: int) -> list[Passage]:
    if not isinstance(hits, list):
        raise ValueError(f"expected a list of hits; came {_shorten(hits)}")  # noqa: TRY004 - one kind of error for all of it
    return [_read_hit(hit) for hit in hits[:k]]


def _read_hit(hit: Any) -> Passage:
    found = hit.get("document", hit) if isinstance(hit, Mapping) else None
    score = hit.get("score", 0.0) if isinstance(hit, Mapping) else None
    if not isinstance(found, Mapping) or not isinstance(score, int | float) or isinstance(score, bool):
        raise ValueError(  # noqa: TRY004 - as above
            f'expected a hit {{"document": {{...}}, "score": number}}; came {_shorten(hit)}'
        )
    title, text = _title_and_text(found)
    return Passage(_identifier(found), title, text, _number(score))


def _number(score: int | float) -> float:
    try:
        return float(score)
    except OverflowError as error:
        raise ValueError(f"expected a score that is a float; came {_shorten(score)}") from error


def _title_and_text(found: Mapping[str, Any]) -> tuple[str, str]:
    title, text, whole = found.get("title"), found.get("text"), found.get("contents")
    if isinstance(title, str) and isinstance(text, str):
        return title, text
    if isinstance(whole, str):
        return _split(whole)
    raise ValueError(f'a document needs the string "contents", or the strings "title" and "text"; came {_shorten(found)}')


def _identifier(found: Mapping[str, Any]) -> str:
    """Returns the document's id; where it has none, as from Search-R1's BM25, a digest of what it says."""
    value = found.get("id")
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def _split(whole: str) -> tuple[str, str]:
    """Takes `contents` apart; one without a line break is a text without a title."""
    title, newline, text = whole.partition("\n")
    if not newline:
        return "", whole
    quoted = len(title) > 1 and title[0] == title[-1] == '"'
    return (title[1:-1] if quoted else title), text


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
