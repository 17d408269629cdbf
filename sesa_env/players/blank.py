"""Reads what a statement with a blank leaves out: the words that stand in the blank's place in a passage."""

import re
from collections.abc import Sequence

from sesa_env.players.spans import Sentence, Word, sentences, words

BLANK = "_____"
"""How a question writes a blank."""

_AROUND = re.compile(r'([^"]{0,300})_{5}([^"_]{0,300})')
_CLUE = re.compile(r'Consider ([A-C]), where "([^?]{1,300}?)" is a statement')
_CONTEXT = 6
_LONGEST = 15


def fill_blank(question: str, texts: Sequence[str]) -> str:
    """Finds what fills the first blank of a question.

    Up to six words on each side of the blank are compared, case aside; a single capital letter stands for a name that the
    question hides, so the words beyond it are left out. At an end of the statement, the end of a sentence must be met.

    Args:
        question: a question; without a blank nothing is found.
        texts: passages' texts.

    Returns:
        The fewest words between the longest contexts, as the text writes them; "" when there are none.
    """
    found = _AROUND.search(question[:2000])
    if found is None:
        return ""
    before, at_start = _context([word.text for word in words(found.group(1))][::-1])
    after, at_end = _context([word.text for word in words(found.group(2))])
    if not before and not after:
        return ""
    for text in texts:
        for sentence in sentences(text):
            filled = _between(sentence, before[::-1], after, at_start, at_end)
            if filled:
                return filled
    return ""


def hops_of(question: str, texts: Sequence[str]) -> int:
    """Counts the statements that a question with a blank chains: one, and each clue to a letter that the texts hold.

    Args:
        question: a question with a blank, as `sesa_env.players.cloze` writes it.
        texts: the documents' texts.

    Returns:
        At least 1. A clue that no text holds, or whose letter leads nowhere, does not count.
    """
    clues = [(f"\\b{letter}\\b", statement) for letter, statement in _CLUE.findall(question[:2000])]
    used = [statement for letter, statement in clues if len(re.findall(letter, question.replace(statement, ""))) > 1]
    return 1 + sum(
        bool(fill_blank(re.sub(letter, BLANK, statement, count=1), texts)) for letter, statement in clues if statement in used
    )


def _context(row: Sequence[str]) -> tuple[list[str], bool]:
    """Returns the nearest words of one side, in lower case, and whether they reach the end of the statement."""
    kept: list[str] = []
    for word in row[:_CONTEXT]:
        if len(word) == 1 and word.isupper():
            return kept, False
        kept.append(word.lower())
    return kept, len(row) <= _CONTEXT


def _between(sentence: Sentence, before: Sequence[str], after: Sequence[str], at_start: bool, at_end: bool) -> str:
    row = [word.text.lower() for word in sentence.words]
    starts = [0] if at_start and not before else _ends(row, before)
    for start in starts:
        for stop in range(start + 1, min(start + _LONGEST, len(row)) + 1):
            closed = row[stop : stop + len(after)] == list(after) if after else (not at_end or stop == len(row))
            if closed:
                return _text(sentence, sentence.words[start], sentence.words[stop - 1])
    return ""


def _ends(row: Sequence[str], piece: Sequence[str]) -> list[int]:
    size = len(piece)
    return [end for end in range(size, len(row)) if list(row[end - size : end]) == list(piece)]


def _text(sentence: Sentence, first: Word, last: Word) -> str:
    return sentence.text[first.start : last.end]
