"""Real Skill Cards: one written by hand, one distilled from a failure, how a Solver reads it, and what it does with it."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

from sesa_env import make_world, play_questions
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.lineage import read_lives
from sesa_env.memory.prime import prime
from sesa_env.memory.seeds import SEEDS
from sesa_env.memory.store import BankStore
from sesa_env.memory.teacher import load_teacher
from sesa_env.memory.telling import tell_card, tell_life
from sesa_env.players.load import load_player
from sesa_env.protocol import render_cards, render_information
from sesa_env.types import Group

BIRTHPLACE = 4  # among the fifteen cards written by hand


def play(world, questions, memory):
    """Plays questions and returns what the memory takes in: each with its attempt and its evidence."""
    attempts = play_questions(world, questions, load_player("skilled", world), memory=memory)
    evidence = [tuple(filter(None, map(world.corpus.find, question.evidence))) for question in questions]
    return [Group(q, (attempt,), found) for q, attempt, found in zip(questions, attempts, evidence, strict=True)]


@contextmanager
def part(name):
    """Marks a part of what is printed, so that a page of the documentation can show it by itself."""
    print(f"--8<-- [start:{name}]")
    yield
    print(f"--8<-- [end:{name}]")


def right(groups):
    """How many were answered rightly."""
    return sum(group.attempts[0].correct for group in groups)


with part("hand"):
    print(tell_card(SEEDS[BIRTHPLACE]), end="")

world = make_world("miniwiki", seed=1, families={"single": 1.0}, n_questions=80, n_targets=0)
first, others = world.questions[:40], world.questions[40:]
path = Path(tempfile.mkdtemp()) / "bank.sqlite"
with SkillBank.open(path, config=MemoryConfig(consolidate_every=1, consolidate_min=1)) as bank:
    prime(bank)
    bank.commit(1, play(world, first, bank.snapshot()))  # failures wait for a teacher
    bank.consolidate(1, load_teacher("hindsight", world))  # it writes cards
    off, on = play(world, others, None), play(world, others, bank.snapshot())
    bank.commit(2, on)  # what the cards earned on other questions

helped = next(after for before, after in zip(off, on, strict=True) if after.solve_rate > before.solve_rate)
shown = dict(helped.attempts[0].cards)
with BankStore(path, create=False) as store:
    life = next(life for life in read_lives(store) if life.card.id in shown and life.failure is not None)
with part("distilled"):
    print(tell_life(life), end="")

with SkillBank.open(path, create=False) as bank:
    hits = bank.snapshot().retrieve([helped.question.text])[0]
with part("read"):
    print(render_cards(hits) + f"Question: {helped.question.text}")
with part("does"):
    for call in helped.attempts[0].searches:
        print(f"<search>{call.query}</search>\n" + render_information(call.passages, 2000))
    print(helped.attempts[0].texts[-1])
    print(f"\n{len(others)} other questions: {right(off)} right without cards, {right(on)} right with them")
