"""The closed vocabulary of `tiny`: all that MiniWiki and the game can write, cut into pieces in exactly one way.

Everything is in lower case. A piece carries the blank before it, so that decoding is nothing but joining: " kel" and "mora" are
"kelmora". Fixed phrases of passages, cards, openings and game messages are one piece each, since every piece is paid for in
training. Invented names are syllables and an ending: in one way only, because no ending is the end of another and each syllable
is consonants and one vowel (`check` asserts it). A plain word that reads like a name ("fables") stays whole.
"""

import re
from collections.abc import Iterable

from sesa_env.corpus.miniwiki import render
from sesa_env.corpus.miniwiki.core import CORE
from sesa_env.corpus.miniwiki.names import ENDINGS, KINDS, ONSETS, SECOND_WORDS
from sesa_env.corpus.miniwiki.tail import JARGON_VERBS, OFFICES
from sesa_env.corpus.miniwiki.wording import LEADINS, TRAILS
from sesa_env.players.spans import MONTHS
from sesa_env.protocol import ACTIONS

PAD, EOS, UNKNOWN = "<pad>", "<eos>", "<unk>"
TAGS = tuple(f"<{slash}{name}>" for name in ("think", *sorted(ACTIONS), "information", "skills") for slash in ("", "/"))
"""The protocol's tags, each one piece."""

VOWELS = "aeiou"
MOST_DOCS = 10
"""Passages of one search whose heading is a piece of its own."""

_MESSAGES = (
    "error: you have no searches left. write",
    "you have no searches left. write",
    "this is your last turn. write",
    "error: the search tool failed. search again or go on without it.",
    "nothing was found. try other words.",
    "error: no action found. write one of",
    "error: write one action a turn, not several.",
    "is never closed. close it with",
    "is not closed before",
    "close it with",
    "closes nothing. open it with",
    "is empty. write something between the tags.",
    "is written by the game, never by a player.",
    "is not yours to use. write one of",
    "error: that turn has",
    "characters. write at most",
    "characters.",
)
"""What the game answers to a turn, apart from tags and numbers."""

_CARDS = ('the question asks for "', '".', "{entity}", "{bridge}", "target:", "hops:")
"""Of Skill Cards and of this style's prompts."""
TARGET = " target:"
"""Begins the Challenger's prompt, and is in no other."""

_SHAPES = """
    who is what which can you name the of whose has as its their with and or do have same also earlier later smaller larger yes
    no a an in on at to for from by first error now write namesakes
    """
"""Words of the questions' shapes (`wording`) and of messages."""

PUNCTUATION = (".", ",", "?", "!", ":", ";", '"', "(", ")", "-", "/", "|", "&", "...", "'s", "'")


def normalise(text: str) -> str:
    """Returns a text as the tokenizer's normaliser leaves it, for texts that begin a segment: with a blank in front."""
    text = re.sub(r'(["()])', r" \1 ", text.lower())
    text = re.sub(r"\s+", " ", text).strip()
    return f" {text}" if text else ""


def phrases() -> list[str]:
    """Returns the fixed phrases that are one piece each, longest first, normalised."""
    heads = [f'doc {rank} (title: "' for rank in range(1, MOST_DOCS + 1)]
    pages = [
        *(f"this entry is about a {kind}." for kind in KINDS),
        "also known as", '")', "(namesakes)", "entries that share the name",
        *render.NEUTRAL,
        *_fragments((*render.DECOYS, *render.DENIALS, *render.ABOUT_OBJECT, *render.ABOUT_SUBJECT, render.NAMESAKE)),
    ]  # fmt: skip
    # A phrase that begins with a comma is attached to what stands before it.
    found = {
        normalise(text).removeprefix(" " * text.startswith(","))
        for text in (*heads, *pages, *_MESSAGES, *_CARDS, *LEADINS, *TRAILS)
    }
    return sorted(found, key=lambda text: (-len(text), text))


def words() -> list[str]:
    """Returns the plain words, in lower case, sorted."""
    texts = [_SHAPES, *JARGON_VERBS, *KINDS, *MONTHS, *(word for row in SECOND_WORDS.values() for word in row)]
    texts += [part for row in CORE for part in (*row.nouns, *row.sentences)]
    texts += [part for row in OFFICES for part in row]
    texts += [*render.DECOYS, *render.DENIALS, *render.ABOUT_OBJECT, *render.ABOUT_SUBJECT, render.NAMESAKE]
    found = {word for text in texts for word in re.findall(WORD, re.sub(r"\{[a-z]+\}", " ", text.lower()))}
    return sorted(found)


def duty_words() -> list[str]:
    """Returns the words that only duties of offices are told in, in lower case, sorted: the tail's, and nothing else's."""
    texts = [_SHAPES, *KINDS, *MONTHS, *JARGON_VERBS, *(noun for row in OFFICES for noun in row[:2])]
    texts += [part for row in CORE for part in (*row.nouns, *row.sentences)]
    texts += [*render.DECOYS, *render.DENIALS, *render.ABOUT_OBJECT, *render.ABOUT_SUBJECT, *render.NEUTRAL, render.NAMESAKE]
    texts += [*LEADINS, *TRAILS, *_MESSAGES, *_CARDS, *(word for row in SECOND_WORDS.values() for word in row)]
    elsewhere = {word for text in texts for word in re.findall(WORD, re.sub(r"\{[a-z]+\}", " ", text.lower()))}
    duties = {word for row in OFFICES for duty in row[2:] for word in re.findall(WORD, duty.lower())}
    return sorted(duties - elsewhere - set(like_names()))


WORD = r"[a-z]+(?:-[a-z]+)*"
SYLLABLE = f"(?:{'|'.join(sorted(ONSETS, key=lambda onset: (-len(onset), onset)))})[{VOWELS}]"
ENDING = f"(?:{'|'.join(sorted({ending for row in ENDINGS.values() for ending in row}))})"
NAME = f"(?:{SYLLABLE})+{ENDING}"


def like_names() -> list[str]:
    """Returns the plain words that could be invented names; they are never cut."""
    return [word for word in words() if re.fullmatch(NAME, word)]


def pieces() -> list[str]:
    """Returns the whole vocabulary in the order of its ids.

    Raises:
        AssertionError: it would be ambiguous.
    """
    check()
    syllables = sorted(onset + vowel for onset in ONSETS for vowel in VOWELS)
    digits = [str(number) for number in range(10)] + [f"{number:02}" for number in range(100)]
    rows: Iterable[Iterable[str]] = (
        (PAD, EOS, UNKNOWN, *TAGS),
        phrases(),
        (f" {word}" for word in words()),
        (f" {syllable}" for syllable in syllables),
        syllables,
        sorted(ending for row in ENDINGS.values() for ending in row),
        (f" {number}" for number in digits),
        digits,
        PUNCTUATION,
        (f" {mark}" for mark in PUNCTUATION),
    )
    return list(dict.fromkeys(piece for row in rows for piece in row))


def check() -> None:
    """Asserts that an invented name is cut in one way."""
    endings = [ending for row in ENDINGS.values() for ending in row]
    for one in endings:
        held = [other for other in endings if other is not one and other.endswith(one)]
        assert not held, f"an ending must not end another; {one!r} ends {held[0]!r}"
    assert all(onset and not set(onset) & set(VOWELS) for onset in ONSETS), "an onset must be consonants"


def _fragments(templates: Iterable[str]) -> list[str]:
    """Returns the parts of sentences between their slots that have several words."""
    parts = [part.strip() for template in templates for part in re.split(r"\{[a-z]+\}", template)]
    return [part for part in parts if len(re.findall(WORD, part.lower())) > 1]
