"""Episodes as JSONL: write, read, replay, and the first difference."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sesa_env.errors import ConfigError, StoreError
from sesa_env.game import GameConfig, GameState, SearchGame, Turn
from sesa_env.memory.base import CardHit, MemorySnapshot, SkillCard
from sesa_env.memory.load import load_memory, names_a_factory
from sesa_env.plain import build
from sesa_env.types import Question, Role, Target
from sesa_env.worlds import World, make_world

FORMAT = 1


@dataclass(frozen=True)
class Setup:
    """How a game is set up, by names and numbers alone: JSON.

    Attributes:
        corpus: the world's name.
        corpus_options: the world's options.
        memory: None, "seeds", the path of a bank, or "module:factory".
        rules: fields of `GameConfig`, nested ones as mappings.
    """

    corpus: str = "miniwiki"
    corpus_options: dict[str, Any] = field(default_factory=dict)
    memory: str | None = None
    rules: dict[str, Any] = field(default_factory=dict)


def open_setup(setup: Setup) -> tuple[World, GameConfig, MemorySnapshot | None]:
    """Makes what a setup names.

    Raises:
        ConfigError: an unknown world, option or rule, or a bank that does not exist.
    """
    config = build(GameConfig, setup.rules, "rules")
    return make_world(setup.corpus, **setup.corpus_options), config, open_memory(setup.memory)


def open_memory(name: str | None) -> MemorySnapshot | None:
    """Opens a skill memory by name and freezes it: with the embedder that wrote it, and the paper's settings for retrieval.

    Args:
        name: None (Off mode), "seeds" (the hand-written cards), the path of a bank, or anyone's own as "module:factory".

    Returns:
        The snapshot, None in Off mode.

    Raises:
        ConfigError: there is no such file or factory, or its embedder is not installed.
        StoreError: the file is no bank.
    """
    if name is None:
        return None
    if not isinstance(name, str):
        raise ConfigError(f"memory: expected None, 'seeds', the path of a skill bank or module:factory; got {name!r}")
    if names_a_factory(name):
        return load_memory(name)
    from sesa_env.memory.bank import SkillBank
    from sesa_env.memory.prime import prime

    if name == "seeds":
        with SkillBank.open(":memory:") as bank:
            prime(bank)
            return bank.snapshot()
    if not Path(name).is_file():
        found = "is a directory" if Path(name).is_dir() else "is no file"
        raise ConfigError(
            f"memory: expected None, 'seeds', the path of a skill bank or module:factory; {name!r} {found} "
            "(a run of the harness keeps its banks as units/bank-*/bank.sqlite)"
        )
    with SkillBank.open(name, create=False) as bank:
        return bank.snapshot()


@dataclass(frozen=True)
class EpisodeRecord:
    """One episode, with all that is needed to execute it again.

    Attributes:
        setup: how the game was set up.
        world: fingerprint of the world.
        memory: fingerprint of the skill memory, "" in Off mode.
        task: the target or the question that it began with.
        seed: the episode's seed.
        turns: the turns, in order.
        rewards: each role's reward components.
        noise: ids of noise documents given from outside; None if the game found its own.
        cards: cards given from outside, in the place of a memory's; None if the game retrieved its own.
        name: what it is called, for readers; "" if nothing.
        format: version of this layout.
    """

    setup: Setup
    world: str
    memory: str
    task: Target | Question
    seed: int
    turns: tuple[Turn, ...]
    rewards: dict[str, dict[str, float]]
    noise: tuple[str, ...] | None = None
    cards: tuple[CardHit, ...] | None = None
    name: str = ""
    format: int = FORMAT

    @classmethod
    def of(cls, setup: Setup, game: SearchGame, state: GameState | None = None) -> "EpisodeRecord":
        """Takes down an episode so far: the game's running one, or an earlier one whose state was kept."""
        state = state or game.state
        return cls(
            setup=setup,
            world=game.world.fingerprint,
            memory=game.memory.fingerprint if game.memory is not None else "",
            task=state.task,
            seed=state.seed,
            turns=tuple(state.transcript),
            rewards={role: dict(components) for role, components in state.rewards.items()},
            noise=None if state.noise is None else tuple(passage.id for passage in state.noise),
        )

    def to_json(self) -> str:
        """Returns one line of JSON, keys sorted, ASCII only: no text can break the line."""
        data = {name: value for name, value in vars(self).items() if name not in ("setup", "task", "turns", "cards")}
        data["setup"] = asdict(self.setup)
        data["task"] = {"kind": type(self.task).__name__.lower(), **asdict(self.task)}
        data["cards"] = None if self.cards is None else [asdict(hit) for hit in self.cards]
        data["turns"] = [turn._asdict() for turn in self.turns]
        return json.dumps(data, sort_keys=True)

    @classmethod
    def from_json(cls, line: str) -> "EpisodeRecord":
        """Reads what `to_json` wrote.

        Raises:
            ConfigError: the line is not such a record.
        """
        try:
            data = dict(json.loads(line))
            if data.pop("format", None) != FORMAT:
                raise ConfigError(f"expected an episode record of format {FORMAT}, as write_episodes writes it")
            task = dict(data.pop("task"))
            kind: type[Target] | type[Question] = {"target": Target, "question": Question}[task.pop("kind")]
            turns = tuple(_turn(turn) for turn in data.pop("turns"))
            noise = data.pop("noise")
            noise = None if noise is None else tuple(noise)
            cards = data.pop("cards", None)  # a file that is older than the field has none
            cards = None if cards is None else tuple(_hit(hit) for hit in cards)
            setup = build(Setup, data.pop("setup"), "setup")
            return cls(setup=setup, task=build(kind, task, "task"), turns=turns, noise=noise, cards=cards, **data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"not an episode record: {type(error).__name__}: {error}") from error


