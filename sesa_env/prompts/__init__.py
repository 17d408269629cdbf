"""The prompts, each a text file. A changed prompt is a changed game: it asks for a new `-vN` of the environment."""

from functools import cache
from importlib.resources import files


@cache
def load_prompt(name: str) -> str:
    """Returns the prompt `name` ("solver" or "challenger"), a `str.format` template without its final newline."""
    return files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
