"""Samples turns from a causal language model, many rows at once, on token ids (docs: token-exact rollouts).

A row's ids grow by sampled turns and by what the game answers; the keys and values of its past stay in the cache, so that a
turn begins with a pass over the new ids only. Rows that end their turn early leave the pass; the others go on without them.

A row's draws depend on its own seed and turn alone: neither the batch nor the order of the rows changes what it does, up to the
rounding of sums that differs between shapes.
"""

import inspect
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from transformers import PretrainedConfig

from agents.cache import RaggedCache
from agents.policy import Policy
from sesa_env.errors import ConfigError, SesaError


class SamplingError(SesaError):
    """A model's logits are not finite, so nothing can be drawn from them: its weights are not sound.

    Args:
        message: says what was expected and what came.
        model: the transformers model whose logits they are, by which a caller of several knows it.

    Attributes:
        model: as given; None in another process.
    """

    def __init__(self, message: str, model: object = None) -> None:
        super().__init__(message)
        self.model = model

    def __reduce__(self) -> tuple[type["SamplingError"], tuple[str]]:
        """Leaves the model behind: a worker's error is not to carry its weights along."""
        return type(self), (str(self),)


# Padded ids of one pass over new ids. It bounds memory; a CPU is fastest when the activations stay in its cache.
_PORTION = {"cpu": 2048, "cuda": 16_384}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How turns are sampled."""

    temperature: float = 1.0
    """Divides the logits. Log-probabilities are those of the distribution that was sampled from."""
    greedy: bool = False
    """Takes the likeliest id; the temperature does not matter then, and log-probabilities are at temperature 1."""
    turn_tokens: int = 64
    """Ids of one turn; a longer one is handed to the game as it is."""
    tokens: int = 1024
    """All ids of a rollout, prompt included; the model's context length bounds them too."""
    batch: int = 128
    """Rows at once; does not change any result."""
    prompt_tokens: int | None = None
    """Ids of a prompt (paper: 4096); a longer one is not played, its part is cut off. None: only `tokens` bounds it."""
    response_tokens: int | None = None
    """Ids of what follows the prompt, sampled turns and the game's answers (paper: 8192). None: only `tokens` bounds them."""

    def __post_init__(self) -> None:
        """Refuses numbers that nothing can be sampled with."""
        if not self.temperature > 0:
            raise ConfigError(f"temperature: expected a number above 0; got {self.temperature!r}; for no randomness set greedy")
        for name in ("turn_tokens", "tokens", "batch"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name}: expected a whole number of at least 1; got {value!r}")
        for name in ("prompt_tokens", "response_tokens"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ConfigError(
                    f"{name}: expected a whole number of at least 1, or None for no bound of its own; got {value!r}"
                )


@dataclass(slots=True, eq=False)
class Row:
    """One rollout in the making.

    Attributes:
        ids: prompt, sampled turns and observations.
        seed: of its draws; at least 0.
        turn: number of the next turn, from 0; the draws of a turn are a function of (seed, turn).
        sampled, logprobs: a value an id, as in `Rollout`.
        spans: [start, stop) of each sampled turn in `ids`.
        cached: how many of the ids the cache holds.
        ended: the last turn ended with a closing tag or the end of the text, not for want of room.
        limit: ids of the turn that is being sampled, at most.
        written, scores: its ids so far, and their log-probabilities.
        prompt: how many of the ids are the prompt; 0 stands for all that it was made with.
    """

    ids: list[int]
    seed: int = 0
    turn: int = 0
    sampled: list[bool] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    cached: int = 0
    ended: bool = False
    limit: int = 0
    written: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    prompt: int = 0

    def __post_init__(self) -> None:
        """Marks what is there already as not sampled."""
        given, self.ids = self.ids, []
        self.prompt = self.prompt or len(given)
        self.observe(given)

    def observe(self, ids: Sequence[int]) -> None:
        """Appends what the policy did not sample."""
        self._extend(ids, [False] * len(ids), [0.0] * len(ids))

    def close_turn(self) -> None:
        """Appends the turn that has been sampled."""
        start = len(self.ids)
        self._extend(self.written, [True] * len(self.written), self.scores)
        self.spans.append((start, len(self.ids)))
        self.written, self.scores = [], []
        self.turn += 1

    def _extend(self, ids: Sequence[int], sampled: Sequence[bool], logprobs: Sequence[float]) -> None:
        self.ids += ids
        self.sampled += sampled
        self.logprobs += logprobs


class Decoder:
    """Samples the turns of one batch of rows, with one cache.

    Args:
        policy: the model with its stop tags.
        sampling: how.
    """

    def __init__(self, policy: Policy, sampling: Sampling) -> None:
        self.policy = policy
        self.sampling = sampling
        self.limit = min(sampling.tokens, policy.context_length)
        """Ids that a row may have."""
        self._model = policy.network
        config = self._model.config.get_text_config()
        _check_attention(policy.name, config, self.limit)
        self._boolean_mask = config._attn_implementation == "sdpa"
        self._cache_name = "cache" if "cache" in inspect.signature(self._model.forward).parameters else "past_key_values"
        self._cache = RaggedCache(config.num_hidden_layers)
        self._slots: list[Row] = []  # who holds which row of the cache

    def room(self, row: Row) -> int:
        """How many ids a row may still be given; 0 or less where its budgets are spent, or its prompt is too long."""
        most, responding = self.sampling.prompt_tokens, self.sampling.response_tokens
        if most is not None and row.prompt > most:
            return 0
        limit = self.limit if responding is None else min(self.limit, row.prompt + responding)
        return limit - len(row.ids)

    @torch.no_grad()
    def sample_turns(self, rows: Sequence[Row]) -> None:
        """Samples one turn of each row, in place: at least one id, up to a stop or for as long as there is room.

        Args:
            rows: each with room for at least one id. On the first call any; later those of the first that still play: the
                others are forgotten.

        Raises:
            SamplingError: the model's logits are not finite.
        """
        for row in rows:
            row.limit = min(self.sampling.turn_tokens, self.room(row))
        with _evaluating(self._model):
            self._write(self._prefill(rows))
        for row in rows:
            if not math.isfinite(sum(row.scores)):
                raise SamplingError(
                    f"{self.policy.name}: expected finite logits; got NaN or infinity: are the weights sound?", self._model
                )
            row.close_turn()

    # ---- writing --------------------------------------------------------------------------------------------------

    def _write(self, logits: torch.Tensor) -> None:
        """Samples until every row has ended its turn. The rows that go on are always the first ones of the cache."""
        draws = self._draws()
        positions = torch.tensor([len(row.ids) for row in self._slots], device=logits.device)
        for step in range(max(row.limit for row in self._slots)):
            active = len(logits)
            ids, logprobs = self._pick(logits, draws[:active, step])
            done = self._record(ids.tolist(), logprobs.tolist())
            if len(done) == active:
                return
            if done:
                order = self._set_aside(done, active)
                kept = torch.tensor(order[: active - len(done)], device=logits.device)
                draws = draws[order]
                ids, positions = ids[kept], positions[kept]
            width = max(len(row.ids) + len(row.written) for row in self._slots[: len(ids)])
            self._cache.reserve(width)
            logits = self._pass(ids[:, None], positions[:, None], width)
            positions = positions + 1

    def _record(self, ids: Sequence[int], logprobs: Sequence[float]) -> list[int]:
        """Notes an id of each row that goes on; returns the slots of those that have ended their turn."""
        ends, done = self.policy.stops.ends, []
        for slot, (row, token, logprob) in enumerate(zip(self._slots, ids, logprobs, strict=False)):
            row.written.append(token)
            row.scores.append(logprob)
            row.ended = ends(row.written)
            if row.ended or len(row.written) == row.limit:
                row.cached = len(row.ids) + len(row.written) - 1  # the last id has not been read
                done.append(slot)
        return done

    def _set_aside(self, done: Sequence[int], active: int) -> list[int]:
        """Moves rows that have ended behind those that go on; returns the new order of all those that were active."""
        left = active - len(done)
        holes = [slot for slot in done if slot < left]
        movers = sorted(set(range(left, active)).difference(done))
        order = list(range(len(self._slots)))
        for hole, mover in zip(holes, movers, strict=True):
            order[hole], order[mover] = mover, hole
        self._cache.swap(holes, movers)
        self._slots = [self._slots[slot] for slot in order]
        return order

    def _draws(self) -> torch.Tensor:
        """Uniform draws of this turn, [rows, ids]: each row's from its own seed, as many as it can need."""
        draws = np.zeros((len(self._slots), max(row.limit for row in self._slots)))
        if not self.sampling.greedy:
            for drawn, row in zip(draws, self._slots, strict=True):
                drawn[: row.limit] = np.random.default_rng((row.seed, row.turn)).random(row.limit)
        return torch.from_numpy(draws).to(self.policy.device)

    def _pick(self, logits: torch.Tensor, draws: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Picks an id a row, [rows], by inverting the cumulated distribution; with its log-probability."""
        if self.sampling.greedy:
            logprobs = logits.log_softmax(-1)
            ids = logits.argmax(-1)
        else:
            logprobs = (logits / self.sampling.temperature).log_softmax(-1)
            mass = logprobs.exp().cumsum(-1, dtype=torch.float64)
            # From the right: an id of probability 0 is never drawn. The bound only matters where logits are NaN.
            ids = torch.searchsorted(mass, draws[:, None] * mass[:, -1:], right=True).clamp_(max=mass.shape[-1] - 1)[:, 0]
        return ids, logprobs.gather(-1, ids[:, None])[:, 0]

    # ---- reading --------------------------------------------------------------------------------------------------

    def _prefill(self, rows: Sequence[Row]) -> torch.Tensor:
        """Reads the ids that the cache lacks, and returns the logits of each row's next id, in the order of `_slots`."""
        capacity = max(len(row.ids) for row in rows)
        ordered = sorted(rows, key=lambda row: len(row.ids) - row.cached)  # neighbours need little padding
        if self._slots:
            slots = {id(row): slot for slot, row in enumerate(self._slots)}
            self._cache.select([slots[id(row)] for row in ordered], max(row.cached for row in rows), capacity)
            self._slots = ordered
            return self._read([(row.ids, row.cached) for row in ordered])
        self._slots = ordered
        places: dict[tuple[int, ...], int] = {}
        which = [places.setdefault(tuple(row.ids), len(places)) for row in ordered]
        self._cache.allot(len(places), capacity)
        logits = self._read([(ids, 0) for ids in places])
        if len(places) < len(rows):  # attempts at one question share its prompt, which is read once
            self._cache.select(which, capacity, capacity)
            logits = logits[which]
        return logits

    def _read(self, texts: Sequence[tuple[Sequence[int], int]]) -> torch.Tensor:
        """Reads (ids, how many of them are cached) of each row of the cache, in portions."""
        logits, start, portion = [], 0, _PORTION.get(self.policy.device.type, _PORTION["cpu"])
        while start < len(texts):
            stop = start + 1
            while stop < len(texts) and (stop + 1 - start) * (len(texts[stop][0]) - texts[stop][1]) <= portion:
                stop += 1
            logits.append(self._read_portion(texts[start:stop], start))
            start = stop
        return torch.cat(logits)

    def _read_portion(self, texts: Sequence[tuple[Sequence[int], int]], start: int) -> torch.Tensor:
        """Padding stands on the left, so that the last column has the logits that are wanted."""
        longest = max(len(ids) - cached for ids, cached in texts)
        fresh = [[0] * (longest - len(ids) + cached) + list(ids[cached:]) for ids, cached in texts]
        lengths, cached = torch.tensor([(len(ids), cached) for ids, cached in texts]).T[:, :, None]
        positions = torch.arange(longest) + lengths - longest
        positions = torch.where(positions < cached, -1, positions)
        device = self.policy.device
        width = max(len(ids) for ids, _ in texts)
        return self._pass(torch.tensor(fresh, device=device), positions.to(device), width, start)

    def _pass(self, ids: torch.Tensor, positions: torch.Tensor, width: int, start: int = 0) -> torch.Tensor:
        """One forward pass.

        Args:
            ids: [rows, new ids], for the rows of the cache from `start` on.
            positions: where they stand in their rows; below 0 for padding.
            width: the greatest position, plus one.
            start: the first row.

        Returns:
            Logits of the id after the last one, [rows, vocabulary], float32.
        """
        self._cache.window.open(positions, width, start)
        positions = positions.clamp(min=0)
        seen = torch.arange(width, device=ids.device) <= positions[:, None, :, None]
        mask = seen if self._boolean_mask else torch.where(seen, 0.0, torch.finfo(self._model.dtype).min).to(self._model.dtype)
        output = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: self._cache},
        )
        return output.logits[:, -1].float()  # type: ignore[no-any-return]  # transformers leaves it untyped


def _check_attention(name: str, config: PretrainedConfig, tokens: int) -> None:
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    window = getattr(config, "sliding_window", None) or tokens
    if kinds - {"full_attention", "sliding_attention"} or ("sliding_attention" in kinds and window < tokens):
        raise ConfigError(
            f"{name}: expected attention to all earlier ids; got layers {', '.join(sorted(kinds))} with a window of {window} "
            f"ids; take another model, or at most {window} tokens"
        )


@contextmanager
def _evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Without dropout, and as it was afterwards."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
