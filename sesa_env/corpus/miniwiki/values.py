"""Dates, years and numbers: how they are written, and how they are read back."""

import re
from datetime import date

VALUE_KINDS = ("date", "year", "number")

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DATE = re.compile(r"(\d{1,2}) ([A-Z][a-z]+) (\d{4})")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+")
_YEAR = re.compile(r"\d{4}")


def spellings(kind: str, value: int) -> tuple[str, ...]:
    """Returns the accepted spellings of a value, the canonical one first.

    Args:
        kind: "date" (value: proleptic ordinal of the day), "year" or "number".
        value: the value.
    """
    if kind == "date":
        day = date.fromordinal(value)
        month = _MONTHS[day.month - 1]
        return (f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", day.isoformat())
    if kind == "number":
        return (f"{value:,}", str(value))
    return (str(value),)


def read(text: str) -> tuple[str, int] | None:
    """Reads a canonical spelling back to (kind, value); None when it is no value."""
    if (match := _DATE.fullmatch(text)) and match[2] in _MONTHS:
        return _read_date(int(match[3]), _MONTHS.index(match[2]) + 1, int(match[1]))
    if _NUMBER.fullmatch(text):
        return "number", int(text.replace(",", ""))
    if _YEAR.fullmatch(text):
        return "year", int(text)
    return None


def _read_date(year: int, month: int, day: int) -> tuple[str, int] | None:
    try:
        return "date", date(year, month, day).toordinal()
    except ValueError:  # 31 February
        return None
