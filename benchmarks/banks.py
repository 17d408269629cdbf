"""Where a skill bank comes from, and how an evaluation reads it: the one place that knows the loop and the memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.scripted import ScriptedConfig, run_scripted
from benchmarks.records import write_json
from sesa_env.errors import StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.prime import prime
from sesa_env.memory.retrieve import BankSnapshot
from sesa_env.plain import build

BANK_FILE, STATS_FILE = "bank.sqlite", "bank.json"
RUN = "selfplay"  # under this name the loop keeps its counters


@dataclass(frozen=True)
class BankRequest:
    """One bank, as plain data."""

    player: str
    """The Solver whose failures fill it; "" for the hand-written seeds alone, without any loop."""

    seed: int
    """Seeds the loop."""

    world: dict[str, Any]
    """The world, as `suites.open_world` takes it; the loop plays on its train entities only."""

    steps: int
    """Steps of the loop."""

    questions: int
    """Questions the loop plays in a step."""

    memory: dict[str, Any]
    """Fields of the loop's `MemoryConfig`."""

    show_cards: bool = True
    """Whether the loop shows cards to its Solver."""

    file: str = ""
    """Path of a bank that is there already: it is copied, and nothing else here matters."""


def make_bank(request: BankRequest, directory: Path) -> None:
    """Makes a bank and leaves it as `BANK_FILE` in a directory, and its counts as `STATS_FILE`.

    Raises:
        SesaError: the loop could not run; nothing usable is left.
    """
    if request.file:
        _copy(Path(request.file), directory)
    elif request.player:
        _distil(request, directory)
    else:
        _prime(directory)
    with SkillBank.open(directory / BANK_FILE, run=RUN, create=False) as bank:
        write_json(directory / STATS_FILE, bank.stats())


def read_bank(path: Path, memory: Mapping[str, Any]) -> BankSnapshot:
    """Opens a bank as an evaluation reads it, frozen.

    Args:
        path: the bank.
        memory: fields of `MemoryConfig`: how cards are retrieved from it; none for the paper's settings.

    Raises:
        ConfigError: a setting is wrong, or the embedder that wrote the bank is not installed.
        StoreError: there is no such bank.
    """
    with SkillBank.open(path, build(MemoryConfig, memory, "memory"), run=RUN, create=False) as bank:
        return bank.snapshot()


def _distil(request: BankRequest, directory: Path) -> None:
    config = ScriptedConfig(
        out=str(directory),
        world=request.world["name"],
        world_options=request.world["options"],
        solver=request.player,
        seed=request.seed,
        steps=request.steps,
        questions=request.questions,
        memory=request.memory,
        show_cards=request.show_cards,
    )
    made = run_scripted(config)
    if made != directory / BANK_FILE:
        raise StoreError(f"the loop was expected to leave its bank at {directory / BANK_FILE}, but left it at {made}")


def _copy(path: Path, directory: Path) -> None:
    """Copies a bank, so that the run keeps what it was played with whatever becomes of the original."""
    with SkillBank.open(path, run=RUN, create=False) as bank:
        bank.backup(directory / BANK_FILE)


def _prime(directory: Path) -> None:
    with SkillBank.open(directory / BANK_FILE, run=RUN) as bank:
        prime(bank)
