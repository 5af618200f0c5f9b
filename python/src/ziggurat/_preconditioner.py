"""A cycle for the Krylov methods of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator

from ziggurat._matrix import vector

if TYPE_CHECKING:
    from ziggurat._solver import MultilevelSolver


class Preconditioner(LinearOperator):
    """One multigrid cycle as a linear operator, for the ``M`` of scipy's Krylov solvers."""

    def __init__(self, ml: MultilevelSolver) -> None:
        super().__init__(np.dtype(np.float64), ml.shape)  # type: ignore[call-arg]
        self._solver = ml  # which can be pickled, and so can this

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
