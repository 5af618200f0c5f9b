"""The exceptions of this package, apart from ``NotConvergedError``, which carries a ``SolveInfo``.

Errors raised by the Rust library keep its messages: they say where the problem is and what to try.
"""

from __future__ import annotations

__all__ = ["ConfigError", "DeviceError", "HierarchyError", "MatrixError", "SetupError", "SolveError", "ZigguratError"]


class ZigguratError(Exception):
    """Base class of all errors raised by this package.

    >>> import ziggurat
    >>> try:
    ...     ziggurat.gallery.problem("poison3d:10")
    ... except ziggurat.ZigguratError as error:
    ...     print("did you mean `poisson3d`?" in str(error))
    True
    """


class ConfigError(ZigguratError, ValueError):
    """An unknown option, or an invalid value of a known one."""


class MatrixError(ZigguratError, ValueError):
    """Arrays that do not form a valid sparse matrix."""


class SetupError(ZigguratError, ValueError):
    """Setup failed. The message names the level and the stage."""


class SolveError(ZigguratError, ValueError):
    """The iteration could not start, for example because a vector has the wrong length."""


class DeviceError(ZigguratError, RuntimeError):
    """The compute device failed, for example because it ran out of memory."""


class HierarchyError(ZigguratError, ValueError):
    """A pickled hierarchy is corrupt, or has an unsupported format version."""
