"""The turns that a scripted player writes: one action each, well-formed whatever a passage made it say."""

_LIMIT = 1000
_NOTHING = "unknown"


def search_turn(query: str) -> str:
    """Writes a turn that searches `query`; markup and control characters in it become blanks."""
    return f"<search>{plain(query)}</search>"


def answer_turn(answer: str) -> str:
    """Writes a turn that answers; an empty answer becomes "unknown", since an action must hold something."""
    return f"<answer>{plain(answer)}</answer>"


def question_turn(question: str) -> str:
    """Writes a turn that poses `question`."""
    return f"<question>{plain(question)}</question>"


def plain(text: str) -> str:
    """Returns at most 1,000 characters of the text on one line, without angle brackets and unprintable characters; never ""."""
    kept = "".join(character if character.isprintable() and character not in "<>" else " " for character in text[:_LIMIT])
    return " ".join(kept.split()) or _NOTHING
