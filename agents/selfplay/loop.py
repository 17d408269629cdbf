"""The run itself: priming, then step after step, checkpoints, and going on from them.

A step is a function of (configuration, step, state), the state being what a checkpoint holds. Whatever a stopped run did after
its last checkpoint is rolled back when it goes on: rows of metrics are cut off and the checkpoint's bank takes the place of the
run's, so that the run ends as one that was never stopped, to the bit.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.judge import Judge, open_judge
from agents.learner import Learner, Sample, TrainingError
from agents.policy import Policy, load_policy
from agents.pretrained import source_of
from agents.rollout import SamplingError
from agents.selfplay.checkpoint import BANK, Checkpoints, Seat
from agents.selfplay.clock import Clock
from agents.selfplay.config import RoleConfig, RunConfig
from agents.selfplay.draws import BEFORE_TRAINING
from agents.selfplay.guard import ValidRate
from agents.selfplay.held_out import mark_held_out
from agents.selfplay.judging import judged
from agents.selfplay.keeper import Boundary, Keeper
from agents.selfplay.leak import leaked_cards, leaky
from agents.selfplay.lessons import carry_over_samples, challenger_rewards, challenger_samples, solver_samples
from agents.selfplay.metrics import BOOTSTRAP, MACHINE, METRICS, MetricsFile, read_bootstrap, read_metrics
from agents.selfplay.pool import ReplayPool
from agents.selfplay.posed import POSED, PosedFile
from agents.selfplay.posing import Proposal, ReadyQuestions, Recent, Slot, mark_duplicates, propose, slots_of, until_full
from agents.selfplay.row import boundary_row, learning_row, machine_row, memory_row, posing_row, solving_row
from agents.selfplay.solving import Solved, retrieve, solve
from agents.teacher import load_any_teacher
from agents.warmstart import RECIPE_FILE
from sesa_env.errors import SesaError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import CardHit, MemorySnapshot
from sesa_env.memory.prime import mine, prime
from sesa_env.memory.whole import whole_file
from sesa_env.worlds import World, make_world

SOLVER, CHALLENGER = "solver", "challenger"
RUN = "selfplay"
"""The name under which the bank keeps the run's counters."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Played:
    """What the two phases of play left of a step; `recovered` is the role that had to go back to its checkpoint for it."""

    proposals: list[Proposal]
    slots: list[Slot]
    cards: list[list[CardHit]]
    solved: list[Solved]
    recovered: str | None = None


