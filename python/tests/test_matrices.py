"""Matrices of every format and dtype.

Solutions agree, the caller's arrays are not modified, and they are copied only when necessary.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy import sparse

import ziggurat

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@pytest.fixture(scope="module")
def A():
    """A matrix of small integers, which every dtype represents exactly."""
    return ziggurat.gallery.poisson2d(24)


@pytest.fixture(scope="module")
def expected(A):
    return ziggurat.solver(A).solve(np.ones(A.shape[0]))


def arrays(matrix):
    """The arrays of a matrix, by name."""
    names = ("data", "indices", "indptr", "row", "col", "offsets", "rows", "coords")
    found = {}
    for name in names:
        value = getattr(matrix, name, None)
        if isinstance(value, np.ndarray):
            found[name] = value
        elif isinstance(value, tuple):
            found.update({f"{name}{place}": part for place, part in enumerate(value)})
    return found


def snapshot(matrix):
    """All state of a matrix that a call could modify."""

    def state(array):
        flags = (array.flags.writeable, array.flags.c_contiguous, array.flags.owndata)
        content = array.tolist() if array.dtype == object else array.tobytes()
        return array.ctypes.data, array.dtype, array.shape, flags, content

    sorted_flag = getattr(matrix, "_has_sorted_indices", None)
    return {name: state(array) for name, array in arrays(matrix).items()}, sorted_flag, dict(getattr(matrix, "_dict", {}))


def with_indices(matrix, dtype):
    """A copy with indices of this dtype. scipy's constructors would narrow them."""
    matrix = matrix.copy()
    for name in ("indices", "indptr", "row", "col", "offsets"):
        if isinstance(getattr(matrix, name, None), np.ndarray):
            try:
                setattr(matrix, name, getattr(matrix, name).astype(dtype))
            except AttributeError:
                pass  # a read-only property in some versions of scipy
    return matrix


def plain_csr(A, indices, data, indptr=None):
    """A CSR matrix with exactly these arrays, which scipy's constructor might copy or narrow."""
    made = sparse.csr_array(A.shape, dtype=data.dtype)
    made.indptr, made.indices, made.data = A.indptr if indptr is None else indptr, indices, data
    return made


@pytest.mark.parametrize("value", [np.float64, np.float32, np.int64, np.int8])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_and_number(A, expected, format, kind, index, value):
    made = getattr(sparse, f"{format}_{kind}")(A.astype(value))
    made = with_indices(made, index)
    before = snapshot(made)
    ml = ziggurat.solver(made)
    x = ml.solve(np.ones(made.shape[0]))
    assert snapshot(made) == before
    # BSR defines the number of unknowns per node, which can change the setup.
    assert np.array_equal(x, expected) or (format == "bsr" and x == pytest.approx(expected, rel=1e-6))


def borrowed(ml, matrix):
    return ml._native.addresses() == (matrix.indices.ctypes.data, matrix.data.ctypes.data)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_csr_of_float64_and_int32_is_not_copied(A, kind):
    made = kind(A)
    assert borrowed(ziggurat.solver(made), made)


def test_everything_else_is_copied(A):
    assert not borrowed(ziggurat.solver(A, copy=True), A)
    narrow = A.astype(np.float32)
    assert not borrowed(ziggurat.solver(narrow), narrow)
    wide = with_indices(A, np.int64)
    assert wide.indices.dtype == np.int64
    assert not borrowed(ziggurat.solver(wide), wide)
    csc = A.tocsc()
    assert not borrowed(ziggurat.solver(csc), csc)


def test_a_copy_does_not_see_later_changes(A, expected):
    mine = A.copy()
    ml = ziggurat.solver(mine, copy=True)
    mine.data[:] = 0.0
    assert np.array_equal(ml.solve(np.ones(A.shape[0])), expected)


def test_borrowed_arrays_stay_alive(A, expected):
    mine = A.copy()
    ml = ziggurat.solver(mine)
    del mine
    gc.collect()
    filler = [np.full(A.nnz, 7.0) for _ in range(20)]  # would reuse the memory if it were free
    assert np.array_equal(ml.solve(np.ones(A.shape[0])), expected)
    assert ml.levels[0].A.nnz == A.nnz and len(filler) == 20


def test_the_matrix_can_be_freed_after_the_solver():
    import weakref

    mine = ziggurat.gallery.poisson2d(10)
    owner = np.array(mine.data)  # has no base, so it owns the memory itself
    mine.data = owner
    alive = weakref.ref(owner)
    ml = ziggurat.solver(mine)
    assert borrowed(ml, mine)
    del mine, owner
    gc.collect()
    assert alive() is not None  # the solver holds it
    del ml
    gc.collect()
    assert alive() is None


# ---- unusual arrays


def test_rows_that_are_not_sorted(A, expected):
    indices, data = A.indices.copy(), A.data.copy()
    for row in range(A.shape[0]):
        part = slice(A.indptr[row], A.indptr[row + 1])
        indices[part], data[part] = indices[part][::-1], data[part][::-1].copy()
    made = plain_csr(A, indices, data)
    before = snapshot(made)
    assert np.array_equal(ziggurat.solver(made).solve(np.ones(A.shape[0])), expected)
    assert snapshot(made) == before


