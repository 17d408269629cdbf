"""What is named on a command line or in a configuration: a built-in's short name, or anyone's own as `module:factory`."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from sesa_env.errors import ConfigError


def make_plugin(kind: str, name: str, built_in: Mapping[str, str], example: str, *arguments: Any, **options: Any) -> Any:
    """Finds a factory by name and calls it.

    Args:
        kind: what it makes, for the error message, for example "player".
        name: a key of `built_in`, or "module:factory"; the module must be importable.
        built_in: "module:factory" by short name.
        example: what to type, for the error message.
        *arguments: handed to the factory.
        **options: handed to the factory.

    Returns:
        What the factory returned.

    Raises:
        ConfigError: the name is not of that form, there is no such module or factory, or it takes other arguments. What the
            factory itself raises leaves as it is.
    """
    where = f"{kind} {name!r}"
    factory = find_plugin(kind, name, built_in, example)
    try:
        inspect.signature(factory).bind(*arguments, **options)
    except TypeError as error:
        raise ConfigError(f"{where}: the factory cannot be called as it should be: {error}; type {example}") from error
    except ValueError:
        pass  # some callables of C have no signature to look at
    return factory(*arguments, **options)


def find_plugin(kind: str, name: str, built_in: Mapping[str, str], example: str) -> Callable[..., Any]:
    """Finds a callable by name, without calling it; arguments as `make_plugin`.

    Raises:
        ConfigError: the name is not of that form, or there is no such module or callable.
    """
    where = f"{kind} {name!r}"
    if not isinstance(name, str):
        raise ConfigError(f"{where}: expected a name, a string; got {type(name).__name__}; type {example}")
    module_name, colon, attribute = built_in.get(name, name).partition(":")
    if not (colon and module_name and attribute):
        known = f"one of {', '.join(built_in)} or " if built_in else ""
        raise ConfigError(f"{where}: expected {known}module:factory; type {example}")
    factory = getattr(_module(where, module_name, example), attribute, None)
    if factory is None:
        raise ConfigError(f"{where}: module {module_name!r} has no {attribute!r}; type {example}")
    if not callable(factory):
        raise ConfigError(f"{where}: {attribute!r} is not callable but a {type(factory).__name__}; type {example}")
    return factory  # type: ignore[no-any-return]  # any callable may be a factory


def _module(where: str, module_name: str, example: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except (ModuleNotFoundError, TypeError, ValueError) as error:
        missing = getattr(error, "name", None) or module_name
        raise ConfigError(
            f"{where}: there is no module {missing!r} to import; put its folder on PYTHONPATH, then type {example}"
        ) from error
