"""The levels of a hierarchy, as scipy matrices."""

from __future__ import annotations

from typing import Any, Optional

from scipy import sparse

from ziggurat import _native
from ziggurat._words import counted

__all__ = ["Level"]


class Level:
    """One level of a hierarchy.

    The matrix is ``A``, the prolongation from the next coarser level ``P``, and the restriction to
    it ``R``. ``P`` and ``R`` are ``None`` on the coarsest level.

    Attributes
    ----------
    rows, nnz : int
        Rows and stored entries of the matrix.
    storage, working : str
        The number format in which the matrix is stored, and the one used for arithmetic.
    format : str
        The sparse format of the matrix.
    bytes, transfer_bytes : int
        Memory of the matrix, and of ``P`` and ``R``.
    reason : str
        The sparse formats that were considered, with the bytes that each would take.
    """

    def __init__(self, native: _native.NativeSolver, index: int, data: dict[str, Any]) -> None:
        self._native = native
        self._index = index
        self.rows = int(data["rows"])
        self.nnz = int(data["nnz"])
        self.storage = str(data["storage"])
        self.working = str(data["working"])
        self.format = str(data["format"])
        self.bytes = int(data["bytes"])
        self.transfer_bytes = int(data["transfer_bytes"])
        self.reason = str(data["reason"])
        self.setup_seconds: Optional[float] = data.get("setup_seconds")

    def _matrix(self, which: str) -> Optional[sparse.csr_array]:
        found = self._native.matrix(self._index, which)
        if found is None:
            return None
        rows, cols, (indptr, indices, data) = found
        return sparse.csr_array((data, indices, indptr), shape=(rows, cols))

    @property
    def A(self) -> sparse.csr_array:
        """The matrix of the level: a copy, in double precision."""
        found = self._matrix("A")
        assert found is not None, "every level has a matrix"
        return found

    @property
    def P(self) -> Optional[sparse.csr_array]:
        """The prolongation from the next coarser level: a copy, in double precision."""
        return self._matrix("P")

    @property
    def R(self) -> Optional[sparse.csr_array]:
        """The restriction to the next coarser level: a copy, in double precision."""
        return self._matrix("R")

    def __repr__(self) -> str:
        size = f"{counted(self.rows, 'row')}, {counted(self.nnz, 'entry')}"
        return f"<Level {self._index}: {size}, {self.storage} {self.format}, {counted(self.bytes, 'byte')}>"
