"""Options, checked where they come in, so that errors name what the caller wrote."""

from __future__ import annotations

import numbers
from typing import Any, Optional

import numpy as np

from ziggurat._errors import ConfigError


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's, for JSON."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} is a {type(value).__name__}; a configuration has numbers, strings, lists and dicts")


def whole(name: str, value: Any, least: int) -> Optional[int]:
    """A whole number, or an error that names it."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; give a whole number")
    if value < least:
        raise ConfigError(f"{name} is {value}; it must be at least {least}")
    return int(value)


def real(name: str, value: Any) -> Optional[float]:
    """A finite number that is not negative, or an error that names it."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; give a number")
    if not 0 <= float(value) < float("inf"):
        raise ConfigError(f"{name} is {value}; it must be finite and not negative")
    return float(value)


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid over it, key by key."""
    both = dict(base)
    for key, value in over.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both
