"""Many clients at once: each keeps one connection and asks one query after the other.

On bare sockets, so that it is the server that is measured.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Crowd:
    """What became of the requests.

    Attributes:
        seconds: of each answered request, in the order of the answers.
        failures: status line of each answer that was no result.
        took_s: how long it went on.
    """

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    took_s: float = 0.0

    def quantile(self, share: float) -> float:
        """Returns the time within which this share of the requests was answered, in seconds."""
        ordered = sorted(self.seconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def ask_at_once(url: str, queries: Sequence[str], clients: int, seconds: float, topk: int = 3) -> Crowd:
    """Has so many clients ask a server for so long, in this thread.

    Args:
        url: the server's address.
        queries: each client goes round them, from a place of its own.
        clients: how many.
        seconds: how long.
        topk: passages a query.

    Returns:
        What became of the requests.
    """
    return asyncio.run(_ask_at_once(url, [_request(url, query, topk) for query in queries], clients, seconds))


async def _ask_at_once(url: str, requests: Sequence[bytes], clients: int, seconds: float) -> Crowd:
    crowd, start = Crowd(), time.perf_counter()
    until = start + seconds
    await asyncio.gather(*(_client(url, requests, number * 7, until, crowd) for number in range(clients)))
    crowd.took_s = time.perf_counter() - start
    return crowd


async def _client(url: str, requests: Sequence[bytes], place: int, until: float, crowd: Crowd) -> None:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    while (began := time.perf_counter()) < until:
        writer.write(requests[place % len(requests)])
        place += 1
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(_length(head))
        if head.startswith(b"HTTP/1.1 200"):
            crowd.seconds.append(time.perf_counter() - began)
        else:
            crowd.failures.append(head.partition(b"\r\n")[0].decode())
    writer.close()
    await writer.wait_closed()


def _request(url: str, query: str, topk: int) -> bytes:
    body = json.dumps({"queries": [query], "topk": topk, "return_scores": True}).encode()
    head = f"POST /retrieve HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    raise ValueError(f"expected an answer with its length; came {head!r}")
