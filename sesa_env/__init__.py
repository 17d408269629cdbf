"""SESA: search self-play with a skill memory, as a Gymnasium environment.

`import sesa_env` registers `SESA-Search-v0`; `gymnasium.make("sesa_env:SESA-Search-v0")` needs no import.
"""

import gymnasium

__version__ = "0.1.0"

gymnasium.register(id="SESA-Search-v0", entry_point="sesa_env.env:SearchEnv")
