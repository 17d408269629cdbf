"""The command `sesa serve`."""

import argparse
import json
import os
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sesa_env.errors import ConfigError
from sesa_env.plain import build
from sesa_env.search.base import Corpus, Retriever
from sesa_env.search.composing import Composition
from sesa_env.search.opening import open_corpus, open_index
from sesa_env.search.server.config import BUSY_STATUSES, ServerConfig

if TYPE_CHECKING:
    # argparse's sub-parsers have no public name; this alias is for the checker alone.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LIMITS = {
    "default_k": "passages a query where a request does not say",
    "max_k": "highest topk of a request",
    "max_queries": "queries in a request",
    "max_passages": "passages in an answer: queries times topk",
    "max_body_bytes": "bytes of a request",
    "batch_size": "queries searched together, at most",
    "batch_wait_s": "seconds that a batch waits to be filled",
    "max_waiting": "queries that may wait before requests are refused",
}


def add_serve_command(subparsers: "SubParsers") -> None:
    """Adds `serve` to a parser's sub-parsers; it sets `run`, from the parsed arguments to an exit code."""
    serve = subparsers.add_parser("serve", help="answer POST /retrieve as Search-R1's clients speak it")
    served = serve.add_mutually_exclusive_group(required=True)
    served.add_argument("--index", metavar="DIR", help="an index directory, as `sesa index build` writes it")
    served.add_argument(
        "--world",
        metavar="JSON",
        help='a world whose search tool is served: arguments of make_world, for example {"corpus": "miniwiki", "size": 20000}',
    )
    serve.add_argument(
        "--search",
        metavar="JSON",
        default="{}",
        help='with --index, which of its search tools, and what comes after: {"backend": "hybrid", "rerank": {}, "cache": {}}',
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine alone)")
    serve.add_argument("--port", type=int, default=8000, help="port; 0 takes a free one (default: %(default)s)")
    serve.add_argument("--token-variable", metavar="NAME", help="environment variable with the token that clients must send")
    serve.add_argument("--grace-s", type=int, default=30, help="seconds for requests under way at the end (default: 30)")
    for field in fields(ServerConfig):
        if field.name in _LIMITS:
            kind = float if field.type is float else int
            help_text = f"{_LIMITS[field.name]} (default: {field.default})"
            serve.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help=help_text)
    serve.add_argument(
        "--busy-status",
        type=int,
        choices=BUSY_STATUSES,
        default=ServerConfig.busy_status,
        help="status where too much waits; verl's clients try again after 503 alone (default: %(default)s)",
    )
    serve.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    from sesa_env.search.server.app import make_app  # here: these need the `serve` extra
    from sesa_env.search.server.run import serve

    config = ServerConfig(**{field.name: getattr(options, field.name) for field in fields(ServerConfig)})
    token = _token(options.token_variable)
    if options.index is None:
        retriever, corpus = _open_world(options.world)
    else:
        retriever, corpus = _open_index(options.index, options.search)
    if token is None and options.host not in _LOOPBACK:
        sys.stderr.write(
            f"sesa: whoever reaches {options.host} may search; to ask for a token, put one into an environment variable "
            "and give its name as --token-variable\n"
        )

    def ready(url: str) -> None:
        sys.stdout.write(f"serving index {retriever.fingerprint[:12]} on {url}/retrieve\n")
        sys.stdout.flush()

    serve(make_app(retriever, config, token, len(corpus)), options.host, options.port, options.grace_s, ready)
    return 0


def _token(variable: str | None) -> str | None:
    if variable is None:
        return None
    if token := os.environ.get(variable):
        return token
    raise ConfigError(f"expected the token in the environment variable {variable}; it is not set or empty; export it first")


def _open_index(directory: str, text: str) -> tuple[Retriever, Corpus]:
    given = _json_object("--search", text, '{"backend": "hybrid"}')
    chosen = build(Composition, given, "--search")
    retriever = open_index(directory, given.get("backend"), hybrid=chosen.hybrid, rerank=chosen.rerank, cache=chosen.cache)
    return retriever, open_corpus(directory)


def _open_world(text: str) -> tuple[Retriever, Corpus]:
    from sesa_env.worlds import make_world

    world = make_world(**_json_object("--world", text, '{"corpus": "miniwiki"}'))
    return world.retriever, world.corpus


def _json_object(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{option}: expected a JSON object, for example {example}; came {text!r}: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{option}: expected a JSON object, for example {example}; came {text!r}")
    return value
