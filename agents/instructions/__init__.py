"""What teachers and judges are told, each a text file. Prompts of the players are elsewhere: they are part of training."""

from functools import cache
from importlib.resources import files


@cache
def load_instructions(name: str) -> str:
    """Returns the instructions `name` ("judge" or "teacher"), without the final newline."""
    return files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
