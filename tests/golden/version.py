"""Which version of the environment the golden episodes are of."""

import re
from pathlib import Path

import gymnasium

import sesa_env  # noqa: F401 - registers the environments

FOLDER = Path(__file__).parent
PROMPTS = "prompts.json"
"""The prompt that each episode began with, in the folder of its version."""


def newest() -> str:
    """The newest registered version of the game: "v0", say."""
    versions = (re.fullmatch(r"SESA-Search-v(\d+)", name) for name in gymnasium.registry)
    return f"v{max(int(match[1]) for match in versions if match)}"
