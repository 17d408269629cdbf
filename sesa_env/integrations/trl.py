"""TRL, token by token: `GRPOTrainer(rollout_func=TagRollout(tasks), reward_funcs=game_reward)` plays the tag protocol.

The ids of a completion are what was sampled, with what the game answered between; `env_mask` is 0 on the latter. For chat
templates with tool calls see `sesa_env.integrations.trl_tools`. `rollout_func` is an experimental interface of TRL.
"""

import sys
from collections.abc import Sequence
from typing import Any

from sesa_env.errors import ConfigError
from sesa_env.integrations.seat_ids import SeatIds
from sesa_env.integrations.seats import SeatTasks
from sesa_env.integrations.tokens import GameStyle, GameTokens, Style
from sesa_env.integrations.trl_sampling import Sample, sample_turns


class TagRollout:
    """A `rollout_func`: plays one game for each prompt, all of them turn by turn together, so that searches share one call.

    Args:
        tasks: what is played.
        style: the wording; None for the game's own.
        turn_tokens: ids of one turn at most; a longer one is handed to the game as it is.
        sample: samples turns; the default uses the trainer's model through transformers. See `trl_sampling.Sample`.
    """

    def __init__(
        self, tasks: SeatTasks, style: Style | None = None, turn_tokens: int = 256, sample: Sample = sample_turns
    ) -> None:
        self.tasks, self._style, self._turn_tokens, self._sample = tasks, style or GameStyle(), turn_tokens, sample
        self._tokens: GameTokens | None = None
        self._index: dict[str, int] = {}
        for index in range(len(tasks)):  # two tasks of one wording are one task
            self._index.setdefault(self._style.user(tasks.begin(index).view()), index)

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows of the training set, for `datasets.Dataset.from_list`."""
        return [{"prompt": [{"role": "user", "content": text}]} for text in self._index]

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """Plays the games that TRL asks for.

        Args:
            prompts: those of `rows`, each as often as the group is large.
            trainer: the `GRPOTrainer`, always the same.

        Returns:
            "prompt_ids", "completion_ids", "logprobs" and "env_mask" for TRL, "game_reward" for `game_reward`.

        Raises:
            ConfigError: a prompt that is none of `rows`, or a trainer that would mask what has no end-of-text token.
        """
        if getattr(trainer, "mask_truncated_completions", False):
            raise ConfigError(
                "mask_truncated_completions: a turn ends with its tag and not with the end of the text; set it to False"
            )
        tokens = self._tokens_of(trainer)
        context = getattr(trainer.model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize
        games = [self.tasks.begin(self._task(prompt)) for prompt in prompts]
        seats = [SeatIds(tokens, game, trainer.max_completion_length, context) for game in games]
        playing = seats
        while playing := [seat for seat in playing if self.tasks.plays(seat.game)]:
            self._turn(playing, tokens, trainer)
        return {
            "prompt_ids": [seat.prompt for seat in seats],
            "completion_ids": [seat.ids for seat in seats],
            "logprobs": [seat.logprobs for seat in seats],
            "env_mask": [seat.mask for seat in seats],
            "game_reward": [self.tasks.reward(game) for game in games],
        }

    def _turn(self, seats: Sequence[SeatIds], tokens: GameTokens, trainer: Any) -> None:
        limits = [min(self._turn_tokens, seat.room) for seat in seats]
        sampled = self._sample(trainer, [seat.prompt + seat.ids for seat in seats], limits, tokens.ends)
        written = [(seat, seat.write(*turn)) for seat, turn in zip(seats, sampled, strict=True)]
        whole = [(seat, text) for seat, text in written if text is not None]
        self.tasks.step([seat.game for seat, _ in whole], [text for _, text in whole])
        for seat, _ in whole:
            if self.tasks.plays(seat.game):
                seat.read()

    def _tokens_of(self, trainer: Any) -> GameTokens:
        """Made once: looking through a vocabulary takes its time."""
        if self._tokens is None:
            self._tokens = GameTokens(
                trainer.processing_class, self._style, trainer.eos_token_ids, trainer.chat_template_kwargs
            )
        return self._tokens

    def _task(self, prompt: Any) -> int:
        text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        if text not in self._index:
            raise ConfigError(f"expected a prompt of this rollout's rows(); got {text!r:.200}")
        return self._index[text]


def game_reward(game_reward: Sequence[float], **_: Any) -> list[float]:
    """The `reward_funcs` entry that goes with `TagRollout`: what the game paid."""
    return list(game_reward)
