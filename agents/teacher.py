"""A language model as the teacher: it reads a failure and writes Skill Cards (paper, section 4).

It sees the question, the right answer, what the player searched and answered, the evidence, and the cards that did not help.
What it writes is strict JSON or it is nothing. It must name no entity; that is asked for here and enforced by the bank's door,
as for every teacher.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.chat import Chat, ChatConfig, Messages, NoReply, Reply, open_chat
from agents.instructions import load_instructions
from agents.names import names_model
from sesa_env.errors import TeacherError
from sesa_env.memory.base import CardDraft, Distiller, Failure, SkillCard
from sesa_env.memory.teacher import load_teacher
from sesa_env.protocol import clean
from sesa_env.worlds import World

_MOST_CARDS = 3
_MOST_CHARS = 1500  # of one passage shown
_MOST_SEARCHES = 10
_TEXTS = ("description", "trigger", "avoid")


class LlmTeacher:
    """Writes cards from failures by asking a model (`Distiller`).

    A failure whose reply cannot be read, or whose request the server refuses for good, teaches nothing and is counted. An
    outage is a TeacherError, and the bank keeps all failures: replies that did come are kept here and not paid for twice.

    Args:
        chat: the model.

    Attributes:
        name: the model's, as provenances keep it.
        unreadable: failures whose reply was no JSON of the form asked for.
        refused: failures whose request the server refused, for example as too long.
    """

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.name = chat.name
        self.unreadable = 0
        self.refused = 0
        self._kept: dict[str, Reply] = {}

    def distil(self, failures: Sequence[Failure], cards: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
        """Writes cards for a batch of failures; see `Distiller`.

        Raises:
            TeacherError: the model could not be asked about some failure, or refused every one.
            ConfigError: only a person can mend it, for example a refused key.
        """
        prompts = [_conversation(failure, cards) for failure in failures]
        outcomes = self._replies(prompts)
        if failures and all(isinstance(outcome, NoReply) for outcome in outcomes):
            raise TeacherError(f"the teacher {self.name} refused all {len(failures)} failures: {_reasons(outcomes)}")
        self._kept.clear()
        return [self._drafts(outcome) for outcome in outcomes]

    def _replies(self, prompts: Sequence[Messages]) -> list[Reply | NoReply]:
        keys = [prompt[-1]["content"] for prompt in prompts]
        missing = [place for place, key in enumerate(keys) if key not in self._kept]
        asked = dict(zip(missing, self.chat.complete([prompts[place] for place in missing]), strict=True)) if missing else {}
        self._kept |= {keys[place]: outcome for place, outcome in asked.items() if isinstance(outcome, Reply)}
        outages = [outcome for outcome in asked.values() if isinstance(outcome, NoReply) and not outcome.refused]
        if outages:
            raise TeacherError(
                f"the teacher {self.name} left {len(outages)} of {len(prompts)} failures without a reply: {_reasons(outages)}; "
                "they wait for the next consolidation"
            )
        return [self._kept.get(key) or asked[place] for place, key in enumerate(keys)]

    def _drafts(self, outcome: Reply | NoReply) -> list[CardDraft]:
        if isinstance(outcome, NoReply):
            self.refused += 1
            return []
        drafts = read_drafts(outcome.text)
        if drafts is None:
            self.unreadable += 1
        return drafts or []

    def to_json(self) -> dict[str, Any]:
        """Returns what the teaching took so far as a JSON value: requests, tokens, unreadable and refused failures."""
        return {**self.chat.usage.to_json(), "unreadable": self.unreadable, "refused": self.refused}


def load_any_teacher(name: str, world: World, config: ChatConfig | None = None) -> Distiller:
    """Makes a teacher by name.

    Args:
        name: "hindsight" or another built-in, "module:factory", "openai:MODEL@URL" or "model:NAME_OR_DIR".
        world: the world that the failures come from.
        config: how a model is asked; None for 1,024 tokens a reply and the other defaults.

    Raises:
        ConfigError: there is no such teacher, or it cannot be had.
    """
    if names_model(name):
        return LlmTeacher(open_chat(name, config or ChatConfig(max_tokens=1024)))
    return load_teacher(name, world)


def read_drafts(text: str) -> list[CardDraft] | None:
    """Reads a reply: after an optional thought one JSON object of the form asked for, as it is or in a code fence.

    Returns:
        The drafts, at most three; None where the reply is anything else. Whether a card is fit is the bank's to say.
    """
    said = text.rpartition("</think>")[2].strip()
    if said.startswith("```") and said.endswith("```"):
        said = said.removeprefix("```").removeprefix("json").removesuffix("```")
    try:
        value: object = json.loads(said)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.keys() != {"cards"} or not isinstance(value["cards"], list):
        return None
    drafts = [_draft(card) for card in value["cards"]]
    return None if None in drafts else [draft for draft in drafts if draft is not None][:_MOST_CARDS]


def _draft(card: object) -> CardDraft | None:
    if not isinstance(card, dict) or card.keys() != {*_TEXTS, "queries"}:
        return None
    queries = card["queries"]
    if not isinstance(queries, list) or not all(isinstance(text, str) for text in (*queries, *(card[name] for name in _TEXTS))):
        return None
    return CardDraft(card["description"], card["trigger"], card["avoid"], tuple(queries))


def _conversation(failure: Failure, cards: Mapping[str, SkillCard]) -> Messages:
    attempt = failure.attempt
    data = {
        "question": _shown(failure.question.text),
        "right_answer": _shown(failure.question.answers[0]),
        "player_answer": _shown(attempt.prediction),
        "searches": [
            {"query": _shown(call.query), "titles": [_shown(passage.title) for passage in call.passages]}
            for call in attempt.searches[:_MOST_SEARCHES]
        ],
        "evidence": [{"title": _shown(passage.title), "text": _shown(passage.text)} for passage in failure.evidence],
        "cards_shown": [_card(cards[card]) for card, _ in attempt.cards if card in cards],
        "failed_before": failure.repeats,
    }
    text = json.dumps(data, ensure_ascii=False, indent=1)
    return [{"role": "system", "content": load_instructions("teacher")}, {"role": "user", "content": text}]


def _card(card: SkillCard) -> dict[str, Any]:
    return {**{name: _shown(getattr(card, name)) for name in _TEXTS}, "queries": [_shown(query) for query in card.queries]}


def _shown(text: str) -> str:
    """Makes foreign text safe: without angle brackets nothing in it is a tag, or a special token of the model's."""
    return clean(text, _MOST_CHARS).replace("<", "&lt;").replace(">", "&gt;")


def _reasons(outcomes: Sequence[Reply | NoReply]) -> str:
    return "; ".join(dict.fromkeys(outcome.reason for outcome in outcomes if isinstance(outcome, NoReply)))[:500]
