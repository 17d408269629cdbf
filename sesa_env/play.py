"""Plays whole episodes, many games in lock-step: players are asked in batches, searches share one call of the retriever."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from sesa_env.errors import ConfigError, RetrievalError, RetrievalOutage
from sesa_env.game import GameConfig, SearchGame
from sesa_env.memory.base import MemorySnapshot
from sesa_env.players.base import BatchPlayer, Player, View
from sesa_env.types import Attempt, Passage, Question, Role
from sesa_env.worlds import World


@runtime_checkable
class SeatPlayer(Player, Protocol):
    """A player that plays a seat's part of many games by itself, as language models do that keep the state of their past."""

    def play_seat(self, games: Sequence[SearchGame]) -> None:
        """Plays the seat whose turn it is until another's turn comes or the episode is over, in games that share that seat."""
        ...


def play(games: Sequence[SearchGame], players: Mapping[Role, Player]) -> None:
    """Plays games to their ends. What each game sees does not depend on the others.

    Args:
        games: games after `reset`, on one world.
        players: who plays each seat that comes up.

    Raises:
        ConfigError: a seat comes up that nobody plays.
        SesaError: a player's turn is no string, or a verifier failed (see `SearchGame.submit`).
    """
    while running := [game for game in games if game.actor is not None]:
        for role in Role:
            turn = [game for game in running if game.actor is role]
            if not turn:
                continue
            if role not in players:
                raise ConfigError(f"expected a player for the {role.value}'s seat; got none")
            if isinstance(player := players[role], SeatPlayer):
                player.play_seat(turn)
            else:
                step(turn, ask(player, [game.view() for game in turn]))


def ask(player: Player, views: Sequence[View]) -> list[str]:
    """Asks a player for the next turn of each view: all at once if it can, else one by one."""
    if isinstance(player, BatchPlayer):
        return player.act_batch(views)
    return [player.act(view) for view in views]


def step(games: Sequence[SearchGame], texts: Sequence[str]) -> None:
    """Plays one turn of each game; all the searches it takes go to the retriever together.

    Args:
        games: running games, on one world.
        texts: what the actor of each wrote.

    Raises:
        SesaError: as `SearchGame.submit`.
    """
    submitted = [(game, game.submit(text)) for game, text in zip(games, texts, strict=True)]
    waiting = [(game, query) for game, query in submitted if query is not None]
    if not waiting:
        return
    queries = [query for _, query in waiting]
    for (game, _), found in zip(waiting, _search(waiting[0][0], queries), strict=True):
        game.resume(found)


def _search(game: SearchGame, queries: list[str]) -> Sequence[Sequence[Passage] | None]:
    """Searches together; if that fails, one by one, so that a query which cannot be answered harms no other game."""
    try:
        return game.world.retriever.search(queries, game.config.top_k)
    except RetrievalOutage:  # asked one by one, each query would wait it out again
        return [None] * len(queries)
    except RetrievalError:
        if len(queries) == 1:
            return [None]
        return [found for query in queries for found in _search(game, [query])]


def play_questions(
    world: World,
    questions: Sequence[Question],
    player: Player,
    config: GameConfig | None = None,
    memory: MemorySnapshot | None = None,
    batch: int = 64,
) -> list[Attempt]:
    """Plays one Solver attempt at each question.

    Args:
        world: what is played on.
        questions: any number of questions.
        player: the Solver.
        config: the rules; its `group_size` does not matter here.
        memory: the frozen skill memory (On mode), or None (Off mode).
        batch: how many games run in lock-step; does not change any result.

    Returns:
        The attempts, in the order of the questions.
    """
    if batch < 1:
        raise ConfigError(f"batch: expected at least 1; got {batch}")
    rules = _single(config or GameConfig())
    attempts: list[Attempt] = []
    for start in range(0, len(questions), batch):
        chunk = questions[start : start + batch]
        cards = memory.retrieve([question.text for question in chunk]) if memory is not None else [[] for _ in chunk]
        games = [SearchGame(world, rules, memory) for _ in chunk]
        for game, question, shown in zip(games, chunk, cards, strict=True):
            game.reset(question, cards=shown)
        play(games, {Role.SOLVER: player})
        attempts += [game.attempts[0] for game in games]
    return attempts


def _single(config: GameConfig) -> GameConfig:
    return config if config.group_size == 1 else replace(config, group_size=1)
