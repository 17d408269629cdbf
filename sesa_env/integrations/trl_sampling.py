"""Sampling turns from the model of a TRL trainer, through transformers."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from sesa_env.errors import missing_extra

Ends: TypeAlias = Callable[[Sequence[int]], bool]
"""Says whether a turn is over with its last id."""

Sample: TypeAlias = Callable[[Any, Sequence[list[int]], Sequence[int], Ends], list[tuple[list[int], list[float]]]]
"""`sample(trainer, ids, limits, ends)`: for each row of ids at least one and at most `limit` sampled ids, with their
log-probabilities. What follows the end of a turn is cut off by the caller."""


def sample_turns(
    trainer: Any, ids: Sequence[list[int]], limits: Sequence[int], ends: Ends
) -> list[tuple[list[int], list[float]]]:
    """Samples one turn of each row with the trainer's model and its generation settings (`Sample`).

    Args:
        trainer: a `GRPOTrainer`.
        ids: what each row has so far.
        limits: sampled ids of each row, at most.
        ends: says whether a turn is over.

    Returns:
        Sampled ids and their log-probabilities at the trainer's temperature, without its top-k and top-p: what TRL recomputes.

    Raises:
        ConfigError: torch, transformers or TRL is not installed.
    """
    try:
        import torch
        from transformers import LogitsProcessorList, StoppingCriteriaList
        from trl.models.utils import unwrap_model_for_generation
    except ImportError as error:
        raise missing_extra(error.name or "trl", "trl") from error
    rows, mask = _padded(torch, ids, trainer)
    turns = _Turns(torch, rows.shape[1], limits, ends, trainer.temperature)
    settings = copy.deepcopy(trainer.generation_config)
    settings.max_new_tokens, settings.max_length, settings.min_new_tokens = max(limits), None, None
    with (
        unwrap_model_for_generation(
            trainer.model_wrapped,
            trainer.accelerator,
            gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
            generation_kwargs=trainer.generation_kwargs,
            gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
        ) as model,
        torch.no_grad(),
    ):
        sampled = model.generate(
            rows,
            attention_mask=mask,
            generation_config=settings,
            logits_processor=LogitsProcessorList([turns.read]),
            stopping_criteria=StoppingCriteriaList([turns.ended]),
        )
    return turns.cut(sampled)


def _padded(torch: Any, ids: Sequence[list[int]], trainer: Any) -> tuple[Any, Any]:
    """Rows of one length, padded on the left, and the mask of what is no padding."""
    longest, pad = max(map(len, ids)), trainer.processing_class.pad_token_id
    rows = [[pad] * (longest - len(row)) + row for row in ids]
    mask = [[0] * (longest - len(row)) + [1] * len(row) for row in ids]
    device = trainer.accelerator.device
    return torch.tensor(rows, device=device), torch.tensor(mask, device=device)


class _Turns:
    """Watches a generation: notes each sampled id's log-probability, and ends each row with its turn or at its limit.

    Only the numbers of the ids that were sampled are kept, not the logits of the whole vocabulary.
    """

    def __init__(self, torch: Any, width: int, limits: Sequence[int], ends: Ends, temperature: float) -> None:
        self._torch, self._width, self._limits, self._ends = torch, width, limits, ends
        self._temperature = temperature
        self._next: Any = None
        self._logprobs: list[Any] = []

    def read(self, _: Any, logits: Any) -> Any:
        """A logits processor that changes nothing; it comes before temperature, top-k and top-p."""
        self._next = (logits.float() / self._temperature).log_softmax(-1)
        return logits

    def ended(self, ids: Any, _: Any, **__: Any) -> Any:
        """A stopping criterion, asked after each id."""
        self._logprobs.append(self._next.gather(-1, ids[:, -1:])[:, 0])
        turns = ids[:, self._width :].tolist()
        done = [len(turn) >= limit or self._ends(turn) for turn, limit in zip(turns, self._limits, strict=True)]
        return self._torch.tensor(done, device=ids.device)

    def cut(self, ids: Any) -> list[tuple[list[int], list[float]]]:
        """Returns each row's turn, without the padding that follows it, and the log-probabilities."""
        turns = ids[:, self._width :].tolist()
        logprobs = self._torch.stack(self._logprobs, dim=1).tolist()
        lengths = [self._length(turn, limit) for turn, limit in zip(turns, self._limits, strict=True)]
        return [(turn[:n], scores[:n]) for turn, scores, n in zip(turns, logprobs, lengths, strict=True)]

    def _length(self, turn: Sequence[int], limit: int) -> int:
        most = min(limit, len(turn))
        return next((stop for stop in range(1, most) if self._ends(turn[:stop])), most)
