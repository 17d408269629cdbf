"""Saved games: the episode so far, who plays what, and how it goes on."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from sesa_env.env import SearchEnv
from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.whole import whole_file
from sesa_env.records import EpisodeRecord, replayed


@dataclass(frozen=True)
class SavedGame:
    """A game that was left.

    Attributes:
        role: the person's seat, "solver" or "challenger"; None if both.
        opponent: who plays the other seat, by name; None for the default.
        episode: the episode so far.
    """

    role: str | None
    opponent: str | None
    episode: EpisodeRecord


def save_game(path: str | Path, saved: SavedGame) -> None:
    """Writes a saved game as JSON, whole or not at all.

    Raises:
        StoreError: it cannot be written.
    """
    data = {"role": saved.role, "opponent": saved.opponent, "episode": json.loads(saved.episode.to_json())}
    try:
        with whole_file(path) as part:
            part.write_text(json.dumps(data, indent=1) + "\n", encoding="ascii")
    except OSError as error:
        raise StoreError(f"the game cannot be saved as {path}: {error}; name another file with --save") from error


def load_game(path: str | Path) -> SavedGame:
    """Reads a saved game.

    Raises:
        StoreError: there is no such file, or it is no saved game.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        return SavedGame(data["role"], data["opponent"], EpisodeRecord.from_json(json.dumps(data["episode"])))
    except OSError as error:
        raise StoreError(f"{path}: no saved game: {error}; `quit` in `sesa play` leaves one and says its name") from error
    except (ConfigError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: expected a game that `sesa play` saved; {type(error).__name__}: {error}") from error


def resume_game(saved: SavedGame) -> SearchEnv:
    """Executes a saved game again up to where it was left.

    Returns:
        An environment in which it is the person's turn, as it was.

    Raises:
        StoreError: world, memory, rules or the other player are no longer what they were: the game would be another.
    """
    game, difference = replayed(saved.episode)
    if game is None or difference:
        raise StoreError(f"the saved game cannot go on as it was: {difference}; begin a new one: sesa play")
    env = SearchEnv(saved.role, saved.opponent, **asdict(saved.episode.setup))
    env.game.restore(game.snapshot())
    return env


def free_name(wanted: Path) -> Path:
    """Returns a file's name, numbered if there is such a file: a saved game never takes the place of another."""
    names = (wanted.with_stem(f"{wanted.stem}-{number}") for number in range(2, 10_000))
    return wanted if not wanted.exists() else next(name for name in names if not name.exists())
