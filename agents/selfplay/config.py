"""The whole configuration of a self-play run: JSON values only, every number of the paper a field."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agents.demonstrations import FIRST_SEED
from agents.learner_config import LearnerConfig
from agents.policy import ModelConfig
from agents.rollout import Sampling
from sesa_env.errors import ConfigError
from sesa_env.game import GameConfig
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.placebo import PLACEBOS

SOURCES = ("challenger", "fixed", "stream")
DISTILLATIONS = ("paper", "skillrl", "none")
NO_PLACEBO = "none"
BASELINES = ("batch", "hops", "target")
REACTIONS = ("stop", "recover")
ON_COLLAPSE = (*REACTIONS, "warn")
_MOST_COMPOSITIONS = 0.5  # a finite set must still be found among those left


@dataclass(frozen=True)
class RoleConfig:
    """How one seat plays and learns."""

    train: bool = True
    """Whether its policy is trained."""
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    """Its algorithm and the numbers in it. Its temperature is the sampler's, whatever is written here."""
    sampling: Sampling = field(default_factory=Sampling)
    """How it samples while training."""

    def at_its_temperature(self) -> LearnerConfig:
        """Returns the learner's configuration at the temperature that rollouts are sampled at."""
        return replace(self.learner, temperature=self.sampling.temperature)


@dataclass(frozen=True)
class QuestionConfig:
    """Where a step's questions come from, and what makes them good or bad besides the game's own rules."""

    per_update: int = 16
    """Questions of one update; each is played by `rules.group_size` Solver rollouts."""
    proposals: int = 1
    """Challenger rollouts for each question of an update, at most: it proposes until the batch is full. With 1, as the paper's,
    each target has its slot."""
    hops: tuple[int, ...] = (1, 1, 1)
    """How often targets of one, two, three and more hops are drawn, one against the other."""
    source: str = "challenger"
    """"challenger": posed in self-play. "fixed": a finite set of ready ones. "stream": ever new ready ones, balanced. The last
    two are of MiniWiki's train half; in another world they are its questions, for which it must name a file of its own."""
    fixed: int = 256
    """How many questions the finite set has."""
    families: Mapping[str, float] | None = None
    """Weights of MiniWiki's question families for ready questions; None for the world's own mixture or, in a stream, for
    as many questions of each of its seven benchmarks, in their wordings."""
    held_out_compositions: float = 0.0
    """The share of MiniWiki's compositions, two relations or more in their order, that nothing is trained on: evaluation asks
    such questions too. A world's are the same for all runs in it."""
    refill: bool = True
    """Whether slots without a valid question are filled: from the replay pool, before the first valid question of the run with
    the bootstrap phase's or, failing those, with ready ones of the world's train half. Without it steps differ in size."""
    pool_reset: int = 10
    """Steps from one emptying of the replay pool to the next (paper, section 3); 0 never empties it. It waits for the
    first step with a new question."""
    duplicate_reward: float = 0.0
    """The Challenger's reward for a question that was posed before in its batch or within `duplicate_steps`."""
    duplicate_steps: int = 0
    """Steps that a question is remembered for; 0 looks for duplicates within the batch only."""
    repetition_penalty: float = 0.0
    """Taken from a valid question's reward in proportion to the share of the batch's other proposals that are valid questions
    like it; never below `rules.reward.invalid`."""
    repetition: str = "wording"
    """What makes them alike: their "kind" (`families.kind_of`), as every preset has it, or their "wording", as runs had it
    whose configurations do not say."""
    baseline: str = "batch"
    """What the Challenger's reward is compared with: "batch", rollouts of as many "hops", or of the same "target". The last two
    make its learner's baseline the group's mean."""
    per_target: int = 1
    """Challenger rollouts for one target; more than one makes the groups of a critic-free Challenger (baseline "target")."""

    def __post_init__(self) -> None:
        """Refuses values that no step can be made of."""
        _choice("questions.source", self.source, SOURCES)
        _choice("questions.baseline", self.baseline, BASELINES)
        _choice("questions.repetition", self.repetition, ("kind", "wording"))
        for name, least in (("per_update", 1), ("fixed", 1), ("pool_reset", 0), ("duplicate_steps", 0), ("per_target", 1)):
            _at_least(f"questions.{name}", getattr(self, name), least)
        if min(self.hops, default=0) < 0 or not any(self.hops):
            raise ConfigError(f"questions.hops: expected weights of 0 or more, one of them above 0; got {self.hops}")
        if not 0.0 <= self.held_out_compositions <= _MOST_COMPOSITIONS:
            raise ConfigError(
                f"questions.held_out_compositions: expected a share in [0, {_MOST_COMPOSITIONS}]; "
                f"got {self.held_out_compositions}"
            )
        _at_least("questions.proposals", self.proposals, 1)
        if self.per_update % self.per_target:
            raise ConfigError(f"per_update: expected a multiple of per_target, {self.per_target}; got {self.per_update}")
        if self.baseline == "target" and self.per_target < 2:
            raise ConfigError('questions.per_target: expected at least 2 with baseline "target", which compares them; got 1')

    @property
    def at_most(self) -> int:
        """Challenger rollouts of one update, at most."""
        return self.per_update * self.proposals


