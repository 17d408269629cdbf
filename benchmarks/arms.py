"""Arms: a player, and where the skill bank of its On mode comes from."""

import re
from dataclasses import dataclass

from sesa_env.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Arm:
    """One arm of a comparison: played with and without its bank, everything else alike."""

    name: str
    """Names the arm in tables, records and directories."""

    player: str
    """The Solver: a built-in's short name, or `module:factory` of your own."""

    bank: str = ""
    """Where the bank comes from. `loop`: distilled by the loop from this player's own failures on train entities, as it reads
    the growing bank (the paper). `blind`: the same, but the loop shows it no cards. `loop:PLAYER`, `blind:PLAYER`: from that
    player's failures. `seeds`: the hand-written cards alone. "": the suite's choice, `seeds` on real data, else `loop`."""

    @property
    def bank_player(self) -> str:
        """The player whose failures fill the bank, "" for the hand-written seeds."""
        if self.bank == "seeds":
            return ""
        return self.bank.partition(":")[2] or self.player

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
    player, _, bank = rest.partition("@")
    if not given or not player:
        raise ConfigError(
            f"unknown arm {text!r}; choose from {', '.join(sorted(ARMS))}, or give NAME=PLAYER[@BANK], "
            "for example mine=module:factory or hand=skilled@seeds"
        )
    if not _NAME.fullmatch(name):
        raise ConfigError(f"the arm's name {name!r} becomes a directory: use letters, digits, '.', '_' and '-' only")
    return Arm(name, player, _checked_bank(bank) if bank else "")


def _checked_bank(bank: str) -> str:
    source, colon, player = bank.partition(":")
    if bank == "seeds" or (source in {"loop", "blind"} and bool(colon) == bool(player)):
        return bank
    raise ConfigError(f"unknown bank {bank!r}; choose 'loop', 'blind', 'loop:PLAYER', 'blind:PLAYER' or 'seeds'")


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
