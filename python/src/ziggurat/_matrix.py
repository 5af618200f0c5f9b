"""Converts scipy matrices and NumPy vectors to the arrays that the native module copies.

The caller's arrays are never modified.
"""

from __future__ import annotations

from typing import Any, Optional, cast

import numpy as np
from scipy import sparse

from ziggurat import _native
from ziggurat._errors import ConfigError, MatrixError, SolveError
from ziggurat._words import counted

__all__ = [
    "SparseMatrix",
    "coordinates",
    "csr_parts",
    "in_order",
    "is_values",
    "near_nullspace",
    "square_parts",
    "values",
    "vector",
]

#: Any two-dimensional matrix or array of scipy.sparse.
SparseMatrix = Any


def in_order(array: Any, dtype: Any = None) -> Any:
    """The array in contiguous, aligned memory: itself if possible, otherwise a copy."""
    return np.require(array, dtype, ["C", "A"])


def csr_parts(A: SparseMatrix) -> tuple[_native.Parts, Optional[int]]:
    """The shape and CSR arrays of ``A``, and the block size if it is a BSR matrix of square blocks.

    The arrays of a CSR matrix of float64 are passed on as they are. Any other matrix is converted.
    """
    if not sparse.issparse(A):
        what = type(A).__name__
        hint = "; convert it with scipy.sparse.csr_array(A)" if isinstance(A, np.ndarray) else ""
        raise TypeError(f"A is a {what}, not a scipy.sparse matrix{hint}")
    A = cast(Any, A)  # issparse narrows A to a class without attributes in the stubs
    if A.ndim != 2:
        raise TypeError(f"A has {A.ndim} dimension(s); it must have two")
    kind = A.dtype.kind
    if kind == "c":
        raise TypeError(
            f"A has dtype {A.dtype}; complex matrices are not supported: solve the real system of twice the size, with the matrix "
            "R = scipy.sparse.block_array([[A.real, -A.imag], [A.imag, A.real]]) after R.eliminate_zeros() and the right-hand side "
            "numpy.concatenate([b.real, b.imag]); the solution is x[:n] + 1j * x[n:]"
        )
    if kind not in "fiub" or A.dtype.itemsize > 8:
        raise TypeError(f"A has dtype {A.dtype}; convert it to float64")
    block = None
    if A.format == "bsr" and A.blocksize[0] == A.blocksize[1]:
        block = int(A.blocksize[0])
    csr = A if A.format == "csr" else _own_csr(A)
    indptr, indices, data = in_order(csr.indptr), in_order(csr.indices), in_order(csr.data, np.float64)
    # In-place operations can leave unused space after the last entry.
    nnz = int(indptr[-1]) if len(indptr) else 0
    rows, cols = csr.shape
    return (rows, cols, indptr, indices[:nnz], data[:nnz]), block


def _check_entries(coo: Any) -> None:
    """Checks the indices of a matrix in coordinate format, as newer versions of SciPy do in copies."""
    for name, index, extent in (("row", coo.row, coo.shape[0]), ("column", coo.col, coo.shape[1])):
        if index.size != coo.data.size:
            raise ValueError(f"there are {index.size} {name} indices and {coo.data.size} values")
        if index.size and not 0 <= index.min() <= index.max() < extent:
            raise ValueError(f"{name} indices are from {index.min()} to {index.max()}, but must be from 0 to {extent - 1}")


def _own_csr(A: Any) -> Any:
    """A matrix of another format as CSR.

    SciPy's conversions trust the indices, which may be wrong, or be changed by another thread
    meanwhile. So they get a copy that has been checked.
    """
    try:
        own = A.copy()
        if own.format in ("csc", "bsr"):
            own.check_format(full_check=True)
        elif own.format == "coo":
            _check_entries(own)
    except ValueError as error:
        raise MatrixError(f"A has invalid arrays: {error}") from None
    return own.tocsr()


def square_parts(A: SparseMatrix) -> tuple[_native.Parts, Optional[int]]:
    """The same for a matrix that must be square."""
    parts, block = csr_parts(A)
    if parts[0] != parts[1]:
        raise MatrixError(f"A must be square; it is {parts[0]} x {parts[1]}")
    return parts, block


