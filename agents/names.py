"""Names of trained players, as every command line and configuration writes them.

`model:NAME_OR_DIR` and `openai:MODEL@URL` are language models, `sb3:FILE` is an agent of stable-baselines3.
"""

import re
from dataclasses import dataclass

from sesa_env.errors import ConfigError

_MODEL, _SERVED, _SB3 = "model:", "openai:", "sb3:"
# The first "@http" parts model and address, since models may have an "@" of their own. An address has none: keys are not
# written into names, so there is no USER@HOST, and what follows an "@" behind it is another's (a bank, for example).
_ENDPOINT = re.compile(r"openai:(?P<model>\S+?)@(?P<url>https?://[^\s@/]+(?:/[^\s@]*)?)")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model behind an OpenAI-compatible server.

    Attributes:
        model: its name there.
        url: the server's address up to and with its version, for example "http://localhost:8000/v1".
    """

    model: str
    url: str


def names_model(name: str) -> bool:
    """Says whether a name means a language model: one loaded here, or one behind a server."""
    return name.startswith((_MODEL, _SERVED))


def local_model(name: str) -> str | None:
    """Returns NAME_OR_DIR of `model:NAME_OR_DIR`; None for a name of another form.

    Raises:
        ConfigError: nothing follows the colon.
    """
    return _named(_MODEL, name, "model:NAME_OR_DIR, for example model:smollm2")


def sb3_agent(name: str) -> str | None:
    """Returns FILE of `sb3:FILE`; None for a name of another form.

    Raises:
        ConfigError: nothing follows the colon.
    """
    return _named(_SB3, name, "sb3:FILE, an agent that stable-baselines3 saved, for example sb3:runs/model.zip")


def endpoint(name: str) -> Endpoint | None:
    """Reads `openai:MODEL@URL`; None for a name of another form.

    Raises:
        ConfigError: it begins with "openai:" and is not of that form.
    """
    if not name.startswith(_SERVED):
        return None
    match = _ENDPOINT.fullmatch(name)
    if match is None:
        raise ConfigError(
            f"{name!r}: expected openai:MODEL@URL, for example openai:Qwen/Qwen2.5-32B-Instruct@http://localhost:8000/v1"
        )
    return Endpoint(match["model"], match["url"])


def public_name(name: str) -> str:
    """Returns a name without what is a machine's own: a server's address, the folders above a model's directory or file."""
    if (served := endpoint(name)) is not None:
        return f"{_SERVED}{served.model}"
    for kind, path in ((_MODEL, local_model(name)), (_SB3, sb3_agent(name))):
        if path is not None and path.startswith(("/", ".", "~")):
            return f"{kind}{'/'.join(path.rstrip('/').split('/')[-2:])}"
    return name


def _named(kind: str, name: str, form: str) -> str | None:
    if not name.startswith(kind):
        return None
    if not (named := name.removeprefix(kind)):
        raise ConfigError(f"{name!r}: expected {form}")
    return named
