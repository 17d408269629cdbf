"""Whether an answer is right: exact match first, and on a miss a model that is asked for equivalence (paper, section 6).

A verdict is what was asked for to the letter, or it is none: a reply that holds anything else, and an outage, are "not judged".
They are asked for again and then reported as such, never counted as right or wrong.
"""

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

from agents.chat import Chat, ChatConfig, Messages, Reply, open_chat
from agents.instructions import load_instructions
from sesa_env.errors import ConfigError
from sesa_env.grading import exact_match, normalise
from sesa_env.protocol import clean

Case: TypeAlias = tuple[str, tuple[str, ...], str]
"""A question's text, its accepted answers, and the answer to be judged."""

_VERDICT = re.compile(r"\s*<verdict>(yes|no)</verdict>\s*")
_MOST_ANSWERS = 20  # aliases shown; some questions have hundreds, most of them misspellings
_MOST_CHARS = 1000  # of a question or an answer shown
_REMINDER = "That is no verdict. Reply with <verdict>yes</verdict> or <verdict>no</verdict>, and with nothing else."


class Judgement(StrEnum):
    """What was found."""

    EXACT = "exact"
    """Right by exact match; no model was asked."""
    RIGHT = "right"
    """Right in the model's eyes."""
    WRONG = "wrong"
    """Wrong in the model's eyes, or there is no answer at all."""
    NOT_JUDGED = "not judged"
    """The model could not be asked, or gave no verdict."""

    @property
    def score(self) -> float | None:
        """1.0 for right, 0.0 for wrong, None for not judged."""
        return None if self is Judgement.NOT_JUDGED else float(self is not Judgement.WRONG)


class Judge:
    """Judges answers. A verdict is kept, so that a case which comes again is judged alike and asked for once.

    Args:
        chat: the model.
        tries: how often a case is put to it until there is a verdict.
    """

    def __init__(self, chat: Chat, tries: int = 3) -> None:
        if tries < 1:
            raise ConfigError(f"tries: expected at least 1; got {tries}")
        self.chat = chat
        self._tries = tries
        self._verdicts: dict[Case, Judgement] = {}
        self.reasons: list[str] = []
        """Why cases were not judged, one entry for each that was not after all its tries."""

    def judge(self, cases: Sequence[Case]) -> list[Judgement]:
        """Judges answers.

        Args:
            cases: what is to be judged.

        Returns:
            The judgements, in their order.

        Raises:
            ConfigError: the model cannot be asked at all until a person mends something; see `Chat.complete`.
        """
        found = [_without_model(case) for case in cases]
        asked = [case for case, judgement in zip(cases, found, strict=True) if judgement is None]
        self._ask(list(dict.fromkeys(case for case in asked if case not in self._verdicts)))
        return [
            judgement or self._verdicts.get(case, Judgement.NOT_JUDGED) for case, judgement in zip(cases, found, strict=True)
        ]

    def _ask(self, cases: Sequence[Case]) -> None:
        """Puts cases to the model; one without a verdict again, after an unreadable reply with a reminder."""
        waiting: dict[Case, Messages] = {case: _conversation(case) for case in cases}
        reasons: dict[Case, str] = {}
        for _ in range(self._tries):
            if not waiting:
                return
            outcomes = self.chat.complete(list(waiting.values()))
            again: dict[Case, Messages] = {}
            for (case, messages), outcome in zip(waiting.items(), outcomes, strict=True):
                if not isinstance(outcome, Reply):
                    again[case], reasons[case] = messages, outcome.reason
                elif (verdict := read_verdict(outcome.text)) is None:
                    again[case], reasons[case] = (
                        _reminded(_conversation(case), outcome.text),
                        f"no verdict: {outcome.text!r:.200}",
                    )
                else:
                    self._verdicts[case] = verdict
            waiting = again
        self.reasons += [reasons[case] for case in waiting]


def open_judge(name: str, config: ChatConfig | None = None) -> Judge:
    """Makes a judge by its model's name, `openai:MODEL@URL` or `model:NAME_OR_DIR`.

    Raises:
        ConfigError: there is no such model, or it cannot be had.
    """
    return Judge(open_chat(name, config))


def read_verdict(text: str) -> Judgement | None:
    """Reads a reply: after an optional thought that ends with </think>, one verdict tag as asked for and nothing else.

    Returns:
        RIGHT, WRONG, or None where the reply is anything else.
    """
    match = _VERDICT.fullmatch(text.rpartition("</think>")[2])
    return None if match is None else Judgement.RIGHT if match[1] == "yes" else Judgement.WRONG


def _without_model(case: Case) -> Judgement | None:
    _, answers, prediction = case
    if exact_match(prediction, answers):
        return Judgement.EXACT
    return None if normalise(prediction) else Judgement.WRONG


def _conversation(case: Case) -> Messages:
    """Puts a case as JSON without angle brackets: no text in it can end its string or pose as a verdict."""
    question, answers, prediction = case
    accepted = [_shown(answer) for answer in answers[:_MOST_ANSWERS]]
    data = json.dumps({"question": _shown(question), "accepted": accepted, "answer": _shown(prediction)}, ensure_ascii=False)
    return [{"role": "system", "content": load_instructions("judge")}, {"role": "user", "content": data}]


def _shown(text: str) -> str:
    return clean(text, _MOST_CHARS).replace("<", "&lt;").replace(">", "&gt;")


def _reminded(messages: Messages, reply: str) -> Messages:
    return [*messages, {"role": "assistant", "content": reply[:_MOST_CHARS]}, {"role": "user", "content": _REMINDER}]
