"""The limits of the retrieval server."""

from dataclasses import dataclass

from sesa_env.errors import ConfigError

BUSY_STATUSES = (429, 503)


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """What the server takes on, and how it gathers it.

    Attributes:
        default_k: passages a query where a request says no `topk`, null or 0.
        max_k: the highest `topk`.
        max_queries: queries in one request. Search-R1 sends those of a whole rollout batch at once: 512 questions with 5
            rollouts are 2,560.
        max_passages: passages in one answer, that is queries times `topk`; bounds the memory that one request can take.
        max_body_bytes: size of a request.
        batch_size: queries that are searched together at most, those of concurrent requests included.
        batch_wait_s: seconds that the first query of a batch waits for company. With 0 a batch is whatever came in while the
            one before was searched.
        max_waiting: queries that may wait. A request beyond that is refused with `busy_status` and `Retry-After`.
        busy_status: 429; or 503, which verl's, SSP's and SkillRL's clients try again after, as they do not after 429.
    """

    default_k: int = 3
    max_k: int = 100
    max_queries: int = 4096
    max_passages: int = 65_536
    max_body_bytes: int = 8 * 2**20
    batch_size: int = 256
    batch_wait_s: float = 0.0
    max_waiting: int = 16_384
    busy_status: int = 429

    def __post_init__(self) -> None:
        for name in ("default_k", "max_k", "max_queries", "max_passages", "max_body_bytes", "batch_size", "max_waiting"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1; came {getattr(self, name)!r}")
        if not 0 <= self.batch_wait_s <= 10:
            raise ConfigError(f"batch_wait_s must be in [0, 10] seconds; came {self.batch_wait_s!r}")
        if self.default_k > self.max_k:
            raise ConfigError(f"default_k must be at most max_k; came {self.default_k} and {self.max_k}")
        if self.max_waiting < self.max_queries:
            raise ConfigError(
                f"max_waiting must be at least max_queries, or the largest request would never be taken; "
                f"came {self.max_waiting} and {self.max_queries}"
            )
        if self.busy_status not in BUSY_STATUSES:
            raise ConfigError(f"busy_status must be 429 or 503; came {self.busy_status!r}")
