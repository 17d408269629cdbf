"""A memory of one's own: cards chosen by the words of the question, and dropped when they hurt."""

import re
from collections import Counter

import gymnasium

from sesa_env import make_world, play_questions
from sesa_env.memory.base import CardHit, CommitReport, ConsolidationReport, SkillCard
from sesa_env.players.load import load_player
from sesa_env.types import Group

CARDS = (
    SkillCard(
        id="employer",
        description="Find where somebody works: the pages speak of pay, not of employers.",
        trigger='Questions that ask "employer of", "employer" or "workplace".',
        avoid="Searching with the word employer: it finds rumours.",
        queries=("{entity} on the payroll at", "{entity} draws a salary from"),
    ),
    SkillCard(
        id="birthday",
        description="Find when somebody was born.",
        trigger='Questions that ask "birthday of" or "birthday".',
        avoid="Searching with the word birthday.",
        queries=("{entity} weather",),  # a bad card: no page about a birth speaks of the weather
    ),
)


class Frozen:
    """What players are shown cards from. It never changes, so a whole batch reads the same memory."""

    def __init__(self, cards):
        self.cards = cards
        self.fingerprint = "words:" + ",".join(card.id for card in cards)

    def retrieve(self, questions):
        """For each question, the cards one of whose quoted phrases stands in it."""
        return [[CardHit(card, 1.0) for card in self.cards if fits(card, question)] for question in questions]


def fits(card, question):
    """Whether a phrase in the card's trigger stands in the question."""
    return any(phrase in question for phrase in re.findall(r'"([^"]+)"', card.trigger))


class WordMemory:
    """A `SkillMemory`: three methods."""

    def __init__(self, cards=CARDS):
        self.cards = list(cards)
        self.balance = Counter()  # by card: right answers less wrong ones

    def snapshot(self):
        return Frozen(tuple(self.cards))

    def commit(self, step, groups):
        """Takes in one step's results, and drops each card that was shown in vain three times more than it helped."""
        for group in groups:
            for attempt in group.attempts:
                for card_id, _ in attempt.cards:
                    self.balance[card_id] += 1 if attempt.correct else -1
        harmful = [card.id for card in self.cards if self.balance[card.id] <= -3]
        self.cards = [card for card in self.cards if card.id not in harmful]
        return CommitReport(evicted=tuple(harmful))

    def consolidate(self, step, distiller):
        """Would let a teacher write new cards from failures; this memory learns none."""
        return ConsolidationReport()


if __name__ == "__main__":
    world = make_world("miniwiki", seed=1, n_questions=100, n_targets=0)
    memory, solver = WordMemory(), load_player("skilled", world)
    for step in range(2):
        attempts = play_questions(world, world.questions, solver, memory=memory.snapshot())
        report = memory.commit(step, [Group(*pair) for pair in zip(world.questions, [(a,) for a in attempts], strict=True)])
        dropped = ", ".join(report.evicted) or "none"
        print(f"step {step}: {sum(a.correct for a in attempts)} of {len(attempts)} right; dropped: {dropped}")
    off = play_questions(world, world.questions, solver)
    print(f"without a memory: {sum(attempt.correct for attempt in off)} of {len(off)} right")

    # By name, wherever a memory is asked for; an environment freezes it when it is made.
    env = gymnasium.make("SESA-Search-v0", role="solver", memory="own_memory:WordMemory", corpus_options={"n_targets": 20})
    env.reset(options={"question": {"id": "mine", "text": "What is Ada Vale's employer?", "answers": ["nobody"]}})
    print("shown:", [hit.card.id for hit in env.unwrapped.view().cards])
