"""The exceptions of this package. Their texts are those of the Rust library: they name the place and say what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ziggurat._info import SolveInfo


class ZigguratError(Exception):
    """Any error of this package.

    >>> import ziggurat
    >>> try:
    ...     ziggurat.gallery.problem("poison3d:10")
    ... except ziggurat.ZigguratError as error:
    ...     print("did you mean `poisson3d`?" in str(error))
    True
    """


class ConfigError(ZigguratError, ValueError):
    """An option that does not exist, or a value that makes no sense."""


class MatrixError(ZigguratError, ValueError):
    """Arrays that do not make a matrix."""


class SetupError(ZigguratError, ValueError):
    """The hierarchy could not be built; says on which level and in which stage."""


class SolveError(ZigguratError, ValueError):
    """The iteration could not be started: a vector of another length, for example."""


class DeviceError(ZigguratError, RuntimeError):
    """The device refused, for want of memory for example."""


class HierarchyError(ZigguratError, ValueError):
    """A pickled hierarchy is broken or of another version."""


class NotConvergedError(ZigguratError, RuntimeError):
    """:func:`ziggurat.solve` found no solution that is as good as was asked for.

    Attributes
    ----------
    info : SolveInfo
        How far it came, and why it stopped.
    x : numpy.ndarray
        What it had reached.
    """

    def __init__(self, text: str, info: SolveInfo | None = None, x: object = None) -> None:
        super().__init__(text)
        self.info = info
        self.x = x


class ConvergenceWarning(UserWarning):
    """``ml.solve`` returns a vector that is not as good as was asked for, and nobody asked for ``return_info``."""
