"""SESA: search self-play with a skill memory, as a Gymnasium environment.

`import sesa_env` registers `SESA-Search-v0` and `SESA-SearchDiscrete-v0`; `gymnasium.make("sesa_env:SESA-Search-v0")` needs no
import.
"""

import gymnasium

from sesa_env.env import SearchEnv
from sesa_env.errors import ConfigError, ProtocolError, RetrievalError, SesaError, StoreError, TeacherError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.play import play, play_questions
from sesa_env.types import Passage, Question, Role, Target
from sesa_env.worlds import World, make_world

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "GameConfig",
    "Passage",
    "ProtocolError",
    "Question",
    "RetrievalError",
    "Role",
    "SearchEnv",
    "SearchGame",
    "SesaError",
    "StoreError",
    "Target",
    "TeacherError",
    "World",
    "make_world",
    "play",
    "play_questions",
]

gymnasium.register(
    id="SESA-Search-v0", entry_point="sesa_env.env:SearchEnv", vector_entry_point="sesa_env.vector:SearchVectorEnv"
)
gymnasium.register(id="SESA-SearchDiscrete-v0", entry_point="sesa_env.numeric.env:SearchDiscreteEnv")
