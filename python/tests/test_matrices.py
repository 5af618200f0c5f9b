"""Matrices of every format and dtype.

Solutions agree, the caller's arrays are not modified, and later changes of them have no effect.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

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


# ---- arrays that change


def with_own_arrays(A, kind=sparse.csr_array):
    """A copy whose arrays own their memory. scipy's constructors make views."""
    made = kind(A.copy())
    made.data, made.indices, made.indptr = np.array(made.data), np.array(made.indices), np.array(made.indptr)
    assert made.data.base is None and made.indices.base is None and made.indptr.base is None
    return made


def write_columns(A):
    A.indices[:] = A.shape[0] + 10**6


def write_rows(A):
    A.indptr[:] = np.iinfo(A.indptr.dtype).max


def write_values(A):
    A.data[:] = np.nan


def shrink(A):
    """Frees memory, whatever refers to it."""
    for array in (A.data, A.indices, A.indptr):
        array.resize(1, refcheck=False)


def restore(A):
    """Also frees memory, although NumPy refuses to resize an array with a weak reference."""
    for array in (A.data, A.indices, A.indptr):
        array.__setstate__((1, (1,), array.dtype, False, bytes(array.dtype.itemsize)))


@pytest.mark.parametrize("change", [write_columns, write_rows, write_values, shrink, restore])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_a_solver_does_not_see_later_changes(A, expected, kind, change):
    mine = with_own_arrays(A, kind)
    ml = ziggurat.solver(mine)
    change(mine)
    filler = [np.full(A.nnz, 7.0) for _ in range(20)]  # reuses memory that was freed
    b = np.ones(A.shape[0])
    assert np.array_equal(ml.solve(b), expected)
    assert (ml.aspreconditioner() @ b).shape == b.shape
    found = ml.levels[0].A
    assert np.array_equal(found.indices, A.indices) and np.array_equal(found.data, A.data)
    ml.update_values(2 * A)
    assert ml.solve(b) == pytest.approx(expected / 2, rel=1e-6) and len(filler) == 20


def test_new_values_may_be_changed_after_an_update(A, expected):
    ml = ziggurat.solver(2 * A)
    mine = with_own_arrays(A)
    ml.update_values(mine)
    write_columns(mine)
    shrink(mine)
    assert ml.solve(np.ones(A.shape[0])) == pytest.approx(expected, rel=1e-6)


def test_the_arrays_can_be_freed_before_the_solver(A):
    import weakref

    mine = A.copy()
    alive = weakref.ref(mine.data)
    ml = ziggurat.solver(mine)
    del mine
    gc.collect()
    assert alive() is None and ml.shape == A.shape


PROGRAM_THAT_WRITES = """
    import threading, time
    import numpy as np, ziggurat
    A = ziggurat.gallery.poisson3d(30)
    A.indices = np.array(A.indices)
    columns, b = A.indices.copy(), np.ones(A.shape[0])
    ml, done = ziggurat.solver(A), threading.Event()

    def write():
        while not done.is_set():
            A.indices[:] = 2**31 - 1
            b[:] = np.nan
            time.sleep(0.0005)
            A.indices[:] = columns
            b[:] = 1.0
            time.sleep(0.0005)

    writer = threading.Thread(target=write)
    writer.start()
    outcomes = {{"solved": 0, "refused": 0}}
    end = time.perf_counter() + {seconds}
    while time.perf_counter() < end:
        # Whatever these find in the arrays, they either refuse it or solve with it.
        for job in (lambda: ziggurat.solver(A), lambda: ml.update_values(A), lambda: ml.solve(b, return_info=True)):
            try:
                job()
                outcomes["solved"] += 1
            except ziggurat.ZigguratError:
                outcomes["refused"] += 1
    done.set()
    writer.join()
    print("done" if outcomes["solved"] and outcomes["refused"] else outcomes)
"""


def test_another_thread_writes_while_a_matrix_is_validated():
    program = textwrap.dedent(PROGRAM_THAT_WRITES.format(seconds=2))
    ran = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "done", (ran.returncode, ran.stdout, ran.stderr)


