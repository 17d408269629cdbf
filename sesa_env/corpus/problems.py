"""What is wrong with input files, collected over all of them, so that a person mends everything at once before a run starts."""

from pathlib import Path

from sesa_env.errors import ConfigError

SHOWN = 10
"""How many problems the message lists; the rest are counted."""


class Problems:
    """Problems found while reading. Call `stop` when everything has been read."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._count = 0

    def add(self, path: Path, place: str, reason: str) -> None:
        """Notes one problem.

        Args:
            path: the file.
            place: where in it, for example "line 7"; "" for the whole file.
            reason: what was expected and what came.
        """
        self._count += 1
        if self._count <= SHOWN:  # a corpus may have millions of wrong lines
            self._first.append(f"{path}, {place}: {reason}" if place else f"{path}: {reason}")

    def stop(self) -> None:
        """Raises when there are problems.

        Raises:
            ConfigError: lists the first `SHOWN` problems and counts the rest.
        """
        if not self._count:
            return
        rest = self._count - SHOWN
        more = [f"... and {rest} more"] if rest > 0 else []
        count = "1 problem" if self._count == 1 else f"{self._count} problems"
        raise ConfigError("\n  ".join([f"{count} in the input; mend the files and start again:", *self._first, *more]))


class Malformed(ValueError):  # noqa: N818 - it never leaves the loaders: each turns it into a line of `Problems`
    """A record is not what it must be; the message is the reason."""


def shorten(value: object) -> str:
    """Shows a value that came, in at most about 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def require_file(path: str | Path, option: str) -> None:
    """Looks for a file that an option names.

    Raises:
        ConfigError: there is none.
    """
    if not Path(path).is_file():
        raise ConfigError(f"{option}: there is no file {Path(path).absolute()}; type {option}=FILE, JSONL or parquet")
