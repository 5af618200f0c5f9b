"""Validation of options. Errors use the argument names of the Python API."""

from __future__ import annotations

import numbers
from typing import Any, Optional

import numpy as np

from ziggurat._errors import ConfigError

__all__ = ["merged", "one_of", "plain", "real", "whole"]


def plain(value: Any) -> Any:
    """Converts NumPy scalars and arrays to Python objects, for JSON."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} is a {type(value).__name__}; configuration values must be numbers, strings, lists or dicts")


def whole(name: str, value: Any, least: int) -> Optional[int]:
    """Checks that the value is an integer of at least ``least``; passes ``None`` through."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; it must be an integer")
    if value < least:
        raise ConfigError(f"{name} is {value}; it must be at least {least}")
    return int(value)


def real(name: str, value: Any) -> Optional[float]:
    """Checks that the value is a finite non-negative number; passes ``None`` through."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    if not 0 <= float(value) < float("inf"):
        raise ConfigError(f"{name} is {value}; it must be finite and non-negative")
    return float(value)


def one_of(**aliases: Any) -> Any:
    """The value of an argument that has several names; ``None`` if it is given by none of them."""
    given = [name for name, value in aliases.items() if value is not None]
    if len(given) > 1:
        raise TypeError(f"{' and '.join(given)} are names of the same argument; give one of them")
    return aliases[given[0]] if given else None


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merges ``over`` into a copy of ``base``, recursively; values of ``over`` take precedence."""
    both = dict(base)
    for key, value in over.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both
