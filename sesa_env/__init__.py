"""SESA: search self-play with a skill memory, as a Gymnasium environment."""

__version__ = "0.1.0"
