"""One multigrid cycle as a preconditioner for scipy's Krylov methods."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator

from ziggurat._matrix import vector
from ziggurat._native import NativeSolver

__all__ = ["Preconditioner"]


class _SolverWithCycle(Protocol):
    """The part of ``MultilevelSolver`` that a preconditioner uses."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def _native(self) -> NativeSolver: ...


class Preconditioner(LinearOperator):
    """One multigrid cycle as a linear operator, to pass as ``M`` to scipy's Krylov solvers.

    ``.T`` is the transposed cycle, for methods that need both, such as ``bicg`` and ``qmr``.
    """

    def __init__(self, ml: _SolverWithCycle) -> None:
        super().__init__(np.dtype(np.float64), ml.shape)  # type: ignore[call-arg]
        # The solver can be pickled, unlike its native part, so the preconditioner can be, too.
        self._solver = ml

    def _apply(self, b: ArrayLike, transposed: bool) -> NDArray[np.float64]:
        columns, shape = vector(b, self.shape[0])
        applied: NDArray[np.float64] = self._solver._native.precondition(columns, transposed).reshape(shape[::-1]).T
        return applied

    def _matvec(self, x: ArrayLike) -> NDArray[np.float64]:
        return self._apply(x, False)

    def _rmatvec(self, x: ArrayLike) -> NDArray[np.float64]:
        return self._apply(x, True)

    def _matmat(self, X: ArrayLike) -> NDArray[np.float64]:
        return self._apply(X, False)

    def _rmatmat(self, X: ArrayLike) -> NDArray[np.float64]:
        return self._apply(X, True)
