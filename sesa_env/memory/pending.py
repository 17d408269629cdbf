"""The queue of failures that wait for a teacher: which enter, which are taken first, which are dropped (paper, section 4)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sesa_env.memory.base import Failure
from sesa_env.memory.card import question_key
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.utility import says_something
from sesa_env.types import Attempt, Group


def evidence_found(attempt: Attempt) -> int:
    """Counts the distinct passages that the attempt's searches brought."""
    return len({passage.id for search in attempt.searches for passage in search.passages})


def is_informative(attempt: Attempt) -> bool:
    """Says whether a teacher can learn from this attempt: wrong, well-formed, all searches made, with evidence and answer."""
    answered = bool(attempt.prediction.strip())
    return not attempt.correct and says_something(attempt) and answered and evidence_found(attempt) > 0


def priority(failure: Failure, config: MemoryConfig) -> int:
    """Returns how informative a failure is: repeated, in spite of cards, with much evidence (paper: +5, +10, +3)."""
    return (
        config.repeated_priority * (failure.repeats > 0)
        + config.despite_cards_priority * bool(failure.attempt.cards)
        + config.much_evidence_priority * (evidence_found(failure.attempt) >= config.much_evidence)
    )


def failures_of(step: int, groups: Sequence[Group], config: MemoryConfig) -> list[Failure]:
    """Collects one step's informative frontier failures, one a question.

    Args:
        step: the training step.
        groups: the step's groups. Where a question has several, its first that failed counts.
        config: the band of solve rates and the priorities.

    Returns:
        Failures in the order of the groups, `repeats` still 0. Of a group's informative attempts the one with the highest
        priority is taken, then the one with most evidence, then the first.
    """
    found: dict[str, Failure] = {}
    for group in groups:
        key = question_key(group.question.text)
        in_band = config.solve_rate_low <= group.solve_rate < config.solve_rate_high
        candidates = [attempt for attempt in group.attempts if is_informative(attempt)]
        if not in_band or not candidates or key in found:
            continue
        failures = [Failure(f"{step}-{key[:12]}", group.question, attempt, group.evidence, step) for attempt in candidates]
        found[key] = max(failures, key=lambda failure: (priority(failure, config), evidence_found(failure.attempt)))
    return list(found.values())


def enqueue(
    pending: Sequence[Failure], new: Iterable[Failure], failed_before: Mapping[str, int], config: MemoryConfig
) -> list[Failure]:
    """Adds failures to the queue.

    A question waits once: a newer failure takes the place of the older one, since it shows what the present policy does. When
    the queue is too long the least informative go; among equals the oldest.

    Args:
        pending: the queue, oldest first.
        new: the step's failures.
        failed_before: how often each question (by key) failed at earlier steps.
        config: `queue_size` and the priorities.

    Returns:
        The new queue, oldest first.
    """
    queue = {question_key(failure.question.text): failure for failure in pending}
    for failure in new:
        key = question_key(failure.question.text)
        queue.pop(key, None)
        queue[key] = replace(failure, repeats=failed_before.get(key, 0))
    aged = list(enumerate(queue.values()))
    excess = max(len(aged) - config.queue_size, 0)
    dropped = {age for _, age in sorted((priority(failure, config), age) for age, failure in aged)[:excess]}
    return [failure for age, failure in aged if age not in dropped]


def most_informative(pending: Sequence[Failure], config: MemoryConfig) -> list[Failure]:
    """Takes the failures for one consolidation: `consolidate_max` at most, highest priority first, among equals the oldest."""
    return sorted(pending, key=lambda failure: -priority(failure, config))[: config.consolidate_max]
