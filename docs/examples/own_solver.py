"""A Solver of one's own: it searches for the name in a question and answers with a name that it finds."""

import re

from sesa_env import make_world, play_questions
from sesa_env.players.load import load_player

NAME = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)+")  # two or more words with a capital


class Namer:
    """A player is anything with `act(view) -> str`: what it may see in, one turn out."""

    def act(self, view):
        asked = NAME.findall(view.question)
        if not view.searches:  # the first turn
            return f"<search>{asked[-1] if asked else view.question}</search>"
        for passage in view.searches[-1].passages:
            for name in NAME.findall(passage.text):
                if name not in view.question:
                    return f"<answer>{name}</answer>"
        return "<answer>unknown</answer>"


def make(world, seed=0):
    """Makes the player: this is what `own_solver:make` names. A Solver's world has no questions in it, and no answers."""
    return Namer()


if __name__ == "__main__":
    world = make_world("miniwiki", seed=1, n_questions=100, n_targets=0)
    for name in ("naive", "own_solver:make"):
        attempts = play_questions(world, world.questions, load_player(name, world))
        print(f"{name}: {sum(attempt.correct for attempt in attempts)} of {len(attempts)} right")
