"""The levels of a hierarchy, as scipy's matrices."""

from __future__ import annotations

from typing import Any, Optional

from scipy import sparse

from ziggurat import _native


class Level:
    """One level of a hierarchy: its matrix ``A``, the prolongation ``P`` from the next level and the restriction ``R`` to it
    (``None`` on the coarsest), and how it is stored.

    Attributes
    ----------
    rows, nnz : int
    storage, working : str
        The number that its matrix is stored in, and the one that is computed in.
    format : str
        How the matrix lies in memory.
    bytes, transfer_bytes : int
        Of its matrix, and of ``P`` and ``R``.
    reason : str
        Which formats were considered, with their bytes.
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
        """The level's matrix, in double precision: a copy."""
        found = self._matrix("A")
        assert found is not None, "every level has a matrix"
        return found

    @property
    def P(self) -> Optional[sparse.csr_array]:
        """The prolongation from the next level: a copy."""
        return self._matrix("P")

    @property
    def R(self) -> Optional[sparse.csr_array]:
        """The restriction to the next level: a copy."""
        return self._matrix("R")

    def __repr__(self) -> str:
        stored = f"{self.storage} {self.format}, {self.bytes} bytes"
        return f"<Level {self._index}: {self.rows} rows, {self.nnz} entries, {stored}>"
