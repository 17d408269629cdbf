"""Dense search: passages and queries as vectors of a sentence encoder, found by FAISS.

```
DIR/vectors.faiss     the vectors, in float16 (`sesa_env.search.vectors`)
DIR/graph.faiss ...   what the kind of index needs beside them (`sesa_env.search.faiss_index`)
```
"""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from sesa_env.errors import RetrievalError, StoreError
from sesa_env.plain import build
from sesa_env.search.base import Corpus
from sesa_env.search.bm25 import check_request
from sesa_env.search.building import only_builder, stands
from sesa_env.search.encoder import Encoder, make_encoder
from sesa_env.search.faiss_index import FaissBase, FaissIndex, FaissSettings, write_faiss
from sesa_env.search.index_files import check_corpus, check_files, read_manifest, reading, write_files
from sesa_env.search.progress import Progress, silent
from sesa_env.search.ranking import Ranked, as_passages, nothing
from sesa_env.search.vectors import encode_corpus, map_vectors
from sesa_env.types import Passage

FORMAT = "sesa-dense-index-1"
MAKE = "build one with: sesa index build DIR --backend dense"

RECALL_QUERIES = 200
RECALL_AT = 10
_RECALL_WORDS = 12


@dataclass(frozen=True)
class DenseSettings:
    """What decides the ranking, beside the corpus. Stored with the index.

    Attributes:
        encoder: a name for `sesa_env.search.encoder.make_encoder`.
        dtype: what the encoder computes in.
        faiss: which index.
    """

    encoder: str = "minilm"
    dtype: str = "float32"
    faiss: FaissSettings = field(default_factory=FaissSettings)

    def as_json(self) -> dict[str, Any]:
        """Returns the settings as JSON values."""
        return {"encoder": self.encoder, "dtype": self.dtype, "faiss": self.faiss.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "DenseSettings":
        """Reads what `as_json` wrote."""
        return build(cls, value)


class DenseRetriever:
    """Dense search over a corpus, by an index that `build_dense` wrote. Scores are cosines; ties go by corpus order.

    A query without a word finds nothing; any other finds k passages, however little they have to do with it.

    Args:
        directory: where the index stands.
        corpus: the passages that were encoded.
        device: what the encoder runs on (see `make_encoder`), and a "flat" index (see `FaissIndex`).

    Attributes:
        corpus: the passages.
        settings: what it was built with.
        encoder: what queries are encoded by.
        rows: the passages' vectors: float16, shape (passages, dimension).
        recall: for an index that is not exact, the share of the flat index's first `RECALL_AT` hits that it finds, measured
            when it was built; 1.0 for "flat".
        fingerprint: a digest of the corpus, the settings and the vectors.

    Raises:
        StoreError: there is no index, it is damaged, or it is of another corpus.
        ConfigError: the encoder is missing, or gives vectors of another length.
    """

    fingerprint: str

    def __init__(self, directory: str | Path, corpus: Corpus, device: str = "auto") -> None:
        self.directory = Path(directory)
        manifest = read_manifest(self.directory, FORMAT, MAKE)
        with reading(self.directory):
            self.settings = DenseSettings.from_json(manifest["settings"])
            check_files(self.directory, manifest["files"])
            check_corpus(self.directory, manifest, corpus)
            self.corpus, self.recall = corpus, float(manifest["recall"])
            self.fingerprint = _fingerprint(manifest)
            vectors = self.directory / "vectors.faiss"
            self.rows = map_vectors(vectors, len(corpus), int(manifest["dimension"]))
            self._index = FaissIndex(self.directory, vectors, self.rows, self.settings.faiss, device)
        self._device = device
        self.encoder = make_encoder(self.settings.encoder, self.settings.dtype, device)
        if self.encoder.dimension != self.rows.shape[1]:
            raise StoreError(
                f"the index in {self.directory} has vectors of length {self.rows.shape[1]}; the encoder "
                f"{self.settings.encoder!r} gives {self.encoder.dimension}; build the index again"
            )

    @classmethod
    def verify(cls, directory: str | Path, corpus: Corpus) -> None:
        """Reads a saved index whole and compares it with what was written.

        Raises:
            StoreError: there is no index, a byte of it has changed, or it is of another corpus.
        """
        manifest = read_manifest(Path(directory), FORMAT, MAKE)
        with reading(Path(directory)):
            check_files(Path(directory), manifest["files"], everything=True)
            check_corpus(Path(directory), manifest, corpus)

    def with_search(self, **changes: Any) -> Self:
        """Returns the same index with other settings of search: `effort`, `probes`, `rescore`."""
        settings = replace(self.settings, faiss=replace(self.settings.faiss, **changes))
        other = self.__class__.__new__(self.__class__)
        vars(other).update(vars(self), settings=settings)
        vectors = self.directory / "vectors.faiss"
        other._index = FaissIndex(self.directory, vectors, self.rows, settings.faiss, self._device)
        other.fingerprint = hashlib.sha256(json.dumps([self.fingerprint, settings.as_json()]).encode()).hexdigest()
        return other

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`."""
        return [as_passages(self.corpus, *found) for found in self.rank(queries, k)]

    def rank(self, queries: list[str], k: int) -> list[Ranked]:
        """Answers with places in the corpus; see `sesa_env.search.ranking.Ranker`."""
        check_request(queries, k)
        asked = [query for query in queries if query.strip()]
        try:
            found = iter(self._index.rank(self.encoder.encode_queries(asked), k))
        except RuntimeError as error:  # of torch or FAISS: no memory left, for one
            raise RetrievalError(f"dense search failed: {error}") from error
        return [next(found) if query.strip() else nothing() for query in queries]


def _fingerprint(manifest: dict[str, Any]) -> str:
    digests = {name: file["sha256"] for name, file in manifest["files"].items()}
    return hashlib.sha256(json.dumps([manifest["corpus"], manifest["settings"], digests], sort_keys=True).encode()).hexdigest()


def build_dense(
    directory: str | Path,
    corpus: Corpus,
    settings: DenseSettings | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> DenseRetriever:
    """Encodes a corpus and builds an index of it. What was interrupted goes on where it was.

    An index that stands there already is opened, if it is of this corpus and these settings. If it is of this corpus and
    encoder, it lends its vectors, and only FAISS's part is built anew.

    Args:
        directory: where it shall stand. What is half done lies beside it, under a name that begins with a dot.
        corpus: the passages.
        settings: the ranking's settings.
        device: what the encoder runs on; see `make_encoder`.
        progress: told how far it is.

    Returns:
        The index, opened; its `recall` is measured with the first words of passages as queries.

    Raises:
        ConfigError: the encoder is missing, or the settings do not fit the corpus.
        StoreError: it cannot be written.
    """
    chosen, target = settings or DenseSettings(), Path(directory).absolute()
    encoder = make_encoder(chosen.encoder, chosen.dtype, device)
    key = hashlib.sha256(json.dumps([corpus.fingerprint, chosen.encoder, chosen.dtype]).encode()).hexdigest()
    work = target.with_name(f".{target.name}-{key[:16]}.building")
    try:
        with only_builder(target):
            if not stands(target, FORMAT, {"corpus": corpus.fingerprint, "settings": chosen.as_json()}):
                work.mkdir(exist_ok=True)
                if not _lent(target, work, corpus, chosen):
                    encode_corpus(work, corpus, encoder, progress)
                write_dense(target, work / "vectors.faiss", corpus, chosen, encoder, progress)
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"the index cannot be built in {target}: {error}; mend that and build again: it goes on") from error
    return DenseRetriever(target, corpus, device)


def _lent(target: Path, work: Path, corpus: Corpus, settings: DenseSettings) -> bool:
    """Takes the vectors of the index that stands at `target`, if it is of this corpus and encoder."""
    if not stands(target, FORMAT, {"corpus": corpus.fingerprint}):
        return False
    manifest = read_manifest(target, FORMAT, MAKE)
    held = DenseSettings.from_json(manifest["settings"])
    if (held.encoder, held.dtype) != (settings.encoder, settings.dtype):
        return False
    link_or_copy(target / "vectors.faiss", work / "vectors.faiss")
    return True


def link_or_copy(source: Path, target: Path) -> None:
    """Gives a file a second name, or copies it where the file system cannot."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def write_dense(
    target: Path,
    vectors: Path,
    corpus: Corpus,
    settings: DenseSettings,
    encoder: Encoder,
    progress: Progress,
    base: FaissBase | None = None,
) -> None:
    """Builds FAISS's part over a file of vectors, or adds to one that is there, and writes the whole index.

    Raises:
        ConfigError: the settings do not fit the corpus.
        StoreError: it cannot be written.
    """
    facts: dict[str, Any] = {"format": FORMAT, "corpus": corpus.fingerprint, "passages": len(corpus)}
    facts |= {"settings": settings.as_json(), "dimension": encoder.dimension}
    rows = map_vectors(vectors, len(corpus), encoder.dimension)

    def fill(fresh: Path) -> None:
        link_or_copy(vectors, fresh / "vectors.faiss")
        write_faiss(fresh, rows, settings.faiss, base)
        progress(f"built {settings.faiss.kind}", len(rows), len(rows))
        facts["recall"] = _recall(fresh, corpus, settings.faiss, encoder, rows)

    write_files(target, facts, fill)


def _recall(fresh: Path, corpus: Corpus, settings: FaissSettings, encoder: Encoder, rows: Any) -> float:
    """Returns the share of the flat index's hits that this one finds, rounded to four decimals."""
    if settings.kind == "flat":
        return 1.0
    places = np.linspace(0, len(corpus) - 1, min(RECALL_QUERIES, len(corpus))).astype(int).tolist()
    begins = [" ".join(corpus[place].text.split()[:_RECALL_WORDS]) for place in places]
    queries = encoder.encode_queries(begins)
    exact, quick = (
        FaissIndex(fresh, fresh / "vectors.faiss", rows, each).rank(queries, RECALL_AT)
        for each in (replace(settings, kind="flat"), settings)
    )
    pairs = zip(exact, quick, strict=True)
    shares = [len(np.intersect1d(one[1], other[1])) / len(one[1]) for one, other in pairs]
    return round(sum(shares) / len(shares), 4)
