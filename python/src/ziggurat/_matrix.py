"""From scipy's matrices to arrays that the native part reads, without changing the caller's."""

from __future__ import annotations

from typing import Any, Optional, cast

import numpy as np
from scipy import sparse

from ziggurat import _native
from ziggurat._errors import SolveError

#: What a caller may give as a matrix: anything of scipy.sparse with two dimensions.
SparseMatrix = Any


def in_order(array: Any, dtype: Any = None) -> Any:
    """An array as the native part can read it: contiguous and aligned. It is copied if it is not so already."""
    return np.require(array, dtype, ["C", "A"])


def csr_parts(A: SparseMatrix, copy: bool = False) -> tuple[_native.Parts, Optional[int]]:
    """Rows, columns, row pointers, column indices and values of ``A``, and its block size if it has one.

    A CSR matrix of float64 is handed on as it is; everything else is converted, into a copy.
    """
    if not sparse.issparse(A):
        what = type(A).__name__
        hint = "; scipy.sparse.csr_array(A) makes a sparse matrix of it" if isinstance(A, np.ndarray) else ""
        raise TypeError(f"A is a {what}, not a matrix of scipy.sparse{hint}")
    A = cast(Any, A)  # the narrowest class that issparse promises has no attributes in its stubs
    if A.ndim != 2:
        raise TypeError(f"A has {A.ndim} dimension; a matrix has two")
    kind = A.dtype.kind
    if kind == "c":
        raise TypeError(f"A is {A.dtype}; complex matrices are not supported: solve for real and imaginary parts, [[Re, -Im], [Im, Re]]")
    if kind not in "fiub" or A.dtype.itemsize > 8:
        raise TypeError(f"A is {A.dtype}; convert it to float64")
    block = None
    if A.format == "bsr" and A.blocksize[0] == A.blocksize[1]:
        block = int(A.blocksize[0])
    csr = A if A.format == "csr" else A.tocsr()
    indptr, indices, data = in_order(csr.indptr), in_order(csr.indices), in_order(csr.data, np.float64)
    # What tocsr has made is nobody else's.
    if copy and csr is A:
        indices, data = indices.copy(), data.copy()
    # After an in-place change that made it smaller, a matrix may have room to spare behind its last entry.
    nnz = int(indptr[-1])
    rows, cols = csr.shape
    return (rows, cols, indptr, indices[:nnz], data[:nnz]), block


def vector(b: Any, rows: int, name: str = "b") -> tuple[np.ndarray[Any, np.dtype[np.float64]], tuple[int, ...]]:
    """The columns of ``b``, one after the other, as float64, and the shape that the solution has to have."""
    array = np.asarray(b)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is {array.dtype}; solve for its real and its imaginary part")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} is {array.dtype}; give numbers")
    if array.ndim not in (1, 2):
        raise SolveError(f"{name} has {array.ndim} dimensions; give a vector, or a matrix with a right-hand side in each column")
    if array.shape[0] != rows:
        what = "the right-hand side" if name == "b" else "the initial guess"
        raise SolveError(f"{what} has {array.shape[0]} entries, the matrix {rows} rows")
    columns = in_order(array.T, np.float64).reshape(-1)
    return columns, array.shape
