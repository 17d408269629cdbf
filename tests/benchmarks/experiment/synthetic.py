"""An experiment's directory without any training: real worlds and banks, made-up answers and metrics, of any size."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from agents.selfplay.arms import merged
from agents.selfplay.metrics import BOOTSTRAP
from agents.selfplay.posed import POSED
from benchmarks.experiment.cells import FINISHED, evaluation_directory
from benchmarks.experiment.costs import spent
from benchmarks.experiment.coupling import KINDS_FILE, branches_of
from benchmarks.experiment.design import EXPERIMENTS, Cell, Experiment, Study, same_training, training_config
from benchmarks.experiment.matched import match_directory, match_file, matches
from benchmarks.experiment.run import CONFIG_FILE
from benchmarks.experiment.training import FOLDER, stage_directory
from benchmarks.records import make_record, write_json, write_records
from benchmarks.suites import BENCHMARKS, open_world, take_questions
from benchmarks.trained import BANK_FILE, METRICS_FILE
from benchmarks.units import EvalUnit
from sesa_env.corpus.miniwiki import CORE_RELATIONS
from sesa_env.game import SearchGame
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import CardDraft
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.prime import prime
from sesa_env.types import Attempt, Group, Question
from sesa_env.validity import REJECT_REASONS

RULES = {"max_turns": 5, "max_searches": 4, "top_k": 2}
HOSTILE = "</script><img src=x onerror=alert(1)> & \u2028 <b>bold</b>"
"""What a Solver may write: none of it may become markup."""
REVISIONS = {"revision": "1" * 40, "dirty": False}, {"revision": "2" * 40, "dirty": True}
"""Of the code, noted for trainings of seed 0 and for the others."""
_CHANCE = {"base": 0.2, "ssp": 0.35, "shaping-only": 0.4, "sesa": 0.45}
_FIELDS = ("valid_rate", "hops_posed", "solve_rate", "informative_groups", "challenger_reward", "solver_entropy")


def experiment(questions: int, seeds: int = 2, tails: bool = True) -> Experiment:
    """An experiment of some arms; with `tails` it has a regime map."""
    arms = ("base", "ssp", "shaping-only", "sesa")
    world = {"world_options": {"size": 300, "relations": 20}}
    main = Study(
        "main", "The arms", arms, tuple(range(seeds)), (2, 4), questions, settings=world,
        controls={"sesa": ("shuffled", "irrelevant")},
    )  # fmt: skip
    lengths = (10, 20) if tails else ()
    sizes = {f"tail-{tail}": {"world_options": {"size": 300, "relations": CORE_RELATIONS + tail}} for tail in lengths}
    maps = [Study(name, name, arms, (0, 1), (2, 4), 2, settings=settings) for name, settings in sizes.items()]
    return Experiment("synthetic", "quick", (main, *maps))


def whole(questions: int = 4) -> Experiment:
    """The preset `small` as it is, with all its studies, controls, tools and coupling, but two small worlds and few updates."""
    small, stages = EXPERIMENTS["small"], {25: 1, 50: 2, 100: 2, 200: 3, 400: 4}
    studies = tuple(
        replace(
            study,
            seeds=(0, 1),
            stages=tuple(sorted({stages[stage] for stage in study.stages})),
            questions=questions,
            settings=merged(study.settings, {"world_options": {"size": 600, "n_targets": 20}}),
        )
        for study in small.studies
    )
    return replace(small, studies=studies, coupling=replace(small.coupling, seeds=(0, 1)))


def write(made: Experiment, root: Path) -> Path:
    """Writes all that a finished experiment leaves and its report reads, of trainings that studies share once."""
    rng, banks, written = np.random.default_rng(0), {}, {}
    source = same_training(made.cells())
    cells = [cell for cell in made.cells() if source[cell.id] == cell.id]
    write_json(root / CONFIG_FILE, made.to_json())
    for cell in cells:
        banked = training_config(cell).skills.enabled
        for stage in cell.stages:
            folder = stage_directory(root, cell.id, stage)
            folder.mkdir(parents=True)
            write_records(folder / METRICS_FILE, [_metrics(rng, step, banked) for step in range(stage)])
            if banked:
                write_json(folder / BOOTSTRAP, {"rollouts": 6, "solver_tokens_read": 100})
                key = cell.study, cell.seed  # the arms of a world share its bank, which takes a while to make
                if key not in written:
                    written[key] = folder / BANK_FILE, make_bank(folder / BANK_FILE, cell)
                else:
                    shutil.copyfile(written[key][0], folder / BANK_FILE)
                banks[cell.id] = written[key][1]
            if cell.arm not in ("base", "oracle"):
                write_records(folder / POSED, list(_posed(stage)))
        _evaluations(cell, root, banks.get(cell.id, []), rng)
        write_json(root / FOLDER / cell.id / FINISHED, {"git": REVISIONS[cell.seed > 0]})
    for study in made.studies:
        for one in matches(study, made.training, source):
            cell = next(cell for cell in cells if cell.id == one.id)
            _evaluation(replace(cell, arm=one.arm), match_directory(root, one), ("off",), [], rng)
            write_json(match_file(root, one), spent([_metrics(rng, step, False) for step in range(5)]))
    for one in branches_of(made, source):
        write_json(
            root / FOLDER / one.id / KINDS_FILE, {kind: int(rng.integers(1, 20)) for kind in ("1 hop", "2 hops", "invalid")}
        )
    return root


def _metrics(rng, step: int, banked: bool) -> dict:
    row = {"step": step, "questions": 2, "rollouts": 4, "step_s": 1.0, "solve_rates": [1, 0, 1], "solver_searches": 9}
    row |= {name: round(float(rng.uniform(0.2, 0.9)) + 0.1 * step, 6) for name in _FIELDS}
    row |= {"solver_tokens_read": 50, "proposed": 4, "valid": 2}
    row |= {"rejected": {reason: int(rng.integers(3)) for reason in REJECT_REASONS}}
    if not banked:
        return row
    counts = {"cards": step + 4, "births": 1, "deaths": int(step > 1), "origins": {"seed": 3, "distilled": step + 1}}
    return row | counts | {name: float(step + 1) for name in ("hit_rate", "utility")}


def _posed(steps: int) -> Iterator[dict]:
    for step in range(steps):
        target = {"id": f"t{step}", "answer": "Somewhere", "hops": 1, "aliases": []}
        texts = ["<search>mayor of somewhere</search>", "<question>Who is it?</question>"]
        yield {"step": step, "target": target, "texts": texts, "question": "", "reason": "words"}
        yield {"step": step, "target": target, "texts": texts, "question": "Which city lies on the river?", "reason": ""}


class _Teacher:
    name = "synthetic-teacher"

    def distil(self, failures, cards):
        return [[_draft(failure.question)] for failure in failures]


def _draft(question: Question) -> CardDraft:
    letters = "".join(chr(97 + int(digit)) * 3 for digit in str(sum(map(ord, question.text))))
    return CardDraft(
        "Search the name with one plain word.",
        f'Questions that ask "{letters} of".',
        "Sending it all.",
        (f"{{entity}} {letters}",),
    )


def make_bank(path: Path, cell: Cell, **limits: int) -> list[str]:
    """A bank in which cards were born of failures, shown, and evicted; returns the ids of those that live."""
    world = world_of(cell)
    asked = take_questions(world, "nq", 6, cell.seed)
    config = MemoryConfig(consolidate_every=1, consolidate_min=1, evict_after=1, **limits)
    with SkillBank.open(path, config) as bank:
        prime(bank)
        for step, question in enumerate(asked):
            cards = tuple((card.id, 0.5) for card in bank.cards()[-2:])
            bank.commit(
                step,
                [
                    Group(
                        question,
                        (
                            _attempt(world, question, "wrong answer", cards),
                            _attempt(world, question, question.answers[0], cards),
                        ),
                    )
                ],
            )
            if step < 4:
                bank.consolidate(step, _Teacher())
        bank.commit(9, [Group(asked[0], (_attempt(world, asked[0], "no", ((bank.cards()[-1].id, 0.6),)),))])
        return [card.id for card in bank.cards()]


def world_of(cell: Cell) -> dict:
    options = {name: value for name, value in cell.config["world_options"].items() if name not in ("n_targets", "n_questions")}
    return {"name": "miniwiki", "options": {**options, "split": "test", "n_questions": 0, "n_targets": 0}}


def _attempt(world: dict, question: Question, answer: str, cards: tuple = ()) -> Attempt:
    game = SearchGame(open_world(world))
    game.reset(question, cards=())
    words = question.text.rstrip("?").split()
    game.act(f"<search>{' '.join(words[-2:])}</search>")
    game.act(f"<think>{HOSTILE}</think><answer>{answer}</answer>")
    made = game.attempts[0]
    return Attempt(made.prediction, made.correct, made.malformed, made.end, made.texts, made.searches, cards)


def _evaluations(cell: Cell, root: Path, cards: list, rng) -> None:
    """A cell's answers after each stage, and after the last with its other search tools."""
    for stage in cell.stages:
        last = stage == cell.stages[-1]
        modes = ("off", *(("on", *(cell.controls if last else ())) if cards else ()))
        for tool in ("", *(cell.tools if last else ())):
            directory = evaluation_directory(root, cell.id, stage, tool)
            _evaluation(cell, directory, modes if not tool else modes[:2], cards, rng)