class SelfPlay:
    """One run, opened on its directory.

    Args:
        config: the run.
        out: its directory.

    Attributes:
        step: the next step; as many updates have been made.
        seats: policies and learners by role; without a Challenger where the questions are ready ones.
    """

    def __init__(self, config: RunConfig, out: Path) -> None:
        self.config, self.out, self.step = config, out, 0
        self.world: World = make_world(config.world, **config.world_options)
        self.seats = make_seats(config)
        self.checkpoints = Checkpoints(out)
        self.guard = ValidRate(config.guard, config.model, self._is_cold)
        self.pool = ReplayPool(config.questions.pool_reset)
        self.recent = Recent(config.questions.duplicate_steps)
        posed = config.questions.source == "challenger"
        self._ready = None if posed else ReadyQuestions(self.world, config)
        self._stand_in = ReadyQuestions(self.world, config) if posed and self.world.graph is not None else None
        self._judge: Judge | None = None if config.judge is None else open_judge(config.judge)
        updates = self.checkpoints.latest()
        self.keeper = self._open_keeper(updates)
        self.metrics = MetricsFile(out / METRICS, updates or 0)
        self.posed = PosedFile(out / POSED, updates or 0) if posed else None
        if updates is None:
            self._begin()
        else:
            self._restore(updates)

    def close(self) -> None:
        """Closes the bank."""
        if self.keeper is not None:
            self.keeper.close()
            self.keeper.bank.close()

    @property
    def solver(self) -> Policy:
        """The Solver's policy."""
        return self.seats[SOLVER].policy

    # ---- a step ---------------------------------------------------------------------------------------------------

    def update(self) -> dict[str, Any]:
        """Plays and learns from one step, and writes its row of metrics.

        Returns:
            The row.

        Raises:
            CollapseError: the Challenger has collapsed and the configuration says to stop.
            TrainingError: a loss is not finite and the configuration says to stop.
            SamplingError: logits are not finite and the configuration says to stop, or going back did not help.
        """
        clock, step = Clock(), self.step
        with clock("retrieve"):
            snapshot = self.keeper.snapshot() if self.keeper else None
            stats = self.keeper.bank.stats() if self.keeper else {}
        played = self._play(step, snapshot, clock)
        proposals, slots, cards, solved = played.proposals, played.slots, played.cards, played.solved
        rewards = challenger_rewards(self.world, proposals, solved, self.config)
        with clock("learn"):
            learnt = self._learn(proposals, rewards, solved)
        if played.recovered is not None:
            learnt[f"{played.recovered}_recovered"] += 1
        with clock("boundary"):
            boundary = self._boundary(step, solved)
        row = {
            "step": step,
            **(posing_row(self.world, proposals, slots, rewards) if proposals else {}),
            **solving_row(solved, self.config),
            **learnt,
            **(memory_row(stats, cards, boundary) if self.keeper else {}),
            **clock.row(),
            "teacher_wait_s": round(boundary.wait_s, 6),
            "teacher_s": round(boundary.teacher_s, 6),
            MACHINE: machine_row(),
        }
        self.metrics.add(row)
        if self.posed is not None:
            self.posed.add(step, proposals)
        self.step = step + 1
        self._watch(step, proposals)
        if self.step % self.config.checkpoint_every == 0 or self.step == self.config.updates:
            self.save()
        return row

    def _play(self, step: int, snapshot: MemorySnapshot | None, clock: Clock) -> _Played:
        """Poses and solves, and does so again if a seat cannot be sampled from until it has gone back to its checkpoint."""
        pool, recent = copy(self.pool), self.recent.keys
        try:
            return self._play_once(step, snapshot, clock)
        except SamplingError as error:
            role = self._role_of(error.model)
            if role is None:
                raise
            if self.config.guard.on_nan == "stop":
                raise SamplingError(
                    f"step {step}: the {role}'s {error} Begin another run with a lower {role}.learner.learning_rate, or let "
                    "it go back to its last checkpoint: --resume --set guard.on_nan=recover"
                ) from error
            self._go_back(role, error)
        # As they were before the step: what was posed in vain is no earlier question.
        self.pool, self.recent.keys = pool, recent
        try:
            return replace(self._play_once(step, snapshot, clock), recovered=role)
        except SamplingError as error:
            raise SamplingError(
                f"step {step}: the {role} went back to its last checkpoint, that of {self.checkpoints.latest()} updates, and "
                f"still: {error} Begin another run with a lower {role}.learner.learning_rate"
            ) from error

    def _play_once(self, step: int, snapshot: MemorySnapshot | None, clock: Clock) -> _Played:
        with clock("pose"):
            proposals, slots = self._questions(step)
        with clock("retrieve"):
            cards = retrieve(snapshot, slots)
        with clock("solve"):
            solved = judged(solve(self.world, self.config, self.solver, slots, cards, step), self._judge)
        return _Played(proposals, slots, cards, solved)

    def _role_of(self, model: object) -> str | None:
        """The seat that a model sits in, and that training can have broken; None for any other model."""
        trained = [role for role, seat in self.seats.items() if seat.learner is not None]
        return next((role for role in trained if self.seats[role].policy.network is model), None)

    def _questions(self, step: int) -> tuple[list[Proposal], list[Slot]]:
        """Fills the batch: posed by the Challenger and refilled from the pool, or ready ones."""
        count = self.config.questions.per_update
        if self._ready is not None:
            return [], self._ready.take(step, count)
        self.pool.begin(step)
        proposed = self._proposals(self._challenger(step), step, self.config.questions.at_most)
        proposals = until_full(mark_duplicates(proposed, self.recent.known()), self.config.questions)
        self.recent.add(proposals)
        return proposals, slots_of(proposals, self.pool, self.config, step, self._stand_in)

    def _proposals(self, policy: Policy, step: int, count: int) -> list[Proposal]:
        proposed = propose(self.world, self.config, policy, step, count)
        return mark_held_out(self.world, self.config, proposed)

    def _challenger(self, step: int) -> Policy:
        policy = self.seats[CHALLENGER].policy
        if not self.config.skills.leak or self.keeper is None:
            return policy
        count = self.config.skills.bank.top_k
        return leaky(policy, leaked_cards(self.keeper.bank.cards(), self.config.seed, step, count))

    def _learn(
        self, proposals: Sequence[Proposal], rewards: Sequence[float | None], solved: Sequence[Solved]
    ) -> dict[str, Any]:
        """Updates both seats. Every sample is made before the first update: it belongs to the policy that sampled."""
        samples = {SOLVER: solver_samples(solved) + carry_over_samples(self.world, self.config, self.solver, solved)}
        if proposals:
            samples[CHALLENGER] = challenger_samples(proposals, rewards, self.config)
        row: dict[str, Any] = {}
        for role, batch in samples.items():
            row |= learning_row(role, self._update_seat(role, batch))
        return row

    def _update_seat(self, role: str, samples: Sequence[Sample]) -> Mapping[str, float]:
        learner = self.seats[role].learner
        if learner is None:
            return {}
        try:
            return {**learner.update(samples), "recovered": 0}
        except TrainingError as error:
            if self.config.guard.on_nan == "stop":
                raise
            self._go_back(role, error)
            return {"recovered": 1}

    def _go_back(self, role: str, error: SesaError) -> None:
        """Brings a seat back to its last checkpoint, and says so."""
        updates = self.checkpoints.latest()
        assert updates is not None  # there is one from before the first step
        _log.error("step %d: the %s goes back to its checkpoint of %d updates: %s", self.step, role, updates, error)
        self._load_seat(updates, role)

    def _boundary(self, step: int, solved: Sequence[Solved]) -> Boundary:
        if self.keeper is None:
            return Boundary()
        boundary = self.keeper.boundary(step, [group for item in solved if (group := item.group) is not None])
        if boundary.outage:
            _log.warning("step %d: the teacher could not answer, its failures wait on: %s", step, boundary.outage)
        return boundary

    def _watch(self, step: int, proposals: Sequence[Proposal]) -> None:
        fresh = sum(item.posed is not None and not item.reason for item in proposals)
        if self.guard.see(step, fresh, len(proposals)):
            updates = self.checkpoints.newest_healthy()
            assert updates is not None  # the one from before the first step is
            self._load_seat(updates, CHALLENGER)

    def _is_cold(self) -> bool:
        """Whether the start policy may not know the protocol: no warm start made it, or nothing valid was ever posed."""
        warmed = (Path(source_of(self.config.model)) / RECIPE_FILE).is_file()
        rows = [read_bootstrap(self.out) or {}, *read_metrics(self.out)]
        return not warmed or not any(row.get("valid") for row in rows)

    # ---- beginning, going on, ending ------------------------------------------------------------------------------

    def _open_keeper(self, updates: int | None) -> Keeper | None:
        """Opens the bank of a checkpoint, or an empty one: what was done before the first checkpoint counts for nothing."""
        skills = self.config.skills
        if not skills.enabled:
            return None
        self.checkpoints.restore_bank(updates, self.out / BANK)
        bank = SkillBank.open(self.out / BANK, skills.bank, skills.embedder, run=RUN)
        return Keeper(bank, skills, load_any_teacher(skills.teacher, self.world))

    def _begin(self) -> None:
        """Primes the bank and writes the checkpoint that a run goes back to which is stopped before its next."""
        if self.keeper is not None:
            if self.config.skills.primed:
                prime(self.keeper.bank)
            if self.config.skills.bootstrap:
                row = self._bootstrap(self.keeper)
                with whole_file(self.out / BOOTSTRAP) as part:
                    part.write_text(json.dumps(row, sort_keys=True, indent=1) + "\n", encoding="utf-8")
        self.save()

    def _bootstrap(self, keeper: Keeper) -> dict[str, Any]:
        """Plays questions before training, without cards; their failures give the mined cards (paper, section 4).

        Returns:
            What was played and mined, in the terms of a row of metrics.
        """
        count, proposals = self.config.skills.bootstrap, list[Proposal]()
        if self._ready is not None:
            slots = self._ready.take(BEFORE_TRAINING, count)
        else:
            proposed = self._proposals(self.seats[CHALLENGER].policy, BEFORE_TRAINING, count)
            proposals = mark_duplicates(proposed, set())
            slots = slots_of(proposals, ReplayPool(), _without_refill(self.config), BEFORE_TRAINING)
            self.pool.add([slot.posed for slot in slots])
        solved = solve(self.world, self.config, self.solver, slots, [[] for _ in slots], BEFORE_TRAINING)
        solved = judged(solved, self._judge)
        groups = [group for item in solved if (group := item.group) is not None]
        report = mine(keeper.bank, groups, load_any_teacher(self.config.skills.teacher, self.world), self.config.skills.mined)
        return {
            **(posing_row(self.world, proposals, slots, []) if proposals else {}),
            **solving_row(solved, self.config),
            "failures": report.failures,
            "mined": len(report.added),
            "refused": dict(report.rejected),
        }

    def save(self) -> None:
        """Writes a checkpoint."""
        self.metrics.sync()
        state = {
            "healthy": self.guard.healthy,
            "bad": self.guard.bad,
            "pool": self.pool.state_dict(),
            "recent": self.recent.keys,
            "keeper": self.keeper.state_dict() if self.keeper else None,
        }
        self.checkpoints.write(self.step, self.seats, self.keeper.bank if self.keeper else None, state)

    def _restore(self, updates: int) -> None:
        state = self.checkpoints.state(updates)
        self.step = updates
        self.checkpoints.load_seats(updates, self.seats)
        self.guard.bad = state["bad"]
        self.pool.load_state_dict(state["pool"])
        self.recent.keys = state["recent"]
        if self.keeper is not None:
            self.keeper.load_state_dict(state["keeper"])

    def _load_seat(self, updates: int, role: str) -> None:
        """Brings a seat back to a checkpoint; where parameters are shared, both: an optimiser belongs to its weights."""
        self.checkpoints.load_weights(updates, SOLVER if self.config.shared else role, self.seats[role].policy)
        for other in self.seats if self.config.shared else (role,):
            self.checkpoints.load_learner(updates, other, self.seats[other])

    def finish(self) -> dict[str, Any]:
        """Takes in what the teacher is still at, and writes the final policies as plain transformers directories.

        Returns:
            What the teacher's last answer changed in the bank after the last row of metrics; "outage" says why there was none.
        """
        last = self.keeper.finish() if self.keeper else Boundary()
        if last.outage:
            _log.warning("the end: the teacher could not answer, its failures stay in the queue: %s", last.outage)
        for role, seat in self.seats.items():
            seat.policy.save(self.out / role)
        return {**boundary_row(last), "outage": last.outage}


def make_seats(config: RunConfig) -> dict[str, Seat]:
    """Loads the start policy into both seats and makes their learners.

    Returns:
        The seats by role. Separate parameters are two copies of the start policy; shared ones have a learner for each role.
    """
    policy = load_policy(config.model, config.policy)
    seats = {SOLVER: _seat(policy, config.solver, config.seed * 2)}
    if config.questions.source == "challenger":
        other = policy if config.shared else load_policy(config.model, config.policy)
        seats[CHALLENGER] = _seat(other, config.challenger, config.seed * 2 + 1)
    return seats


def _seat(policy: Policy, role: RoleConfig, seed: int) -> Seat:
    return Seat(policy, Learner(policy, role.at_its_temperature(), seed) if role.train else None)


def _without_refill(config: RunConfig) -> RunConfig:
    return replace(config, questions=replace(config.questions, refill=False))