def _hit(data: Mapping[str, Any]) -> CardHit:
    return CardHit(build(SkillCard, data["card"], "card"), float(data["similarity"]))


def _turn(data: Mapping[str, Any]) -> Turn:
    if not isinstance(data["text"], str):
        raise TypeError(f"a turn's text must be a string; got {data['text']!r}")
    return Turn(**{**data, "actor": Role(data["actor"])})


def write_episodes(path: str | Path, records: Iterable[EpisodeRecord]) -> None:
    """Appends episodes to a JSONL file, each a whole line.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        with Path(path).open("a", encoding="ascii") as file:
            file.writelines(record.to_json() + "\n" for record in records)
    except OSError as error:
        raise StoreError(
            f"{path}: expected a file that episodes can be appended to, in a folder that is there; {error}"
        ) from error


def read_episodes(path: str | Path) -> Iterator[EpisodeRecord]:
    """Reads a JSONL file of episodes.

    Raises:
        StoreError: the file cannot be read, or a line is no record; the message names file and line.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield EpisodeRecord.from_json(line)
                except ConfigError as error:
                    raise StoreError(f"{path}, line {number}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: expected a readable JSONL file of episodes; {error}") from error


def replay(record: EpisodeRecord, memory: str | None = None) -> str:
    """Executes an episode again, turn by turn; arguments as `replayed`.

    Returns:
        The first difference, in words; "" if there is none.
    """
    return replayed(record, memory)[1]


def replayed(record: EpisodeRecord, memory: str | None = None) -> tuple[SearchGame | None, str]:
    """Executes an episode again, turn by turn.

    Args:
        record: the episode.
        memory: the bank's path, if it is another than the recorded one; None takes the recorded one.

    Returns:
        The game after its last turn that was as recorded, None where world or memory are not; and the first difference, in
        words, "" if there is none.
    """
    setup = record.setup if memory is None else Setup(**{**vars(record.setup), "memory": memory})
    world, config, snapshot = open_setup(setup)
    if world.fingerprint != record.world:
        return None, f"world: recorded {record.world}, now {world.fingerprint}"
    fingerprint = snapshot.fingerprint if snapshot is not None else ""
    if fingerprint != record.memory:
        return None, f"memory: recorded {record.memory or 'none'}, now {fingerprint or 'none'}"
    game = SearchGame(world, config, snapshot)
    noise = None if record.noise is None else [world.corpus.find(passage_id) for passage_id in record.noise]
    if noise is not None and None in noise:
        return None, f"noise: recorded {record.noise}, of which the corpus lacks some"
    game.reset(record.task, seed=record.seed, noise=noise, cards=record.cards)  # type: ignore[arg-type]  # None was just ruled out
    return game, _first_difference(record, game)


def _first_difference(record: EpisodeRecord, game: SearchGame) -> str:
    for number, turn in enumerate(record.turns, 1):
        if game.actor is not turn.actor:
            return f"turn {number}: actor: recorded {turn.actor.value}, now {game.actor.value if game.actor else 'nobody'}"
        again = game.act(turn.text)
        for name, recorded, now in zip(Turn._fields, turn, again, strict=True):
            if recorded != now:
                return f"turn {number}: {name}: recorded {recorded!r}, now {now!r}"
    if game.state.rewards != record.rewards:
        return f"rewards: recorded {record.rewards}, now {game.state.rewards}"
    return ""