def _evaluation(cell: Cell, directory: Path, modes: tuple, cards: list, rng) -> None:
    world, units = world_of(cell), []
    for benchmark in BENCHMARKS:
        asked = take_questions(world, benchmark, cell.questions, cell.seed)
        units.append(_unit(cell, benchmark, world, modes, cell.questions))
        write_records(
            directory / "records" / cell.arm / f"{benchmark}.jsonl", _records(cell, benchmark, world, asked, modes, cards, rng)
        )
    write_json(directory / "plan.json", {"units": [unit.__dict__ for unit in units]})
    write_json(directory / "config.json", {})


def _unit(cell: Cell, benchmark: str, world: dict, modes: tuple, questions: int) -> EvalUnit:
    name = f"eval-{cell.arm}-{benchmark}-s{cell.seed}-0"
    return EvalUnit(name, cell.arm, "a player", modes, "", cell.seed, world, benchmark, questions, 0, questions, RULES, 64)


def _records(cell: Cell, benchmark: str, world: dict, asked: list, modes: tuple, cards: list, rng) -> Iterator[dict]:
    shared = {"benchmark": benchmark, "arm": cell.arm, "seed": cell.seed, "world": open_world(world).fingerprint}
    for mode in modes:
        chance = _CHANCE.get(cell.arm, 0.4) + {"off": 0, "on": 0.2}.get(mode, -0.05)
        for question in asked:
            shown = tuple((str(card), 0.4) for card in rng.choice(cards, size=2, replace=False)) if mode != "off" else ()
            answer = question.answers[0] if rng.random() < chance else "somebody else"
            words = question.text.rstrip("?").split()
            texts = (
                f"<search>{' '.join(words[-2:])} {mode if rng.random() < 0.3 else ''}</search>",
                f"<think>{HOSTILE}</think><answer>{answer}</answer>",
            )
            yield make_record(
                {**shared, "mode": mode, "bank": ""}, question, Attempt(answer, True, False, "answered", texts, (), shown)
            )
