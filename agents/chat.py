"""Asking language models for one reply: behind any OpenAI-compatible server, or loaded here. Teachers, judges and players ask.

What could not be had is never a reply: an outage is a `NoReply` with its reason, which no caller can take for an empty answer.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from agents.names import Endpoint, endpoint, local_model, public_name
from sesa_env.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

    from agents.policy import Policy

Messages: TypeAlias = Sequence[Mapping[str, str]]
"""A conversation: {"role": "system" | "user" | "assistant", "content": text}, the last one to be replied to."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_FOR_A_PERSON = frozenset({401, 403, 404})  # a key, a permission or a model's name: asking again mends none of them
_REFUSED = frozenset({400, 413, 422})  # this request is at fault, for example too long; others may do


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote.

    Attributes:
        text: its text; may be "".
        prompt_tokens: tokens read, 0 if the server does not say.
        completion_tokens: tokens written, 0 if the server does not say.
        cut: it ended by the limit of tokens.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class NoReply:
    """Why there is no reply.

    Attributes:
        reason: for a person.
        refused: True: the server refuses this request and would again. False: an outage; another time it may answer.
    """

    reason: str
    refused: bool = False


@dataclass
class Usage:
    """What was asked of a model so far."""

    replies: int = 0
    """Requests that were replied to."""
    failures: int = 0
    """Requests that were not, all their retries failed."""
    prompt_tokens: int = 0
    """Tokens read, as far as servers say."""
    completion_tokens: int = 0
    """Tokens written, likewise."""

    def add(self, outcomes: Sequence[Reply | NoReply]) -> None:
        """Counts outcomes in."""
        for outcome in outcomes:
            if isinstance(outcome, NoReply):
                self.failures += 1
                continue
            self.replies += 1
            self.prompt_tokens += outcome.prompt_tokens
            self.completion_tokens += outcome.completion_tokens

    def cost(self, prompt: float, completion: float) -> float:
        """Returns what the tokens cost, at so much for a million of them read and written, in the prices' currency."""
        return (self.prompt_tokens * prompt + self.completion_tokens * completion) / 1e6

    def to_json(self) -> dict[str, int]:
        """Returns the counts as a JSON value."""
        return asdict(self)


@dataclass(frozen=True)
class ChatConfig:
    """How a model is asked: JSON values."""

    max_tokens: int = 512
    """Tokens of a reply, at most."""
    temperature: float = 0.0
    """0 is greedy. A model loaded here is always greedy."""
    timeout_s: float = 120.0
    """Seconds to wait for a reply."""
    retries: int = 4
    """How often a request is made again after an outage (time-out, no connection, 408, 409, 429, 5xx), with growing pauses or
    those that the server asks for."""
    concurrency: int = 8
    """Requests under way at once (server), or prompts in a batch (loaded here)."""
    key_variable: str = "OPENAI_API_KEY"
    """The environment variable that holds the server's key; a server on this machine may need none."""
    extra_body: dict[str, Any] = field(default_factory=dict)
    """Further fields of the request, for example {"chat_template_kwargs": {"enable_thinking": false}}."""

    def __post_init__(self) -> None:
        """Refuses numbers that nobody can be asked with."""
        for name, lowest in (("max_tokens", 1), ("temperature", 0), ("timeout_s", 0), ("retries", 0), ("concurrency", 1)):
            if getattr(self, name) < lowest:
                raise ConfigError(f"chat {name}: expected at least {lowest}; got {getattr(self, name)!r}")


class Chat(Protocol):
    """A model that replies to conversations.

    Attributes:
        name: what records and provenances call it; holds nothing of a machine.
        usage: what it was asked so far.
    """

    name: str
    usage: Usage

    def complete(self, prompts: Sequence[Messages]) -> list[Reply | NoReply]:
        """Asks for one reply to each conversation.

        Returns:
            In their order a reply, or why there is none.

        Raises:
            ConfigError: what only a person can mend: a refused key, a model that the server does not have.
        """
        ...


def open_chat(name: str, config: ChatConfig | None = None) -> Chat:
    """Makes a chat by name: `openai:MODEL@URL` or `model:NAME_OR_DIR`.

    Raises:
        ConfigError: the name is neither, the key or the extra is missing, or the model cannot be loaded.
    """
    if (served := endpoint(name)) is not None:
        return OpenAIChat(served, config)
    if (model := local_model(name)) is not None:
        from agents.policy import load_policy  # here, so that asking a server needs no torch

        return LocalChat(load_policy(model), config)
    raise ConfigError(f"{name!r} names no model to ask; expected openai:MODEL@URL or model:NAME_OR_DIR")


