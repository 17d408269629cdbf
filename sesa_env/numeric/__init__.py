"""The numeric face: the Solver's seat with a discrete action set, and numbers to look at, for agents that read no text.

`leads` says what a question leaves to be looked up, `trails` how far the searches have got, `choices` which turns can be
written now, `features` what all that looks like as numbers, and `env` makes an environment of it. All but `env` are functions
of a `View`, so an agent that has learned on the environment plays any game as a player.
"""

from sesa_env.numeric.choices import ACTIONS, choices
from sesa_env.numeric.env import SearchDiscreteEnv
from sesa_env.numeric.features import observation_space, observe

__all__ = ["ACTIONS", "SearchDiscreteEnv", "choices", "observation_space", "observe"]
