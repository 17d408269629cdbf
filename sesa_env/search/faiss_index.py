"""The kinds of FAISS index over a file of vectors: flat, scalar quantised, HNSW, IVF-PQ.

Flat needs no file but that of the vectors. HNSW keeps its graph alone and reads the same vectors. The two that compress find
candidates, whose scores are then worked out from the vectors, so that all four give the same scores.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sesa_env.errors import ConfigError
from sesa_env.plain import build
from sesa_env.search.ranking import Ranked, in_order
from sesa_env.search.torch_flat import TorchFlat, gpu_there
from sesa_env.search.vectors import Rows, blocks, import_faiss

KINDS = ("flat", "sq8", "hnsw", "ivfpq")
_MORE = 16
"""How many hits beyond k are put in order, so that ties at the last place go by corpus order."""
_FILES = {"sq8": "sq8.faiss", "hnsw": "graph.faiss", "ivfpq": "ivfpq.faiss"}
_TRAIN_ROWS_A_LIST = 64


@dataclass(frozen=True)
class FaissSettings:
    """Which index, and how much it spends on being right. Values that a kind does not know do not matter to it.

    Attributes:
        kind: "flat", exact; "sq8", a byte a number; "hnsw", a graph of neighbours; "ivfpq", lists of short codes.
        links: neighbours a passage in the graph, at least 2.
        build_effort: how many candidates are looked at for each passage when the graph is built, at least 1.
        effort: likewise for each query, at least 1.
        lists: into how many lists "ivfpq" divides the passages; 0 takes four times the square root of their number.
        probes: how many of the lists a query looks into, at least 1.
        code_bytes: bytes a passage in the lists; 0 takes an eighth of the vectors' length.
        rescore: for "sq8" and "ivfpq", and on a GPU, for how many times k candidates the exact score is worked out, at least 1.
    """

    kind: str = "flat"
    links: int = 32
    build_effort: int = 200
    effort: int = 64
    lists: int = 0
    probes: int = 32
    code_bytes: int = 0
    rescore: int = 8

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"the FAISS index must be one of {', '.join(KINDS)}; came {self.kind!r}")
        for name, low in (("links", 2), ("build_effort", 1), ("effort", 1), ("lists", 0), ("probes", 1), ("code_bytes", 0)):
            if getattr(self, name) < low:
                raise ConfigError(f"{name} must be at least {low}; came {getattr(self, name)!r}")
        if self.rescore < 1:
            raise ConfigError(f"rescore must be at least 1; came {self.rescore!r}")

    def as_json(self) -> dict[str, Any]:
        """Returns the settings as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "FaissSettings":
        """Reads what `as_json` wrote."""
        return build(cls, value)


@dataclass(frozen=True)
class FaissBase:
    """An index that others' vectors are added to.

    Attributes:
        directory: where it stands, with its vectors.
        rows: how many vectors it has: the first ones of the new index.
    """

    directory: Path
    rows: int


def write_faiss(directory: Path, rows: Rows, settings: FaissSettings, base: FaissBase | None = None) -> None:
    """Builds an index of vectors and writes what it needs beside them into `directory`.

    Args:
        directory: where its file goes.
        rows: all vectors.
        settings: which index.
        base: an index of the first of them with the same settings, to go on from.

    Raises:
        ConfigError: the settings do not fit the vectors.
    """
    if settings.kind == "flat":
        return
    faiss = import_faiss()
    if base is None:
        index = {"sq8": _sq8, "hnsw": _hnsw, "ivfpq": _ivfpq}[settings.kind](faiss, rows, settings)
    else:
        index = faiss.read_index(str(base.directory / _FILES[settings.kind]))
        if settings.kind == "hnsw":  # in memory: FAISS adds to the vectors as well as to the graph
            storage = faiss.read_index(str(base.directory / "vectors.faiss"))
            index.storage, index.own_fields = storage, False
            index.hnsw.efConstruction = settings.build_effort
    for block in blocks(rows[base.rows if base else 0 :]):
        index.add(block)
    flags = faiss.IO_FLAG_SKIP_STORAGE if settings.kind == "hnsw" else 0
    faiss.write_index(index, str(directory / _FILES[settings.kind]), flags)


