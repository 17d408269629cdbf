"""Players by name: "naive", "skilled", "challenger", or anyone's own as "module:factory"."""

import importlib
from collections.abc import Callable
from typing import Any

from sesa_env.errors import ConfigError
from sesa_env.players.base import Player
from sesa_env.worlds import World

BUILT_IN = {
    "naive": "sesa_env.players.naive:naive",
    "skilled": "sesa_env.players.skilled:skilled",
    "challenger": "sesa_env.players.challenger:challenger",
}
"""The players that come with the package, by short name."""

_EXAMPLE = "for example my_players:make_solver, where make_solver(world, seed=0) returns the player"


def load_player(name: str, world: World, seed: int = 0) -> Player:
    """Makes a player.

    Args:
        name: a short name from `BUILT_IN`, or "module:factory"; the module must be importable.
        world: the world that it will play on, handed to the factory.
        seed: of the player's own randomness, handed to the factory.

    Returns:
        What `factory(world, seed=seed)` returned.

    Raises:
        ConfigError: the name is not of that form, there is no such module or factory, or what it returned is no player.
    """
    player = _factory(BUILT_IN.get(name, name))(world, seed=seed)
    if not callable(getattr(player, "act", None)):
        raise ConfigError(f"player {name!r}: expected the factory to return an object with act(view) -> str; got {player!r}")
    return player  # type: ignore[no-any-return]


def _factory(name: str) -> Callable[..., Any]:
    module_name, colon, attribute = name.partition(":")
    if not (colon and module_name and attribute):
        raise ConfigError(f"player {name!r}: expected one of {', '.join(BUILT_IN)} or module:factory; type {_EXAMPLE}")
    module = _module(name, module_name)
    factory = getattr(module, attribute, None)
    if factory is None:
        raise ConfigError(f"player {name!r}: module {module_name!r} has no {attribute!r}; type {_EXAMPLE}")
    if not callable(factory):
        raise ConfigError(f"player {name!r}: {attribute!r} is not callable but a {type(factory).__name__}; type {_EXAMPLE}")
    return factory  # type: ignore[no-any-return]


def _module(name: str, module_name: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except (ModuleNotFoundError, TypeError, ValueError) as error:
        missing = getattr(error, "name", None) or module_name
        raise ConfigError(
            f"player {name!r}: there is no module {missing!r} to import; put its folder on PYTHONPATH, then type {_EXAMPLE}"
        ) from error