def near_nullspace(given: Any, rows: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Near-nullspace vectors as the columns of a matrix."""
    vectors = np.asarray(given, dtype=np.float64)
    vectors = vectors.reshape(-1, 1) if vectors.ndim == 1 else vectors
    if vectors.ndim != 2:
        raise ConfigError(f"near_nullspace has {vectors.ndim} dimensions; give a matrix with one vector per column")
    if vectors.shape[0] != rows:
        hint = "; it looks transposed: give near_nullspace.T" if vectors.shape[1] == rows else ""
        raise ConfigError(
            f"near_nullspace has shape {vectors.shape}, but the matrix has {counted(rows, 'row')}; give one vector per column, "
            f"shape ({rows}, k){hint}"
        )
    return cast("np.ndarray[Any, np.dtype[np.float64]]", in_order(vectors))


def coordinates(given: Any, rows: int, block: Optional[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Coordinates, one row per node or per unknown. ``block`` is the number of unknowns per node."""
    points = in_order(given, np.float64)
    if points.ndim != 2:
        raise ConfigError(f"coords has {counted(points.ndim, 'dimension')}; give one row per node, with x, y and z in columns")
    count, dimension = points.shape
    # How many unknowns nodes have is seen in the matrix, unless the caller knows.
    fits = count == rows or (count * block == rows if block else count > 0 and rows % count == 0)
    if dimension in (1, 2, 3) and fits:
        return cast("np.ndarray[Any, np.dtype[np.float64]]", points)
    transposed = count in (1, 2, 3) and (dimension == rows or dimension * (block or count) == rows)
    wanted = count if transposed else dimension if dimension in (2, 3) else 3
    per_node = block or wanted
    shapes = [f"one row per unknown, shape ({rows}, {wanted})"]
    if rows % per_node == 0:
        shapes.insert(0, f"one row per node, shape ({rows // per_node}, {wanted})")
    hint = "; it looks transposed: give coords.T" if transposed else ""
    raise ConfigError(
        f"coords has shape {points.shape}, but the matrix has {counted(rows, 'row')}; give {' or '.join(shapes)}, "
        f"with x, y and z in columns{hint}"
    )


def is_values(given: Any) -> bool:
    """Whether this is a vector, of the values of a matrix, and not a matrix."""
    return not sparse.issparse(given) and np.ndim(given) == 1


def values(given: Any, entries: Optional[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The values of a matrix with this many entries; ``None`` if their order is not known."""
    if entries is None:
        raise ConfigError(
            "an array of values needs the order of a CSR matrix with sorted rows and without duplicates, which was not given at "
            "setup; give the whole matrix, or set up with A = A.tocsr() after A.sum_duplicates()"
        )
    array = np.asarray(given)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(f"the values have dtype {array.dtype}; convert them to float64")
    if array.size != entries:
        raise MatrixError(f"there are {array.size} values, but the matrix has {entries} entries")
    return cast("np.ndarray[Any, np.dtype[np.float64]]", in_order(array, np.float64))


def vector(b: Any, rows: int, name: str = "b") -> tuple[np.ndarray[Any, np.dtype[np.float64]], tuple[int, ...]]:
    """The columns of ``b`` as one contiguous float64 vector, and the shape of ``b``."""
    if sparse.issparse(b):
        raise TypeError(f"{name} is sparse; use {name}.toarray()")
    array = np.asarray(b)
    if array.dtype.kind == "c":
        raise TypeError(
            f"{name} has dtype {array.dtype}, but the matrix is real: solve for real and imaginary part as two right-hand sides, "
            f"X = ml.solve(numpy.column_stack([{name}.real, {name}.imag])); the solution is X[:, 0] + 1j * X[:, 1]"
        )
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {array.dtype}; it must be numeric")
    if array.ndim not in (1, 2):
        raise SolveError(f"{name} has {array.ndim} dimensions; give a vector, or a matrix with one right-hand side per column")
    if array.shape[0] != rows:
        what = "the right-hand side" if name == "b" else "the initial guess"
        raise SolveError(f"{what} has {counted(array.shape[0], 'entry')}, but the matrix has {counted(rows, 'row')}")
    columns = in_order(array.T, np.float64).reshape(-1)
    return columns, array.shape
