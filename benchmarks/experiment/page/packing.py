"""How a page's data is packed: each distinct text or passage once, each part compressed and unpacked when it is needed."""

import base64
import json
import zlib
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)
_RAW = -15  # DEFLATE without a header: what browsers call "deflate-raw"


class Pool(Generic[Item]):
    """Distinct items in the order in which they first came, so that data can name each by its number."""

    def __init__(self) -> None:
        self._places: dict[Item, int] = {}

    def place(self, item: Item) -> int:
        """Returns an item's number, a new one if it has none yet."""
        return self._places.setdefault(item, len(self._places))

    @property
    def items(self) -> list[Item]:
        """All items by number."""
        return list(self._places)


def packed(value: Any) -> str:
    """Writes a JSON value as compact JSON, compressed, in base64: no text in it can end the element that it stands in.

    Raises:
        ValueError: there is a number in it that JSON does not have (NaN, infinity).
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    squeezer = zlib.compressobj(9, zlib.DEFLATED, _RAW)
    return base64.b64encode(squeezer.compress(text.encode("ascii")) + squeezer.flush()).decode("ascii")


def unpacked(text: str) -> Any:
    """Reads what `packed` wrote."""
    return json.loads(zlib.decompress(base64.b64decode(text), _RAW))
