"""Games in token ids: a seat's part is one chat, whose assistant's message holds all turns with the game's answers between."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sesa_env.integrations.stops import StopTags
from sesa_env.players.base import View

# What the game itself writes as tags: a tokenizer may have them as special tokens.
_GAME_TAG = re.compile(r"</?(?:think|search|answer|question|information|skills)>")


class Style(Protocol):
    """How views and the game's answers are worded; `agents.prompts.Style` is one."""

    def user(self, view: View) -> str:
        """The user's message: the same at each turn of a seat's part."""
        ...

    def observation(self, text: str) -> str:
        """What is appended after a turn that the game answered with `text`."""
        ...


class GameStyle:
    """The game's own words (`Style`)."""

    def user(self, view: View) -> str:
        """Returns the game's prompt."""
        return view.prompt

    def observation(self, text: str) -> str:
        """Returns the answer between blank lines."""
        return f"\n\n{text}\n\n"


class GameTokens:
    """A tokenizer that writes and reads games.

    Args:
        tokenizer: a transformers tokenizer.
        style: the wording; None for the game's own.
        eos: ids that end the model's message, beside the tokenizer's own.
        template: arguments of the chat template, for example {"enable_thinking": False}.
    """

    def __init__(
        self,
        tokenizer: Any,
        style: Style | None = None,
        eos: Iterable[int] = (),
        template: Mapping[str, Any] | None = None,
    ) -> None:
        self.style = style or GameStyle()
        self._tokenizer, self._template = tokenizer, dict(template or {})
        self._special = special_tokens(tokenizer)
        known = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
        self._stops = StopTags(tokenizer.get_vocab(), self.decode, (*eos, *known))

    def prompt_ids(self, view: View) -> list[int]:
        """Returns the ids of a seat's prompt: in the chat template, or bare after what begins a text where there is none."""
        text = defused(self.style.user(view), self._special)
        if not self._tokenizer.chat_template:
            return bos_ids(self._tokenizer) + self._encode(text)
        chat = [{"role": "user", "content": text}]
        return self._encode(
            self._tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, **self._template)
        )

    def observation_ids(self, text: str) -> list[int]:
        """Returns the ids of what the game answered to a turn."""
        return self._encode(defused(self.style.observation(text), self._special))

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of ids, special tokens included, nothing tidied."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def ends(self, turn: Sequence[int]) -> bool:
        """Says whether a turn is over with its last id; see `StopTags.ends`."""
        return self._stops.ends(turn)

    def length(self, ids: Sequence[int]) -> int:
        """Returns how many of the sampled ids belong to the turn: up to the first that ends it, that one included."""
        return next((stop for stop in range(1, len(ids) + 1) if self.ends(ids[:stop])), len(ids))

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def special_tokens(tokenizer: Any) -> re.Pattern[str] | None:
    """Returns what a text must not hold, or the tokenizer turns it into a special token; None if there is nothing.

    The game's own tags may be special tokens and stay as they are.
    """
    added = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    found = {token for token in added | set(tokenizer.all_special_tokens) if not _GAME_TAG.fullmatch(token)}
    longest_first = sorted(found, key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, longest_first))) if found else None


def defused(text: str, special: re.Pattern[str] | None) -> str:
    """Breaks special tokens in a text: a passage must not be able to end the message."""
    return text if special is None else special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def bos_ids(tokenizer: Any) -> list[int]:
    """Returns what the tokenizer itself puts before a text: the beginning-of-sequence id, or nothing."""
    ids = list(tokenizer("")["input_ids"])[:1]
    return ids if ids == [tokenizer.bos_token_id] else []
