"""A skill memory of one's own, by name: `module:factory`."""

import re
from pathlib import Path

from sesa_env.errors import ConfigError
from sesa_env.memory.base import MemorySnapshot
from sesa_env.plugins import make_plugin

_FACTORY = re.compile(r"[\w.]+:\w+")
_EXAMPLE = "for example my_memory:make, where make() returns an object with fingerprint and retrieve(questions)"


def names_a_factory(name: str) -> bool:
    """Says whether a memory's name is `module:factory`; a file of that name comes first."""
    return _FACTORY.fullmatch(name) is not None and not Path(name).exists()


def load_memory(name: str) -> MemorySnapshot:
    """Makes a memory by name and freezes it.

    Args:
        name: "module:factory"; the module must be importable, and the factory takes no arguments: a memory that knew the
            world would know its answers.

    Returns:
        What `factory()` returned, or its `snapshot()` where it has one.

    Raises:
        ConfigError: there is no such module or factory, or what it returned is no memory.
    """
    made = make_plugin("memory", name, {}, _EXAMPLE)
    frozen = made.snapshot() if callable(getattr(made, "snapshot", None)) else made
    if not callable(getattr(frozen, "retrieve", None)) or not isinstance(getattr(frozen, "fingerprint", None), str):
        raise ConfigError(
            f"memory {name!r}: expected an object with fingerprint, a string, and retrieve(questions); got {frozen!r}; "
            f"type {_EXAMPLE}"
        )
    return frozen  # type: ignore[no-any-return]  # both members of MemorySnapshot were looked at
