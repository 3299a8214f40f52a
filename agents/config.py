"""Configurations: frozen dataclasses, read from plain YAML, with dotted overrides from the command line.

Values are coerced by the type of their field, because YAML 1.1 reads `1e-3` as a string.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from agents.errors import UserError, unknown_name

Config = TypeVar("Config")

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def load_config(cls: type[Config], path: Path | str, overrides: Iterable[str] = ()) -> Config:
    """Read a dataclass `cls` from a YAML file, then apply overrides such as `ppo.learning_rate=1e-3`."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"Expected a YAML configuration file at '{path}', found none.")
    try:
        mapping = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"Expected YAML in '{path}', got: {' '.join(str(error).split())}.") from error
    return config_from_mapping(cls, apply_overrides({} if mapping is None else mapping, overrides))


def apply_overrides(mapping: Any, overrides: Iterable[str]) -> dict[str, Any]:
    """A copy of nested dictionaries with `a.b=value` entries replaced; values are read as YAML."""
    if not isinstance(mapping, Mapping):
        raise UserError(f"Expected a configuration of `key: value` lines, got {mapping!r}.")
    result: dict[str, Any] = dict(mapping)
    for override in overrides:
        name, equals, text = override.partition("=")
        if not equals or not name.strip():
            raise UserError(f"Expected an override of the form a.b=value, got {override!r}.")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            value = text
        result = _replaced(result, name.strip().split("."), value)
    return result


def _replaced(mapping: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    head, *rest = path
    if not rest:
        return {**mapping, head: value}
    inner = mapping.get(head)
    return {**mapping, head: _replaced(dict(inner) if isinstance(inner, Mapping) else {}, rest, value)}


def config_from_mapping(cls: type[Config], mapping: Any, where: str = "") -> Config:
    """Build the dataclass `cls`; an unknown key or a value of the wrong type is a `UserError`."""
    if not isinstance(mapping, Mapping):
        raise UserError(f"Expected `key: value` lines under {where.rstrip('.')!r}, got {mapping!r}.")
    names = {field.name for field in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]
    hints = typing.get_type_hints(cls)
    for key in mapping:
        if key not in names:
            place = f"configuration key under {where.rstrip('.')!r}" if where else "configuration key"
            raise unknown_name(place, key, names)
    return cls(**{key: _coerce(value, hints[key], where + key) for key, value in mapping.items()})


def config_to_mapping(config: Any) -> dict[str, Any]:
    """Nested dictionaries of plain values, fit for YAML and JSON; the inverse of `config_from_mapping`."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    return plain(dataclasses.asdict(config))


def _coerce(value: Any, kind: Any, name: str) -> Any:
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        if value is None:
            return None
        (kind,) = [option for option in typing.get_args(kind) if option is not types.NoneType]
    if dataclasses.is_dataclass(kind):
        return config_from_mapping(kind, {} if value is None else value, name + ".")  # pyright: ignore
    if typing.get_origin(kind) is tuple:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            items = [items]
        return tuple(_coerce(item, typing.get_args(kind)[0], name) for item in items)
    try:
        return _SCALARS[kind](value)
    except (ValueError, TypeError, OverflowError):
        raise UserError(f"Expected {name} to be {_WORDS[kind]}, got {value!r}.") from None


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _BOOLEANS:
        return _BOOLEANS[value.lower()]
    raise ValueError


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _integer(value: Any) -> int:
    number = _number(value)
    if number != int(number):
        raise ValueError
    return int(number)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


_SCALARS = {bool: _boolean, float: _number, int: _integer, str: _text}
_WORDS = {bool: "true or false", float: "a finite number", int: "a whole number", str: "text"}
