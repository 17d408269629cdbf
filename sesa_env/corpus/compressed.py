"""Files that may be compressed, by their names: `.gz` or `.zst`."""

import gzip
import io
from pathlib import Path
from typing import Any, BinaryIO, cast

from sesa_env.errors import missing_extra

ENDINGS = ("", ".gz", ".zst")
_BLOCK = 2**17


def open_bytes(path: Path) -> BinaryIO:
    """Opens a file for reading what is in it, decompressed.

    Raises:
        ConfigError: the package for `.zst` is not installed.
        OSError: the file cannot be opened. While it is read, a damaged one raises OSError, EOFError or zlib.error.
    """
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return cast("BinaryIO", io.BufferedReader(_zstandard(path)))
    return path.open("rb")


def without_ending(name: str) -> str:
    """Returns a file's name without the ending of its compression: "a.jsonl" of "a.jsonl.gz"."""
    return name.removesuffix(".gz").removesuffix(".zst")


def _zstandard(path: Path) -> "_Zstandard":
    """Opens the file first: Python closes what was begun to be made too, and from 3.13 on tells what goes wrong with that."""
    try:
        import zstandard
    except ImportError as error:
        raise missing_extra("zstandard", "corpora") from error
    return _Zstandard(path.open("rb"), zstandard.ZstdDecompressor(), zstandard.ZstdError)


class _Zstandard(io.RawIOBase):
    """Zstandard frames, one after the other. The library's own reader takes an incomplete file for a complete one."""

    def __init__(self, file: BinaryIO, decompressor: Any, error: type[Exception]) -> None:
        self._file, self._decompressor, self._error = file, decompressor, error
        self._frame: Any = None
        self._plain, self._packed = b"", b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            self._packed = self._packed or self._file.read(_BLOCK)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the compressed file ended in the middle of a frame")
                return 0
            self._plain = self._unpack()
        size = min(len(buffer), len(self._plain))
        buffer[:size], self._plain = self._plain[:size], self._plain[size:]
        return size

    def _unpack(self) -> bytes:
        """Returns what the bytes at hand unpack to; those of the next frame stay at hand."""
        self._frame = self._frame or self._decompressor.decompressobj()
        try:
            plain = bytes(self._frame.decompress(self._packed))
        except self._error as error:
            raise OSError(f"not Zstandard, or damaged: {error}") from error
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None
        return plain
