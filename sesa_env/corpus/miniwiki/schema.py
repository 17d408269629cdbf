"""The relations of a world: the core, then the tail, each with its wordings and its distance from the question."""

from collections.abc import Sequence
from dataclasses import dataclass

from sesa_env.corpus.miniwiki.core import CORE, Row
from sesa_env.corpus.miniwiki.names import KINDS, Words
from sesa_env.corpus.miniwiki.tail import HOSTS, JARGON_VERBS, OFFICES

MIN_RELATIONS, MAX_RELATIONS, MAX_PHRASINGS = 16, 512, 6

STOPWORDS = frozenset(
    """
    a an and are as at be before by could every first for from has he her his in inside into is it its may of off on onto or out
    over round she since some the their to under up was were who with within
    """.split()  # noqa: SIM905 - fifty quoted words would be unreadable
)
"""Words that carry no meaning here; all others of a wording are its content words."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation.

    Attributes:
        index: its place in the schema, which is also its rank of popularity, from 0.
        subject: kind of its subjects.
        object: kind of its objects: a kind of entity, or "date", "year" or "number".
        span: lowest and highest year or number, where the object is a value.
        nouns: what questions call it.
        sentences: how passages state it, templates with {s} and {o}.
        far: the sentences share no content word with the nouns.
        column: its place among the relations with the same kind of subject.
    """

    index: int
    subject: str
    object: str
    span: tuple[int, int]
    nouns: tuple[str, ...]
    sentences: tuple[str, ...]
    far: bool
    column: int

    def keywords(self, wording: int) -> str:
        """Returns the content words of one of the sentences: what a good query holds."""
        words = self.sentences[wording].replace("{s}", " ").replace("{o}", " ").replace(".", " ").replace(",", " ").split()
        return " ".join(word for word in words if word.lower() not in STOPWORDS)


class Schema:
    """All relations of a world.

    Args:
        seed: the world's seed; decides the jargon alone.
        relations: how many relations, 16 to 512.
        phrasings: nouns and sentences per relation, 1 to 6.
        distance: the share of relations whose sentences share no content word with their nouns, in [0, 1].
        sentences: how many of a relation's sentences there are, at most: 1 or more.

    Attributes:
        relations: the relations by rank.
        by_kind: the relations of each kind of subject, by column.
    """

    def __init__(self, seed: int, relations: int, phrasings: int, distance: float, sentences: int = MAX_PHRASINGS) -> None:
        self._jargon = Words(seed, "jargon", MAX_RELATIONS * MAX_PHRASINGS * 3)
        self._used = 0
        self.by_kind: dict[str, list[Relation]] = {kind: [] for kind in KINDS}
        self.relations = tuple(self._relation(index, phrasings, distance, sentences) for index in range(relations))

    def _relation(self, index: int, phrasings: int, distance: float, most: int) -> Relation:
        row = self._row(index)
        nouns, sentences = list(row.nouns[:phrasings]), list(row.sentences[:phrasings])
        while len(nouns) < phrasings:
            nouns.append(self._word())
            sentences.append(self._jargon_sentence())
        far = int((index + 1) * distance + 1e-9) > int(index * distance + 1e-9)
        if not far:
            sentences = [near_sentence(nouns)] * phrasings
        same_kind = self.by_kind[row.subject]
        relation = Relation(
            index, row.subject, row.object, row.span, tuple(nouns), tuple(sentences[:most]), far, column=len(same_kind)
        )
        same_kind.append(relation)
        return relation

    def _row(self, index: int) -> Row:
        if index < len(CORE):
            return CORE[index]
        rank = index - len(CORE)
        host = HOSTS[rank % len(HOSTS)]
        if rank >= len(OFFICES):
            return Row(host, "person", (0, 0), (), ())
        noun, second, duty, other = OFFICES[rank]
        return Row(host, "person", (0, 0), (noun, second), (f"{{o}} {duty} {{s}}.", f"{{o}} {other} {{s}}."))

    def _word(self) -> str:
        self._used += 1
        return self._jargon[self._used - 1]

    def _jargon_sentence(self) -> str:
        verb = JARGON_VERBS[self._used % len(JARGON_VERBS)]
        return f"{{o}} {verb} the {self._word()} {self._word()} for {{s}}."


def near_sentence(nouns: Sequence[str]) -> str:
    """Returns the sentence that states a relation in the question's own words, all of them."""
    return f"The {', or '.join(nouns)}{',' if len(nouns) > 1 else ''} of {{s}} is {{o}}."
