"""Modes: what a Solver is shown beside its question, from nothing to placebos of its bank."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.banks import read_bank
from sesa_env.errors import ConfigError
from sesa_env.memory.base import MemorySnapshot
from sesa_env.memory.placebo import PLACEBOS, placebo
from sesa_env.memory.retrieve import BankSnapshot

OFF, ON = "off", "on"
_TOP = "top-"
CONTROLS: Mapping[str, str] = {
    "shuffled": "each question is shown the cards of another: a placebo",
    "irrelevant": "each card is replaced by one as long that is far from the question: a placebo",
    "seeds": "the bank's hand-written cards alone",
    "no-floor": "the bank never abstains",
    "top-K": "at most K cards a question",
}
"""Modes besides Off and On."""


def check_mode(mode: str) -> None:
    """Refuses what is no mode.

    Raises:
        ConfigError: there is no such mode; the message says what exists.
    """
    if mode in (OFF, ON) or (mode in CONTROLS and mode != "top-K"):
        return
    if not mode.startswith(_TOP) or not mode.removeprefix(_TOP).isdigit() or int(mode.removeprefix(_TOP)) < 1:
        raise ConfigError(f"unknown mode {mode!r}; choose from {OFF}, {ON}, {', '.join(CONTROLS)} with a number for K")


def memory_of(mode: str, bank: Path, settings: Mapping[str, Any]) -> MemorySnapshot | None:
    """Opens what a mode shows.

    Args:
        mode: "off", "on", or a mode of `CONTROLS`.
        bank: the bank; not read in Off mode.
        settings: fields of `MemoryConfig`: how cards are retrieved from it.

    Returns:
        The frozen memory; None in Off mode.

    Raises:
        ConfigError: there is no such mode.
        StoreError: there is no such bank.
    """
    check_mode(mode)
    if mode == OFF:
        return None
    if mode.startswith(_TOP):
        return read_bank(bank, {**settings, "top_k": int(mode.removeprefix(_TOP))})
    if mode == "no-floor":
        return read_bank(bank, {**settings, "similarity_floor": -1.0})
    whole = read_bank(bank, settings)
    if mode in PLACEBOS:
        return placebo(mode, whole)
    return _seeds(whole) if mode == "seeds" else whole


def _seeds(bank: BankSnapshot) -> BankSnapshot:
    places = [place for place, card in enumerate(bank.cards) if card.provenance.origin == "seed"]
    return replace(bank, cards=tuple(bank.cards[place] for place in places), vectors=bank.vectors[places])