@dataclass(frozen=True)
class SkillConfig:
    """The skill memory around the bank: who is shown cards, how the bank begins, who writes cards and when."""

    enabled: bool = True
    """Whether there is a memory at all."""
    bank: MemoryConfig = field(default_factory=MemoryConfig)
    """The bank's own settings."""
    embedder: str = "hash"
    """Who embeds cards and questions, for `sesa_env.memory.embed.make_embedder`."""
    primed: bool = True
    """Whether the bank begins with the hand-written cards."""
    bootstrap: int = 0
    """Questions of the bootstrap phase, whose failures give the mined cards; 0 for none."""
    mined: int = 142
    """Mined cards, at most (paper, section 4)."""
    distillation: str = "paper"
    """"paper": frontier failures, by the bank's schedule. "skillrl": failures of categories that go badly. "none": never."""
    teacher: str = "hindsight"
    """Who writes the cards."""
    card_dropout: float = 0.0
    """The share of Solver rollouts that are not shown the cards of their question, drawn for each rollout."""
    carry_over: float = 0.0
    """Weight of the carry-over term: right rollouts made with a card are scored again without it. 0 switches it off."""
    placebo: str = NO_PLACEBO
    """What is shown in the place of the cards found: "none" shows them; "shuffled", those of another question of the batch;
    "irrelevant", cards of about their length that are far from the question (`sesa_env.memory.placebo`). A control."""
    leak: bool = False
    """Whether the Challenger's prompt shows cards too. The paper says it must not: this is an ablation."""
    weak_below: float = 0.4
    """SkillRL's threshold: categories with a lower success rate get new skills."""
    weak_every: int = 10
    """Steps from one look at the success rates to the next ("skillrl")."""
    weak_cards: int = 3
    """New skills at one such look, at most."""

    def __post_init__(self) -> None:
        """Refuses values that no memory can have."""
        _choice("skills.distillation", self.distillation, DISTILLATIONS)
        _choice("skills.placebo", self.placebo, (NO_PLACEBO, *PLACEBOS))
        for name in ("card_dropout", "weak_below"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"skills.{name}: expected a share in [0, 1]; got {getattr(self, name)}")
        for name, least in (("bootstrap", 0), ("mined", 0), ("weak_every", 1), ("weak_cards", 1), ("carry_over", 0)):
            _at_least(f"skills.{name}", getattr(self, name), least)
        if not self.enabled and (self.leak or self.carry_over):
            raise ConfigError("skills.leak and skills.carry_over: expected none without a memory; set skills.enabled")


@dataclass(frozen=True)
class GuardConfig:
    """What a run does when a step goes wrong."""

    on_nan: str = "stop"
    """A loss, a gradient or logits that are not finite: "stop", or "recover": the role goes back to its last checkpoint and
    trains on. Where it was sampled from, the step is played again, once."""
    on_collapse: str = "stop"
    """A collapsed Challenger: "stop"; "recover": it goes back to the newest checkpoint whose valid rate was good; or "warn":
    the log says so and the run goes on as it is, for comparisons, where stopping would leave out the arms that fare badly."""
    valid_rate: float = 0.05
    """A step with a smaller share of valid questions is bad."""
    patience: int = 10
    """So many bad steps in a row are a collapse."""

    def __post_init__(self) -> None:
        """Refuses what is no reaction."""
        _choice("guard.on_nan", self.on_nan, REACTIONS)
        _choice("guard.on_collapse", self.on_collapse, ON_COLLAPSE)
        _at_least("guard.patience", self.patience, 1)


