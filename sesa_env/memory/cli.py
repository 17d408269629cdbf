"""The commands `sesa bank show|card|stats|export|import|diff`."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import SkillCard
from sesa_env.memory.evaluated import read_evaluated, tell_evaluated
from sesa_env.memory.exchange import FORMATS, diff, dumps, format_of, import_cards, read_cards
from sesa_env.memory.lineage import read_lives
from sesa_env.memory.store import BankStore
from sesa_env.memory.telling import tell_card, tell_life
from sesa_env.memory.utility import utility
from sesa_env.memory.whole import whole_file

if TYPE_CHECKING:
    # argparse's sub-parsers have no public name; this alias is for the checker alone.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

_ORDERS = {
    "age": lambda card: 0,
    "utility": lambda card: -utility(card),
    "retrieved": lambda card: -card.retrieved,
}


def add_bank_commands(subparsers: "SubParsers") -> None:
    """Adds `bank` with its commands to a parser's sub-parsers; each sets `run`, from the parsed arguments to an exit code."""
    bank = subparsers.add_parser("bank", help="look at, export, import and compare skill banks")
    commands = bank.add_subparsers(dest="bank_command", required=True, metavar="COMMAND")

    show = _command(commands, "show", "print the cards of a bank")
    show.add_argument("cards", nargs="*", metavar="ID", help="ids of the cards to print; all if none is given")
    show.add_argument("--sort", choices=sorted(_ORDERS), default="age", help="order (default: age, the oldest first)")
    show.add_argument("--limit", type=int, default=None, help="print so many cards at most")
    show.set_defaults(run=_show)

    life = _command(commands, "card", "print a card's life: the failure it came from, its retrievals in training, its end")
    life.add_argument("card", metavar="ID", help="id of the card, one that was evicted too")
    life.add_argument(
        "--records", nargs="+", default=[], metavar="FILE", help="records of an evaluation: tell what it did there too"
    )
    life.set_defaults(run=_card)

    stats = _command(commands, "stats", "print what is in a bank, as JSON")
    stats.set_defaults(run=_stats)

    export = _command(commands, "export", "write the cards of a bank as JSONL or Markdown")
    export.add_argument("--out", help="file to write, .jsonl or .md; standard output if not given")
    export.add_argument("--format", choices=FORMATS, help="format, where no file's name tells (default: md)")
    export.set_defaults(run=_export)

    importing = _command(commands, "import", "read cards from JSONL or Markdown into a bank; made if missing")
    importing.add_argument("source", help="file to read, .jsonl or .md")
    importing.add_argument("--embedder", help="embedder of a new bank (default: hash); an old one keeps its own")
    importing.add_argument("--counters", action="store_true", help="take over the counters too")
    importing.set_defaults(run=_import)

    compare = commands.add_parser("diff", help="say how two banks differ; exit code 1 if they do")
    compare.add_argument("old", help="a bank, or a .jsonl or .md file")
    compare.add_argument("new", help="a bank, or a .jsonl or .md file")
    compare.add_argument("--run", dest="run_name", help="whose counters to compare (default: the run that wrote last)")
    compare.set_defaults(run=_diff)


def _command(commands: "SubParsers", name: str, help_text: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help_text)
    parser.add_argument("bank", help="the bank's file")
    parser.add_argument("--run", dest="run_name", help="whose counters and queue (default: the run that wrote last)")
    return parser


def _show(options: argparse.Namespace) -> int:
    cards = _cards_of(options.bank, options.run_name)
    known = {card.id for card in cards}
    if missing := [card_id for card_id in options.cards if card_id not in known]:
        raise ConfigError(f"{options.bank} has no card {missing[0]!r}")
    chosen = [card for card in cards if not options.cards or card.id in set(options.cards)]
    for card in sorted(chosen, key=_ORDERS[options.sort])[: options.limit]:
        sys.stdout.write(f"{tell_card(card)}\n")
    return 0


def _card(options: argparse.Namespace) -> int:
    with BankStore(options.bank, create=False) as store:
        lives = [life for life in read_lives(store, options.run_name or "") if life.card.id == options.card]
    if not lives:
        raise ConfigError(f"{options.bank} has and had no card {options.card!r}")
    sys.stdout.write("\n".join(map(tell_life, lives)))
    if options.records:
        sys.stdout.write(f"\n{tell_evaluated(read_evaluated(options.records, options.card))}")
    return 0


def _stats(options: argparse.Namespace) -> int:
    with BankStore(options.bank, create=False) as store:
        run = options.run_name or store.last_run()
        sys.stdout.write(json.dumps(store.stats(run), indent=2, ensure_ascii=False) + "\n")
    return 0


def _export(options: argparse.Namespace) -> int:
    kind = options.format or (format_of(options.out) if options.out else "md")
    text = dumps(_cards_of(options.bank, options.run_name), kind)
    if options.out is None:
        sys.stdout.write(text)
        return 0
    try:
        with whole_file(options.out) as part:
            part.write_bytes(text.encode())
    except OSError as error:
        raise StoreError(f"cannot write {options.out}: {error}") from error
    return 0


def _import(options: argparse.Namespace) -> int:
    run = options.run_name
    if Path(options.bank).is_file():
        with BankStore(options.bank, create=False) as store:
            run = run or store.last_run()
    else:
        # Looked at before the bank is made, so that a bad file leaves no empty bank behind.
        read_cards(options.source)
    with SkillBank.open(options.bank, embedder=options.embedder, run=run or "default") as bank:
        report = import_cards(bank, options.source, counters=options.counters)
    counts = {
        "added": report.added,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "refused as too much alike": report.refused,
    }
    sys.stdout.write(", ".join(f"{len(ids)} {what}" for what, ids in counts.items()) + "\n")
    for card_id in report.refused:
        sys.stdout.write(f"refused: {card_id}\n")
    return 0


def _diff(options: argparse.Namespace) -> int:
    lines = diff(_cards_of(options.old, options.run_name), _cards_of(options.new, options.run_name))
    sys.stdout.write("".join(f"{line}\n" for line in lines) or "no difference\n")
    return 1 if lines else 0


def _cards_of(path: str, run: str | None) -> list[SkillCard]:
    """Reads cards without an embedder: looking at a bank needs no model."""
    if Path(path).suffix.lower().removeprefix(".") in FORMATS:
        return [card for _, card in read_cards(path)]
    with BankStore(path, create=False) as store:
        return [card for card, _ in store.cards(run or store.last_run())]
