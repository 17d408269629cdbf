"""The scripted Challenger: walks the graph of a built-in world, or titles and shared names on real passages, to a question.

It reads the target, the hop count and what its own searches brought, and nothing else: never a Skill Card (paper, section 1).
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import islice

from sesa_env.grading import contains_answer, exact_match, normalise
from sesa_env.players.base import View
from sesa_env.players.cloze import Mention, bare_title, cloze, joins, mentions
from sesa_env.players.reader import ScriptedReader
from sesa_env.players.replay import Script, replay
from sesa_env.players.spans import MONTHS, content_words, names
from sesa_env.players.turns import plain, question_turn
from sesa_env.types import Passage, Question, Target
from sesa_env.worlds import World

_TRIES = 12
_WIDTH = 40
_MOST_SEARCHES = 9
_MAX_CHARS = 1000


class ScriptedChallenger:
    """Poses a question for a target. A function of the view and the seed alone.

    Args:
        world: where to pose; with a graph, questions come from it, else from passages.
        seed: different seeds pose different questions about one target.
    """

    def __init__(self, world: World, seed: int = 0) -> None:
        self._world, self._seed = world, seed
        self._reader = ScriptedReader()
        self._targets: Mapping[tuple[str, int], Target] = {
            (target.answer, target.hops): target for target in reversed(world.targets)
        }

    def act(self, view: View) -> str:
        """Replays its walk over the searches made so far and does the next thing; poses when it must."""
        target = self._targets.get((view.target, view.hops)) or Target(view.target, view.target, max(view.hops, 1))
        script = self._walk_passages(target) if self._world.graph is None else self._walk_graph(target)
        return replay(script, view, question_turn, lambda: self._pose(target, [call.passages for call in view.searches]))

    def _walk_graph(self, target: Target) -> Script:
        """Takes a question off the graph and makes the searches that bring its evidence."""
        question: Question | None = self._world.graph.pose(target, _digest(self._seed, target.id, target.hops))
        if question is None:
            return (yield from self._walk_passages(target))
        found = [self._world.corpus.find(key) for key in question.evidence]
        queries = [_query_for(passage) for passage in found if passage is not None]
        for query in _distinct([*queries, *_names(found), target.answer], max(target.hops, len(queries))):  # noqa: UP028 - a list cannot be sent what the search brought
            yield query
        return question.text

    def _walk_passages(self, target: Target) -> Script:
        """Searches the target, then names and pages that its statements lead to, until a chain of as many hops is found."""
        hits: list[tuple[Passage, ...]] = []
        queries = [target.answer]
        while len(hits) < _MOST_SEARCHES:
            hits.append((yield queries[-1]))
            question = self._from_passages(target, hits, target.hops) if len(hits) >= target.hops else ""
            if question:
                return question
            queries.append(self._next_query(target, hits, queries))
        return self._pose(target, hits)

    def _next_query(self, target: Target, hits: Sequence[Sequence[Passage]], queries: Sequence[str]) -> str:
        """Chooses what to search next: a name that the longest chains end with, then any page."""
        chains = [chain for hops in range(target.hops - 1, 0, -1) for chain in self._chains(target, hits, hops)[:_TRIES]]
        leads = [bridges[rank] for rank in range(3) for chain in chains if len(bridges := _bridges(chain, hits)) > rank]
        asked = {normalise(query) for query in queries}
        rows = [*leads, *_titles(hits), f"{target.answer} {len(queries)}"]
        return next(row for row in rows if normalise(row) not in asked)

    def _pose(self, target: Target, hits: Sequence[Sequence[Passage]]) -> str:
        """Writes a question of as many hops as asked for, or else of fewer; "" when there is none."""
        written = (self._from_passages(target, hits, hops) for hops in range(target.hops, 0, -1))
        return next((question for question in written if question), "")

    def _from_passages(self, target: Target, hits: Sequence[Sequence[Passage]], hops: int) -> str:
        """Writes the first question of this many hops that would pass; "" when there is none."""
        own = list({passage.id: passage for found in hits for passage in found}.values())
        written = (cloze(chain) for chain in self._chains(target, hits, hops)[:_TRIES])
        return next((question for question in written if self._holds(question, target, own)), "")

    def _holds(self, question: str, target: Target, own: Sequence[Passage]) -> bool:
        """Says whether a question would pass: not too long, the answer hidden, and answered from its own documents."""
        if len(question) > _MAX_CHARS or contains_answer(question, target.answers):
            return False
        verdict = self._reader.verify(question, own)
        return verdict is not None and exact_match(verdict.answers[0], target.answers)

    def _chains(self, target: Target, hits: Sequence[Sequence[Passage]], hops: int) -> list[list[Mention]]:
        """Finds chains of statements: one that mentions the target, one that mentions its page or a name in it, and so on."""
        own = list(dict.fromkeys(passage for found in hits for passage in found))
        chains = [[mention] for mention in _turned(mentions(target.answer, own), self._seed, target)]
        for _ in range(1, hops):
            longer = (
                [*chain, mention] for chain in chains for name in _bridges(chain, hits) for mention in mentions(name, own)
            )
            chains = list(islice((chain for chain in longer if _leads_on(chain)), _WIDTH))
        return chains


def challenger(world: World, seed: int = 0) -> ScriptedChallenger:
    """Makes the player "challenger"."""
    return ScriptedChallenger(world, seed)


def _digest(seed: int, key: str, hops: int) -> int:
    """Returns a number in [0, 2**32) from a digest: the same in every process."""
    row = f"{seed}\n{key}\n{hops}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(row, digest_size=4).digest(), "big")


def _turned(row: list[Mention], seed: int, target: Target) -> list[Mention]:
    """Turns a row by an amount that seed and target decide, so that seeds begin with different statements."""
    turn = _digest(seed, target.id, target.hops) % len(row) if row and seed else 0
    return [*row[turn:], *row[:turn]]


def _bridges(chain: Sequence[Mention], hits: Sequence[Sequence[Passage]]) -> list[str]:
    """Returns the names that may lead on from a chain's last statement: its page, names of several words, other pages."""
    last = chain[-1]
    pages = {bare_title(passage.title) for found in hits for passage in found}
    spans = [span.text for span in names(last.sentence) if span.text.split()[0] not in MONTHS]
    found = [text for text in spans if " " in text or text in pages]
    known = {normalise(mention.name) for mention in chain}
    return [
        name
        for name in dict.fromkeys([bare_title(last.title) if last.title else "", *found])
        if name and normalise(name) not in known
    ]


def _leads_on(chain: Sequence[Mention]) -> bool:
    """Says whether a chain's last statement is a clue: on a page of its own, which no other statement of the chain names."""
    title = bare_title(chain[-1].title)
    repeated = len({mention.sentence for mention in chain}) < len(chain)
    told = repeated or any(contains_answer(f"{mention.title}. {mention.sentence}", [title]) for mention in chain[:-1])
    return bool(chain[-1].title) and not told and joins(chain)


def _query_for(passage: Passage) -> str:
    """Writes a query that brings a passage: its title and its first content words."""
    return " ".join([passage.title, *content_words(passage.text)[:8]])


def _names(found: Sequence[Passage | None]) -> list[str]:
    return [passage.title for passage in found if passage is not None]


def _titles(hits: Sequence[Sequence[Passage]]) -> list[str]:
    return [plain(passage.title) for found in hits for passage in found if passage.title.strip()]


def _distinct(queries: Sequence[str], wanted: int) -> list[str]:
    """Returns the first `wanted` queries, each once."""
    return list({normalise(query): query for query in reversed(queries)}.values())[::-1][:wanted]
