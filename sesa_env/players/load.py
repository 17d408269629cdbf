"""Players by name: "naive", "skilled", "challenger", or anyone's own as "module:factory"."""

from sesa_env.errors import ConfigError
from sesa_env.players.base import Player
from sesa_env.plugins import load_factory
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
    player = load_factory("player", name, BUILT_IN, _EXAMPLE)(world, seed=seed)
    if not callable(getattr(player, "act", None)):
        raise ConfigError(f"player {name!r}: expected the factory to return an object with act(view) -> str; got {player!r}")
    return player  # type: ignore[no-any-return]
