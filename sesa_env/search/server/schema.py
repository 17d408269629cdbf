"""What the server's requests and answers look like, for validation and for OpenAPI."""

from typing import Annotated, Any, Self

from sesa_env.errors import missing_extra
from sesa_env.search.server.config import ServerConfig
from sesa_env.search.wire import writable

try:
    from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator
except ImportError as error:
    raise missing_extra("pydantic", "serve") from error


def _writable(value: Any) -> Any:
    """One lone surrogate is no reason to refuse a whole batch."""
    return writable(value) if isinstance(value, str) else value


def _whole(value: Any) -> Any:
    """Takes 3.0 for 3, as JSON does, but neither "3" nor true."""
    if isinstance(value, str | bool):
        raise ValueError("expected a whole number")  # noqa: TRY004 - what pydantic turns into its own error
    return value


Text = Annotated[str, BeforeValidator(_writable)]


class RetrieveRequest(BaseModel):
    """Queries to be answered: `queries`, or one `query` as SkillRL's client sends it. Unknown fields are passed over."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["queries"]}, {"required": ["query"]}]})

    queries: list[Text] = []
    query: Text = Field(default="", description="a single query, instead of `queries`")
    topk: int | None = None
    return_scores: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if len(self.model_fields_set & {"queries", "query"}) != 1:
            raise ValueError('expected "queries", a list of strings, or "query", one string')
        return self

    def asked(self) -> list[str]:
        """Returns the queries."""
        return self.queries if "queries" in self.model_fields_set else [self.query]


def request_model(config: ServerConfig) -> type[RetrieveRequest]:
    """Returns the request with a server's limits in it, so that OpenAPI tells them."""
    return create_model(
        "RetrieveRequest",
        __base__=RetrieveRequest,
        __doc__=RetrieveRequest.__doc__,
        queries=(
            list[Text],
            Field(default=[], max_length=config.max_queries, description="any number of queries; [] is answered with []"),
        ),
        topk=(
            Annotated[int, Field(ge=0, le=config.max_k), BeforeValidator(_whole)] | None,
            Field(default=None, description=f"passages for each query; null and 0 mean {config.default_k}"),
        ),
    )


class Document(BaseModel):
    """A passage."""

    id: str
    contents: str = Field(description="the quoted title, a newline, the text")
    title: str = Field(default="", description="only where it cannot be read from `contents`")
    text: str = Field(default="", description="only where it cannot be read from `contents`")


class Hit(BaseModel):
    """A passage with its score."""

    document: Document
    score: float


class RetrieveResponse(BaseModel):
    """For each query its hits, best first; documents without scores where `return_scores` is false."""

    result: list[list[Hit] | list[Document]]


class Limits(BaseModel):
    """What a request may ask for; see `ServerConfig`."""

    default_topk: int
    max_topk: int
    max_queries: int
    max_passages: int
    max_body_bytes: int


class Status(BaseModel):
    """What is served."""

    status: str = "ok"
    fingerprint: str = Field(description="equal fingerprints answer alike")
    passages: int | None
    waiting: int = Field(description="queries that wait")
    limits: Limits
    version: str


class Fault(BaseModel):
    """Why there is no answer."""

    code: str
    message: str = Field(description="what was expected, what came, what to do")


class Failure(BaseModel):
    """The body of every answer that is not 2xx."""

    error: Fault
