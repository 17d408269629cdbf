"""How one search decision is carried out: fill the template, find the passage that holds the whole query, read a name off it.

The skilled Solver acts by this, and the hindsight distiller tests a card by it before it writes the card.
"""

from collections.abc import Sequence
from functools import lru_cache

from sesa_env.players.reader import ScriptedReader
from sesa_env.players.replay import Script
from sesa_env.players.spans import content_words, stem, words
from sesa_env.types import Passage


def holder(query: str, passages: Sequence[Passage]) -> Passage | None:
    """Returns the best passage that holds all content words of a query in title and text, or None.

    A query made for a relation names the words that its statement is written in: a passage without them states something else.
    """
    wanted = _wanted(query)
    return next((passage for passage in passages if wanted <= stems_of(passage)), None)


@lru_cache(maxsize=16_384)
def _wanted(query: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content_words(query))


@lru_cache(maxsize=16_384)
def stems_of(passage: Passage) -> frozenset[str]:
    """Returns the stems of all words in a passage's title and text."""
    return frozenset(stem(word.text) for text in (passage.title, passage.text) for word in words(text))


def follow_step(reader: ScriptedReader, question: str, queries: Sequence[str]) -> Script:
    """Makes one query after the other until a passage holds the whole of one, and reads off that passage.

    Args:
        reader: who reads.
        question: what to read: a question, or a fragment such as "spouse of Ada".
        queries: alternatives, the best first.

    Returns:
        What was read; "" when no passage holds a whole query or nothing can be read off it.
    """
    for query in queries:
        held = holder(query, (yield query))
        found = reader.read(question, query, [held]) if held else ""
        if found:
            return found
    return ""
