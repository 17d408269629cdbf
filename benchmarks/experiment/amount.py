"""How much an experiment does, counted before any of it is done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.config import question_counts
from benchmarks.experiment.cells import SCALE
from benchmarks.experiment.coupling import Branch, branches_of
from benchmarks.experiment.design import Cell, Experiment, same_training
from benchmarks.experiment.matched import STRIDE, Match, matches


@dataclass(frozen=True)
class Evaluations:
    """Evaluations of one training, or of several.

    Attributes:
        count: how many there are.
        answers: to questions, each in each of its modes; at most, since a real benchmark may have fewer questions.
    """

    count: int
    answers: int

    def __add__(self, other: "Evaluations") -> "Evaluations":
        """Adds up."""
        return Evaluations(self.count + other.count, self.answers + other.answers)


@dataclass(frozen=True)
class Amount:
    """What an experiment does; what two studies share counts once.

    Attributes:
        cells: its trainings.
        branches: the continuations of coupling, and the start policy that they are compared with.
        matches: the trainings that are gone on with until they have another's tokens.
        evaluations: of each training by its id, those of its continuation in `matches` too.
    """

    cells: Sequence[Cell]
    branches: Sequence[Branch]
    matches: Sequence[Match]
    evaluations: dict[str, Evaluations]

    @property
    def updates(self) -> int:
        """Updates of the trainings."""
        return sum(cell.stages[-1] for cell in self.cells)

    @property
    def continued(self) -> int:
        """Updates of the continuations of coupling."""
        return sum(one.updates for one in self.branches)

    def told(self) -> Iterator[str]:
        """Yields it line by line for a reader."""
        total = self.updates + self.continued
        if self.branches:
            posed, going = sum(one.targets for one in self.branches), sum(one.updates > 0 for one in self.branches)
            yield (
                f"  updates: {self.updates:,} of {len(self.cells)} trainings and {self.continued:,} of {going} continuations, "
                f"whose Challengers then pose, with the start policy's, {posed:,} questions (coupling): {total:,}"
            )
        else:
            yield f"  updates: {total:,} of {len(self.cells)} trainings"
        for name in dict.fromkeys(one.arm for one in self.matches):
            count = sum(one.arm == name for one in self.matches)
            yield (
                f"  and those of {name}: {count} of the trainings go on, {STRIDE} updates at a time, until they have as many "
                "tokens as those that they are compared with; how many that takes is known only then"
            )
        made = sum(self.evaluations.values(), Evaluations(0, 0))
        yield f"  evaluations: {made.count:,} with {made.answers:,} answers, a question counted once for each mode"


def amount_of(experiment: Experiment) -> Amount:
    """Counts what an experiment does."""
    cells = experiment.cells()
    source = same_training(cells)
    trained = {cell.id: cell for cell in cells if source[cell.id] == cell.id}
    matched = [one for study in experiment.studies for one in matches(study, experiment.training, source)]
    evaluations = {name: _of_cell(cell) for name, cell in trained.items()}
    for one in matched:
        evaluations[one.id] += Evaluations(1, _questions(one) * _modes(trained[one.id]))
    return Amount(list(trained.values()), branches_of(experiment, source), matched, evaluations)


def _of_cell(cell: Cell) -> Evaluations:
    """Off and On after each stage, after the last in its controls as well and with each search tool."""
    modes, count = _modes(cell), len(cell.stages) + len(cell.tools)
    controls = len(cell.controls) if modes > 1 else 0
    return Evaluations(count, _questions(cell) * (count * modes + controls))


def _questions(one: Cell | Match) -> int:
    return sum(question_counts(SCALE, one.questions).values())


def _modes(cell: Cell) -> int:
    return 2 if cell.config["skills"]["enabled"] else 1
