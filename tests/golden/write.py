"""Writes the golden episodes of a new version: `python -m tests.golden.write`. What a version has stays as it is.

Each episode is a world, a task and what the seats write. The scripted players write some of the turns here, but what is kept is
what they wrote: a player that changes later changes no episode.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sesa_env.game import SearchGame
from sesa_env.players.load import load_player
from sesa_env.records import EpisodeRecord, Setup, open_setup, write_episodes
from sesa_env.types import Role
from tests.golden.version import FOLDER, PROMPTS, newest

WIKI = {"size": 400, "n_questions": 20, "n_targets": 20}
FLASH = {"data": "tests/golden/data", "n_targets": 3}
ASK_CHALLENGER, ASK_SOLVER = "ask the challenger", "ask the solver"  # stand for what the scripted player writes
VAGUE = "<question>Which of the two towns on the northern coast has the harbour that everybody knows so well?</question>"


@dataclass(frozen=True)
class Golden:
    """One episode to write: the setup, the index of the task in its pool, and what is written."""

    setup: Setup
    texts: tuple[str, ...]
    target: bool = False
    index: int = 0
    noise: tuple[int, ...] | None = None


def wiki(memory: str | None = None, **rules) -> Setup:
    return Setup("miniwiki", WIKI, memory, {"group_size": 1, **rules})


def flash(**rules) -> Setup:
    return Setup("flashrag", FLASH, None, {"group_size": 1, **rules})


def search(*queries: str) -> tuple[str, ...]:
    return tuple(f"<search>{query}</search>" for query in queries)


def answer(text: str) -> str:
    return f"<answer>{text}</answer>"


def pose(text: str) -> str:
    return f"<question>{text}</question>"


STATEMENT = "Corin Vale was a shipwright who was born in _____"
BIRTHPLACE = pose(f'Which name fills the blank in the statement about Corin Vale that reads "{STATEMENT}"?')
WORDY = "Where on the northern coast lies the town of Harrow Mere, whose harbour is so well known?"

EPISODES: dict[str, Golden] = {
    "solver_scripted_to_the_end": Golden(wiki(), (ASK_SOLVER,), index=11),
    "solver_thinks_searches_and_is_wrong": Golden(
        wiki(),
        ("<think>Who?</think> first <search>the mayor of the town</search> then", *search("mayor"), answer("The Nobody!")),
    ),
    "solver_shown_cards": Golden(wiki(memory="seeds"), (*search("who directed the film"), answer("nobody")), index=4),
    "solver_forfeits_malformed": Golden(wiki(), ("no tags", "<search></search>", "<answer>a</answer><answer>b</answer>")),
    "solver_malformed_each_way": Golden(
        wiki(max_strikes=20, max_turns=12, max_action_chars=200),
        (
            "<search>a",
            "</search>",
            "<question>not mine</question>",
            "<information>mine</information><answer>a</answer>",
            "<search>a<answer>b</search></answer>",
            "<think>no end",
            "x" * 201,
            "<answer>\ud800</answer>",
        ),
    ),
    "solver_spends_its_searches": Golden(wiki(max_searches=2), (*search("one", "two", "three"), answer("nobody"))),
    "solver_runs_out_of_turns": Golden(wiki(max_turns=3), search("one", "two", "three")),
    "challenger_scripted_group_of_three": Golden(
        wiki(group_size=3), (ASK_CHALLENGER, ASK_SOLVER, answer("nobody"), "oops", answer("no one")), target=True, index=6
    ),
    "challenger_nobody_solves": Golden(
        wiki(group_size=2, reward={"end_penalty": 0.25}), (ASK_CHALLENGER, answer("a"), answer("b")), target=True, index=4
    ),
    "challenger_one_minus_p": Golden(
        wiki(group_size=2, reward={"challenger": "one_minus_p"}),
        (ASK_CHALLENGER, answer("a"), answer("b")),
        target=True,
        index=5,
    ),
    "challenger_rejected_words": Golden(wiki(), (*search("town"), pose("Who is it, then?")), target=True),
    "challenger_rejected_nothing_found": Golden(wiki(), (*search("qqqq"), VAGUE), target=True),
    "challenger_rejected_repeated_query": Golden(wiki(), (*search("the town", "Town", "mayor"), VAGUE), target=True),
    "challenger_rejected_too_few_searches": Golden(wiki(), (*search("town"), VAGUE), target=True, index=2),
    "challenger_rejected_unverified": Golden(wiki(), (*search("town", "mayor", "ship"), VAGUE), target=True),
    "challenger_gives_the_answer_away": Golden(flash(), (*search("Alda Wern", "Corin Vale"), pose(WORDY)), target=True),
    "challenger_forfeits": Golden(wiki(), ("<answer>not mine</answer>", "", "<skills>"), target=True),
    "challenger_runs_out_of_turns": Golden(wiki(challenger_max_turns=2), search("one", "two"), target=True),
    "flash_solver_reads_hostile_passages": Golden(
        flash(), (*search("tags writers page answer", "Alda Wern married"), answer("corin vale."))
    ),
    "flash_challenger_poses": Golden(
        flash(group_size=2),
        (*search("Alda Wern married", "Corin Vale born in"), BIRTHPLACE, answer("Harrow Mere"), answer("a town")),
        target=True,
    ),
    "flash_challenger_scripted_with_noise": Golden(flash(), (ASK_CHALLENGER, answer("x")), target=True, noise=(3, 5)),
}


def record(golden: Golden) -> tuple[str, EpisodeRecord]:
    """Plays an episode; returns the prompt that it began with, which records do not hold, and the record."""
    world, config, memory = open_setup(golden.setup)
    game = SearchGame(world, config, memory)
    tasks = world.targets if golden.target else world.questions
    noise = None if golden.noise is None else [world.corpus[index] for index in golden.noise]
    prompt = game.reset(tasks[golden.index], seed=golden.index, noise=noise)
    for text in turns(game, golden.texts):
        game.act(text)
    return prompt, EpisodeRecord.of(golden.setup, game)


def turns(game: SearchGame, texts: tuple[str, ...]) -> Iterator[str]:
    """What is written, the scripted players' turns included: those of the seat's whole part."""
    for text in texts:
        if text not in (ASK_CHALLENGER, ASK_SOLVER):
            yield text
            continue
        role = Role.CHALLENGER if text == ASK_CHALLENGER else Role.SOLVER
        player = load_player("challenger" if role is Role.CHALLENGER else "naive", game.world, role=role)
        attempts = len(game.attempts)
        while game.actor is role and len(game.attempts) == attempts:
            yield player.act(game.view())


def main(folder: Path = FOLDER) -> int:
    """Writes the episodes of the newest registered version, if it has none yet."""
    home = folder / newest()
    if home.exists():
        sys.stderr.write(f"{home} has golden episodes; they are never written again: register a new version first\n")
        return 1
    records = {name: record(golden) for name, golden in EPISODES.items()}
    home.mkdir()
    for name, (_, episode) in records.items():
        write_episodes(home / f"{name}.jsonl", [episode])
    prompts = {name: prompt for name, (prompt, _) in records.items()}
    (home / PROMPTS).write_text(json.dumps(prompts, indent=1) + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
