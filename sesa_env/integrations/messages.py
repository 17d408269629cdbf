"""OpenAI-style chat messages: a seat's view as a conversation, and an assistant's message as a turn of the game.

Two ways to talk. With tags a message holds the turn as the game reads it, `<search>...</search>`. With tools the actions are
function calls, for models whose chat template knows them: the prompt names no tags, and what the game says about tags is said
about tools.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sesa_env.players.base import View
from sesa_env.protocol import clean, render_cards
from sesa_env.types import Role
from sesa_env.validity import ValidityConfig

Message: TypeAlias = dict[str, Any]
"""{"role": "user" | "assistant" | "tool", "content": text}, with "tool_calls" or "tool_call_id" where tools are called."""

FINAL = {Role.SOLVER: "answer", Role.CHALLENGER: "question"}
"""The action that ends each seat's part; its tool has the same name."""

_CLOSED = re.compile(r"</(?:search|answer|question)>")
_TAG_HINT = re.compile(r"<(search|answer|question)>\.\.\.</\1>")
_MIN_WORDS = ValidityConfig().min_words
_TEXT_LIMIT = 4000  # characters of a question or target, as in the game's own prompts
_SOLVER = """Answer the question below. Call the tool search to look passages up; you have at most {turns} calls in all.
When you know, call the tool answer with the bare answer: a name, a date, a number, or yes or no.

{skills}Question: {question}"""
_CHALLENGER = """Write a question whose only correct answer is the target below. Call the tool search to look passages up; you
have at most {turns} calls in all. When it is ready, call the tool question with it.
The question must need exactly {hops} fact(s) chained together, be answerable from passages like those you found, have at least
{min_words} words, and not contain the answer. Make at least {hops} search(es), and never the same one twice.

Target answer: {target}"""


def tool(name: str, argument: str, description: str, of_argument: str) -> Message:
    """Builds the schema of a tool with one argument, a string."""
    properties = {argument: {"type": "string", "description": of_argument}}
    parameters = {"type": "object", "properties": properties, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


SEARCH = tool("search", "query", "Searches the collection and shows the best passages.", "What to search for.")
ANSWER = tool("answer", "answer", "Hands in the final answer, once.", "The bare answer.")
QUESTION = tool("question", "question", "Hands in the question, once.", "The question.")
TOOLS = {Role.SOLVER: (SEARCH, ANSWER), Role.CHALLENGER: (SEARCH, QUESTION)}
"""The tools of each seat, as OpenAI's API and transformers' chat templates take them."""


def tag_messages(view: View) -> list[Message]:
    """Writes a view as a conversation in tags.

    Args:
        view: what a seat may see.

    Returns:
        The prompt as the user's message; then each turn as the assistant's and what it was answered as the user's.
    """
    messages: list[Message] = [{"role": "user", "content": view.prompt}]
    for text, observation in view.turns:
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": observation}]
    return messages


def cut_turn(text: str) -> str:
    """Cuts a message behind its first closing tag of an action, where a rollout would have stopped the model."""
    closed = _CLOSED.search(text)
    return text if closed is None else text[: closed.end()]


def tool_prompt(view: View, min_words: int = _MIN_WORDS) -> str:
    """Writes a seat's task for a model that calls tools.

    Args:
        view: what a seat may see.
        min_words: the rule `validity.min_words`, which the Challenger is told.

    Returns:
        The text of the user's message: the same rules as the game's own prompt, without tags.
    """
    turns = view.turns_left + len(view.turns)
    if view.role is Role.SOLVER:
        question = clean(view.question, _TEXT_LIMIT)
        return _SOLVER.format(turns=turns, skills=render_cards(view.cards), question=question)
    target = clean(view.target, _TEXT_LIMIT)
    return _CHALLENGER.format(turns=turns, hops=view.hops, target=target, min_words=min_words)


def tool_observation(observation: str) -> str:
    """Says what the game answered without naming tags: `<answer>...</answer>` becomes `answer(...)`.

    Passages cannot be taken for such a hint: the game escapes tags in them.
    """
    return _TAG_HINT.sub(r"\1(...)", observation)


def turn_of_call(name: str, argument: str) -> str:
    """Writes a tool call as a turn of the game.

    Args:
        name: the tool's name.
        argument: its argument; a tag in it is escaped, so that it ends nothing.

    Returns:
        The turn. That of a tool which there is not is malformed, and the game says so.
    """
    return f"<{name}>{clean(argument)}</{name}>"


def turn_of_message(message: Mapping[str, Any]) -> str:
    """Reads an assistant's message as a turn of the game.

    Args:
        message: with "tool_calls" in OpenAI's form (arguments as JSON text or as a mapping), or with tags in its "content".

    Returns:
        The text for `SearchGame.act`. Several calls at once are written one after another, which the game takes for
        malformed, as it does a message without any action: what to do instead is told to the model.
    """
    calls: Sequence[Mapping[str, Any]] = message.get("tool_calls") or ()
    if not calls:
        return str(message.get("content") or "")
    return "".join(turn_of_call(*_named(call)) for call in calls)


def _named(call: Mapping[str, Any]) -> tuple[str, str]:
    """A call's tool and its only argument; "" where the arguments are not as they should be."""
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = None
    values = list(arguments.values()) if isinstance(arguments, Mapping) else []
    text = values[0] if len(values) == 1 and isinstance(values[0], str) else ""
    return str(function.get("name", "")), text