@dataclass(frozen=True)
class RunConfig:
    """A run of self-play."""

    preset: str = "quick"
    """The preset that the numbers came from."""
    arm: str = "sesa"
    """The arm."""
    model: str = "tiny"
    """The start policy of both seats, for `agents.policy.load_policy`."""
    seed: int = 0
    """Of all the run's randomness."""
    updates: int = 200
    """Updates to make; 0 evaluates the start policy."""
    world: str = "miniwiki"
    """Name of the world, for `make_world`."""
    world_options: dict[str, Any] = field(default_factory=dict)
    """Options of the world."""
    rules: GameConfig = field(default_factory=GameConfig)
    """The game's numbers; `group_size` is G, the Solver rollouts of a question."""
    policy: ModelConfig = field(default_factory=ModelConfig)
    """How the models are loaded."""
    shared: bool = False
    """Whether both seats have one set of parameters; the paper's are separate."""
    solver: RoleConfig = field(default_factory=RoleConfig)
    """The Solver."""
    challenger: RoleConfig = field(default_factory=RoleConfig)
    """The Challenger."""
    questions: QuestionConfig = field(default_factory=QuestionConfig)
    """The step's questions."""
    skills: SkillConfig = field(default_factory=SkillConfig)
    """The skill memory."""
    judge: str | None = None
    """Who looks again at answers that exact match refuses; None for nobody. The paper's is a model behind a server:
    "openai:Qwen/Qwen2.5-32B-Instruct@URL"."""
    guard: GuardConfig = field(default_factory=GuardConfig)
    """What to do when a step goes wrong."""
    checkpoint_every: int = 10
    """Steps from one checkpoint to the next."""
    tensorboard: bool = True
    """Whether metrics go to TensorBoard too."""
    wandb: str | None = None
    """Name of a Weights & Biases project that the metrics go to as well; None for none."""

    def __post_init__(self) -> None:
        """Refuses numbers that no run can have."""
        for name, least in (("seed", 0), ("updates", 0), ("checkpoint_every", 1)):
            _at_least(name, getattr(self, name), least)
        if self.challenger.train and self.questions.source != "challenger":
            source = self.questions.source
            raise ConfigError(f"challenger.train: expected false where questions are {source!r}: it poses none; got true")
        if self.world == "miniwiki":
            _check_miniwiki(self.seed, self.world_options)
        elif self.questions.held_out_compositions:
            raise ConfigError(f"questions.held_out_compositions: expected 0 in the world {self.world!r}, which has no graph")
        elif self.questions.source != "challenger" and not self.world_options.get("questions"):
            raise ConfigError(
                f"questions.source={self.questions.source!r} in the world {self.world!r} would train on the questions that it "
                "is evaluated on; name a file of training questions: --set world_options.questions=FILE"
            )
        if self.questions.baseline != "batch":
            object.__setattr__(self, "challenger", _grouped(self.challenger, self.questions.baseline))

    def to_json(self) -> dict[str, Any]:
        """Returns the configuration as JSON values, the form that `sesa_env.plain.build` reads."""
        return asdict(self)


def _check_miniwiki(seed: int, options: Mapping[str, Any]) -> None:
    """Keeps a run off the other half, which it is evaluated on, and off the worlds of warm starts."""
    if options.get("split", "train") != "train":
        raise ConfigError('world_options.split: expected "train": the other half is what a run is evaluated on')
    for name, value in (("seed", seed), ("world_options.seed", options.get("seed", 0))):
        if isinstance(value, int) and value >= FIRST_SEED:
            raise ConfigError(f"{name}: expected one below {FIRST_SEED}, where the worlds of warm starts begin; got {value}")


def _grouped(role: RoleConfig, baseline: str) -> RoleConfig:
    """Makes a learner compare within groups, so that what the groups are made of has an effect."""
    learner = role.learner
    if learner.baseline not in ("auto", "group") or learner.recipe[0] == "moving":
        raise ConfigError(
            f"challenger.learner: expected an algorithm that compares within a group, for questions.baseline={baseline!r}; "
            f"got {learner.algorithm!r} with baseline {learner.recipe[0]!r}"
        )
    return replace(role, learner=replace(learner, baseline="group"))


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name}: expected one of {', '.join(allowed)}; got {value!r}")


def _at_least(name: str, value: float, least: float) -> None:
    if value < least:
        raise ConfigError(f"{name}: expected at least {least}; got {value}")
