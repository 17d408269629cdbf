r"""Cards as Markdown that a person can read and edit, and that reads back exactly.

A card is a second-level heading with its id, a list of facts, and four parts: three quotations and a list of query templates.
Inside texts a backslash is written `\\`; what an editor could lose (control characters, odd line ends, blanks at a line's end,
lone surrogates) is written `\uXXXX`. Blank lines mean nothing; a missing fact has its default, so a card by hand is short.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from sesa_env.errors import ConfigError
from sesa_env.memory.base import SkillCard
from sesa_env.plain import build

TITLE = "# Skill bank"
_PARTS = {"Description": "description", "Trigger": "trigger", "Avoid": "avoid", "Queries": "queries"}
# A card's facts in the order of the file; those of the second group belong to its provenance.
_CARD_FACTS = {"permanent": bool, "retrieved": int, "helpful": float, "hurt": float}
_ORIGIN_FACTS = {"origin": str, "question": str, "failure": str, "step": int, "run": str, "teacher": str}
_FRAGILE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff]|[^\S\n]+(?=\n|$)")
_ESCAPE = re.compile(r"\\(?:\\|u([0-9a-fA-F]{4}))")


@dataclass(slots=True)
class _Draft:
    """A card while it is read: its first line's number, its facts, and its parts as lines."""

    line: int
    facts: dict[str, Any]
    origin: dict[str, Any] = field(default_factory=lambda: {"question_keys": []})
    parts: dict[str, list[str]] = field(default_factory=dict)


def write_markdown(cards: Iterable[SkillCard]) -> str:
    """Writes cards as Markdown; `read_markdown` gives exactly these cards back."""
    return "\n\n".join([TITLE, *(_card(card) for card in cards)]) + "\n"


def read_markdown(text: str, name: str = "the text") -> list[tuple[int, SkillCard]]:
    """Reads cards from Markdown.

    Args:
        text: the file's text.
        name: the file's name, for messages.

    Returns:
        Each card with the number of the line where it begins, in order.

    Raises:
        ConfigError: a line fits nowhere, or a card lacks a part; the message names file and line.
    """
    drafts: list[_Draft] = []
    part = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        if line.startswith("## "):
            drafts.append(_Draft(number, {"id": _text(line[3:])}))
            part = ""
        elif line.startswith("**") and drafts:
            part = _part(line, drafts[-1], f"{name}:{number}")
        elif line.strip() and line.strip() != TITLE:
            _read_line(line, part, drafts, f"{name}:{number}")
    return [(draft.line, _finish(draft, f"{name}:{draft.line}")) for draft in drafts]


# --- writing -------------------------------------------------------------------------------------------------------


def _card(card: SkillCard) -> str:
    origin = asdict(card.provenance)
    facts = [f"- {name}: {_value(getattr(card, name))}" for name in _CARD_FACTS]
    for name in _ORIGIN_FACTS:
        values = origin["question_keys"] if name == "question" else [origin[name]]
        facts += [f"- {name}: {_value(value)}".rstrip(" ") for value in values]
    quotes = [f"**{title}**\n\n{_quote(getattr(card, name))}" for title, name in _PARTS.items() if name != "queries"]
    queries = "\n".join(f"- {_line(query)}".rstrip(" ") for query in card.queries)
    return "\n\n".join([f"## {_line(card.id)}", "\n".join(facts), *quotes, f"**Queries**\n\n{queries}".rstrip("\n")])


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _line(value) if isinstance(value, str) else repr(value)


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip(" ") for line in _escaped(text).split("\n"))


def _line(text: str) -> str:
    return _escaped(text).replace("\n", r"\u000a")


def _escaped(text: str) -> str:
    doubled = text.replace("\\", "\\\\")
    return _FRAGILE.sub(lambda match: "".join(f"\\u{ord(char):04x}" for char in match[0]), doubled)


# --- reading -------------------------------------------------------------------------------------------------------


def _part(line: str, draft: _Draft, where: str) -> str:
    title = line.strip().strip("*")
    if title not in _PARTS:
        _fail(where, f"a part is one of {', '.join(f'**{known}**' for known in _PARTS)}; got {line!r}")
    if _PARTS[title] in draft.parts:
        _fail(where, f"the part **{title}** occurs twice in one card")
    draft.parts[_PARTS[title]] = []
    return _PARTS[title]


def _read_line(line: str, part: str, drafts: list[_Draft], where: str) -> None:
    if not drafts:
        _fail(where, f"expected '## ID' before anything else of a card; got {line!r}")
    if part == "" and line.startswith("- "):
        _read_fact(line[2:], drafts[-1], where)
    elif part == "queries" and (line.startswith("- ") or line == "-"):
        drafts[-1].parts[part].append(_text(line[2:]))
    elif part not in {"", "queries"} and line.startswith(">"):
        drafts[-1].parts[part].append(_text(line[1:].removeprefix(" ")))
    else:
        expected = {"": "'- fact: value'", "queries": "'- query template'"}.get(part, "'> text'")
        _fail(where, f"expected {expected}; got {line!r}")


def _read_fact(line: str, draft: _Draft, where: str) -> None:
    name, _, value = line.partition(":")
    known = _CARD_FACTS | _ORIGIN_FACTS
    if name not in known:
        _fail(where, f"a card's facts are {', '.join(known)}; got {name!r}")
    parsed = _parse(value.removeprefix(" "), known[name], where)
    if name == "question":
        draft.origin["question_keys"].append(parsed)
    else:
        (draft.facts if name in _CARD_FACTS else draft.origin)[name] = parsed


def _parse(value: str, kind: type, where: str) -> Any:
    if kind is str:
        return _text(value)
    if kind is bool:
        if value not in {"yes", "no"}:
            _fail(where, f"expected yes or no; got {value!r}")
        return value == "yes"
    try:
        return kind(value)
    except ValueError:
        _fail(where, f"expected {'a whole number' if kind is int else 'a number'}; got {value!r}")


def _finish(draft: _Draft, where: str) -> SkillCard:
    missing = [f"**{title}**" for title, name in _PARTS.items() if name not in draft.parts]
    if missing:
        _fail(where, f"the card {draft.facts['id']!r} lacks {', '.join(missing)}")
    parts: dict[str, Any] = {name: lines if name == "queries" else "\n".join(lines) for name, lines in draft.parts.items()}
    try:
        return build(SkillCard, {**draft.facts, **parts, "provenance": draft.origin}, f"card {draft.facts['id']!r}")
    except ConfigError as error:
        _fail(where, str(error))


def _text(line: str) -> str:
    return _ESCAPE.sub(lambda match: "\\" if match[1] is None else chr(int(match[1], 16)), line)


def _fail(where: str, what: str) -> NoReturn:
    raise ConfigError(f"{where}: {what}")
