"""Failure records as JSON text, for the queue on disk."""

import json
from collections.abc import Mapping
from typing import Any

from sesa_env.memory.base import Failure
from sesa_env.types import Attempt, Passage, Question, SearchCall


def failure_to_json(failure: Failure) -> str:
    """Writes a failure as one line of ASCII JSON, so that any text a model wrote can be stored, lone surrogates too."""
    return json.dumps(failure, sort_keys=True, default=_fields)


def failure_from_json(text: str) -> Failure:
    """Rebuilds the failure that `failure_to_json` wrote."""
    data = json.loads(text)
    question = Question(**_tuples(data["question"]))
    evidence = tuple(Passage(**passage) for passage in data["evidence"])
    return Failure(data["id"], question, _attempt(data["attempt"]), evidence, data["step"], data["repeats"])


def _fields(record: Any) -> dict[str, Any]:
    """Returns a frozen record's fields. `dataclasses.asdict` copies every leaf, which made it most of a commit's time."""
    return {name: getattr(record, name) for name in record.__slots__}


def _attempt(data: Mapping[str, Any]) -> Attempt:
    searches = [
        SearchCall(call["query"], tuple(Passage(**passage) for passage in call["passages"])) for call in data["searches"]
    ]
    cards = [(str(card), float(similarity)) for card, similarity in data["cards"]]
    return Attempt(**{**_tuples(data), "searches": tuple(searches), "cards": tuple(cards)})


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
