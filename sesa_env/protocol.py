"""The tag grammar: parses what players write and renders what they are shown (paper, section 8: the tags).

A turn is any number of `<think>...</think>` blocks and exactly one action: `<search>`, `<answer>` or `<question>` with its
closing tag. Text outside tags is ignored. Only the game writes `<information>` and `<skills>`; whatever it puts inside, and
every text that comes from a corpus, a card or the other player, is escaped, so that no such text can end a block or pose as a
tag.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from sesa_env.errors import ProtocolError
from sesa_env.memory.base import CardHit
from sesa_env.types import Passage

ACTIONS = frozenset({"search", "answer", "question"})
_RESERVED = frozenset({"information", "skills"})
_TAG = re.compile(r"<(/?)(think|search|answer|question|information|skills)>")
# What nearly every turn looks like, for speed: nothing but an optional thought and an action, no other "<". The possessive
# quantifiers keep it linear on hostile text. All else takes the slow path, which alone decides and explains errors.
_PLAIN_TURN = re.compile(r"\s*+(?:<think>[^<]*+</think>\s*+)?<(search|answer|question)>([^<]*+)</\1>\s*+")
# Wider than `_TAG`: upper case and blanks would not parse, but a language model could still read them as tags.
_TAG_LIKE = re.compile(r"<(?=[\s/]{0,8}(?:think|search|answer|question|information|skills)\b)", re.IGNORECASE)
# A passage stands on one line, so a heading inside it can only pose as another hit of the same search.
_HEADING_LIKE = re.compile(r"\b(Doc \d{1,9}) (?=\(Title:)")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn"})  # control, format, surrogate, unassigned
# Invisible though of other categories: joiners, fillers, variation selectors.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | frozenset(
    chr(code) for first, last in ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF)) for code in range(first, last + 1)
)


def parse_turn(text: str, allowed: frozenset[str], max_chars: int = 20_000) -> tuple[str, str]:
    """Parses one turn of a player, in time linear in its length.

    Args:
        text: what the player wrote.
        allowed: the action tags that this player may use.
        max_chars: a longer text is refused.

    Returns:
        The action: "search", "answer" or "question", and the stripped text between its tags, which is not empty.

    Raises:
        ProtocolError: the text is not exactly one well-formed, allowed action; the message tells the player what to write.
    """
    if len(text) > max_chars:
        raise ProtocolError(f"That turn has {len(text)} characters. Write at most {max_chars}.")
    if plain := _PLAIN_TURN.fullmatch(text):
        kind, content = plain.groups()
        if kind in allowed and (content := content.strip()):
            return kind, content
    return _parse_tags(text, allowed)


def _parse_tags(text: str, allowed: frozenset[str]) -> tuple[str, str]:
    action: tuple[str, str] | None = None
    opened, start = "", 0
    for match in _TAG.finditer(text):
        slash, name = match.groups()
        if not opened:
            _check_opening(slash, name, allowed)
            if action is not None and name != "think":
                raise ProtocolError("Write one action a turn, not several.")
            opened, start = name, match.end()
        elif slash and name == opened:
            if name != "think":
                action = name, text[start : match.start()].strip()
            opened = ""
        elif opened != "think":  # inside a thought, tags are only words
            raise ProtocolError(f"<{opened}> is not closed before <{slash}{name}>. Close it with </{opened}>.")
    if opened:
        raise ProtocolError(f"<{opened}> is never closed. Close it with </{opened}>.")
    return _check_action(action, allowed)


def _check_action(action: tuple[str, str] | None, allowed: frozenset[str]) -> tuple[str, str]:
    if action is None:
        raise ProtocolError(f"No action found. Write one of {_names(allowed)}.")
    kind, content = action
    if not content:
        raise ProtocolError(f"<{kind}> is empty. Write something between the tags.")
    return action


def _check_opening(slash: str, name: str, allowed: frozenset[str]) -> None:
    if slash:
        raise ProtocolError(f"</{name}> closes nothing. Open it with <{name}> first.")
    if name in _RESERVED:
        raise ProtocolError(f"<{name}> is written by the game, never by a player.")
    if name != "think" and name not in allowed:
        raise ProtocolError(f"<{name}> is not yours to use. Write one of {_names(allowed)}.")


def _names(allowed: frozenset[str]) -> str:
    return " or ".join(f"<{name}>...</{name}>" for name in sorted(allowed, reverse=True))


def clean(text: str, limit: int | None = None) -> str:
    """Makes foreign text safe to show: on one line, without invisible characters and tags, cut after `limit` characters.

    Args:
        text: text from a corpus, a card, a data set or the other player.
        limit: the greatest number of characters kept of the text before escaping; None for all.

    Returns:
        The text on one line, `<` before a tag name written as `&lt;`, a heading of a search result set apart by a colon.
    """
    if limit is not None and len(text) > limit:
        text = text[:limit] + "..."
    text = " ".join(text.split())
    if not (text.isascii() and text.isprintable()):
        hidden = {ord(character): None for character in set(text) if _is_hidden(character)}
        text = " ".join(text.translate(hidden).split())
    if "(Title:" in text:
        text = _HEADING_LIKE.sub(r"\1: ", text)
    return _TAG_LIKE.sub("&lt;", text) if "<" in text else text


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _BLANKS


@lru_cache(maxsize=16384)
def _render_passage(rank: int, title: str, text: str, limit: int) -> str:
    return f'Doc {rank} (Title: "{clean(title, limit)}") {clean(text, limit)}'


def render_information(passages: Sequence[Passage], limit: int) -> str:
    """Renders search results as the observation, one passage a line.

    Args:
        passages: the hits, best first; may be empty.
        limit: the greatest number of characters shown of each passage.

    Returns:
        An `<information>` block; a passage cannot end it or begin another line.
    """
    lines = [_render_passage(rank, hit.title, hit.text, limit) for rank, hit in enumerate(passages, 1)]
    return "<information>\n" + "\n".join(lines or ["Nothing was found. Try other words."]) + "\n</information>"


def render_cards(cards: Sequence[CardHit]) -> str:
    """Renders Skill Cards for the Solver's prompt, without similarities and counters (paper, section 4).

    Returns:
        A `<skills>` block with a trailing blank line, or "" without cards.
    """
    if not cards:
        return ""
    lines = ["<skills>", "Search skills learned earlier; use one only where it fits the question."]
    for number, hit in enumerate(cards, 1):
        card = hit.card
        templates = " | ".join(clean(query) for query in card.queries)
        lines += [
            f"Skill {number}: {clean(card.description)}",
            f"  When: {clean(card.trigger)}",
            f"  Avoid: {clean(card.avoid)}",
            f"  Search: {templates}",
        ]
    return "\n".join([*lines, "</skills>", "", ""])
