"""Questions made of real passages without a model: a statement with the target left out, its page named or only described.

A page is known by its title. Where a question needs more hops, the title is written as a letter, and another page's statement
that mentions it says who or what the letter is: whoever answers must find that page first.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sesa_env.grading import contains_answer, normalise
from sesa_env.players.blank import BLANK
from sesa_env.players.reader import body
from sesa_env.players.spans import sentences
from sesa_env.players.turns import plain
from sesa_env.types import Passage

_LETTERS = "ABC"
_LONGEST = 250
_FEWEST_WORDS = 5


@dataclass(frozen=True, slots=True)
class Mention:
    """A statement on a page that mentions something: the page's title and the sentence."""

    title: str
    sentence: str


def mentions(name: str, passages: Iterable[Passage]) -> list[Mention]:
    """Finds statements that mention a name: first those on pages whose title does not, then those on its own page.

    Args:
        name: a target answer or a title.
        passages: where to look.

    Returns:
        The statements in order, each once; sentences of 5 words to 250 characters. Those on the name's own page have no title.
    """
    pattern = _pattern(name)
    found: list[Mention] = []
    for passage in passages:
        title = plain(passage.title)
        own = not normalise(title) or contains_answer(title, [name]) or contains_answer(name, [title])
        whole = [sentence.text.strip() for sentence in sentences(body(passage))]
        found.extend(Mention("" if own else title, plain(text)) for text in whole if _fits(text) and pattern.search(text))
    return sorted(dict.fromkeys(found), key=lambda mention: not mention.title)


def cloze(target: str, chain: Sequence[Mention]) -> str:
    """Writes the question.

    Args:
        target: the answer.
        chain: a statement that mentions the target, then one that mentions the title of the page before, and so on.

    Returns:
        The question, for example: Consider A, where "Ada Bel wed A in 1820" is a statement about Ada Bel. Which name fills the
        blank in the statement about A that reads "A directed _____ in 1830"?
    """
    last = len(chain) - 1
    texts = [_hide(mention.sentence, target, BLANK) for mention in chain]
    for index in range(last):
        letter, title = _LETTERS[index], chain[index].title
        texts = [_hide(text, title, letter) for text in texts]
    clues = [
        f'Consider {_LETTERS[index - 1]}, where "{texts[index].rstrip(".")}" is a statement{_about(chain, index)}.'
        for index in range(last, 0, -1)
    ]
    statement = f'Which {_kind(target)} fills the blank in the statement{_about(chain, 0)} that reads "{texts[0].rstrip(".")}"?'
    return " ".join([*clues, statement])


def _about(chain: Sequence[Mention], index: int) -> str:
    """Names the page of a statement: its title at the end of the chain, a letter before it; nothing for the name's own page."""
    page = chain[index].title if index == len(chain) - 1 else _LETTERS[index]
    return f" about {page}" if page else ""


def _hide(text: str, name: str, cover: str) -> str:
    return _pattern(name).sub(cover, text)


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name.strip())}(?!\w)", re.IGNORECASE)


def _fits(text: str) -> bool:
    return len(text) <= _LONGEST and len(text.split()) >= _FEWEST_WORDS


def _kind(target: str) -> str:
    if re.fullmatch(r"[12]\d{3}", target.strip()):
        return "year"
    if re.search(r"[A-Za-z].*\b\d{4}\b|\b\d{1,2} [A-Z]", target):
        return "date"
    return "number" if re.fullmatch(r"[\d,.]+", target.strip()) else "name"
