"""Two texts side by side for a terminal, lines that differ marked."""

import textwrap
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

DIFFERS = "!"
"""Stands between two lines that differ."""


def side_by_side(left: str, right: str, width: int) -> str:
    """Writes two texts in two columns.

    Args:
        left: a text.
        right: the text beside it.
        width: of the whole, in characters; each column has at least 20.

    Returns:
        Lines. Between the columns stands `DIFFERS` where a line of one is not the other's, and "|" elsewhere.
    """
    column = max(20, (width - 3) // 2)
    rows = (row for pair in _pairs(left.splitlines(), right.splitlines()) for row in _wrapped(*pair, column))
    return "".join(f"{row.rstrip()}\n" for row in rows)


def _pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for kind, i, i_end, j, j_end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        mark = "|" if kind == "equal" else DIFFERS
        yield from ((one, mark, other) for one, other in zip_longest(left[i:i_end], right[j:j_end], fillvalue=""))


def _wrapped(one: str, mark: str, other: str, column: int) -> Iterator[str]:
    cells = (textwrap.wrap(text, column, drop_whitespace=False) or [""] for text in (one, other))
    return (f"{first:{column}} {mark} {second}" for first, second in zip_longest(*cells, fillvalue=""))