def test_duplicate_entries_are_summed(A, expected):
    coo = A.tocoo()
    twice = sparse.coo_array(
        (np.concatenate([coo.data, coo.data]) / 2, (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=A.shape
    )
    assert np.array_equal(ziggurat.solver(twice).solve(np.ones(A.shape[0])), expected)
    csr = plain_csr(A, np.repeat(A.indices, 2), np.repeat(A.data / 2, 2), 2 * A.indptr)
    assert np.array_equal(ziggurat.solver(csr).solve(np.ones(A.shape[0])), expected)


def test_unused_space_after_the_last_entry(A, expected):
    indices = np.concatenate([A.indices, np.full(9, -5, dtype=np.int32)])
    data = np.concatenate([A.data, np.full(9, np.nan)])
    made = plain_csr(A, indices, data)
    ml = ziggurat.solver(made)
    assert borrowed(ml, made)
    assert np.array_equal(ml.solve(np.ones(A.shape[0])), expected)


def test_read_only_arrays(A, expected):
    made = A.copy()
    for array in (made.data, made.indices, made.indptr):
        array.flags.writeable = False
    ml = ziggurat.solver(made)
    assert borrowed(ml, made)
    b = np.ones(A.shape[0])
    b.flags.writeable = False
    assert np.array_equal(ml.solve(b, x0=np.broadcast_to(0.0, b.shape)), expected)


def test_strided_arrays(A, expected):
    made = plain_csr(A, np.repeat(A.indices, 2)[::2], np.repeat(A.data, 2)[::2])
    assert not made.data.flags.c_contiguous
    ml = ziggurat.solver(made)
    assert np.array_equal(ml.solve(np.ones(A.shape[0])), expected)


def test_arrays_that_are_not_aligned(A, expected):
    room = np.zeros(A.data.nbytes + 1, dtype=np.uint8)
    shifted = room[1:].view(np.float64)
    shifted[:] = A.data
    assert np.array_equal(ziggurat.solver(plain_csr(A, A.indices, shifted)).solve(np.ones(A.shape[0])), expected)


def test_explicit_zeros_change_nothing_but_the_pattern(A, expected):
    coo = A.tocoo()
    zeros = np.zeros(30)
    made = sparse.csr_array(
        (np.append(coo.data, zeros), (np.append(coo.row, np.arange(30)), np.append(coo.col, np.arange(30) + 300))), shape=A.shape
    )
    assert made.nnz == A.nnz + 30
    assert ziggurat.solve(made, np.ones(A.shape[0])) == pytest.approx(expected, rel=1e-6)


# ---- very small matrices


def test_one_by_one():
    ml = ziggurat.solver(sparse.csr_array([[4.0]]))
    assert ml.solve([8.0]).tolist() == [2.0]
    assert ml.solve([[8.0, 4.0]]).tolist() == [[2.0, 1.0]]


def test_an_empty_matrix():
    ml = ziggurat.solver(sparse.csr_array((0, 0)))
    assert ml.shape == (0, 0)
    x, info = ml.solve(np.zeros(0), return_info=True)
    assert x.shape == (0,)
    assert info.converged


# ---- invalid matrices


def test_dense_matrices_are_refused_with_a_hint(A):
    with pytest.raises(TypeError, match=r"A is a ndarray, not a scipy.sparse matrix; convert it with scipy.sparse.csr_array\(A\)"):
        ziggurat.solver(A.toarray())
    with pytest.raises(TypeError, match="A is a list"):
        ziggurat.solver([[1.0]])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_matrices_are_refused_with_a_hint(A, dtype):
    with pytest.raises(TypeError, match=r"complex matrices are not supported: .*\[\[Re, -Im\], \[Im, Re\]\]"):
        ziggurat.solver(A.astype(dtype))


def test_one_dimension_is_refused():
    if not hasattr(sparse.coo_array(np.eye(2)), "coords"):
        pytest.skip("this scipy has no sparse vectors")
    with pytest.raises(TypeError, match=r"A has 1 dimension\(s\); it must have two"):
        ziggurat.solver(sparse.coo_array(np.array([1.0, 0.0, 2.0])))


def test_matrices_that_are_not_square_are_refused(A):
    with pytest.raises(ziggurat.SetupError, match="columns of a square matrix: expected 50, found 576"):
        ziggurat.solver(A[:50])


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_an_entry_that_is_not_finite_is_named(A, value, name):
    made = A.copy()
    made.data[7] = value
    column = A.indices[7]
    row = np.searchsorted(A.indptr, 7, side="right") - 1
    with pytest.raises(ziggurat.SetupError, match=f"row {row}, column {column}: the value is {name}; every entry must be finite"):
        ziggurat.solver(made)


@pytest.mark.parametrize("index", [576, 2**31 - 1, -1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_an_index_outside_the_matrix_is_named(A, index, dtype):
    indices = A.indices.astype(dtype)
    indices[7] = index
    with pytest.raises(ziggurat.MatrixError, match="(entry 7|indices.7)"):
        ziggurat.solver(plain_csr(A, indices, A.data, A.indptr.astype(dtype)))


@pytest.mark.parametrize(("place", "value", "text"), [
    (5, 0, "row 4: its row pointers decrease"),
    (0, 1, "the first row pointer is 1, not 0"),
    (-1, 10**6, "the row pointers end at 1000000"),
])
def test_invalid_row_pointers_are_named(A, place, value, text):
    indptr = A.indptr.copy()
    indptr[place] = value
    with pytest.raises(ziggurat.MatrixError, match=text):
        ziggurat.solver(plain_csr(A, A.indices, A.data, indptr))
