"""The directory that a program is told to write with `--out`: whether it is new, and what is said where it cannot be had."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sesa_env.errors import ConfigError


@contextmanager
def writing_in(root: Path) -> Iterator[None]:
    """Tells of a directory that cannot be made, read or written in, which is a mistake of whoever named it.

    Raises:
        ConfigError: its block met an OSError.
    """
    try:
        yield
    except OSError as error:
        raise ConfigError(f"cannot write in {root} ({error.strerror or error}); name another directory with --out") from error


def is_new(root: Path) -> bool:
    """Says whether a directory is still to be filled: it is not there, or it is empty.

    Raises:
        ConfigError: it cannot be looked into.
    """
    with writing_in(root):
        return not root.exists() or (root.is_dir() and not any(root.iterdir()))


def require_run(root: Path) -> None:
    """Refuses to go on where nothing was begun: the name is mistyped, more often than not.

    Raises:
        ConfigError: the directory is new, or cannot be looked into.
    """
    if is_new(root):
        raise ConfigError(f"{root} holds no run to go on with; leave --resume out to begin one")
