"""Prompt styles: how a seat's view and what the game answers become text for a language model.

A style is a folder of text files. The built-in ones are beside this file; `load_style` takes the path of any other, for example
one that holds the exact wording a checkpoint was trained with.

| file | shown | placeholders |
|---|---|---|
| `solver.txt` | to the Solver, once | {prompt} {question} {cards} {turns} {searches} |
| `challenger.txt` | to the Challenger, once | {prompt} {target} {hops} {turns} {searches} |
| `card.txt` | for each Skill Card | {number} {description} {trigger} {avoid} {queries} |
| `cards.txt` (optional) | around the cards, where there are any | {cards} |
| `observation.txt` | after each turn | {observation} |
| `chat.jinja` (optional) | chat template for a model that brings none | as in transformers |

`{prompt}` is the game's own prompt; `{turns}` and `{searches}` are the seat's budgets at its start. A file's final newline is
not part of the text, so a text that ends in blank lines has one more in its file. Foreign text (questions, targets, cards) is
escaped as the game escapes it, and is never looked at for placeholders.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sesa_env.errors import ConfigError
from sesa_env.memory.base import CardHit
from sesa_env.players.base import View
from sesa_env.protocol import clean
from sesa_env.types import Role

FOLDER = Path(__file__).with_name("prompts")
TEXT_LIMIT = 4000
"""Characters shown of a question, a target or a part of a card; the game's own prompts cut questions and targets there too."""

_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
_OPEN_END = re.compile(r"<(?=[\s/]*\Z)")
_SEAT = frozenset({"prompt", "turns", "searches"})
_PLACEHOLDERS = {
    "solver": _SEAT | {"question", "cards"},
    "challenger": _SEAT | {"target", "hops"},
    "card": frozenset({"number", "description", "trigger", "avoid", "queries"}),
    "cards": frozenset({"cards"}),
    "observation": frozenset({"observation"}),
}
_OPTIONAL = {"cards": "{cards}"}


@dataclass(frozen=True)
class Style:
    """A prompt style. Training and evaluation both get their strings from here, through `Policy`.

    Attributes:
        name: the folder's name.
        texts: the text of each file, by its name without suffix.
        chat_template: Jinja template for models that bring none; None where the style has none either.
    """

    name: str
    texts: Mapping[str, str]
    chat_template: str | None = None

    def user(self, view: View) -> str:
        """Renders the prompt of a seat. It is the same for every view of one seat's part of an episode.

        Args:
            view: what the seat may see, at any of its turns.

        Returns:
            The text of the user's message.
        """
        values = {
            "prompt": view.prompt,
            "turns": str(view.turns_left + len(view.turns)),
            "searches": str(view.searches_left + len(view.searches)),
        }
        if view.role is Role.SOLVER:
            values |= {"question": _safe(view.question), "cards": self._cards(view.cards)}
            return _fill(self.texts["solver"], values)
        values |= {"target": _safe(view.target), "hops": str(view.hops)}
        return _fill(self.texts["challenger"], values)

    def observation(self, text: str) -> str:
        """Renders what the game answered to a turn, as it is appended after the turn.

        Args:
            text: `Turn.observation`: an `<information>` block or an error message, escaped by the game.
        """
        return _fill(self.texts["observation"], {"observation": text})

    def _cards(self, cards: tuple[CardHit, ...]) -> str:
        if not cards:
            return ""
        return _fill(self.texts["cards"], {"cards": "\n".join(self._card(number, hit) for number, hit in enumerate(cards, 1))})

    def _card(self, number: int, hit: CardHit) -> str:
        values = {
            "number": str(number),
            "description": _safe(hit.card.description),
            "trigger": _safe(hit.card.trigger),
            "avoid": _safe(hit.card.avoid),
            "queries": " | ".join(_safe(query) for query in hit.card.queries),
        }
        return _fill(self.texts["card"], values)


def _safe(text: str) -> str:
    """Escapes foreign text as the game does, and a `<` at its end too: what a style writes next must not make a tag of it."""
    return _OPEN_END.sub("&lt;", clean(text, TEXT_LIMIT))


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Fills placeholders in one pass: a value that holds braces, such as a card's {entity}, stays as it is."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def load_style(name: str) -> Style:
    """Loads a prompt style.

    Args:
        name: a built-in style ("tags", "search-r1", "tiny"), or the path of a folder laid out as described above.

    Returns:
        The style.

    Raises:
        ConfigError: there is no such style, a file is missing or cannot be read, or it has a placeholder that nothing fills.
    """
    known = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())
    folder = FOLDER / name if name in known else Path(name)
    if not folder.is_dir():
        raise ConfigError(f"style: expected one of {', '.join(known)} or the path of a folder of prompts; got {name!r}")
    template = folder / "chat.jinja"
    return Style(
        name=folder.resolve().name,
        texts={part: _read(folder, part) for part in _PLACEHOLDERS},
        chat_template=_text(template) if template.is_file() else None,
    )


def _read(folder: Path, part: str) -> str:
    path = folder / f"{part}.txt"
    if part in _OPTIONAL and not path.is_file():
        return _OPTIONAL[part]
    text = _text(path)
    if unknown := sorted(set(_PLACEHOLDER.findall(text)) - _PLACEHOLDERS[part]):
        known = " ".join(f"{{{name}}}" for name in sorted(_PLACEHOLDERS[part]))
        raise ConfigError(f"{path}: nothing fills {{{unknown[0]}}}; the placeholders of this file are {known}")
    return text


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"a style needs the text file {path}: {error}") from error
