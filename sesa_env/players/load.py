"""Players by name: "naive", "skilled", "challenger", or anyone's own as "module:factory"."""

import importlib.util
from collections.abc import Sequence
from dataclasses import replace

from sesa_env.errors import ConfigError, SesaError
from sesa_env.players.base import Player
from sesa_env.plugins import make_plugin
from sesa_env.types import Passage, Role, Verdict
from sesa_env.worlds import World

BUILT_IN = {
    "naive": "sesa_env.players.naive:naive",
    "skilled": "sesa_env.players.skilled:skilled",
    "challenger": "sesa_env.players.challenger:challenger",
}
"""The players that come with the package, by short name."""

SEATS = {"naive": Role.SOLVER, "skilled": Role.SOLVER, "challenger": Role.CHALLENGER}
"""The seat that each of them takes."""

_HARNESS = ("model", "openai", "sb3")

_EXAMPLE = "for example my_players:make_solver, where make_solver(world, seed=0) returns the player"


def load_player(name: str, world: World, seed: int = 0, role: Role = Role.SOLVER) -> Player:
    """Makes a player.

    Args:
        name: a short name from `BUILT_IN`, or "module:factory"; the module must be importable.
        world: the world that it will play on, handed to the factory; to a Solver's without questions, targets, graph and
            verifier, since each of them knows the answers.
        seed: of the player's own randomness, handed to the factory.
        role: the seat it will take.

    Returns:
        What `factory(world, seed=seed)` returned.

    Raises:
        ConfigError: the name is not of that form, there is no such module or factory, what it returned is no player, or it is
            a built-in player of the other seat.
    """
    _refuse_harness(name)
    if (seat := SEATS.get(name, role)) is not role:
        raise ConfigError(f"player {name!r} takes the {seat.value}'s seat, not the {role.value}'s; name another")
    seen = world if role is Role.CHALLENGER else without_answers(world)
    player = make_plugin("player", name, BUILT_IN, _EXAMPLE, seen, seed=seed)
    if not callable(getattr(player, "act", None)):
        raise ConfigError(f"player {name!r}: expected the factory to return an object with act(view) -> str; got {player!r}")
    return player  # type: ignore[no-any-return]  # it has just been looked at


def _refuse_harness(name: str) -> None:
    """Refuses the harness' names for players, which read like `module:factory`; somebody's own module of that name may come."""
    prefix, _, rest = str(name).partition(":")
    if prefix in _HARNESS and not (rest.isidentifier() and importlib.util.find_spec(prefix)):
        raise ConfigError(
            f"player {name!r}: model:, openai: and sb3: are players of benchmarks/run_all.py; expected here a scripted "
            f"player's name ({', '.join(BUILT_IN)}) or module:factory, {_EXAMPLE}"
        )


def without_answers(world: World) -> World:
    """Returns a world as a Solver's factory may see it: passages and search tool, and nothing that knows an answer."""
    return replace(world, questions=(), targets=(), graph=None, verifier=_Closed())


class _Closed:
    """Stands where the verifier was."""

    def verify(self, question: str, passages: Sequence[Passage]) -> Verdict | None:
        raise SesaError("a Solver is given no verifier: it would know the answers")
