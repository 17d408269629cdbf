"""A reader without a model: takes an answer off passages by what the question asks for and what stands near its words.

The heuristics are those of early reading-comprehension baselines: candidate spans, a liking for the asked-for kind, nearness
to the question's words. On real questions it is a weak reader; that is what a baseline and a test player need.
"""

import math
from collections.abc import Sequence

from sesa_env.players.asking import Asked, asked, sought
from sesa_env.players.blank import BLANK, fill_blank, hops_of
from sesa_env.players.compare import compare
from sesa_env.players.spans import Sentence, Span, sentences, stem, word_set, words
from sesa_env.types import Passage, Verdict

_RANK_DISCOUNT = 0.8
_FITS: dict[str, dict[str, float]] = {
    "person": {"name": 1.0, "quote": 0.2, "noun": 0.1},
    "place": {"name": 1.0, "quote": 0.2, "noun": 0.1},
    "name": {"name": 1.0, "quote": 1.0, "noun": 0.1, "date": 0.5, "year": 0.3, "number": 0.3},
    "thing": {"name": 1.0, "quote": 1.0, "noun": 0.5, "date": 0.3, "number": 0.2, "year": 0.15},
    "noun": {"noun": 1.0, "name": 0.4},
    "date": {"date": 1.0, "year": 0.9},
    "year": {"year": 1.0},
    "number": {"number": 1.0, "year": 0.1},
}
_PLACE_WORDS = word_set("in at from near to")


class ScriptedReader:
    """Reads answers off passages, and verifies questions with them (`Verifier`). It has no state."""

    def read(self, question: str, query: str, passages: Sequence[Passage]) -> str:
        """Reads the answer to a question off passages.

        Args:
            question: the question, or a fragment of one such as "spouse of Ada".
            query: the query that brought the passages, "" if none; its words count like the question's.
            passages: best first; each next one counts for a fifth less.

        Returns:
            The answer as the passage writes it, "yes", "no" or one of the question's options; "" when nothing fits.
        """
        if BLANK in question and (filled := fill_blank(question, [body(passage) for passage in passages])):
            return filled
        wanted = asked(question)
        if wanted.options:
            return compare(question, wanted, passages, self.read)
        return "yes" if wanted.polar else self._best(question, query, wanted, passages)

    def verify(self, question: str, passages: Sequence[Passage]) -> Verdict | None:
        """Answers a question from documents in any order (RAG verification; paper, section 3).

        Args:
            question: the question's text.
            passages: the documents; their order does not matter.

        Returns:
            The answer read, with no evidence named, or None when nothing can be read. Of a question with a blank the number
            of statements that it chains is told too.
        """
        stems = frozenset(sought(question, ""))
        ranked = sorted(passages, key=lambda passage: (-_overlap(stems, passage), passage.id))
        answer = self.read(question, "", ranked)
        hops = hops_of(question, [body(passage) for passage in ranked]) if BLANK in question else 0
        return Verdict((answer,), hops=hops) if answer else None

    def _best(self, question: str, query: str, wanted: Asked, passages: Sequence[Passage]) -> str:
        stems = sought(question, query)
        shown = [(rank, passage, sentence) for rank, passage in enumerate(passages) for sentence in sentences(body(passage))]
        weights = _weights(stems, [sentence for _, _, sentence in shown])
        excluded = frozenset(word.text.lower().removesuffix("'s") for word in words(f"{question} {query}"))
        best, best_score = "", 0.0
        for rank, passage, sentence in shown:
            known = _known(passage.title, weights)
            for span in [*sentence.spans, *_subject(passage.title, sentence)]:
                score = _score(span, sentence, wanted, weights, known, excluded) * _RANK_DISCOUNT**rank
                if score > best_score:
                    best, best_score = _as_titled(span.text, passage.title), score
        return best


def body(passage: Passage) -> str:
    """Returns the text without a leading repetition of the title, which some corpora put before the first sentence."""
    rest = passage.text.removeprefix(f"{passage.title} ") if passage.title else passage.text
    return rest if rest[:1].isupper() else passage.text


def _as_titled(text: str, title: str) -> str:
    """Cuts a name to the page's title where it ends with it: "Ministers of Norland" on Norland's page."""
    return title if title and text.endswith(f" {title}") else text


def _weights(stems: Sequence[str], shown: Sequence[Sentence]) -> dict[str, float]:
    """Weighs each sought stem by its rarity among the sentences shown, as BM25 does."""
    sets = [frozenset(sentence.stems) for sentence in shown]
    counts = {word: sum(word in group for group in sets) for word in stems}
    return {word: math.log(1 + len(sets) / count) for word, count in counts.items() if count}


def _known(title: str, weights: dict[str, float]) -> float:
    """Returns the weight of the sought words that the passage's title holds: each of its sentences is about them."""
    held = dict.fromkeys(stem(word.text) for word in words(title))  # no set: the order of a sum must not depend on hashes
    return sum(weights.get(word, 0.0) for word in held)


def _subject(title: str, sentence: Sentence) -> list[Span]:
    """Lets the page's title stand for the pronoun that a sentence begins with."""
    first = sentence.words[0].text.lower() if sentence.words else ""
    return [Span(title, "name", 0, 0)] if first in ("he", "she", "it", "they", "his", "her", "its", "their") else []


def _score(
    span: Span, sentence: Sentence, wanted: Asked, weights: dict[str, float], known: float, excluded: frozenset[str]
) -> float:
    fit = _FITS[wanted.kind].get(span.kind, 0.0)
    if not fit or _is_excluded(span.text, excluded):
        return 0.0
    near = _nearness(span, sentence, weights)
    return fit * _context(span, sentence, wanted) * (0.05 + near + 0.5 * known)


def _is_excluded(text: str, excluded: frozenset[str]) -> bool:
    """Says whether the question already names this: then it is no answer."""
    return all(word.text.lower() in excluded for word in words(text))


def _nearness(span: Span, sentence: Sentence, weights: dict[str, float]) -> float:
    """Sums the sought words' weights in the sentence, each counting more the nearer it stands to the span."""
    best: dict[str, float] = {}
    for word, stemmed in zip(sentence.words, sentence.stems, strict=True):
        if stemmed in weights and not span.start <= word.start < span.end:
            gap = max(word.start - span.end, span.start - word.end, 0)
            best[stemmed] = max(best.get(stemmed, 0.0), 1 / (1 + gap / 40))
    return sum(weights[stemmed] * (0.5 + share) for stemmed, share in best.items())


def _context(span: Span, sentence: Sentence, wanted: Asked) -> float:
    """Judges a name by its neighbours: place or person by the word before it, adjective by the word after it."""
    if span.kind != "name":
        return 1.0
    before = sentence.text[max(0, span.start - 6) : span.start].split()[-1:]
    after = sentence.text[span.end : span.end + 2]
    single = " " not in span.text
    plain = 0.5 if single and (span.start == 0 or (len(after) == 2 and after[0] == " " and after[1].islower())) else 1.0
    placed = bool(before) and before[0].lower() in _PLACE_WORDS
    if wanted.kind == "place":
        return plain * (1.0 if placed else 0.6 if before == ["of"] else 0.4)
    if wanted.kind == "person":
        return (0.6 if placed else 1.0) * (0.6 if single else 1.0)
    return plain


def _overlap(stems: frozenset[str], passage: Passage) -> int:
    """Counts the question's words that a passage holds."""
    held = {word for sentence in sentences(passage.text) for word in sentence.stems}
    return len(stems & (held | {stem(word.text) for word in words(passage.title)}))
