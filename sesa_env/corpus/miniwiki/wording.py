"""How a form becomes a question's text. `reader` reads all of it back, so a shape added here must be added there."""

from dataclasses import dataclass
from typing import assert_never

from sesa_env.corpus.miniwiki.forms import Both, Chain, Comparison, Form, Lookup, Same
from sesa_env.corpus.miniwiki.graph import Graph
from sesa_env.corpus.miniwiki.rng import Stream
from sesa_env.corpus.miniwiki.schema import Relation
from sesa_env.corpus.miniwiki.values import VALUE_KINDS

FORMAL_LEADINS = (
    "According to the large encyclopaedia of the land, ",
    "Going by the words of the reference section, ",
    "If we trust the latest printed encyclopaedia edition, ",
    "As anybody familiar with these articles knows, ",
    "Having had a good look through all the articles, ",
    "On the evidence of the encyclopaedia in its present shape, ",
    "Judging by all pages of the printed encyclopaedia, ",
    "Leaving aside hearsay and older mistakes of the almanacs, ",
    "For someone who wants the correct answer and no other, ",
    "In the words of the most reliable article available, ",
    "When all pages have finally undergone careful comparison, ",
    "Without relying on guesswork or on second-hand claims, ",
)
"""Openings of posed questions: at least seven words each, so that a posed question is never too short."""

TRIVIA_LEADINS = (
    "Here is one for the quiz regulars: ",
    "A question for lovers of obscure knowledge: ",
    "Fingers on the buzzers, please: ",
    "Hardly a contestant gets it right: ",
    "For ten points and a round of applause, ",
    "Tonight's tie-break question is the following: ",
)
"""Wordy openings of the TriviaQA-shaped mixture."""

TRAILS = (", if anybody knows", ", as far as anyone can tell", ", to settle a bet")
"""Wordy ends of the TriviaQA-shaped mixture."""

LEADINS = (
    *FORMAL_LEADINS,
    *TRIVIA_LEADINS,
    "According to the encyclopaedia, ",
    "According to the articles, ",
    "Please tell me: ",
)
"""All openings that the reader skips."""

EXTREMES = {"date": ("earlier", "later"), "year": ("earlier", "later"), "number": ("smaller", "larger")}
"""For each kind of value the words for the smaller and the larger one."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a mixture words its questions.

    Attributes:
        leadins: openings to choose from; () for none.
        trails: ends to choose from; () for none.
        bare: lower case, without a question mark.
        short: only the shortest shape of each form.
    """

    leadins: tuple[str, ...] = ()
    trails: tuple[str, ...] = ()
    bare: bool = False
    short: bool = False


PLAIN = Style()


class Wording:
    """Words the forms of one world.

    Args:
        graph: the world's facts and names.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def question(self, form: Form, stream: Stream, style: Style = PLAIN) -> str:
        """Writes a form as a question.

        Args:
            form: what to ask.
            stream: decides among nouns and shapes.
            style: the mixture's style.
        """
        text = self._body(form, stream, style.short)
        if style.leadins:
            text = stream.pick(style.leadins) + text[0].lower() + text[1:]
        if style.trails and stream.below(3) == 0:
            text += stream.pick(style.trails)
        return text.lower() if style.bare else text + "?"

    def _body(self, form: Form, stream: Stream, short: bool) -> str:
        match form:
            case Lookup(chain):
                return self._lookup(chain, stream, short)
            case Comparison():
                return self._comparison(form, stream, short)
            case Same():
                return self._same(form, stream)
            case Both():
                return self._both(form, stream)
            case _:
                assert_never(form)

    def _lookup(self, chain: Chain, stream: Stream, short: bool) -> str:
        last = chain.steps[-1]
        shape = 0 if short else stream.below(4)
        if last.inverse and shape != 3:
            return self._inverse(chain, stream, shape)
        kind = last.relation.subject if last.inverse else last.relation.object
        return f"{_opener(kind, shape)} {self.phrase(chain, stream)}"

    def _inverse(self, chain: Chain, stream: Stream, shape: int) -> str:
        """A question that ends in an inverse step; the long shape only where the rest is a bare name, which must stay first."""
        relation, noun = chain.steps[-1].relation, stream.pick(chain.steps[-1].relation.nouns)
        if shape == 0 and len(chain.steps) == 1:
            return f"Which {relation.subject} has {self._name(chain)} as {_its(relation.subject)} {noun}"
        text = self.phrase(chain, stream).removeprefix("the ")
        return "Which " + text.replace(" whose ", "'s ", 1)

    def phrase(self, chain: Chain, stream: Stream) -> str:
        """Writes a chain: "the mentor of the director of X", "X's director's mentor", "the film whose director is X".

        The two forms are never mixed, so the first hop's noun is always the nearest to the name.
        """
        nouns = [stream.pick(step.relation.nouns) for step in chain.steps]
        text = self._name(chain)
        forward = not any(step.inverse for step in chain.steps)
        if forward and stream.below(3) == 0 and not any(part.endswith("s") for part in (text, *nouns[:-1])):
            return "'s ".join([text, *nouns])
        for step, noun in zip(chain.steps, nouns, strict=True):
            text = f"the {step.relation.subject} whose {noun} is {text}" if step.inverse else f"the {noun} of {text}"
        return text

    def _comparison(self, form: Comparison, stream: Stream, short: bool) -> str:
        words = EXTREMES[form.relation.object]
        what = f"{words[0] if form.smallest else words[1]} {stream.pick(form.relation.nouns)}"
        if form.via is not None:
            what = f"{stream.pick(form.via.nouns)} with the {what}"
        one, other = (self._graph.label(node) for node in form.nodes)
        if short or stream.below(2) == 0:
            return f"Which {form.kind} has the {what}, {one} or {other}"
        return f"Of {one} and {other}, which {form.kind} has the {what}"

    def _same(self, form: Same, stream: Stream) -> str:
        one, other = (self._graph.label(node) for node in form.nodes)
        noun = stream.pick(form.relation.nouns)
        if stream.below(2) == 0:
            return f"Do {one} and {other} have the same {noun}"
        return f"Is the {noun} of {one} also the {noun} of {other}"

    def _both(self, form: Both, stream: Stream) -> str:
        parts = [self._condition(form.kind, relation, Chain(node), stream) for relation, node in form.conditions]
        return f"Which {form.kind} has {' and '.join(parts)}"

    def _condition(self, kind: str, relation: Relation, chain: Chain, stream: Stream) -> str:
        return f"{self._name(chain)} as {_its(kind)} {stream.pick(relation.nouns)}"

    def _name(self, chain: Chain) -> str:
        return self._graph.label(chain.start)


def _its(kind: str) -> str:
    return "their" if kind == "person" else "its"


def _opener(kind: str, shape: int) -> str:
    """The words before a noun phrase that names something of this kind."""
    if shape == 1:
        return "Can you name"
    if shape == 2 and kind not in VALUE_KINDS:
        return f"Which {kind} is"
    return "Who is" if kind == "person" else "What is"
