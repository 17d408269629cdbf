"""The errors that a person sees. Each message says what was expected, what came and what to do.

What a *player* should read is never an exception: the game answers unparsable text with an error message in the observation
(see `sesa_env.game`), so a policy can learn from it and a batch is never lost to one row.
"""


class SesaError(Exception):
    """Base class of every error that this package raises on purpose."""


class ConfigError(SesaError, ValueError):
    """An argument, a configuration value or an input file is not what it must be, or an extra is not installed."""


class ProtocolError(SesaError):
    """A player's text is not one well-formed action. The game turns it into an observation; it never leaves `act`."""


class RetrievalError(SesaError):
    """A search could not be carried out. It is never handed to a player as if it were a document."""


class RetrievalOutage(RetrievalError):  # noqa: N818 - it is an error by its base
    """The search tool cannot be reached, or has no room: a matter of the tool, not of the query, so another fares no better."""


class StoreError(SesaError):
    """A skill bank, an index or a record file cannot be read or written as it should."""


class TeacherError(SesaError):
    """A teacher could not distil. Nothing that waits in the queue is lost."""


def missing_extra(package: str, extra: str) -> ConfigError:
    """Builds the error for an optional dependency that is not installed.

    Args:
        package: the import name that failed.
        extra: the extra of this distribution that brings it.

    Returns:
        The error, to be raised `from` the ImportError.
    """
    return ConfigError(
        f"this needs the package {package!r}, which is not installed; type: pip install 'sesa-env[{extra}]', "
        f"or in a checkout: pip install -e '.[{extra}]'"
    )
