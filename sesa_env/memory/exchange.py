"""Banks in and out: JSONL for programs, Markdown for people, and what differs between two banks."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sesa_env.errors import ConfigError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import SkillCard
from sesa_env.memory.door import misshapen, unfit
from sesa_env.memory.markdown import read_markdown, write_markdown
from sesa_env.plain import build

FORMATS = ("jsonl", "md")
_COMPARED = ("description", "trigger", "avoid", "queries", "permanent", "retrieved", "helpful", "hurt", "provenance")


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did: ids of the cards added, changed in place, left as they were, and refused as too much alike."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def format_of(path: str | Path) -> str:
    """Returns the format that a file's name stands for: "jsonl" or "md".

    Raises:
        ConfigError: it stands for neither.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise ConfigError(f"expected a file name that ends in .jsonl or .md; got {str(path)!r}")
    return suffix


def dumps(cards: Iterable[SkillCard], kind: str) -> str:
    """Writes cards as text of the format "jsonl" or "md"; `loads` gives exactly these cards back."""
    if kind == "md":
        return write_markdown(cards)
    return "".join(json.dumps(asdict(card), sort_keys=True) + "\n" for card in cards)


def loads(text: str, kind: str, name: str = "the text") -> list[tuple[int, SkillCard]]:
    """Reads cards from text.

    Args:
        text: what `dumps` wrote, or a person.
        kind: "jsonl" or "md".
        name: the file's name, for messages.

    Returns:
        Each card with the number of the line where it begins.

    Raises:
        ConfigError: a line is not as it must be, or two cards have one id; the message names file and line.
    """
    numbered = read_markdown(text, name) if kind == "md" else list(_read_jsonl(text, name))
    seen: dict[str, int] = {}
    for line, card in numbered:
        if card.id in seen:
            raise ConfigError(f"{name}:{line}: the id {card.id!r} occurs already in line {seen[card.id]}")
        seen[card.id] = line
    return numbered


def read_cards(path: str | Path) -> list[tuple[int, SkillCard]]:
    """Reads the cards of a .jsonl or .md file; see `loads`."""
    kind = format_of(path)
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path} as UTF-8 text: {error}") from error
    return loads(text.removeprefix("\ufeff"), kind, str(path))


def import_cards(bank: SkillBank, path: str | Path, *, counters: bool = False) -> ImportReport:
    """Reads cards from a file into a bank, all or none, in one transaction.

    A card whose id is in the bank takes that card's place, so an exported, edited file can be read back. Other cards are added.
    A card too much like another one, or like a tombstone, is refused, as everywhere.

    Args:
        bank: the bank.
        path: a .jsonl or .md file.
        counters: True takes over the counters in the file. By default the bank keeps its own and new cards start at zero: a
            record that another policy earned says nothing about this run.

    Returns:
        What was done.

    Raises:
        ConfigError: a card is misshapen or would not be let in; the message names file and line. Nothing was written.
    """
    numbered = read_cards(path)
    for line, card in numbered:
        if fault := misshapen(card, bank.config) or unfit(card):
            raise ConfigError(f"{path}:{line}: the card {card.id!r} cannot enter the bank: {fault}")
    old = {card.id: card for card in bank.cards()}
    cards = [card if counters else _own_counters(card, old.get(card.id)) for _, card in numbered]
    fresh = [card for card in cards if old.get(card.id) != card]
    change, refused = bank.plan(fresh, counters=counters)
    for line, card in numbered:
        # A new card that is too much alike adds nothing and is passed over; a person's edit must not vanish in silence.
        if card.id in refused and card.id in old:
            raise ConfigError(f"{path}:{line}: the edited card {card.id!r} is too much like another card or an evicted one")
    if fresh:
        bank.carry_out(change)
    return ImportReport(
        added=tuple(card.id for card, _ in change.added),
        changed=tuple(card.id for card, _ in change.edited),
        unchanged=tuple(card.id for card in cards if card not in fresh),
        refused=refused,
    )


def diff(old: Sequence[SkillCard], new: Sequence[SkillCard]) -> list[str]:
    """Says how two banks differ, a line for each difference: "+ id" added, "- id" gone, "~ id field: old -> new" changed."""
    before, after = {card.id: card for card in old}, {card.id: card for card in new}
    lines = [f"- {card_id}" for card_id in before if card_id not in after]
    lines += [f"+ {card_id}" for card_id in after if card_id not in before]
    for card_id in before:
        if card_id in after:
            lines += [f"~ {card_id} {what}" for what in _changes(before[card_id], after[card_id])]
    return lines


def _changes(old: SkillCard, new: SkillCard) -> Iterator[str]:
    for name in _COMPARED:
        if getattr(old, name) != getattr(new, name):
            yield f"{name}: {getattr(old, name)!r} -> {getattr(new, name)!r}"


def _own_counters(card: SkillCard, old: SkillCard | None) -> SkillCard:
    if old is None:
        return replace(card, retrieved=0, helpful=0.0, hurt=0.0)
    return replace(card, retrieved=old.retrieved, helpful=old.helpful, hurt=old.hurt)


def _read_jsonl(text: str, name: str) -> Iterator[tuple[int, SkillCard]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, build(SkillCard, json.loads(line), "card")
        except (json.JSONDecodeError, RecursionError, ConfigError) as error:
            raise ConfigError(f"{name}:{number}: {error}") from error
