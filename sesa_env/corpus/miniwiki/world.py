"""MiniWiki: the whole world behind one object."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from sesa_env.corpus.miniwiki.forms import Chain, Form, Lookup, Need, follow, resolve, searches
from sesa_env.corpus.miniwiki.graph import SPLITS, Fact, Graph, Node, read_value
from sesa_env.corpus.miniwiki.layout import Layout, plan
from sesa_env.corpus.miniwiki.mixtures import BENCHMARKS, DEFAULT_FAMILIES, MIXTURES
from sesa_env.corpus.miniwiki.names import KINDS, Names
from sesa_env.corpus.miniwiki.reader import Reader
from sesa_env.corpus.miniwiki.render import MAX_FILLER, Renderer
from sesa_env.corpus.miniwiki.rng import Stream, derive
from sesa_env.corpus.miniwiki.sampler import FAMILIES, Sampler
from sesa_env.corpus.miniwiki.schema import MAX_PHRASINGS, MAX_RELATIONS, MIN_RELATIONS, Schema
from sesa_env.corpus.miniwiki.values import VALUE_KINDS
from sesa_env.corpus.miniwiki.wording import FORMAL_LEADINS, PLAIN, Style, Wording
from sesa_env.errors import ConfigError
from sesa_env.grading import contains_answer
from sesa_env.types import Passage, Question, Target, Verdict

VERSION = 1
"""Raised with every change of what a seed gives; part of the fingerprint."""

MIN_SIZE, MAX_SIZE = 300, 50_000_000
_MAX_QUESTION = 1000  # characters (paper, section 3)
_HOPS = (1, 2, 3)
_WALKS = 64  # chains that `pose` tries before it gives a target up
_PATIENCE = 2000  # draws in a row without a new question


class MiniWiki:
    """A procedural encyclopaedia: a function of its arguments, the same on every machine.

    Names are invented, so no model can know an answer. Each fact is stated by one passage; each that is stated in other words
    than the question's has a decoy, which repeats the question's words beside the right name and gives a wrong answer.
    Entities, and with them all facts, are split in two halves, train and test, which share neither; the corpus holds both.

    Args:
        seed: any integer.
        size: the number of passages, exactly; 300 to 50 million. They state about two facts for each three passages.
        relations: how many relations there are, 16 to 512: first 38 common ones, then 70 offices, then invented jargon. A world
            with fewer than about three passages for each relation has no fact of some.
        phrasings: nouns in questions and sentences in passages for each relation, 1 to 6; those beyond two are invented jargon.
        zipf: how unevenly relations are asked about: relation r (from 1) in proportion to r ** -zipf; 0 or more.
        distance: the share of relations that passages state without any content word of the question, in [0, 1].
        aliases: the share of entities with a second name, in [0, 1], in steps of 0.1.
        decoys: the share of distant facts that have a decoy, in [0, 1].
        filler: how many sentences without meaning fill a page that states a fact, beside a remark on its object, 0 to 2. At 0
            a page holds the statement or the decoys alone, after the entity's introduction where it has one: for models that
            read few tokens.
        sentences: how many of a relation's phrasings passages use, 1 to `phrasings`; None for all. With 1, who knows the words
            of a relation finds every fact of it.

    Attributes:
        fingerprint: a digest of the arguments and the generator's version.

    Raises:
        ConfigError: an argument is out of its range.
    """

    def __init__(
        self,
        seed: int = 0,
        size: int = 1000,
        relations: int = 24,
        phrasings: int = 2,
        zipf: float = 0.7,
        distance: float = 0.8,
        aliases: float = 0.3,
        decoys: float = 1.0,
        filler: int = MAX_FILLER,
        sentences: int | None = None,
    ) -> None:
        _require_whole(seed=seed, size=size, relations=relations, phrasings=phrasings, filler=filler)
        _require("filler", filler, 0, MAX_FILLER)
        _require("size", size, MIN_SIZE, MAX_SIZE)
        _require("relations", relations, MIN_RELATIONS, MAX_RELATIONS)
        _require("phrasings", phrasings, 1, MAX_PHRASINGS)
        stated = phrasings if sentences is None else sentences
        _require_whole(sentences=stated)
        _require("sentences", stated, 1, phrasings)
        _require("zipf", zipf, 0, 100)
        for name, share in (("distance", distance), ("aliases", aliases), ("decoys", decoys)):
            _require(name, share, 0, 1)
        self._seed, self._size = seed, size
        # A world with all its filler and all its sentences keeps the digest that it had before there was a choice.
        shorter: tuple[object, ...] = () if filler == MAX_FILLER else (filler,)
        if stated != phrasings:
            shorter += ("sentences", stated)
        numbers = map(float, (zipf, distance, aliases, decoys))
        self.fingerprint = _digest(VERSION, seed, size, relations, phrasings, *numbers, *shorter)
        self.schema = Schema(seed, relations, phrasings, distance, stated)
        halves, lists = plan(self.schema, size, decoys)
        self.graph = Graph(seed, self.schema, halves, Names(seed, halves, aliases))
        self.layout = Layout(seed, self.graph, decoys)
        self._renderer = Renderer(seed, self.graph, self.layout, lists, filler)
        self._wording = Wording(self.graph)
        self._sampler = Sampler(self.graph, zipf)

    def __len__(self) -> int:
        """Returns the number of passages."""
        return self._size

    def passages(self) -> Iterator[Passage]:
        """Yields all passages in a fixed order, without holding them."""
        return self._renderer.passages()

    def questions(
        self,
        n: int,
        split: str = "test",
        families: Mapping[str, float] | None = None,
        seed: int = 0,
        source: str = "miniwiki",
    ) -> list[Question]:
        """Draws different questions.

        Args:
            n: how many, at least 0.
            split: "train" or "test": the half of the world they are about.
            families: weights by family (see `sampler.FAMILIES`); None for a mixture of all.
            seed: another seed gives other questions.
            source: what their `source` is to say.

        Returns:
            The questions, with answers, evidence and entities.

        Raises:
            ConfigError: an unknown split or family, or a world too small for so many different questions.
        """
        return self._questions(n, split, DEFAULT_FAMILIES if families is None else families, PLAIN, seed, source)

    def benchmark(self, name: str, n: int | None = None, split: str = "test", seed: int = 0) -> list[Question]:
        """Draws the questions of one of the seven mixtures.

        Args:
            name: one of `BENCHMARKS`.
            n: how many; None for as many as the paper takes from the real one (500, Bamboogle 125).
            split: "train" or "test".
            seed: another seed gives other questions.

        Returns:
            The questions, with the source "miniwiki/NAME".

        Raises:
            ConfigError: as for `questions`, or an unknown name.
        """
        if name not in MIXTURES:
            raise ConfigError(f"benchmark must be one of {', '.join(BENCHMARKS)}; got {name!r}")
        mixture = MIXTURES[name]
        count = mixture.size if n is None else n
        return self._questions(count, split, mixture.families, mixture.style, seed, f"miniwiki/{name}")

    def targets(self, n: int, split: str = "train", seed: int = 0) -> list[Target]:
        """Draws targets for the Challenger: one, two and three hops in turn, each with a chain that leads to it.

        Args:
            n: how many, at least 0. Pairs of answer and hops repeat only once different ones are hard to find.
            split: "train" or "test".
            seed: another seed gives other targets.

        Raises:
            ConfigError: an unknown split or a negative n.
        """
        half, stream = _split(split), Stream(self._seed, "targets", split, seed)
        _require_whole(n=n)
        _require("n", n, 0, MAX_SIZE)
        seen: set[tuple[Node, int]] = set()
        return [self._target(f"{split}-{seed}-{number}", half, number % 3 + 1, stream, seen) for number in range(n)]

    def verify(self, question: str, passages: Sequence[Passage] = ()) -> Verdict | None:
        """Answers a question exactly, from the graph.

        Args:
            question: any string.
            passages: ignored: the graph holds all that the corpus states, so what is unique is unique in the whole world.

        Returns:
            What is asked for; None when the text is not wholly a question of this world, or has no single answer. Never raises.
        """
        form = self._reader.read(question)
        return None if form is None else resolve(self.graph, self.layout, form)

    def pose(self, target: Target, seed: int) -> Question | None:
        """Walks the graph back from a target to a question that leads to it.

        Args:
            target: its answer must be the name of an entity, or a date, year or number, as passages write it.
            seed: another seed gives another question, by its opening at least.

        Returns:
            A question with exactly `target.hops` hops that passes the paper's filters on text (section 3): at least 10 words,
            at most 1000 characters, without the answer. None when no chain leads to the target.
        """
        node = self._find(target.answer)
        if node is None or target.hops not in _HOPS:
            return None
        stream = Stream(self._seed, "pose", target.answer, target.hops, seed)
        turn = derive(target.answer, target.hops) % len(FORMAL_LEADINS) + seed
        style = Style(leadins=(FORMAL_LEADINS[turn % len(FORMAL_LEADINS)],))
        for split in self._splits_of(node, target):
            for chain in islice(self._sampler.walks_to(node, split, target.hops, stream), _WALKS):
                text = self._wording.question(Lookup(chain), stream, style)
                if len(text) <= _MAX_QUESTION and not contains_answer(text, target.answers):
                    return self._question(f"{target.id}-{seed}", Lookup(chain), text, "miniwiki/posed")
        return None

    def ideal_queries(self, question: str) -> tuple[str, ...] | None:
        """Returns the queries that a perfect searcher would make, one for each evidence passage, or None for no question.

        Each is a name followed by the content words with which the passage states the fact; names found by earlier queries are
        used by later ones.
        """
        needs = self.needs(question)
        return None if needs is None else tuple(" ".join((need.name, *need.keywords)) for need in needs)

    def needs(self, question: str) -> tuple[Need, ...] | None:
        """Returns the facts that a question needs, in the order in which they must be found, or None for no question."""
        form = self._reader.read(question)
        verdict = None if form is None else resolve(self.graph, self.layout, form)
        if form is None or verdict is None:
            return None
        text = question.lower()
        return tuple(self._need(known, fact, text) for known, fact in searches(self.graph, form))

    def _need(self, known: Node, fact: Fact, text: str) -> Need:
        graph, relation = self.graph, fact.relation
        return Need(
            name=graph.label(known),
            phrase=max((noun for noun in relation.nouns if noun in text), key=len, default=relation.nouns[0]),
            rank=relation.index,
            keywords=tuple(relation.keywords(self._renderer.wording(fact)).split()),
            evidence=self.layout.evidence(fact.subject, relation),
            found=graph.label(fact.object if known == fact.subject else fact.subject),
        )

    def claims(self, passage: str) -> tuple[Fact, ...]:
        """Returns what the passage with this id says, true or false: one fact, or a decoy's one or two.

        A claim is true if its object is `graph.object(claim.subject, claim.relation)`. A list of namesakes claims nothing, nor
        does an id that is not this world's.
        """
        kind, _, rest = passage.partition("-")
        number, _, page = rest.partition("-")
        if kind not in KINDS or not (number.isdecimal() and page.isdecimal()) or int(number) >= 2 * self.graph.halves[kind]:
            return ()
        return self._renderer.claims(Node(kind, int(number)), int(page))

    def half_of(self, name: str) -> str | None:
        """Returns the half of the world, "train" or "test", that an entity of this name belongs to; None for any other text.

        Dates, years and numbers are values, not entities: both halves share them.
        """
        node = self._reader.find(name)
        return None if node is None else SPLITS[node.number % 2]

    def ask(self, chain: Chain, seed: int) -> str:
        """Words a chain as `pose` does: with a formal opening, so that it has ten words at least."""
        return self._wording.question(Lookup(chain), Stream(self._seed, "ask", seed), Style(leadins=FORMAL_LEADINS))

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.graph)

    def _questions(
        self, n: int, split: str, families: Mapping[str, float], style: Style, seed: int, source: str
    ) -> list[Question]:
        half, names = _split(split), sorted(families)
        _require_whole(n=n)
        _require("n", n, 0, MAX_SIZE)
        weights = _weights(families, names)
        stream = Stream(self._seed, "questions", source, split, seed)
        texts: dict[str, Form] = {}
        for _ in range(n):
            text, form = self._fresh(stream.pick_weighted(names, weights), stream, half, style, texts)
            texts[text] = form
        prefix = f"{split}-{seed}-"
        return [self._question(f"{prefix}{number}", form, text, source) for number, (text, form) in enumerate(texts.items())]

    def _fresh(self, family: str, stream: Stream, half: int, style: Style, taken: Mapping[str, Form]) -> tuple[str, Form]:
        """Draws a question that was not drawn before."""
        for _ in range(_PATIENCE):
            form = self._sampler.draw(family, stream, half)
            if form is None:
                continue
            text = self._wording.question(form, stream, style)
            if text not in taken:
                return text, form
        raise ConfigError(
            f"this world of {self._size} passages gives no more different {family!r} questions after {len(taken)}; "
            "ask for fewer, or make a world of a larger size"
        )

    def _question(self, identifier: str, form: Form, text: str, source: str) -> Question:
        verdict = resolve(self.graph, self.layout, form)
        if verdict is None:
            raise AssertionError(f"the sampler drew a form without an answer: {form}")
        return Question(
            identifier, text, verdict.answers, verdict.hops, verdict.family, verdict.evidence, verdict.entities, source
        )

    def _target(self, identifier: str, half: int, hops: int, stream: Stream, seen: set[tuple[Node, int]]) -> Target:
        for attempt in range(_PATIENCE):
            form = self._sampler.bridge(stream, half, hops)
            end = None if form is None else follow(self.graph, form.chain)
            if end is not None and ((end[0], hops) not in seen or attempt > 50):
                seen.add((end[0], hops))
                answer, *aliases = self.graph.spellings(end[0])
                return Target(identifier, answer, hops, tuple(aliases))
        raise ConfigError(f"this world of {self._size} passages has no chain of {hops} hops; make one of a larger size")

    def _find(self, answer: str) -> Node | None:
        return read_value(answer) or self._reader.find(answer)

    def _splits_of(self, node: Node, target: Target) -> tuple[int, ...]:
        """The halves of the world in which to look for chains: an entity's own; a value's from the target's id, else both."""
        if node.kind not in VALUE_KINDS:
            return (node.number % 2,)
        named = [number for number, split in enumerate(SPLITS) if target.id.startswith(f"{split}-")]
        return tuple(named) or (0, 1)


def _split(split: str) -> int:
    if split not in SPLITS:
        raise ConfigError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
    return SPLITS.index(split)


def _weights(families: Mapping[str, float], names: Sequence[str]) -> list[float]:
    given = [families[name] for name in names]
    weights = [float(weight) for weight in given if _is_weight(weight)]
    if len(weights) < len(names) or not set(names) <= set(FAMILIES) or sum(weights) <= 0:
        raise ConfigError(f"families must map some of {', '.join(FAMILIES)} to weights of 0 or more; got {dict(families)!r}")
    return weights


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _require(name: str, value: float, low: float, high: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be from {low} to {high}; got {value!r}")


def _require_whole(**values: int) -> None:
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{name} must be a whole number; got {value!r}")


def _digest(*values: object) -> str:
    return hashlib.sha256(json.dumps(["miniwiki", *values]).encode()).hexdigest()[:32]
