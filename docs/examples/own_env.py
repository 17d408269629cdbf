"""A small text environment, and a mistake that a checker finds."""

import gymnasium

from sesa_env.spaces import Utf8


class Guess(gymnasium.Env):
    """Guess a word in five turns."""

    action_space = observation_space = Utf8()

    def __init__(self):
        self.played = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.played += 1
        self.word = ("search", "answer")[self.played % 2]  # the mistake: an episode must follow from its seed alone
        self.left = 5
        return "Guess a word.", {}

    def step(self, action):
        self.left -= 1
        found = self.word in action
        return "yes" if found else "no", float(found), found, self.left == 0 and not found, {}


gymnasium.register("Guess-v0", entry_point=Guess)
