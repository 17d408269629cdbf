"""A table as data, and as Markdown, LaTeX (booktabs), CSV and JSON."""

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.records import dump, write_file

Row: TypeAlias = Mapping[str, Any]
BLANK = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        key: its key in each row.
        title: its heading.
        style: "text", "percent" (a score from 0 to 1, shown times 100), "points" (a signed difference of such scores),
            "interval" (two of them), "signed" and "signed_interval" (numbers shown as they are), "number", "count" or "p".
    """

    key: str
    title: str
    style: str = "text"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: its file name without the ending, and its LaTeX label.
        caption: what it shows; for readers who see nothing else.
        columns: the columns.
        groups: the rows, in groups that a line parts.
        notes: sentences under the table.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[Row, ...], ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for group in self.groups for row in group]


def format_cell(value: Any, style: str) -> str:
    """Writes one value for a reader."""
    if value is None or value == "":
        return BLANK
    return _STYLES[style](value)


def _points(value: float) -> str:
    return _signed(100 * value)


def _signed(value: float) -> str:
    rounded = round(value, 1)
    return f"{rounded:+.1f}".replace("-", MINUS) if rounded else "0.0"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


_STYLES: Mapping[str, Callable[[Any], str]] = {
    "text": str,
    "percent": lambda value: f"{100 * value:.1f}",
    "points": _points,
    "number": lambda value: f"{value:.2f}",
    "count": lambda value: f"{value:d}",
    "p": _p,
    "interval": lambda value: f"[{_points(value[0])}, {_points(value[1])}]",
    "signed": _signed,
    "signed_interval": lambda value: f"[{_signed(value[0])}, {_signed(value[1])}]",
}


def to_markdown(table: Table) -> str:
    """Renders Markdown: caption, table, notes."""
    heads = [column.title for column in table.columns]
    rules = [":--" if column.style == "text" else "--:" for column in table.columns]
    rows = [[format_cell(row.get(each.key), each.style).replace("|", "\\|") for each in table.columns] for row in table.rows]
    lines = [_pipe(cells) for cells in (heads, rules, *rows)]
    notes = "".join(f"\n{note}\n" for note in table.notes)
    return f"**{table.caption}**\n\n" + "\n".join(lines) + f"\n{notes}"


def _pipe(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


_LATEX = str.maketrans({letter: f"\\{letter}" for letter in "&%$#_{}"}) | str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "→": r"$\to$",
        MINUS: "$-$",
        BLANK: "--",
    }
)


_CODE = re.compile("`([^`]+)`")
_WORDS = re.compile(r"[^\s/]*/\s*|\S+\s*")
_HEAD = 10  # letters of a heading in one line


def to_latex(table: Table) -> str:
    r"""Renders a LaTeX table, no wider than the text; the document needs \usepackage{booktabs,graphicx}."""
    align = "".join("l" if column.style == "text" else "r" for column in table.columns)
    heads = [_latex_head(column) for column in table.columns]
    groups = [[_ampersands(table, row) for row in group] for group in table.groups]
    body = "\n\\midrule\n".join("\n".join(lines) for lines in groups)
    caption, notes = _latex(table.caption), _latex(" ".join([f"{table.caption}.", *table.notes]))
    return (
        "% Needs \\usepackage{booktabs,graphicx}.\n\\begin{table}\n\\centering\n\\small\n\\setlength{\\belowcaptionskip}{6pt}\n"
        f"\\caption[{caption}]{{{notes}}}\n\\label{{tab:{table.name}}}\n"
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{' & '.join(heads)} \\\\\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}}\n\\end{table}\n"
    )


def _latex(text: str) -> str:
    """Writes text, with the Markdown for code that notes have, as LaTeX."""
    return _CODE.sub(r"\\texttt{\1}", text.translate(_LATEX))


def _latex_head(column: Column) -> str:
    """Writes a heading, a long one in lines, broken at spaces and after slashes."""
    lines: list[str] = []
    for word in _WORDS.findall(column.title):
        if lines and len(lines[-1] + word.rstrip()) <= _HEAD:
            lines[-1] += word
        else:
            lines.append(word)
    written = r"\\".join(_latex(line.rstrip()) for line in lines)
    side = "l" if column.style == "text" else "r"
    return f"\\shortstack[{side}]{{{written}}}" if len(lines) > 1 else written


def _ampersands(table: Table, row: Row) -> str:
    return " & ".join(_latex(format_cell(row.get(column.key), column.style)) for column in table.columns) + r" \\"


def to_csv(table: Table) -> str:
    """Renders CSV with unrounded values under the columns' keys; an interval takes two columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in _csv_names(column)])
    for row in table.rows:
        writer.writerow([cell for column in table.columns for cell in _csv_cells(row.get(column.key), column)])
    return out.getvalue()


def _csv_names(column: Column) -> list[str]:
    return [f"{column.key}_low", f"{column.key}_high"] if column.style.endswith("interval") else [column.key]


def _csv_cells(value: Any, column: Column) -> list[Any]:
    if column.style.endswith("interval"):
        return list(value) if value is not None else ["", ""]
    return ["" if value is None else value]


def save_table(table: Table, directory: Path) -> None:
    """Writes the table in all four forms."""
    write_file(directory / f"{table.name}.md", to_markdown(table).encode())
    write_file(directory / f"{table.name}.tex", to_latex(table).encode())
    write_file(directory / f"{table.name}.csv", to_csv(table).encode())
    write_file(directory / f"{table.name}.json", dump(asdict(table), indent=2))
