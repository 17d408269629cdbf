"""verl: an agent loop for either seat, token by token.

Named in verl's configuration (`docs/examples/verl_agents.yaml`), not imported by hand:

    actor_rollout_ref.rollout.agent.agent_loop_config_path=docs/examples/verl_agents.yaml

Response ids are what the server sampled, with what the game answered between; the response mask is 0 on the latter, and the
game's reward is the trajectory's. The loop stands on verl 0.9's `AgentLoopBase`.
"""

import asyncio
import itertools
import os
from functools import lru_cache
from typing import Any

from sesa_env.errors import ConfigError, missing_extra
from sesa_env.integrations.seat_ids import SeatIds
from sesa_env.integrations.seats import shared_tasks
from sesa_env.integrations.tokens import GameTokens
from sesa_env.protocol import ACTIONS

try:
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
    from verl.utils.profiler import simple_timer
except ImportError as error:
    raise missing_extra(error.name or "verl", "verl") from error

_STOP = [f"</{name}>" for name in sorted(ACTIONS)]
_numbers = itertools.count()


class SeatLoop(AgentLoopBase):  # type: ignore[misc]  # verl is not typed
    """Plays one game of one seat; verl makes one for each rollout.

    Args:
        seat: arguments of `SeatTasks`: JSON values.
        turn_tokens: ids of one turn at most; a longer one is handed to the game as it is.
        **verl: what verl hands to every loop.
    """

    def __init__(self, seat: Any = None, turn_tokens: int = 512, **verl: Any) -> None:
        super().__init__(**verl)
        self.turn_tokens = turn_tokens
        self.tasks = shared_tasks(**_plain(seat or {}))
        self.tokens = _tokens(self.tokenizer, tuple(sorted(_plain(self.apply_chat_template_kwargs or {}).items())))

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **row: Any) -> AgentLoopOutput:
        """Plays the game that a row of the data set names.

        Args:
            sampling_params: verl's, for each turn.
            priority: of the request.
            **row: the row, as `sesa_env.integrations.verl_data` wrote it: its `extra_info["index"]` is the task.

        Returns:
            Ids, mask, log-probabilities where the server gives them, and the seat's reward.

        Raises:
            ConfigError: the row names no task, or its prompt is longer than `rollout.prompt_length`.
        """
        config = self.rollout_config
        seat = SeatIds(
            self.tokens, self.tasks.begin(_task(row)), config.response_length, config.prompt_length + config.response_length
        )
        if len(seat.prompt) > config.prompt_length:
            raise ConfigError(
                f"expected a prompt of at most rollout.prompt_length={config.prompt_length} tokens; got {len(seat.prompt)}; "
                "raise it, or set data.filter_overlong_prompts=True"
            )
        known, metrics = True, {"generate_sequences": 0.0, "tool_calls": 0.0}
        request = f"det-{priority}" if getattr(config, "full_determinism", False) else f"sesa-{os.getpid()}-{next(_numbers)}"
        while self.tasks.plays(seat.game):
            with simple_timer("generate_sequences", metrics):
                output = await self.server_manager.generate(
                    request_id=request,
                    prompt_ids=seat.prompt + seat.ids,
                    sampling_params={**sampling_params, "max_tokens": min(self.turn_tokens, seat.room), "stop": _STOP},
                    priority=int(priority),
                )
            known = known and output.log_probs is not None
            if not output.token_ids:  # aborted
                seat.game.cut_off()
                break
            text = seat.write(output.token_ids, output.log_probs or [0.0] * len(output.token_ids))
            if text is not None:
                with simple_timer("tool_calls", metrics):
                    await asyncio.to_thread(self.tasks.step, [seat.game], [text])
                if self.tasks.plays(seat.game):
                    seat.read()
        return AgentLoopOutput(
            prompt_ids=seat.prompt,
            response_ids=seat.ids,
            response_mask=seat.mask,
            response_logprobs=seat.logprobs if known else None,
            reward_score=self.tasks.reward(seat.game),
            num_turns=2 * seat.turns,
            metrics=AgentLoopMetrics(**metrics),
            extra_fields={"turn_scores": [], "tool_rewards": []},
        )


def _task(row: dict[str, Any]) -> int:
    info = row.get("extra_info") or {}
    if "index" not in info:
        raise ConfigError(
            f"expected a row with extra_info['index'], as sesa_env.integrations.verl_data.write_rows writes it; got {info!r}"
        )
    return int(info["index"])


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


@lru_cache(maxsize=4)
def _tokens(tokenizer: Any, template: tuple[tuple[str, Any], ...]) -> GameTokens:
    """One for all rollouts: looking through a vocabulary takes its time."""
    return GameTokens(tokenizer, template=dict(template))
