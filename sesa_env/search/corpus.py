"""Passages held in memory, with their fingerprint."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import overload

from sesa_env.errors import ConfigError
from sesa_env.types import Passage


def passage_record(passage: Passage) -> bytes:
    """Writes a passage as bytes: id, title and text in UTF-8, each after its length in eight bytes.

    So no two different corpora are written alike. Ill-formed texts (lone surrogates) are written too.
    """
    fields = (text.encode("utf-8", "surrogatepass") for text in (passage.id, passage.title, passage.text))
    return b"".join(part for data in fields for part in (len(data).to_bytes(8, "little"), data))


def fingerprint_passages(passages: Iterable[Passage]) -> str:
    """Returns the SHA-256, in hexadecimal, of the records of all passages in order; see `passage_record`."""
    digest = hashlib.sha256()
    for passage in passages:
        digest.update(passage_record(passage))
    return digest.hexdigest()


class ListCorpus(Sequence[Passage]):
    """A read-only corpus in memory.

    Args:
        passages: the passages in corpus order; their ids must differ.

    Attributes:
        fingerprint: see `fingerprint_passages`.

    Raises:
        ConfigError: two passages have one id.
    """

    fingerprint: str

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = tuple(passages)
        self._places: dict[str, int] = {}
        for place, passage in enumerate(self._passages):
            first = self._places.setdefault(passage.id, place)
            if first != place:
                raise ConfigError(
                    f"passage ids must be unique; {passage.id!r} is the id of passage {first} "
                    f"({self._passages[first].title!r}) and of passage {place} ({passage.title!r}); rename one of them"
                )
        self.fingerprint = fingerprint_passages(self._passages)

    def __len__(self) -> int:
        return len(self._passages)

    @overload
    def __getitem__(self, index: int) -> Passage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Passage]: ...
    def __getitem__(self, index: int | slice) -> Passage | Sequence[Passage]:
        return self._passages[index]

    def find(self, passage_id: str) -> Passage | None:
        """Returns the passage with this id, or None."""
        place = self._places.get(passage_id)
        return None if place is None else self._passages[place]
