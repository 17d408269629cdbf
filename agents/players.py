"""Players of every kind by one name: language models, here or behind a server, agents of stable-baselines3, scripted ones."""

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agents.chat import ChatConfig, Messages, NoReply, OpenAIChat
from agents.names import Endpoint, endpoint, local_model, sb3_agent
from agents.prompts import Style, load_style
from sesa_env.errors import ConfigError, SesaError, missing_extra
from sesa_env.game import SearchGame
from sesa_env.integrations.messages import cut_turn
from sesa_env.plain import build
from sesa_env.play import step
from sesa_env.players.base import Player, View
from sesa_env.players.load import load_player
from sesa_env.types import Role
from sesa_env.worlds import World

if TYPE_CHECKING:
    from agents.policy import ModelConfig, Policy

_log = logging.getLogger(__name__)


def open_player(
    name: str,
    world: World,
    seed: int = 0,
    role: Role = Role.SOLVER,
    model: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
) -> Player:
    """Makes a player of any kind.

    Args:
        name: "model:NAME_OR_DIR" (a language model loaded here), "openai:MODEL@URL" (one behind a server), "sb3:FILE" (an
            agent of stable-baselines3, a Solver), or what `sesa_env.players.load.load_player` knows: a built-in's short name or
            "module:factory".
        world: the world that it will play on.
        seed: of the player's own randomness; models play greedily and have none.
        role: the seat that it will take.
        model: for models: fields of `agents.policy.ModelConfig` as plain data. Of a server's only `style` matters.
        sampling: for models: fields of `agents.rollout.Sampling`, whatever they say played greedily. Of a server's only
            `turn_tokens` matters.

    Raises:
        ConfigError: there is no such player, an option is wrong, or an extra is missing.
    """
    if (served := endpoint(name)) is not None:
        return _served(served, model or {}, sampling or {})
    if (directory := local_model(name)) is not None:
        return _local(directory, model or {}, sampling or {})
    if (file := sb3_agent(name)) is not None:
        return _agent(name, file, role)
    return load_player(name, world, seed, role)


def _served(served: Endpoint, model: Mapping[str, Any], sampling: Mapping[str, Any]) -> Player:
    style = model.get("style", "auto")
    config = ChatConfig(max_tokens=sampling.get("turn_tokens", ChatConfig.max_tokens))
    return ServedPlayer(OpenAIChat(served, config), load_style("tags" if style == "auto" else style))


def _local(directory: str, model: Mapping[str, Any], sampling: Mapping[str, Any]) -> Player:
    try:
        import torch  # noqa: F401 - the modules below need it; its absence is told by naming the extra
    except ImportError as error:
        raise missing_extra("torch", "llm") from error
    from agents.llm import LlmPlayer
    from agents.policy import ModelConfig
    from agents.rollout import Sampling

    policy = _policy(directory, build(ModelConfig, model, "model"))
    return LlmPlayer(policy, build(Sampling, {**sampling, "greedy": True}, "sampling"))


def _agent(name: str, file: str, role: Role) -> Player:
    if role is not Role.SOLVER:
        raise ConfigError(f"player {name!r} takes the solver's seat, not the {role.value}'s; name another")
    from agents.sb3 import load_sb3_player

    return load_sb3_player(file)


@lru_cache(maxsize=1)
def _policy(directory: str, model: "ModelConfig") -> "Policy":
    """Loads a model, once for all the units that a process plays with it one after another."""
    from agents.policy import load_policy

    return load_policy(directory, model)


class ServedPlayer:
    """A language model behind an OpenAI-compatible server, in either seat (`BatchPlayer`).

    An episode is one conversation: the style's prompt from the user, then the model's turns as the assistant's messages and
    what the game shows as the user's. Servers cannot portably continue an assistant's message, so this is not the one long
    message that policies are trained on; the texts are the same.

    A conversation that has grown beyond what the server takes (it refuses the request, 400 or 413) is out of budget: the part
    ends there, as it does for a model loaded here.

    Args:
        chat: the server.
        style: the prompts.
    """

    def __init__(self, chat: OpenAIChat, style: Style) -> None:
        self.chat = chat
        self._style = style

    def play_seat(self, games: Sequence[SearchGame]) -> None:
        """Plays the seat whose turn it is in each game until another's turn comes.

        Args:
            games: running games on one world, with the same actor.

        Raises:
            SesaError: as `act_batch`, except that a part whose conversation is refused after its first turn is cut off.
        """
        playing, role = list(games), games[0].actor if games else None
        while playing:
            turns = list(zip(playing, self._turns([game.view() for game in playing]), strict=True))
            for game, text in turns:
                if text is None:
                    game.cut_off()
            written = [(game, text) for game, text in turns if text is not None]
            step([game for game, _ in written], [text for _, text in written])
            playing = [game for game in playing if game.actor is role]

    def act(self, view: View) -> str:
        """Writes the next turn."""
        return self.act_batch([view])[0]

    def act_batch(self, views: Sequence[View]) -> list[str]:
        """Writes the next turn for each view, asking for several at once; "" where the conversation has no room for any.

        Raises:
            SesaError: the server gave no reply for a view: an outage is never played as a turn. Nor is a refused first request,
                which no conversation has made too long.
        """
        return [text or "" for text in self._turns(views)]

    def _turns(self, views: Sequence[View]) -> list[str | None]:
        """The next turn for each view; None where the server refuses a conversation that has grown."""
        outcomes = self.chat.complete([self._conversation(view) for view in views])
        turns: list[str | None] = []
        lost: list[str] = []
        for view, outcome in zip(views, outcomes, strict=True):
            if not isinstance(outcome, NoReply):
                turns.append(cut_turn(outcome.text))
                continue
            turns.append(None)
            if outcome.refused and view.turns:
                _log.warning("a part is out of budget after %d turns: %s", len(view.turns), outcome.reason)
            else:
                lost.append(outcome.reason)
        if lost:
            raise SesaError(
                f"{len(lost)} of {len(views)} turns could not be had: {lost[0]}; mend the server and go on with --resume"
            )
        return turns

    def _conversation(self, view: View) -> Messages:
        messages = [{"role": "user", "content": self._style.user(view)}]
        for text, observation in view.turns:
            messages += [
                {"role": "assistant", "content": text},
                {"role": "user", "content": self._style.observation(observation).strip()},
            ]
        return messages
