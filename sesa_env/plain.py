"""Turns plain data (JSON: mappings, lists, strings, numbers) into the frozen dataclasses, or says what is wrong with it."""

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

from sesa_env.errors import ConfigError

T = TypeVar("T")


def build(cls: type[T], data: Mapping[str, Any], where: str = "") -> T:
    """Builds a dataclass from a mapping, nested dataclasses and tuples of them included.

    Args:
        cls: a dataclass.
        data: its fields by name, as `dataclasses.asdict` or JSON gives them; absent fields take their defaults.
        where: what `data` is, for the error message, for example "rules".

    Returns:
        The instance.

    Raises:
        ConfigError: a name that `cls` lacks, a required field missing, or a value of another type.
    """
    where = where or cls.__name__
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where}: expected a mapping of names to values; got {type(data).__name__} {data!r}")
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # any dataclass will do
    if unknown := sorted(set(data) - set(known)):
        raise ConfigError(f"{where}: {', '.join(map(repr, unknown))} is not known; expected some of {', '.join(sorted(known))}")
    for name, field in known.items():
        if name not in data and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"{where}: {name!r} is missing")
    hints = typing.get_type_hints(cls)
    return cls(**{name: _convert(hints[name], value, f"{where}.{name}") for name, value in data.items()})


def _convert(hint: Any, value: Any, where: str) -> Any:
    """Converts one value to its annotated type: a dataclass, a tuple, a union, a mapping or a plain JSON value."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(arguments, value, where)
    if is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else build(hint, value, where)
    if origin is tuple:
        return _convert_tuple(arguments, value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    plain = origin or hint
    if isinstance(plain, type) and (not isinstance(value, plain) or (plain in (int, float) and isinstance(value, bool))):
        raise ConfigError(f"{where}: expected {plain.__name__}; got {type(value).__name__} {value!r}")
    return value


def _convert_union(arguments: Sequence[Any], value: Any, where: str) -> Any:
    if value is None and type(None) in arguments:
        return None
    options = [argument for argument in arguments if argument is not type(None)]
    for option in options[:-1]:
        try:
            return _convert(option, value, where)
        except ConfigError:
            continue
    return _convert(options[-1], value, where)


def _convert_tuple(arguments: Sequence[Any], value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(f"{where}: expected a list; got {type(value).__name__} {value!r}")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_convert(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if len(arguments) != len(value):
        raise ConfigError(f"{where}: expected {len(arguments)} items; got {len(value)}")
    pairs = enumerate(zip(arguments, value, strict=True))
    return tuple(_convert(hint, item, f"{where}[{index}]") for index, (hint, item) in pairs)
