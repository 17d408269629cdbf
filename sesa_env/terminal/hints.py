"""What a person at a seat is told beyond what the game tells every player."""

from sesa_env.types import Role

FINISH = {Role.SOLVER: "answer", Role.CHALLENGER: "question"}
"""The word that ends each seat."""

HELP = """You write one action a turn:
  search WORDS      look something up{finish}
or a turn as the game reads it, with tags, such as <think>...</think><search>...</search>.
At any time, without spending a turn:
  prompt            your task again
  history           what you wrote and read so far
  cards             the Skill Cards you are shown
  quit              save the game and leave
"""

_FINISHING = {
    Role.SOLVER: "\n  answer WORDS      give your answer: it ends your attempt",
    Role.CHALLENGER: "\n  question WORDS    hand in your question: it ends your part",
}

_REJECTED = {
    "no_question": "no question was handed in: too many malformed turns, or no turns left",
    "length": "a question has 10 to 1000 characters",
    "words": "a question has at least 10 words",
    "answer_in_question": "the target, or another accepted spelling of it, stands in the question",
    "nothing_found": "none of your searches brought a passage; search before you pose",
    "too_few_searches": "a question over n hops needs at least n searches",
    "repeated_query": "you made one search twice; every query must be another",
    "unverified": "answering it from the documents you found, among others, does not give the target; "
    "ask for one relation at a time, in the words that the questions of this world use",
}


def help_text(role: Role) -> str:
    """Returns what a person in a seat may type."""
    return HELP.format(finish=_FINISHING[role])


def not_sent(role: Role) -> str:
    """Returns the hint for a line that is no action."""
    return f"Nothing was sent, and no turn spent. Type search WORDS or {FINISH[role]} WORDS; help tells more."


def after(event: str, role: Role, strikes_left: int) -> str:
    """Returns the hint after a turn; "" where the game has said all there is to say.

    Args:
        event: what became of the turn.
        role: who acted.
        strikes_left: how many malformed turns are left before the seat is forfeit.
    """
    if event == "malformed":
        return f"Hint: {FINISH[role]} WORDS writes the tags for you. {strikes_left} more malformed turns lose the seat."
    if event == "over_budget":
        return f"Hint: your searches are spent; type {FINISH[role]} WORDS."
    if event.startswith("rejected:"):
        reason = event.partition(":")[2]
        return f"Your question is not valid ({reason}): {_REJECTED[reason]}."
    return ""
