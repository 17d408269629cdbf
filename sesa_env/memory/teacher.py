"""Asking a distiller, whatever it is made of, and checking the shape of what it answers."""

from collections.abc import Mapping, Sequence

from sesa_env.errors import ConfigError, TeacherError
from sesa_env.memory.base import CardDraft, Distiller, Failure, SkillCard
from sesa_env.plugins import make_plugin
from sesa_env.worlds import World


def ask(distiller: Distiller, failures: Sequence[Failure], bank: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
    """Lets a distiller write drafts for failures.

    Args:
        distiller: the teacher.
        failures: what it is given.
        bank: the bank's cards by id; it is handed those that the failures were shown in vain.

    Returns:
        For each failure, in order, its drafts.

    Raises:
        TeacherError: the teacher failed, or answered something else than one list of drafts for each failure.
    """
    shown = {card_id: bank[card_id] for failure in failures for card_id, _ in failure.attempt.cards if card_id in bank}
    answer: object = distiller.distil(failures, shown)
    if not isinstance(answer, list | tuple) or len(answer) != len(failures):
        raise _misfit(distiller, failures, answer)
    if not all(isinstance(drafts, list | tuple) and all(isinstance(draft, CardDraft) for draft in drafts) for drafts in answer):
        raise _misfit(distiller, failures, answer)
    return [list(drafts) for drafts in answer]


def _misfit(distiller: Distiller, failures: Sequence[Failure], answer: object) -> TeacherError:
    expected = f"{len(failures)} failures with as many lists of CardDraft"
    return TeacherError(f"the teacher {distiller.name!r} must answer {expected}; got {answer!r:.200}")


BUILT_IN = {"hindsight": "sesa_env.memory.hindsight:hindsight"}
"""The distillers that come with the package, by short name."""

_EXAMPLE = "for example my_teacher:make, where make(world) returns an object with name and distil(failures, cards)"


def load_teacher(name: str, world: World) -> Distiller:
    """Makes a distiller by name.

    Args:
        name: a short name from `BUILT_IN`, or "module:factory"; the module must be importable.
        world: the world that the failures come from, handed to the factory.

    Returns:
        What `factory(world)` returned.

    Raises:
        ConfigError: the name is not of that form, there is no such module or factory, or what it returned is no distiller.
    """
    teacher = make_plugin("teacher", name, BUILT_IN, _EXAMPLE, world)
    if not callable(getattr(teacher, "distil", None)) or not isinstance(getattr(teacher, "name", None), str):
        raise ConfigError(f"teacher {name!r}: expected an object with name and distil(failures, cards); got {teacher!r}")
    return teacher  # type: ignore[no-any-return]  # both members of Distiller were looked at
