"""Questions made of real passages without a model: a statement with the target left out, and statements that lead to it.

Where a question needs more hops, a name in the statement, or the title of its page, is written as a letter, and a statement on
another page says who or what the letter is: whoever answers must find that page first.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sesa_env.grading import contains_answer, normalise
from sesa_env.players.blank import BLANK
from sesa_env.players.reader import body
from sesa_env.players.spans import sentences
from sesa_env.players.turns import plain
from sesa_env.types import Passage

_LETTERS = "ABC"
_LONGEST = 250
_FEWEST_WORDS = 5
_MOST_MENTIONS = 24
_SINGLE_LETTER = re.compile(rf"\b[{_LETTERS}]\b")
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$|\s+-\s*$")


@dataclass(frozen=True, slots=True)
class Mention:
    """A statement on a page that mentions a name.

    Attributes:
        title: the page's title, "" when the page is the name's own.
        sentence: the statement.
        name: the name.
    """

    title: str
    sentence: str
    name: str


def bare_title(title: str) -> str:
    """Returns a title as texts write it: without the brackets that tell pages apart, "Littlerock" for "Littlerock (film)"."""
    return _BRACKETS.sub("", plain(title)) or plain(title)


def mentions(name: str, passages: Iterable[Passage]) -> list[Mention]:
    """Finds statements that mention a name: first those on pages whose title does not, then those on its own page.

    Args:
        name: a target answer, a title or another name.
        passages: where to look.

    Returns:
        The statements in order, each once; sentences of 5 words to 250 characters. Those on the name's own page have no title.
    """
    found = [mention for passage in passages for mention in _on_page(name, passage)]
    return sorted(dict.fromkeys(found), key=lambda mention: not mention.title)


@lru_cache(maxsize=65_536)
def _on_page(name: str, passage: Passage) -> tuple[Mention, ...]:
    if name not in passage.text and name.casefold() not in passage.text.casefold():
        return ()
    title = plain(passage.title)
    own = not normalise(title) or contains_answer(title, [name]) or contains_answer(name, [title])
    pattern = _pattern(name)
    whole = [sentence.text.strip() for sentence in sentences(body(passage))]
    kept = [plain(text) for text in whole if _fits(text) and pattern.search(text)]
    return tuple(Mention("" if own else title, text, name) for text in kept[:_MOST_MENTIONS])


def cloze(chain: Sequence[Mention]) -> str:
    """Writes the question.

    Args:
        chain: a statement that mentions the target, then one that mentions a name of the statement before or the title of its
            page, and so on.

    Returns:
        The question, for example: Consider A, where "Ada Bel wed A in 1820" is a statement about Ada Bel. Which name fills the
        blank in the statement about A that reads "A directed _____ in 1830"?
    """
    last = len(chain) - 1
    texts = [mention.sentence.rstrip(".") for mention in chain]
    for mention, cover in zip(chain, (BLANK, *_LETTERS), strict=False):
        texts = [_hide(text, mention.name, cover) for text in texts]
    clues = [
        f'Consider {_LETTERS[index - 1]}, where "{texts[index]}" is a statement{_about(chain, index)}.'
        for index in range(last, 0, -1)
    ]
    asked = f'Which {_kind(chain[0].name)} fills the blank in the statement{_about(chain, 0)} that reads "{texts[0]}"?'
    return " ".join([*clues, asked])


def joins(chain: Sequence[Mention]) -> bool:
    """Says whether every clue of a chain is needed: each letter stands in its clue and in the statement that it leads to.

    A clue that gives the target away, a statement with a letter of its own, and names within each other are no clues.
    """
    names = [mention.name for mention in chain]
    texts = [mention.sentence for mention in chain]
    if any(_SINGLE_LETTER.search(text) for text in texts) or any(contains_answer(text, names[:1]) for text in texts[1:]):
        return False
    if any(contains_answer(one, [other]) for one in names for other in names if one != other):
        return False
    return all(
        _pattern(outer.name).search(inner.sentence) or bare_title(inner.title) == outer.name for inner, outer in pairwise(chain)
    )


def _about(chain: Sequence[Mention], index: int) -> str:
    """Names the page of a statement: its title at the end of the chain, before it the letter for it; else nothing."""
    page = chain[index].title
    if index == len(chain) - 1:
        return f" about {page}" if page else ""
    return f" about {_LETTERS[index]}" if page and bare_title(page) == chain[index + 1].name else ""


def _hide(text: str, name: str, cover: str) -> str:
    return _pattern(name).sub(cover, text)


@lru_cache(maxsize=4096)
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