class OpenAIChat:
    """A model behind an OpenAI-compatible server (`Chat`).

    Args:
        served: the model and its server.
        config: how it is asked; None for the defaults.

    Raises:
        ConfigError: the server is not on this machine and no key is set, or the openai package is not installed.
    """

    def __init__(self, served: Endpoint, config: ChatConfig | None = None) -> None:
        try:
            import openai
        except ImportError as error:
            raise missing_extra("openai", "openai") from error
        self.config = config or ChatConfig()
        self.name = f"openai:{served.model}"
        self.usage = Usage()
        self._openai, self._served = openai, served
        self._client = openai.OpenAI(
            base_url=served.url,
            api_key=_key(served, self.config),
            timeout=self.config.timeout_s,
            max_retries=self.config.retries,
        )

    def complete(self, prompts: Sequence[Messages]) -> list[Reply | NoReply]:
        """Asks for one reply to each conversation, several at once; see `Chat`."""
        with ThreadPoolExecutor(self.config.concurrency) as pool:
            outcomes = list(pool.map(self._ask, prompts))
        self.usage.add(outcomes)
        return outcomes

    def _ask(self, messages: Messages) -> Reply | NoReply:
        # Not max_completion_tokens, the newer name: most compatible servers know this one only.
        try:
            answer = self._client.chat.completions.create(
                model=self._served.model,
                messages=[dict(message) for message in messages],  # type: ignore[misc]  # any role with its content will do
                max_tokens=self.config.max_tokens,
                temperature=self.config.temperature,
                extra_body=self.config.extra_body or None,
            )
        except self._openai.APIStatusError as error:
            return self._status(error.status_code, str(error))
        except (self._openai.OpenAIError, ValueError) as error:  # no connection, time-out, or a body that is no JSON
            return NoReply(f"{self.name}: {type(error).__name__}: {error}")
        return self._read(answer)

    def _status(self, status: int, said: str) -> NoReply:
        if status in _FOR_A_PERSON:
            raise ConfigError(
                f"{self._served.url} answered {status} for the model {self._served.model!r}: {said:.300}; "
                f"look at the key in {self.config.key_variable}, the model's name and the address"
            )
        return NoReply(f"{self.name}: status {status}: {said:.300}", refused=status in _REFUSED)

    def _read(self, answer: "ChatCompletion") -> Reply | NoReply:
        """Takes the reply out of an answer. The package checks no types: servers may answer 200 with anything."""
        choices = getattr(answer, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        text = getattr(getattr(choice, "message", None), "content", None)
        if not isinstance(text, str):
            return NoReply(f"{self.name}: an answer without any text: {answer!r:.300}")
        usage = getattr(answer, "usage", None)
        counts = [getattr(usage, field, 0) for field in ("prompt_tokens", "completion_tokens")]
        read, written = (count if isinstance(count, int) else 0 for count in counts)
        return Reply(text, read, written, cut=getattr(choice, "finish_reason", None) == "length")


def _key(served: Endpoint, config: ChatConfig) -> str:
    """Returns the key. Without one only a server on this machine is asked: nothing is switched off in silence."""
    key = os.environ.get(config.key_variable, "")
    if not key and urlsplit(served.url).hostname not in _LOOPBACK:
        raise ConfigError(
            f"{served.url} needs a key: set the environment variable {config.key_variable} (any text, if it asks for none)"
        )
    return key or "none"


class LocalChat:
    """A model loaded here (`Chat`): greedy, in batches, through its own chat template.

    Args:
        policy: the model with its tokenizer.
        config: how it is asked; None for the defaults.
    """

    def __init__(self, policy: "Policy", config: ChatConfig | None = None) -> None:
        self.config = config or ChatConfig()
        self.name = public_name(f"model:{policy.name}")
        self.usage = Usage()
        self._policy = policy

    def complete(self, prompts: Sequence[Messages]) -> list[Reply | NoReply]:
        """Replies to each conversation; one that leaves no room for a reply is refused. See `Chat`."""
        asked = [self._ids(messages) for messages in prompts]
        room = self._policy.context_length - self.config.max_tokens
        outcomes: list[Reply | NoReply] = [
            NoReply(f"{self.name}: a prompt of {len(ids)} tokens, with room for {room}", refused=True) for ids in asked
        ]
        fitting = [place for place, ids in enumerate(asked) if len(ids) <= room]
        for start in range(0, len(fitting), self.config.concurrency):
            batch = fitting[start : start + self.config.concurrency]
            for place, reply in zip(batch, self._generate([asked[place] for place in batch]), strict=True):
                outcomes[place] = reply
        self.usage.add(outcomes)
        return outcomes

    def _ids(self, messages: Messages) -> list[int]:
        tokenizer = self._policy.tokenizer
        conversation = [dict(message) for message in messages]
        if getattr(tokenizer, "chat_template", None):
            text = tokenizer.apply_chat_template(
                conversation, add_generation_prompt=True, tokenize=False, enable_thinking=self._policy.config.thinking
            )
        else:
            text = "\n\n".join(message["content"] for message in conversation) + "\n\n"
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    def _generate(self, rows: Sequence[list[int]]) -> list[Reply]:
        import torch

        model, tokenizer = self._policy.model, self._policy.tokenizer
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0
        width = max(map(len, rows))
        ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows], device=self._policy.device)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=self._policy.device)
        ends = self._ends()
        with torch.inference_mode():
            out = model.generate(
                ids,
                attention_mask=mask,
                do_sample=False,
                max_new_tokens=self.config.max_tokens,
                pad_token_id=pad,
                eos_token_id=ends or None,
            )
        return [self._reply(len(row), written, ends) for row, written in zip(rows, out[:, width:].tolist(), strict=True)]

    def _ends(self) -> list[int]:
        """The ids that end a reply: the model's own list where it has one, since chat models have a token for turns."""
        known = getattr(self._policy.model.generation_config, "eos_token_id", None)
        ends = list(known) if isinstance(known, list | tuple) else [known]
        return sorted({token for token in (*ends, self._policy.tokenizer.eos_token_id) if token is not None})

    def _reply(self, read: int, written: list[int], ends: Sequence[int]) -> Reply:
        stop = next((place for place, token in enumerate(written) if token in ends), len(written))
        text = self._policy.tokenizer.decode(written[:stop], skip_special_tokens=True)
        return Reply(text, read, stop, cut=stop == len(written))
