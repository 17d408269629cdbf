"""A second opinion on MiniWiki: reads the facts off the passages, and answers questions by rewriting their text.

It knows the relations' words and the entities' kinds from the world's schema, and nothing of its graph, reader or forms.
"""

import re
from calendar import month_name

from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.corpus.miniwiki.wording import LEADINS, TRAILS

KINDS = "person|city|country|company|film|book|university|band|team|ship"
MARK = "⟨([^⟩]+)⟩"


class Oracle:
    def __init__(self, world: MiniWiki) -> None:
        self.passages = list(world.passages())
        self.kinds = {p.title: p.id.split("-")[0] for p in self.passages if not p.id.startswith("list-")}
        self.nouns = {noun: r.index for r in world.schema.relations for noun in r.nouns}
        self.object_kind = {r.index: r.object for r in world.schema.relations}
        self.facts: dict[tuple[str, int], str] = {}
        self.source: dict[tuple[str, int], str] = {}
        self.statements = 0
        patterns = [
            (r.index, r.subject, re.compile(_pattern(sentence)))
            for r in world.schema.relations
            for sentence in dict.fromkeys(r.sentences)
        ]
        for passage in self.passages:
            own = [pattern for pattern in patterns if pattern[1] == self.kinds.get(passage.title)]
            for sentence in passage.text.split(". ") if passage.title in self.kinds else ():
                for index, _, pattern in own:
                    match = pattern.fullmatch(sentence.removesuffix("."))
                    if match and match["s"] == passage.title:
                        self.statements += 1
                        self.facts[passage.title.lower(), index] = match["o"].lower()
                        self.source[passage.title.lower(), index] = passage.id
        self.names = sorted((name.lower() for name in self.kinds), key=len, reverse=True)
        self._name = re.compile(r"\b(" + "|".join(map(re.escape, self.names)) + r")\b")
        self._noun = "(" + "|".join(sorted(map(re.escape, self.nouns), key=len, reverse=True)) + ")"

    def answer(self, question: str) -> str | None:
        """The lower-case canonical answer of a question that uses canonical names; None where the rules do not lead to one."""
        text = question.lower().rstrip("?!. ")
        for extra in [*LEADINS, *TRAILS]:
            text = text.replace(extra.lower(), "")
        text, previous = self._name.sub(r"⟨\1⟩", text), ""
        while text != previous:
            previous, text = text, self._reduce(text)
        return self._final(text)

    def _reduce(self, text: str) -> str:
        if text.startswith("is the "):  # both sides name the relation; neither is to be reduced
            return text
        for pattern, rule in (
            (MARK + f"'s {self._noun}(?= |,|$|')", lambda m: self._forward(m[1], m[2])),
            (f"the {self._noun} of {MARK}", lambda m: self._forward(m[2], m[1])),
            (f"the ({KINDS}) whose {self._noun} is {MARK}", lambda m: self._backward(m[3], m[2])),
        ):
            text, changed = re.subn(pattern, lambda m, rule=rule: f"⟨{rule(m)}⟩", text, count=1)
            if changed:
                return text
        return text

    def _forward(self, name: str, noun: str) -> str:
        return self.facts.get((name, self.nouns[noun]), "?")

    def _backward(self, name: str, noun: str) -> str:
        found = [subject for (subject, index), target in self.facts.items() if index == self.nouns[noun] and target == name]
        return found[0] if len(found) == 1 else "?"

    def _final(self, text: str) -> str | None:
        rules = (
            (f"(?:who is|what is|which (?:{KINDS}) is|can you name) {MARK}", lambda m: m[1]),
            (f"which (?:{KINDS})'s {self._noun} is {MARK}", lambda m: self._backward(m[2], m[1])),
            (f"which (?:{KINDS}) has {MARK} as (?:its|their) {self._noun}", lambda m: self._backward(m[1], m[2])),
            (
                f"which (?:{KINDS}) has {MARK} as (?:its|their) {self._noun} and {MARK} as (?:its|their) {self._noun}",
                lambda m: self._both((m[1], m[2]), (m[3], m[4])),
            ),
            (f"do {MARK} and {MARK} have the same {self._noun}", lambda m: self._same(m[1], m[2], m[3])),
            (f"is the {self._noun} of {MARK} also the \\1 of {MARK}", lambda m: self._same(m[2], m[3], m[1])),
            (
                f"which (?:{KINDS}) has the (?:{self._noun} with the )?(\\w+) {self._noun}, {MARK} or {MARK}",
                lambda m: self._extreme(m[4], m[5], m[1], m[2], m[3]),
            ),
            (
                f"of {MARK} and {MARK}, which (?:{KINDS}) has the (?:{self._noun} with the )?(\\w+) {self._noun}",
                lambda m: self._extreme(m[1], m[2], m[3], m[4], m[5]),
            ),
        )
        for pattern, rule in rules:
            match = re.fullmatch(pattern, text)
            if match:
                answer = rule(match)
                return None if answer == "?" else answer
        return None

    def _both(self, first: tuple[str, str], second: tuple[str, str]) -> str:
        wanted = [(self.nouns[noun], name) for name, noun in (first, second)]
        found = [s for s in {subject for subject, _ in self.facts} if all(self.facts.get((s, i)) == o for i, o in wanted)]
        return found[0] if len(found) == 1 else "?"

    def _same(self, one: str, other: str, noun: str) -> str:
        left, right = self._forward(one, noun), self._forward(other, noun)
        return "?" if "?" in (left, right) else "yes" if left == right else "no"

    def _extreme(self, one: str, other: str, via: str | None, word: str, noun: str) -> str:
        values = []
        for name in (one, other):
            value = self._forward(self._forward(name, via) if via else name, noun)
            values.append(None if value == "?" else _value(value))
        if None in values or values[0] == values[1]:
            return "?"
        smaller = one if values[0] < values[1] else other
        return smaller if word in ("earlier", "smaller") else other if smaller == one else one


def _pattern(sentence: str) -> str:
    name = r"[A-Z0-9][\w,]*(?: [A-Z0-9]\w*)*"
    return re.escape(sentence.removesuffix(".")).replace(r"\{s\}", f"(?P<s>{name})").replace(r"\{o\}", f"(?P<o>{name})")


def _value(text: str) -> tuple[int, ...]:
    words = text.replace(",", "").split()
    if len(words) < 3:
        return (int(words[0]),)
    month = next(number for number, name in enumerate(month_name) if name.lower() == words[1])
    return int(words[2]), month, int(words[0])
