"""The parts of a page that are plain HTML: tables, and the claims with their intervals drawn. They need no script."""

import re
from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.experiment.claims import HOLM, MEASURES, Judged
from benchmarks.experiment.design import Experiment
from benchmarks.render import Column, Row, Table, format_cell

_CLASSES = {"holds": "holds", "reversed": "reversed", "not established": "open", "unfinished": "open"}
_NUMBER = ' class="number"'
_HEADS = (
    ("Claim", ""), ("Verdict", ""), ("Ours", _NUMBER), ("Interval", ""), ("Corrected", _NUMBER),
    ("Level, %", _NUMBER), ("Unit", ""), ("Paper", ""),
)  # fmt: skip
_NOTE = (
    "Differences, paired by world and question: points are of exact match, and how far questions move is a distance from 0 to "
    f"1, in hundredths. {HOLM} Verdicts follow from the intervals alone. Claims marked as control are ours: the paper lacks "
    "them. The paper's numbers are of language models on the real benchmarks, not comparable with ours."
)
BY_REVISION = (
    "Trainings were carried out by one command or by several, in any order. How many were finished with which revision of the "
    "code:"
)
_CODE = re.compile("`([^`]+)`")
_WIDTH, _HEIGHT, _MARGIN = 180, 22, 8  # of a drawn interval, in CSS pixels


def claims_html(judged: Sequence[Judged]) -> str:
    """Writes the claims with their intervals and verdicts, or says that there are none to draw."""
    if not judged:
        return '<p class="notice"><strong>One seed: no claim is drawn.</strong> Verdicts need several worlds and trainings.</p>'
    largest = {
        measure: max(max(abs(one.low), abs(one.high)) for one in judged if one.claim.measure == measure) or 1.0
        for measure in {one.claim.measure for one in judged}
    }
    rows = "".join(_claim(one, largest[one.claim.measure]) for one in judged)
    heads = "".join(f'<th scope="col"{kind}>{title}</th>' for title, kind in _HEADS)
    table = f'<table class="claims"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return _scrolled("The paper's claims", table, [_NOTE])


def _claim(one: Judged, largest: float) -> str:
    scale = one.claim.scale
    kind = ' <span class="tag">control</span>' if one.claim.control else ""
    interval = format_cell([one.low * scale, one.high * scale], "signed_interval")
    return (
        f'<tr><th scope="row">{escape(one.claim.claim)}{kind}</th>'
        f'<td><span class="verdict {_CLASSES[one.verdict]}">{one.verdict}</span></td>'
        f'<td class="number">{format_cell(one.estimate.value * scale, "signed")}</td>'
        f"<td>{_interval(one, largest)}</td>"
        f'<td class="number">{interval}</td>'
        f'<td class="number">{format_cell(one.level, "percent")}</td>'
        f"<td>{MEASURES[one.claim.measure].shown}</td>"
        f"<td>{escape(one.claim.paper) or format_cell(None, 'text')}</td></tr>"
    )


def _interval(one: Judged, largest: float) -> str:
    """Draws an interval on a scale that all claims of one measure share; decoration, its numbers stand beside it."""
    low, value, high, zero = (_place(at / largest) for at in (one.low, one.estimate.value, one.high, 0.0))
    middle = _HEIGHT / 2
    return (
        f'<svg class="interval {_CLASSES[one.verdict]}" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'aria-hidden="true"><line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="{_HEIGHT}"/>'
        f'<line class="bar" x1="{low}" x2="{high}" y1="{middle}" y2="{middle}"/>'
        f'<circle cx="{value}" cy="{middle}" r="4.5"/></svg>'
    )


def _place(share: float) -> float:
    return round(_WIDTH / 2 + share * (_WIDTH / 2 - _MARGIN), 1)


def table_html(table: Table) -> str:
    """Writes a table with its caption and notes."""
    # A name like miniwiki/nq may be broken at its slash, lest seven of them run over the edge of a sheet of paper.
    titles = (escape(column.title).replace("/", "/<wbr>") for column in table.columns)
    heads = "".join(f'<th scope="col"{_kind(column)}>{title}</th>' for column, title in zip(table.columns, titles, strict=True))
    bodies = "".join(f"<tbody>{''.join(_row(table, row) for row in group)}</tbody>" for group in table.groups)
    return _scrolled(
        table.caption, f"<table><thead><tr>{heads}</tr></thead>{bodies}</table>", table.notes, name=f"table-{table.name}"
    )


def _row(table: Table, row: Row) -> str:
    first, *others = table.columns
    cells = "".join(f"<td{_kind(column)}>{escape(format_cell(row.get(column.key), column.style))}</td>" for column in others)
    return f'<tr><th scope="row"{_kind(first)}>{escape(format_cell(row.get(first.key), first.style))}</th>{cells}</tr>'


def _kind(column: Column) -> str:
    return "" if column.style == "text" else _NUMBER


def _scrolled(caption: str, table: str, notes: Sequence[str], name: str = "") -> str:
    """A wide table scrolls by itself, by keyboard too, so that the page never does sideways."""
    label = escape(caption)
    place = f' id="{escape(name)}"' if name else ""
    below = "".join(f'<p class="note">{_note(note)}</p>' for note in notes)
    heading = f"<h3>{label}</h3>" if name else ""
    scroll = f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{table}</div>'
    return f'<div class="table"{place}>{heading}{scroll}{below}</div>'


def _note(text: str) -> str:
    """Notes have Markdown's mark for code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def studies_html(experiment: Experiment, revisions: Mapping[str, int]) -> str:
    """Lists what was trained and evaluated, and with which revisions of the code (`Results.revisions`)."""
    items = "".join(
        f"<li><strong>{escape(study.title)}</strong> (<code>{escape(study.name)}</code>): {len(study.arms)} arms, "
        f"{len(study.seeds)} {'seed' if len(study.seeds) == 1 else 'seeds'}, evaluated after "
        f"{', '.join(map(str, study.stages))} updates on {study.questions} questions of each benchmark</li>"
        for study in experiment.studies
    )
    made = "".join(f"<li><code>{escape(revision)}</code>: {count}</li>" for revision, count in revisions.items())
    return f"<ul>{items}</ul><p>{BY_REVISION}</p><ul>{made}</ul>"
