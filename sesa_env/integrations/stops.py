"""Where a sampled turn ends, decided on token ids."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from sesa_env.protocol import ACTIONS

_CLOSING = re.compile("|".join(f"</{name}>" for name in sorted(ACTIONS)))
_LONGEST = max(len(f"</{name}>") for name in ACTIONS)


class StopTags:
    """Says whether a turn is over: a closing tag of an action is complete, or the model ended its message.

    `</search>`, `</answer>` and `</question>` end a turn; `</think>` does not. A tag may be spread over several tokens, and
    the token that completes it may hold more (`>.` or `>` with line breaks), which then belongs to the turn. Only a token that
    holds a `>` can complete a tag, and only then is text looked at: the turn's tail, long enough for the longest tag.

    Args:
        vocabulary: the tokenizer's tokens and their ids.
        decode: turns ids into text, as `Policy.decode`.
        eos: ids that end the model's message.
    """

    def __init__(self, vocabulary: Mapping[str, int], decode: Callable[[Sequence[int]], str], eos: Iterable[int] = ()) -> None:
        self.eos = frozenset(eos)
        """Ids that end the model's message, and so its turn."""
        self.candidates = frozenset(index for token, index in vocabulary.items() if ">" in token)
        """Ids that may complete a closing tag."""
        self._decode = decode

    def ends(self, turn: Sequence[int]) -> bool:
        """Says whether a turn is over with its last token.

        Ask after each token: a turn that was over before is not looked at as a whole again.

        Args:
            turn: the ids sampled in this turn so far.
        """
        if not turn:
            return False
        last = turn[-1]
        return last in self.eos or (last in self.candidates and _CLOSING.search(self._tail(turn)) is not None)

    def _tail(self, turn: Sequence[int]) -> str:
        """The end of a turn's text: of the last token all, and before it at least as much as a tag is long."""
        needed = _LONGEST + len(self._decode(turn[-1:]))
        count = _LONGEST + 1
        # Nearly always once: a token has a character, unless it is one that decodes to nothing.
        while len(text := self._decode(turn[-count:])) < needed and count < len(turn):
            count *= 2
        return text