PROGRAM_THAT_MIXES = """
    import threading
    import numpy as np, ziggurat
    A = ziggurat.gallery.poisson3d(14).asformat("{format}")
    names = {names}
    own = {{name: np.array(getattr(A, name)) for name in names}}
    for name in names:
        setattr(A, name, own[name].copy())
    rng, done = np.random.default_rng(0), threading.Event()

    def write():
        while not done.is_set():
            for name in names:
                array = getattr(A, name)
                # Other columns of the matrix, columns outside of it, and the right ones again.
                array[:] = rng.permutation(own[name])
                array[:: 7] = 2**31 - 1
                array[:] = own[name]

    writer = threading.Thread(target=write)
    writer.start()
    outcomes = {{"solved": 0, "refused": 0}}
    try:
        for attempt in range(30):
            try:
                ml = ziggurat.solver(A, config={{"fallback": False}})
                b = np.ones(A.shape[0])
                x, info = ml.solve(b, maxiter=20, return_info=True)
                # Whatever was read: setup and solve have the same matrix.
                if info.converged:
                    assert np.linalg.norm(b - ml.levels[0].A @ x) <= 1.01e-8 * np.linalg.norm(b)
                outcomes["solved"] += 1
            except ziggurat.ZigguratError:
                outcomes["refused"] += 1
    finally:
        done.set()
        writer.join()
    print("done" if sum(outcomes.values()) == 30 else outcomes)
"""


@pytest.mark.parametrize(("format", "names"), [
    ("csr", ("indices", "data")),
    ("csr", ("indptr",)),
    ("csc", ("indices", "indptr")),
    ("coo", ("row", "col")),
    ("bsr", ("indices",)),
], ids=lambda value: value if isinstance(value, str) else "-".join(value))
def test_another_thread_writes_during_setup(format, names):
    program = textwrap.dedent(PROGRAM_THAT_MIXES.format(format=format, names=names))
    ran = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "done", (ran.returncode, ran.stdout, ran.stderr)


PROGRAM_THAT_SHRINKS = """
    import threading
    import numpy as np, ziggurat
    A = ziggurat.gallery.poisson3d(40)
    ml = ziggurat.solver(A)
    expected = ml.solve(np.ones(64000))
    for attempt in range(20):
        b = np.ones(64000)
        # The callback runs during the solve, which has released the GIL.
        x = ml.solve(b, callback=lambda progress: b.size > 1 and b.resize(1, refcheck=False))
        assert np.array_equal(x, expected)
    print("done")
"""


def test_a_right_hand_side_that_is_freed_during_a_solve():
    program = textwrap.dedent(PROGRAM_THAT_SHRINKS)
    ran = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "done", (ran.returncode, ran.stdout, ran.stderr)


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
    assert np.array_equal(ml.solve(np.ones(A.shape[0])), expected)


def test_read_only_arrays(A, expected):
    made = A.copy()
    for array in (made.data, made.indices, made.indptr):
        array.flags.writeable = False
    ml = ziggurat.solver(made)
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
    with pytest.raises(TypeError, match=r"complex matrices are not supported: .*\[\[A.real, -A.imag\], \[A.imag, A.real\]\]"):
        ziggurat.solver(A.astype(dtype))


def test_one_dimension_is_refused():
    if not hasattr(sparse.coo_array(np.eye(2)), "coords"):
        pytest.skip("this scipy has no sparse vectors")
    with pytest.raises(TypeError, match=r"A has 1 dimension\(s\); it must have two"):
        ziggurat.solver(sparse.coo_array(np.array([1.0, 0.0, 2.0])))


def test_matrices_that_are_not_square_are_refused(A):
    with pytest.raises(ziggurat.MatrixError, match="A must be square; it is 50 x 576"):
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


@pytest.mark.parametrize("format", ["csc", "bsr"])
def test_invalid_arrays_of_other_formats_are_refused(A, format):
    made = A.asformat(format)
    made.indices = made.indices.copy()
    made.indices[7] = 10**6
    with pytest.raises(ziggurat.MatrixError, match="A has invalid arrays: "):
        ziggurat.solver(made)


@pytest.mark.parametrize(("name", "index"), [("row", 576), ("col", -1)])
def test_entries_outside_the_matrix_are_refused(A, name, index):
    made = A.tocoo()
    setattr(made, name, getattr(made, name).copy())
    getattr(made, name)[7] = index
    with pytest.raises(ziggurat.MatrixError, match=f"A has invalid arrays: .*{index}"):
        ziggurat.solver(made)
