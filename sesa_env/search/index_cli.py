"""The command `sesa index build|info|verify|merge`."""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesa_env.corpus.passages import WORDS, read_passages
from sesa_env.corpus.problems import Problems
from sesa_env.errors import ConfigError, StoreError
from sesa_env.plain import build
from sesa_env.search.bm25 import DEFAULTS, DTYPES, BM25Settings
from sesa_env.search.bm25_build import build_bm25
from sesa_env.search.dense import DenseSettings, build_dense
from sesa_env.search.faiss_index import FaissSettings
from sesa_env.search.index_files import MANIFEST
from sesa_env.search.merging import merge_indices
from sesa_env.search.opening import BACKENDS, held_backends, open_corpus, verify_backend
from sesa_env.search.stderr_progress import StderrProgress
from sesa_env.search.store import StoredCorpus, write_corpus
from sesa_env.search.tokenise import Tokeniser

if TYPE_CHECKING:
    # argparse's sub-parsers have no public name; this alias is for the checker alone.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_index_commands(commands: "SubParsers") -> None:
    """Adds `index` to the commands of `sesa`."""
    index = commands.add_parser("index", help="build, show, check and merge search indices on disk")
    kinds = index.add_subparsers(dest="index_command", required=True, metavar="COMMAND")

    making = kinds.add_parser(
        "build", help="build search tools over a corpus; typed again without --corpus it goes on where it was"
    )
    making.add_argument("directory", help="the index directory: made, or given another search tool")
    making.add_argument(
        "--corpus", nargs="+", metavar="SOURCE", help=".jsonl or .tsv (plain, .gz, .zst), a BEIR folder, a folder of texts"
    )
    making.add_argument("--backend", nargs="+", choices=BACKENDS, default=["bm25"], help="which search tools (bm25)")
    making.add_argument("--processes", type=int, default=1, help="how many count words for bm25 (1)")
    making.add_argument("--words", type=int, default=WORDS, help=f"words a passage of a folder of texts ({WORDS})")
    _add_bm25_options(making.add_argument_group("bm25"))
    _add_dense_options(making.add_argument_group("dense"))
    making.set_defaults(run=_build)

    info = kinds.add_parser("info", help="say what an index directory holds, as JSON")
    info.add_argument("directory")
    info.set_defaults(run=_info)

    verify = kinds.add_parser("verify", help="read an index directory whole and compare it with what was written")
    verify.add_argument("directory")
    verify.set_defaults(run=_verify)

    merge = kinds.add_parser("merge", help="put index directories together; nothing is tokenised or encoded again")
    merge.add_argument("directory", help="the new index directory")
    merge.add_argument("sources", nargs="+", help="index directories, in the order of their passages")
    merge.set_defaults(run=_merge)


def _add_bm25_options(group: Any) -> None:
    group.add_argument("--k1", type=float, default=DEFAULTS.k1, help=f"({DEFAULTS.k1})")
    group.add_argument("--b", type=float, default=DEFAULTS.b, help=f"({DEFAULTS.b})")
    group.add_argument("--stop-words", nargs="+", default=[], metavar="WORD", help="words left out; 'english' alone: a list")
    group.add_argument("--stemmer", help="the language whose endings are cut off (none)")
    group.add_argument("--dtype", choices=DTYPES, default=DEFAULTS.dtype, help=f"of the scores ({DEFAULTS.dtype})")


def _add_dense_options(group: Any) -> None:
    group.add_argument("--encoder", default="minilm", help="minilm, a sentence-transformers model, or module:factory (minilm)")
    group.add_argument("--encoder-dtype", default="float32", help="float32, bfloat16 or float16 (float32)")
    group.add_argument("--device", default="auto", help="what the encoder runs on (auto)")
    group.add_argument(
        "--faiss", default="flat", help='flat, sq8, hnsw, ivfpq, or JSON, for example {"kind": "hnsw", "links": 16} (flat)'
    )


def _build(options: argparse.Namespace) -> int:
    directory, progress = Path(options.directory), StderrProgress()
    bm25, dense = _bm25_settings(options), _dense_settings(options)  # wrong options are told before an hour's work
    corpus = _corpus(directory, options, progress)
    if "bm25" in options.backend:
        build_bm25(directory / "bm25", corpus, bm25, options.processes, progress)
    if "dense" in options.backend:
        built = build_dense(directory / "dense", corpus, dense, options.device, progress)
        sys.stderr.write(f"recall of {built.settings.faiss.kind} against flat, first 10 hits: {built.recall:.4f}\n")
    return _info(options)


def _corpus(directory: Path, options: argparse.Namespace, progress: StderrProgress) -> StoredCorpus:
    there = (directory / "corpus" / MANIFEST).is_file()
    if there and options.corpus:
        raise ConfigError(
            f"{directory} holds a corpus; to go on with it leave --corpus out; for another, give another directory"
        )
    if there:
        return open_corpus(directory)
    if not options.corpus:
        raise ConfigError(f"{directory} holds no corpus; type --corpus SOURCE, a file or a folder of passages")
    problems = Problems()

    def checked() -> Any:
        yield from read_passages(options.corpus, problems, options.words)
        problems.stop()

    return write_corpus(directory / "corpus", checked(), progress)


def _bm25_settings(options: argparse.Namespace) -> BM25Settings:
    words = tuple(options.stop_words)
    if words == ("english",):
        from bm25s.stopwords import STOPWORDS_EN

        words = tuple(STOPWORDS_EN)
    return BM25Settings(options.k1, options.b, Tokeniser(words, options.stemmer), options.dtype)


def _dense_settings(options: argparse.Namespace) -> DenseSettings:
    text = options.faiss
    try:
        value: Any = json.loads(text) if text.startswith("{") else {"kind": text}
    except ValueError as error:
        raise ConfigError(f"--faiss: expected a name or a JSON object; came {text!r}: {error}") from error
    return DenseSettings(options.encoder, options.encoder_dtype, build(FaissSettings, value, "--faiss"))


def _info(options: argparse.Namespace) -> int:
    directory = Path(options.directory)
    corpus = open_corpus(directory)
    facts: dict[str, Any] = {
        "corpus": {"passages": len(corpus), "duplicates": corpus.duplicates, "fingerprint": corpus.fingerprint}
    }
    for name in held_backends(directory):
        manifest = json.loads((directory / name / MANIFEST).read_text(encoding="utf-8"))
        facts[name] = {key: value for key, value in manifest.items() if key in {"format", "settings", "dimension", "recall"}}
    for name, part in facts.items():
        part["bytes"] = sum(path.stat().st_size for path in (directory / name).iterdir())
    sys.stdout.write(json.dumps(facts, indent=1) + "\n")
    return 0


def _verify(options: argparse.Namespace) -> int:
    corpus = open_corpus(options.directory)
    checks: dict[str, Callable[[], None]] = {"corpus": corpus.verify}
    for name in held_backends(options.directory):
        checks[name] = partial(verify_backend, name, options.directory, corpus)
    wrong = 0
    for name, check in checks.items():
        try:
            check()
        except StoreError as error:
            wrong += 1
            sys.stdout.write(f"{name}: {error}\n")
        else:
            sys.stdout.write(f"{name}: as it was written\n")
    return 1 if wrong else 0


def _merge(options: argparse.Namespace) -> int:
    merged = merge_indices(options.directory, options.sources, StderrProgress())
    held = {name for source in options.sources for name in held_backends(source)}
    for name in sorted(held - set(merged)):
        sys.stderr.write(
            f"{name} is not in every source and was left out; type: sesa index build {options.directory} --backend {name}\n"
        )
    return _info(options)
