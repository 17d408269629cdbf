"""Arms: a player, and where the skill bank of its On mode comes from."""

import re
from dataclasses import dataclass
from pathlib import Path

from agents.names import endpoint, local_model
from sesa_env.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A player may have an "@" of its own, as openai:MODEL@URL has: what parts it from the bank is the first "@" before a bank.
_SPLIT = re.compile(r"(?P<player>.*?)@(?P<bank>seeds|none|loop|blind|(?:loop|blind|file):.+)")
_BANKS = "'loop', 'blind', 'loop:PLAYER', 'blind:PLAYER', 'seeds', 'file:PATH' or 'none'"


@dataclass(frozen=True)
class Arm:
    """One arm of a comparison: played with and without its bank, everything else alike."""

    name: str
    """Names the arm in tables, records and directories."""

    player: str
    """A built-in's short name, your own `module:factory`, `model:NAME_OR_DIR`, `openai:MODEL@URL` or `sb3:FILE`."""

    bank: str = ""
    """Where the bank comes from. `loop`: distilled by the loop from this player's own failures on train entities, as it reads
    the growing bank (the paper). `blind`: the same, but the loop shows it no cards. `loop:PLAYER`, `blind:PLAYER`: from that
    player's failures. `seeds`: the hand-written cards alone. `file:PATH`: a bank that is there already. `none`: no bank, so
    there is no On mode. `trained`: the bank that each trained run of this arm ended with. "": the suite's choice, `seeds` on
    real data and for language models, `blind:naive` for agents of stable-baselines3, else `loop`."""

    @property
    def bank_player(self) -> str:
        """The player whose failures fill the bank, "" where no loop fills it."""
        source, _, player = self.bank.partition(":")
        return (player or self.player) if source in ("loop", "blind") else ""

    @property
    def bank_file(self) -> str:
        """The path of a bank that is there already, "" for any other."""
        return self.bank.removeprefix("file:") if self.bank.startswith("file:") else ""

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that it is played in."""
        return ("off",) if self.bank == "none" else ("off", "on")

    @property
    def shows_cards(self) -> bool:
        """Whether the loop that fills the bank shows cards to its Solver."""
        return self.bank.partition(":")[0] == "loop"


# Both read the bank that `naive`'s failures wrote: what is measured is what cards do for a player that can follow them. `naive`
# cannot, so the loop shows it none; all that it got wrong would be held against the cards, and eviction would empty the bank.
ARMS = {arm.name: arm for arm in (Arm("naive", "naive", "blind"), Arm("skilled", "skilled", "blind:naive"))}


def parse_arm(text: str) -> Arm:
    """Reads one arm of the command line: a built-in's name, or NAME=PLAYER[@BANK].

    Raises:
        ConfigError: the arm is unknown or ill-formed; the message says what exists.
    """
    if text in ARMS:
        return ARMS[text]
    name, given, rest = text.partition("=")
    player, bank = _split(rest)
    if not given or not player:
        raise ConfigError(
            f"unknown arm {text!r}; choose from {', '.join(sorted(ARMS))}, or give NAME=PLAYER[@BANK], "
            "for example mine=module:factory, hand=skilled@seeds or small=model:smollm2"
        )
    if not _NAME.fullmatch(name):
        raise ConfigError(f"the arm's name {name!r} becomes a directory: use letters, digits, '.', '_' and '-' only")
    return Arm(name, player, bank)


def _split(text: str) -> tuple[str, str]:
    """Parts PLAYER[@BANK]; the bank's path becomes absolute, so that a run may be resumed from another directory."""
    if match := _SPLIT.fullmatch(text):
        player, bank = match["player"], match["bank"]
        if bank.startswith("file:"):
            bank = f"file:{Path(bank.removeprefix('file:')).resolve()}"
    else:
        player, bank = text, ""
    served, local = endpoint(player), local_model(player)
    if served is None and "@" in (local or player):
        raise ConfigError(f"unknown bank {player.partition('@')[2]!r}; choose {_BANKS}")
    return player, bank


def parse_arms(texts: list[str]) -> tuple[Arm, ...]:
    """Reads the arms of the command line, in order.

    Raises:
        ConfigError: no arm, an unknown one, or one name twice.
    """
    arms = tuple(parse_arm(text) for text in texts)
    names = [arm.name for arm in arms]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled or not arms:
        raise ConfigError(
            f"each arm needs a name of its own, but these came twice: {', '.join(doubled)}" if doubled else "no arm given"
        )
    return arms
