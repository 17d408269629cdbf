"""The tokeniser of every lexical index: one definition for building and asking, in any script."""

import re
import threading
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sesa_env.errors import ConfigError, missing_extra

_ASCII_WORD = re.compile(r"[a-z0-9]+")

# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han. There each character is a token, with the
# marks that follow it, so that a query meets the passages that share its characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    """Builds the pattern of a token. `re` does not count combining marks as word characters; most Indic words need them."""
    marks = _ranges([code for code in range(0x300, 0x20000) if unicodedata.category(chr(code)).startswith("M")])
    letter = rf"[^\W_{_UNSPACED}]"
    return re.compile(rf"[{_UNSPACED}][{marks}]*|{letter}(?:{letter}|[{marks}])*")


def _ranges(codes: list[int]) -> str:
    """Writes ascending code points as ranges of a character class; listed one by one they make `re` ten times slower."""
    starts = [code for code, before in zip(codes, [-1, *codes], strict=False) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], -1], strict=True) if code != after - 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


def words(text: str) -> list[str]:
    """Splits a text into lower-case words: NFKC, case-folded, runs of letters and digits; one token a character without spaces.

    Args:
        text: any string, ill-formed ones (lone surrogates) included.

    Returns:
        The tokens in order; [] where there is no letter and no digit.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _word_pattern().findall(unicodedata.normalize("NFKC", folded))  # folding takes some Greek letters apart again


_local = threading.local()


def _stemmer(language: str) -> Any:
    """Returns this thread's stemmer of a language: PyStemmer's are not to be shared between threads."""
    made: dict[str, Any] = _local.__dict__.setdefault("made", {})
    if language not in made:
        try:
            import Stemmer
        except ImportError as error:
            raise missing_extra("Stemmer", "stem") from error
        if language not in Stemmer.algorithms():
            raise ConfigError(f"the stemmer must be one of {', '.join(Stemmer.algorithms())}; came {language!r}")
        made[language] = Stemmer.Stemmer(language)
    return made[language]


@dataclass(frozen=True)
class Tokeniser:
    """Turns texts and queries into terms. Its settings are stored with the index.

    Attributes:
        stop_words: words that are neither indexed nor searched, as `words` writes them; () keeps every word.
        stemmer: the language whose endings are cut off, a name that PyStemmer knows, for example "english"; None cuts nothing.

    Raises:
        ConfigError: a stop word that no text can hold, or a stemmer that is unknown or not installed.
    """

    stop_words: tuple[str, ...] = ()
    stemmer: str | None = None
    _stopped: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for word in self.stop_words:
            if words(word) != [word]:
                raise ConfigError(f"a stop word must be one lower-case word; came {word!r}; write it as {words(word)!r}")
        object.__setattr__(self, "_stopped", frozenset(self.stop_words))
        if self.stemmer is not None:
            _stemmer(self.stemmer)

    def terms(self, text: str) -> list[str]:
        """Returns the terms of a passage, repeated as often as they occur."""
        found = words(text)
        if self._stopped:
            found = [word for word in found if word not in self._stopped]
        return found if self.stemmer is None else list(_stemmer(self.stemmer).stemWords(found))

    def query_terms(self, query: str) -> list[str]:
        """Returns the distinct terms of a query in order of first occurrence.

        A word repeated in a query counts once: this bounds the cost of a gigantic query by the vocabulary.
        """
        return list(dict.fromkeys(self.terms(query)))
