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
        from transformers import StoppingCriteriaList
        from trl.models import unwrap_model_for_generation
    except ImportError as error:
        raise missing_extra(error.name or "trl", "trl") from error
    rows, mask = _padded(torch, ids, trainer)
    width = rows.shape[1]
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
        output = model.generate(
            rows,
            attention_mask=mask,
            generation_config=_settings(trainer, max(limits)),
            stopping_criteria=StoppingCriteriaList([_TurnEnds(torch, width, limits, ends)]),
        )
    sampled = output.sequences[:, width:]
    logits = torch.stack(output.logits, dim=1).float() / trainer.temperature
    logprobs = logits.log_softmax(-1).gather(-1, sampled[:, :, None])[:, :, 0]
    lengths = [_length(row, limit, ends) for row, limit in zip(sampled.tolist(), limits, strict=True)]
    return [(row[:n].tolist(), scores[:n].tolist()) for row, scores, n in zip(sampled, logprobs, lengths, strict=True)]


def _settings(trainer: Any, limit: int) -> Any:
    settings = copy.deepcopy(trainer.generation_config)
    settings.max_new_tokens, settings.max_length, settings.min_new_tokens = limit, None, None
    settings.return_dict_in_generate = settings.output_logits = True
    return settings


def _padded(torch: Any, ids: Sequence[list[int]], trainer: Any) -> tuple[Any, Any]:
    """Rows of one length, padded on the left, and the mask of what is no padding."""
    longest, pad = max(map(len, ids)), trainer.processing_class.pad_token_id
    rows = [[pad] * (longest - len(row)) + row for row in ids]
    mask = [[0] * (longest - len(row)) + [1] * len(row) for row in ids]
    device = trainer.accelerator.device
    return torch.tensor(rows, device=device), torch.tensor(mask, device=device)


def _length(row: Sequence[int], limit: int, ends: Ends) -> int:
    """How many of the ids were sampled: what follows is padding."""
    return next((stop for stop in range(1, min(limit, len(row)) + 1) if ends(row[:stop])), min(limit, len(row)))


class _TurnEnds:
    """A stopping criterion of transformers: a row is done when its turn is over or its own limit is reached."""

    def __init__(self, torch: Any, width: int, limits: Sequence[int], ends: Ends) -> None:
        self._torch, self._width, self._limits, self._ends = torch, width, limits, ends

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        turns = input_ids[:, self._width :].tolist()
        done = [len(turn) >= limit or self._ends(turn) for turn, limit in zip(turns, self._limits, strict=True)]
        return self._torch.tensor(done, device=input_ids.device)
