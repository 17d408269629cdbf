"""The distiller without a model: with the evidence in hand, it finds the query that would have brought it (paper, section 4).

A failure's question names where the search starts; its evidence says what was to be found on the way. For each hop the
distiller tries queries of the name and few words of the statement, and keeps the shortest that brings the evidence first and
from which the scripted reader takes the right thing. Words that no other page uses
in the same way make no card. One card teaches one search decision, so that several cards serve a chain.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice

from sesa_env.grading import contains_answer, exact_match, normalise
from sesa_env.memory.base import CardDraft, Failure, SkillCard
from sesa_env.memory.leaks import Secrets, secrets_of
from sesa_env.memory.routes import Hop, routes
from sesa_env.players.cloze import bare_title
from sesa_env.players.decisions import phrases
from sesa_env.players.following import holder
from sesa_env.players.reader import ScriptedReader
from sesa_env.players.spans import Sentence, is_content, sentences, stem
from sesa_env.search.base import Retriever
from sesa_env.types import Passage
from sesa_env.worlds import World

_MOST_WORDS = 8
_MOST_ROUTES = 16
_SURVEY = 20
_OTHERS = 2


class Hindsight:
    """Writes cards from failures by trying queries on the search tool (`Distiller`).

    Args:
        retriever: the search tool that the player used.
        k: how many passages the player was shown for a query.
        most_words: the longest query tried, in words beside the name.
    """

    name = "hindsight"

    def __init__(self, retriever: Retriever, k: int = 3, most_words: int = 3) -> None:
        self._retriever, self._k, self._most_words = retriever, k, most_words
        self._reader = ScriptedReader()

    def distil(self, failures: Sequence[Failure], cards: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
        """Writes cards for a batch of failures; see `Distiller`. It never raises TeacherError.

        Returns:
            For each failure at most one draft for each hop; [] where no query brings the evidence, or where the cards shown say
            already what is to be done.
        """
        return [self._one(failure, cards) for failure in failures]

    def _one(self, failure: Failure, cards: Mapping[str, SkillCard]) -> list[CardDraft]:
        shown = [cards[key] for key, _ in failure.attempt.cards if key in cards]
        found = (passage for call in failure.attempt.searches for passage in call.passages)
        secrets = secrets_of(failure.question, tuple(dict.fromkeys((*failure.evidence, *found))))
        for route in islice(routes(failure), _MOST_ROUTES):
            drafts = self._drafts(route, failure, shown, secrets)
            if drafts is not None:
                return drafts
        return []

    def _drafts(
        self, route: Sequence[Hop], failure: Failure, shown: Sequence[SkillCard], secrets: Secrets
    ) -> list[CardDraft] | None:
        """Finds a query for each hop; None when a hop has none: then this is not how the evidence hangs together."""
        drafts: dict[str, CardDraft] = {}
        for hop in route:
            template = self._template(hop, secrets)
            if template is None:
                return None
            vain = _said(shown, hop.phrase)
            if hop.phrase and template not in vain and not secrets.told_by(hop.phrase):
                drafts.setdefault(hop.phrase, _draft(hop, template, vain, failure))
        return list(drafts.values())

    def _template(self, hop: Hop, secrets: Secrets) -> str | None:
        """Returns the shortest template that brings the evidence first, lets the right thing be read, and is no coincidence."""
        statement = _statement(hop)
        for rows in _word_rows(_statement_words(hop, statement, secrets), self._most_words):
            queries = [" ".join([hop.name, *row]) for row in rows]
            for row, query, hits in zip(rows, queries, self._retriever.search(queries, self._k), strict=True):
                if (
                    hits
                    and hits[0].id == hop.evidence.id
                    and self._reads(hop, query, hits)
                    and self._general(hop, row, statement)
                ):
                    return " ".join(["{entity}", *row])
        return None

    def _general(self, hop: Hop, row: Sequence[str], statement: Sentence) -> bool:
        """Says whether words serve beyond this case: the question asks in them, or other pages state the same in the same way.

        One failure cannot tell the words of a relation from words that happen to stand near it. Those of a relation come again,
        between the same neighbours, in statements about other things.
        """
        asked_in = {stem(word) for word in hop.phrase.split()}
        if all(stem(word) in asked_in for word in row):
            return True
        surveyed = self._retriever.search([" ".join(row)], _SURVEY)[0]
        frame = _settings(statement, row)
        own = normalise(bare_title(hop.evidence.title))
        others = {
            title
            for passage in surveyed
            if (title := normalise(bare_title(passage.title))) not in (own, normalise(hop.name))
            and any(_settings(sentence, row) == frame and _is_about(sentence, title) for sentence in sentences(passage.text))
        }
        return len(others) >= _OTHERS and not any(_is_name(word, surveyed) for word in row)

    def _reads(self, hop: Hop, query: str, hits: Sequence[Passage]) -> bool:
        held = holder(query, hits)
        if held is None or held.id != hop.evidence.id:
            return False
        found = self._reader.read(hop.reading, query, [held])
        return exact_match(found, hop.goals) if hop.goals else bool(found)


def _word_rows(row: Sequence[str], most_words: int) -> Iterator[list[tuple[str, ...]]]:
    """Yields the words of templates by length: each content word of the statement, each two of them, and so on."""
    for size in range(1, min(most_words, len(row)) + 1):
        yield list(combinations(row, size))


def _statement_words(hop: Hop, statement: Sentence, secrets: Secrets) -> list[str]:
    """Returns the plain words of the evidence's statement: content words that are no name, no figure and no secret.

    The first word of a sentence may be a name: `_general` looks how others write it.
    """
    named = [span for span in statement.spans if span.kind in ("name", "date", "year", "number") and " " in span.text]
    hidden = {word.lower() for text in (hop.name, *hop.goals) for word in normalise(text).split()}
    kept = [
        word.text.lower()
        for word in statement.words
        if is_content(word.text)
        and (word.text.islower() or word.start == 0)
        and not any(span.start <= word.start < span.end for span in named)
    ]
    return [word for word in dict.fromkeys(kept) if word not in hidden and not secrets.told_by(word)][:_MOST_WORDS]


def _settings(sentence: Sentence, row: Sequence[str]) -> list[tuple[str, str, str]]:
    """Returns each word of a template with its neighbours in a sentence, names as "*"; [] if one is missing."""
    words = [lower if (lower := word.text.lower()) == word.text or lower in row else "*" for word in sentence.words]
    words = ["*" if word.isdigit() else word for word in words]
    padded = ["", *words, ""]
    if not all(word in words for word in row):
        return []
    places = [padded.index(word) for word in row]
    return [(padded[place - 1], padded[place], padded[place + 1]) for place in places]


def _is_name(word: str, passages: Sequence[Passage]) -> bool:
    """Says whether passages write a word with a capital inside a sentence, and never without one."""
    written = [
        found.text
        for passage in passages
        for sentence in sentences(passage.text)
        for found in sentence.words
        if found.text.lower() == word and found.start
    ]
    return bool(written) and not any(text.islower() for text in written)


def _is_about(sentence: Sentence, title: str) -> bool:
    return bool(title) and contains_answer(sentence.text, [title])


def _statement(hop: Hop) -> Sentence:
    """Returns the sentence of the evidence that states the fact: it holds the goal, and the name rather than a pronoun."""
    found = sentences(hop.evidence.text) or (Sentence("", (), (), ()),)
    held = [2 * contains_answer(sentence.text, hop.goals) + contains_answer(sentence.text, [hop.name]) for sentence in found]
    return found[held.index(max(held))]


def _said(shown: Sequence[SkillCard], phrase: str) -> list[str]:
    """Returns the templates of the cards shown in vain that are for this phrase."""
    key = tuple(phrase.replace("...", " ").split())
    return [
        query
        for card in shown
        if any(tuple(word for piece in pieces for word in piece) == key for pieces in phrases(card.trigger))
        for query in card.queries
    ]


def _draft(hop: Hop, template: str, vain: Sequence[str], failure: Failure) -> CardDraft:
    return CardDraft(
        description=f"Search for the {hop.phrase.replace(' ... ', ' ')}.",
        trigger=f'The question asks for "{hop.phrase}".',
        avoid=_fault(hop, vain, failure),
        queries=(template,),
    )


def _fault(hop: Hop, vain: Sequence[str], failure: Failure) -> str:
    """Says what the failing queries did wrong."""
    if vain:
        tried = " and ".join(f'"{template}"' for template in vain[:2])
        return f"Trusting {tried} alone: it did not bring the statement."
    searches = failure.attempt.searches
    if any(normalise(call.query) == normalise(failure.question.text) for call in searches):
        return f'Searching the whole question: pages that repeat "{hop.phrase}" come first and need not state it.'
    if any(passage.id == hop.evidence.id for call in searches for passage in call.passages):
        return "Answering from another passage of the results: take the one that holds all words of the search."
    return f'Searching in the words of the question, such as "{hop.phrase}": the statement is written in others.'


def hindsight(world: World) -> Hindsight:
    """Makes the distiller on a world's search tool (`load_teacher`)."""
    return Hindsight(world.retriever)
