"""The semantic judge in training: answers that exact match refuses are looked at again (paper, section 1)."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from agents.judge import Case, Judge, Judgement
from agents.selfplay.solving import Solved

_log = logging.getLogger(__name__)


def judged(solved: Sequence[Solved], judge: Judge | None) -> list[Solved]:
    """Puts every wrong answer to the judge, in one call.

    Args:
        solved: the step's questions with their rollouts.
        judge: None leaves exact match alone.

    Returns:
        The same with the judge's right answers counted as right and rewarded; what could not be judged is void.
    """
    if judge is None:
        return list(solved)
    places = [(number, place) for number, item in enumerate(solved) for place in _missed(item)]
    cases = [_case(solved[number], place) for number, place in places]
    known = len(judge.reasons)
    verdicts = dict(zip(places, judge.judge(cases), strict=True))
    if reasons := judge.reasons[known:]:
        _log.warning("%d answers could not be judged and count for nothing: %s", len(reasons), "; ".join(sorted({*reasons})))
    return [_regraded(item, {place: verdicts[number, place] for place in _missed(item)}) for number, item in enumerate(solved)]


def _case(item: Solved, place: int) -> Case:
    question = item.slot.posed.question
    return question.text, question.answers, item.attempts[place].prediction


def _missed(item: Solved) -> list[int]:
    return [place for place, attempt in enumerate(item.attempts) if not attempt.correct and not attempt.malformed]


def _regraded(item: Solved, verdicts: dict[int, Judgement]) -> Solved:
    right = {place for place, verdict in verdicts.items() if verdict in (Judgement.RIGHT, Judgement.EXACT)}
    return replace(
        item,
        attempts=tuple(
            replace(attempt, correct=attempt.correct or place in right) for place, attempt in enumerate(item.attempts)
        ),
        rewards=tuple(reward + (place in right) for place, reward in enumerate(item.rewards)),
        unjudged=frozenset(place for place, verdict in verdicts.items() if verdict is Judgement.NOT_JUDGED),
    )