def _sq8(faiss: Any, rows: Rows, _: FaissSettings) -> Any:
    index = faiss.IndexScalarQuantizer(rows.shape[1], faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.train(_sample(rows, 2**16))
    return index


def _hnsw(faiss: Any, rows: Rows, settings: FaissSettings) -> Any:
    kind = faiss.ScalarQuantizer.QT_fp16
    index = faiss.IndexHNSWSQ(rows.shape[1], kind, settings.links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = settings.build_effort
    return index


def _ivfpq(faiss: Any, rows: Rows, settings: FaissSettings) -> Any:
    size, dimension = rows.shape
    lists = settings.lists or min(max(1, round(4 * math.sqrt(size))), max(1, size // 39))  # FAISS asks for 39 rows a list
    codes = settings.code_bytes or max(1, dimension // 8)
    if dimension % codes:
        raise ConfigError(f"code_bytes must divide the vectors' length {dimension}; came {codes}")
    if size < 256 or lists > size:
        raise ConfigError(f"an ivfpq index needs at least 256 passages, and one a list; came {size}; take kind 'flat'")
    quantiser = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFPQ(quantiser, dimension, lists, codes, 8, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1  # small corpora are a matter of choice
    index.train(_sample(rows, max(2**14, _TRAIN_ROWS_A_LIST * lists)))
    return index


def _sample(rows: Rows, size: int) -> npt.NDArray[np.float32]:
    """Returns so many rows, evenly spread, in float32; all where there are fewer."""
    places = np.linspace(0, len(rows) - 1, min(size, len(rows))).astype(np.int64)
    return rows[places].astype(np.float32)


class FaissIndex:
    """An index that `write_faiss` wrote, over its file of vectors; both are mapped where FAISS can.

    Args:
        directory: where the index's own file stands.
        vectors: the vectors' file.
        rows: the same, mapped: shape (passages, dimension).
        settings: what it was built with; those of search may be others.
        device: "cpu"; "cuda", or "auto" where there is a GPU: "flat" is then searched there by torch, and "ivfpq" by FAISS, if
            it is a build that knows of GPUs (those on PyPI are not). The other kinds search on the CPU.
    """

    def __init__(self, directory: Path, vectors: Path, rows: Rows, settings: FaissSettings, device: str = "cpu") -> None:
        faiss = import_faiss()
        self._rows, self._settings = rows, settings
        self._flat = self._index = faiss.read_index(str(vectors), faiss.IO_FLAG_MMAP_IFC)
        on_gpu = settings.kind == "flat" and (device not in {"auto", "cpu"} or (device == "auto" and gpu_there()))
        self._candidates = on_gpu or settings.kind in {"sq8", "ivfpq"}
        if on_gpu:
            self._index = TorchFlat(rows, "cuda" if device == "auto" else device)
        if settings.kind != "flat":
            self._index = faiss.read_index(str(directory / _FILES[settings.kind]), faiss.IO_FLAG_MMAP_IFC)
        if settings.kind == "hnsw":
            self._index.storage, self._index.own_fields = self._flat, False
            self._index.hnsw.efSearch = settings.effort
        elif settings.kind == "ivfpq":
            self._index.nprobe = min(settings.probes, self._index.nlist)
            if device != "cpu" and getattr(faiss, "get_num_gpus", int)():
                self._index = faiss.index_cpu_to_all_gpus(self._index)
        if (self._index.ntotal, self._index.d) != rows.shape:
            raise ValueError(f"the FAISS index is of {self._index.ntotal} vectors, expected {len(rows)}")

    def rank(self, queries: npt.NDArray[np.float32], k: int) -> list[Ranked]:
        """Returns at most k hits of each query; queries have shape (any, dimension)."""
        if not len(queries):
            return []
        wanted = min((k * self._settings.rescore if self._candidates else k) + _MORE, len(self._rows))
        scores, places = self._index.search(np.ascontiguousarray(queries, np.float32), wanted)
        answers = []
        for query, own_scores, own_places in zip(queries, scores, places, strict=True):
            found = own_places >= 0  # FAISS fills up with -1
            exact = self._exact(query, own_places[found]) if self._candidates else own_scores[found]
            answers.append(in_order(exact, own_places[found], k))
        return answers

    def _exact(self, query: npt.NDArray[np.float32], places: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        scores: npt.NDArray[np.float32] = self._rows[places].astype(np.float32) @ query
        return scores
