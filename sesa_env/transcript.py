"""A game's episode in words, for a terminal: who wrote what, what was shown, what was earned."""

from collections.abc import Iterator

from sesa_env.game import SearchGame
from sesa_env.protocol import clean
from sesa_env.state import Turn
from sesa_env.types import Role, Target

_ANSWERED = frozenset({"search", "over_budget", "search_failed", "malformed"})
"""Events after which the same seat reads an answer; after others the next seat reads its prompt."""


def tell_episode(game: SearchGame) -> str:
    """Writes a game's episode so far, turn by turn.

    Args:
        game: a game, running or over.

    Returns:
        Lines: the task, the cards shown to the Solver, each turn with what it was answered and what it earned, the outcome.
    """
    return "\n".join([*_task(game), *_turns(game), *_outcome(game)]) + "\n"


def tell_turn(turn: Turn) -> str:
    """Writes a turn as environments render it: who wrote what, and what was shown for it, or why the question was rejected."""
    _, rejected, reason = turn.event.partition("rejected:")
    return f"[{turn.actor.value}] {turn.text}\n{f'rejected: {reason}' if rejected else turn.observation}"


def tell_outcome(game: SearchGame) -> str:
    """Writes how an episode ended: the task with what was wanted, the attempts, what each role earned."""
    posed = isinstance(game.state.task, Target) and game.question is not None
    return "\n".join([*_task(game), *(_question(game) if posed else ()), *_outcome(game)]) + "\n"


def _task(game: SearchGame) -> Iterator[str]:
    task = game.state.task
    if isinstance(task, Target):
        yield f"Target: {' | '.join(map(clean, task.answers))} ({task.hops} hops)"
    else:
        yield from _question(game)


def _question(game: SearchGame) -> Iterator[str]:
    question = game.question
    assert question is not None  # a task that is a question is in play from the start
    yield f"Question: {clean(question.text)}"
    yield f"Wanted: {' | '.join(map(clean, question.answers))}"
    for hit in game.state.cards:
        yield f"Card {hit.card.id}, cosine {hit.similarity:.3f}: {clean(hit.card.description)}"


def _turns(game: SearchGame) -> Iterator[str]:
    before: Role | None = None
    for number, turn in enumerate(game.state.transcript, 1):
        if turn.actor is not before:
            yield f"-- {turn.actor.value} --"
        yield f"{number}. {turn.text.strip()}"
        yield from _answered(turn)
        if turn.event == "question":
            yield from _question(game)
        before = turn.actor


def _answered(turn: Turn) -> Iterator[str]:
    if turn.event in _ANSWERED:
        yield from (f"   | {line}" for line in turn.observation.splitlines())
    earned = f", earned {turn.reward:+g}" if turn.reward else ""
    if turn.event != "search":
        yield f"   = {turn.event}{earned}"


def _outcome(game: SearchGame) -> Iterator[str]:
    state = game.state
    if state.reject_reason:
        yield f"Rejected: {state.reject_reason}"
    for number, attempt in enumerate(state.attempts, 1):
        verdict = "right" if attempt.correct else "wrong"
        yield f"Attempt {number}: {clean(attempt.prediction) or '(no answer)'} ({verdict}, {attempt.end})"
    for role, components in state.rewards.items():
        parts = ", ".join(f"{name} {value:+g}" for name, value in components.items())
        yield f"Reward of the {role}: {sum(components.values()):+g}{f' ({parts})' if parts else ''}"
