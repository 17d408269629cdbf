"""The page itself: one self-contained HTML file with everything that an experiment has found, to be read without a network."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.experiment.claims import Judged
from benchmarks.experiment.design import MAIN
from benchmarks.experiment.page.answers import Place, answers
from benchmarks.experiment.page.cards import card_numbers, cards, read_banks
from benchmarks.experiment.page.markup import claims_html, studies_html, table_html
from benchmarks.experiment.page.packing import packed
from benchmarks.experiment.page.plots import plots
from benchmarks.experiment.page.posed import posed
from benchmarks.experiment.results import Results
from benchmarks.records import write_file
from benchmarks.render import Table

PAGE = "report.html"
MOST = 20_000
"""Attempts whose transcripts a page holds, at most: some megabytes."""
TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = (
    "dom",
    "inflate",
    "data",
    "theme",
    "chart",
    "plots",
    "difference",
    "turns",
    "list",
    "cards",
    "answers",
    "posed",
    "routes",
)
"""In the order in which they need each other."""


def write_page(results: Results, judged: Sequence[Judged], tables: Sequence[Table], most: int = MOST) -> Path:
    """Writes `report.html` into an experiment's directory: the same bytes for the same experiment.

    Args:
        results: the experiment's.
        judged: its claims; () for an experiment of one seed.
        tables: its tables, without that of the claims.
        most: attempts at questions whose transcripts are put in, at most.

    Returns:
        The file.
    """
    path = results.root / PAGE
    write_file(path, page(results, judged, tables, most).encode())
    return path


def page(results: Results, judged: Sequence[Judged], tables: Sequence[Table], most: int = MOST) -> str:
    """Returns the page; arguments as `write_page`."""
    parts = {
        "title": f"SESA experiment: {escape(results.experiment.name)}",
        "style": _template("style.css"),
        "studies": studies_html(results.experiment, results.revisions()),
        "claims": claims_html(judged),
        "tables": "".join(map(table_html, tables)),
        "data": "\n".join(_data(results, most)),
        "script": _script(),
    }
    return filled(_template("report.html"), parts)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Puts parts into a template's places, each written {{name}}; what stands in a part is never taken for a place."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _script() -> str:
    return "\n".join(_template(f"{name}.js") for name in SCRIPTS)


def _data(results: Results, most: int) -> Iterator[str]:
    for name, value in collected(results, most).items():
        yield f'<script type="text/plain" id="data-{name}">{packed(value)}</script>'


def collected(results: Results, most: int = MOST) -> dict[str, Any]:
    """Collects a page's data, in parts that are unpacked when they are needed.

    Returns:
        JSON values by name: "plots", "cards", "answers", "posed", and "place-STUDY-SEED" with what was read in each world.
    """
    main, banks = results.experiment.study(MAIN), read_banks(results)
    wanted = [(MAIN, seed) for seed in main.seeds] + [(bank.study, bank.seed) for bank in banks]
    places = {key: Place() for key in dict.fromkeys(wanted)}
    return {
        "plots": plots(results),
        "cards": cards(banks, places),
        "answers": answers(results, main, most, card_numbers(banks, MAIN), {seed: places[MAIN, seed] for seed in main.seeds}),
        "posed": posed(results, main),
        **{f"place-{study}-{seed}": place.to_json() for (study, seed), place in places.items()},
    }
