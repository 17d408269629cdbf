"""Search on a server: a retriever that asks `POST /retrieve`, of `sesa serve` or any server that speaks as Search-R1's."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from sesa_env.errors import ConfigError, RetrievalError, RetrievalOutage, missing_extra
from sesa_env.search.bm25 import check_request
from sesa_env.search.wire import FINGERPRINT_HEADER, read_result, write_request
from sesa_env.types import Passage

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_BUSY = frozenset({429, 502, 503, 504})  # another time it may answer
_FOR_A_PERSON = frozenset({401, 403, 404, 405})  # a token or an address: asking again mends neither
_LONGEST_PAUSE_S = 8
_LONGEST_ASKED_PAUSE_S = 60
_CONNECT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class RemoteSettings:
    """Which server is asked, and how: JSON values.

    Attributes:
        url: the server's address, for example "http://127.0.0.1:8000"; with a path, that is asked instead of /retrieve.
        fingerprint: what stands behind a server that does not say it in GET /status, as Search-R1's does not: any name that
            changes when the index or its settings do. Of one that does, the fingerprint that it must have; None takes its own.
        timeout_s: seconds to wait for one answer.
        retries: how often a request is made again after an outage: no connection, a broken one, no answer in time, or the
            status 429, 502, 503, 504. The pauses double from twice `backoff_s` up to 8 seconds, or are as long as the server
            asks for: with the defaults about half a minute in all.
        backoff_s: half of the second pause, in seconds; the first retry is made at once.
        batch_size: queries in one request, at most.
        connections: kept open, in each process; so many requests are under way at most.
        token_variable: the environment variable that holds the server's bearer token; None sends none.
    """

    url: str
    fingerprint: str | None = None
    timeout_s: float = 30.0
    retries: int = 8
    backoff_s: float = 0.25
    batch_size: int = 512
    connections: int = 16
    token_variable: str | None = None

    def __post_init__(self) -> None:
        if not _is_address(self.url):
            raise ConfigError(f"expected a server's address such as http://127.0.0.1:8000; came {self.url!r}")
        for name, lowest in (("retries", 0), ("backoff_s", 0), ("batch_size", 1), ("connections", 1)):
            if getattr(self, name) < lowest:
                raise ConfigError(f"remote search, {name}: expected at least {lowest}; came {getattr(self, name)!r}")
        if self.timeout_s <= 0:
            raise ConfigError(f"remote search, timeout_s: expected more than 0; came {self.timeout_s!r}")
        if self.fingerprint == "":
            raise ConfigError("remote search, fingerprint: expected a name; came ''")

    @property
    def path(self) -> str:
        """The path of the requests."""
        own = _parts(self.url).path
        return own if own.strip("/") else "/retrieve"


class RemoteRetriever:
    """A retriever on a server. Threads may share it, and forked processes: each has connections of its own.

    Each answer of `sesa serve` says which index it comes from. Another than at the start is refused, so that a server that was
    started again with another index gives no wrong answers.

    Args:
        settings: which server, and how it is asked.

    Raises:
        ConfigError: the token is not there, or the `client` extra is not installed.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self.settings = settings
        self._headers = {"content-type": "application/json", "accept": "application/json", **_authorisation(settings)}
        self._pool = _Pool(settings)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles what is asked, with the fingerprint, so that the copy accepts no other index."""
        return RemoteRetriever, (replace(self.settings, fingerprint=self.fingerprint),)

    @cached_property
    def fingerprint(self) -> str:
        """The server's fingerprint, equal to that of the retriever behind it; asked for once.

        Raises:
            ConfigError: the server does not say it, or another than was given.
            RetrievalOutage: it cannot be reached.
        """
        if self.settings.fingerprint is not None:
            return self.settings.fingerprint
        status, _, body = self._request("GET", _status_path(self.settings.path), None)
        said = _said_fingerprint(body) if status == 200 else None
        if said is None:
            raise ConfigError(
                f"{self.settings.url} does not say in GET /status which index it serves; give fingerprint=NAME, "
                "any name that changes when the index does"
            )
        return said

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`.

        Raises:
            RetrievalOutage: the server could not be reached or had no room, all retries included.
            RetrievalError: it could not answer these queries, or what it answered cannot be read.
            ConfigError: what only a person can mend: a wrong address or token, another index, a k above the server's limit.
        """
        check_request(queries, k)
        size = self.settings.batch_size
        batches = [queries[start : start + size] for start in range(0, len(queries), size)]
        return [hits for batch in batches for hits in self._ask(batch, k)]

    def _ask(self, queries: list[str], k: int) -> list[list[Passage]]:
        expected = self.fingerprint
        status, headers, body = self._request("POST", self.settings.path, write_request(queries, k))
        if status != 200:
            self._refuse(status, body)
        came = headers.get(FINGERPRINT_HEADER, expected)
        if came != expected:
            raise ConfigError(
                f"{self.settings.url} serves another index than expected: fingerprint {came[:16]} for {expected[:16]}; "
                "serve the one that this began with, or begin anew"
            )
        try:
            return read_result(body, len(queries), k)
        except ValueError as error:
            raise RetrievalError(f"the answer of {self.settings.url} cannot be read: {error}") from error

    def _request(self, method: str, path: str, body: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        from urllib3.exceptions import HTTPError

        try:
            response = self._pool.of_this_process().urlopen(method, path, body=body, headers=self._headers)
        except HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise RetrievalOutage(
                f"{self.settings.url} could not be asked, {self.settings.retries} retries included: {reason}; "
                "is the server running, and is this its address?"
            ) from error
        if response.status in _BUSY:
            told = _told(response.status, response.data)
            raise RetrievalOutage(f"{self.settings.url} has no room, {self.settings.retries} retries included: {told}")
        return response.status, response.headers, response.data

    def _refuse(self, status: int, body: bytes) -> NoReturn:
        message = f"{self.settings.url} refuses to answer: {_told(status, body)}"
        if status in _FOR_A_PERSON or status < 400:
            raise ConfigError(f"{message}; look at url and token_variable")
        if _error(body).get("code") == "bad_topk":
            raise ConfigError(f"{message}; ask for fewer passages, or start the server with a higher --max-k")
        raise RetrievalError(message)


class _Pool:
    """Connections to one server. A forked process makes its own: two processes on one connection get each other's answers."""

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self._made = self._make()

    def of_this_process(self) -> Any:
        if self._made[0] != os.getpid():
            self._made = self._make()
        return self._made[1]

    def _make(self) -> tuple[int, Any]:
        try:
            import urllib3
        except ImportError as error:
            raise missing_extra("urllib3", "client") from error
        settings = self._settings
        retries = urllib3.Retry(
            total=settings.retries,
            redirect=0,
            allowed_methods=None,
            status_forcelist=_BUSY,
            backoff_factor=settings.backoff_s,
            backoff_max=_LONGEST_PAUSE_S,
            retry_after_max=_LONGEST_ASKED_PAUSE_S,
            raise_on_status=False,
            raise_on_redirect=False,
        )
        timeout = urllib3.Timeout(connect=min(_CONNECT_S, settings.timeout_s), read=settings.timeout_s)
        pool = urllib3.connection_from_url(
            settings.url, maxsize=settings.connections, block=True, retries=retries, timeout=timeout
        )
        return os.getpid(), pool


def _parts(url: str) -> "SplitResult":
    # Here: the rules of the game reach this module through the options of worlds, and know no network.
    from urllib.parse import urlsplit

    return urlsplit(url)


def _is_address(url: str) -> bool:
    try:
        parts = _parts(url)
        _ = parts.port
    except ValueError:
        return False
    more = (parts.query, parts.fragment, parts.username)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not any(more)


def _authorisation(settings: RemoteSettings) -> dict[str, str]:
    if settings.token_variable is None:
        return {}
    token = os.environ.get(settings.token_variable)
    if not token:
        raise ConfigError(f"expected the server's token in the environment variable {settings.token_variable}; it is not set")
    return {"authorization": f"Bearer {token}"}


def _status_path(path: str) -> str:
    return f"{path.rstrip('/').rpartition('/')[0]}/status"


def _said_fingerprint(body: bytes) -> str | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    said = value.get("fingerprint") if isinstance(value, Mapping) else None
    return said if isinstance(said, str) and said else None


def _error(body: bytes) -> Mapping[str, Any]:
    """Returns the error in a response of `sesa serve`; {} of any other."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    error = value.get("error") if isinstance(value, Mapping) else None
    return error if isinstance(error, Mapping) else {}


def _told(status: int, body: bytes) -> str:
    """Returns what a response says, for a person."""
    message = _error(body).get("message") or body[:200].decode("utf-8", "replace")
    return f"status {status}, {message}"
