"""Questions about two things: which of them, or whether both. Read one by one, then compared."""

import re
from collections.abc import Callable, Sequence

from sesa_env.grading import normalise
from sesa_env.players.asking import Asked
from sesa_env.players.spans import MONTHS, content_words, sentences
from sesa_env.types import Passage

Read = Callable[[str, str, Sequence[Passage]], str]

_EARLIER = re.compile(
    r"\b(?:first|earlier|earliest|older|oldest|before|fewer|less|smaller|smallest|shorter|lower)\b", re.IGNORECASE
)
_DATED = re.compile(
    r"\b(?:first|earlier|later|older|younger|recently|recent|before|after|born|founded|released|established|died)\b",
    re.IGNORECASE,
)
_SAME = re.compile(r"\bsame (\w+)", re.IGNORECASE)
_FIGURE = re.compile(r"\d[\d,]*")
_LAST_DAY = 31
_LONGEST_TITLE = 500
_LIFE = re.compile(r"\b(?:older|younger)\b", re.IGNORECASE)


def compare(question: str, wanted: Asked, passages: Sequence[Passage], read: Read) -> str:
    """Answers a question about two things from passages about each.

    Args:
        question: the question.
        wanted: what it asks for, with its two options.
        passages: what was found about both.
        read: reads the answer to a plain question.

    Returns:
        One of the options, or "yes" or "no"; "" when nothing was found about a choice's options.
    """
    values = [read(attribute(question, wanted, option), option, about(option, passages)) for option in wanted.options]
    return decide(question, wanted, values)


def decide(question: str, wanted: Asked, values: Sequence[str]) -> str:
    """Compares what was read about the two options.

    Args:
        question: the question: its words say what decides.
        wanted: what it asks for, with its two options.
        values: what was read about each option, in their order.

    Returns:
        As `compare`.
    """
    if wanted.polar:
        return "yes" if normalise(values[0]) == normalise(values[1]) or not all(values) else "no"
    figures = [_figure(value) for value in values]
    if None in figures:
        return next((option for option, figure in zip(wanted.options, figures, strict=True) if figure is not None), "")
    pick = min if _EARLIER.search(question) else max
    return pick(zip(figures, wanted.options, strict=True), key=lambda pair: pair[0] or (0, 0, 0))[1]


def attribute(question: str, wanted: Asked, option: str) -> str:
    """Rewrites a question about two things into the plain question about one of them that decides it."""
    if wanted.polar:
        same = _SAME.search(question)
        return f"What {same.group(1) if same else 'nationality'} is {option}?"
    if _LIFE.search(question):
        return f"When was {option} born?"
    stripped = question
    for name in wanted.options:
        stripped = stripped.replace(name, " ")
    told = " ".join(content_words(_EARLIER.sub(" ", stripped)))
    return f"{'When' if _DATED.search(question) else 'How many'} {told} {option}?"


def about(option: str, passages: Sequence[Passage]) -> list[Passage]:
    """Returns the passages with this title, or else those that mention it."""
    key = normalise(option)
    titled = [passage for passage in passages if key and key in normalise(passage.title[:_LONGEST_TITLE])]
    return titled or [passage for passage in passages if any(option in sentence.text for sentence in sentences(passage.text))]


def _figure(value: str) -> tuple[int, int, int] | None:
    """Returns a date as (year, month, day), a number as (number, 0, 0); None where there is no figure."""
    figures = [int(figure.replace(",", "")) for figure in _FIGURE.findall(value[:100])]
    if not figures:
        return None
    month = next((index for index, name in enumerate(MONTHS, 1) if name in value), 0)
    days = [figure for figure in figures if figure <= _LAST_DAY] if month and len(figures) > 1 else [0]
    return max(figures), month, min(days, default=0)
