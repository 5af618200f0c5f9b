"""New values with the same sparsity pattern."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

import ziggurat
from ziggurat import gallery


@pytest.fixture
def A():
    return gallery.poisson3d(12)


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def test_solutions_are_those_of_the_new_values(A):
    ml = ziggurat.solver(A)
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    for step in range(1, 5):
        # A time step: the mass term grows.
        now = sparse.csr_array(A + step * sparse.eye(A.shape[0]))
        assert ml.update_values(now) is False
        assert residual(now, ml.solve(b), b) <= 1e-8


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
def test_new_values_in_any_format(A, format):
    ml = ziggurat.solver(A)
    ml.update_values((2 * A).asformat(format))
    assert residual(2 * A, ml.solve(np.ones(1728)), np.ones(1728)) <= 1e-8


def test_new_values_are_not_changed_and_may_be_freed(A):
    ml = ziggurat.solver(A)
    now = 2 * A
    before = now.data.copy(), now.indices.copy()
    ml.update_values(now)
    assert np.array_equal(now.data, before[0]) and np.array_equal(now.indices, before[1])
    x = ml.solve(np.ones(1728))
    del now
    assert np.array_equal(ml.solve(np.ones(1728)), x)


@pytest.mark.parametrize("precision", ["f64", "f16"])
@pytest.mark.parametrize("method", ["sa", "classical", "pairwise"])
def test_every_method_takes_new_values(A, method, precision):
    ml = ziggurat.solver(A, method, precision=precision)
    rng = np.random.default_rng(1)
    scale = sparse.csr_array(sparse.diags(rng.uniform(0.5, 2.0, A.shape[0])))
    now = sparse.csr_array(scale @ A @ scale)
    ml.update_values(now)
    assert residual(now, ml.solve(np.ones(1728)), np.ones(1728)) <= 1e-8


def test_a_matrix_that_loses_symmetry_is_rebuilt(A):
    ml = ziggurat.solver(A)
    assert ml.config["krylov"] == "cg"
    now = A.copy()
    now.data *= np.random.default_rng(2).uniform(0.5, 1.0, A.nnz)  # no longer symmetric
    assert ml.update_values(now) is True
    assert ml.config["krylov"] != "cg"
    assert residual(now, ml.solve(np.ones(1728)), np.ones(1728)) <= 1e-8


def test_rebuilding_can_be_configured(A):
    assert ziggurat.solver(A, config={"update": {"rebuild": "always"}}).update_values(2 * A) is True
    assert ziggurat.solver(A, config={"update": {"rebuild": "never"}}).update_values(2 * A) is False


def another_pattern(A):
    changed = A.tolil()
    changed[0, 50] = changed[50, 0] = -0.1
    return changed.tocsr()


def same_count_elsewhere(A):
    """Symmetric, with the same number of entries, in different places."""
    changed = A.tolil()
    changed[0, 50] = changed[50, 0] = -1.0
    changed[0, 1] = changed[1, 0] = 0.0
    return changed.tocsr()


@pytest.mark.parametrize(("change", "text"), [
    (another_pattern, "row 0: there is a new entry in column 50; new values must have the same pattern"),
    (same_count_elsewhere, "row 0: there is no entry in column 1; new values must have the same pattern"),
    (lambda A: gallery.poisson3d(11), "rows of the matrix whose values are to be replaced: expected 1728, found 1331"),
], ids=["more entries", "other places", "another size"])
def test_another_pattern_is_refused_and_the_old_matrix_kept(A, change, text):
    ml = ziggurat.solver(A)
    x = ml.solve(np.ones(1728))
    with pytest.raises(ziggurat.SetupError, match=text):
        ml.update_values(change(A))
    assert np.array_equal(ml.solve(np.ones(1728)), x)


def test_another_pattern_of_another_kind_is_refused_too(A):
    changed = A.tolil()
    changed[0, 50] = -0.1  # no longer symmetric
    ml = ziggurat.solver(A)
    with pytest.raises(ziggurat.SetupError, match="row 0: there is a new entry in column 50"):
        ml.update_values(changed.tocsr())


def test_values_that_are_not_finite_are_refused_and_the_old_matrix_kept(A):
    ml = ziggurat.solver(A)
    x = ml.solve(np.ones(1728))
    now = A.copy()
    now.data[0] = np.nan
    with pytest.raises(ziggurat.SetupError, match="row 0, column 0: the value is NaN"):
        ml.update_values(now)
    assert np.array_equal(ml.solve(np.ones(1728)), x)
    with pytest.raises(TypeError, match="not a scipy.sparse matrix"):
        ml.update_values(A.toarray())


def test_preconditioners_follow(A):
    ml = ziggurat.solver(A)
    M = ml.aspreconditioner()
    b = np.random.default_rng(3).standard_normal(1728)
    before, before_transposed = M @ b, M.rmatvec(b)
    ml.update_values(4 * A)
    assert M @ b == pytest.approx(before / 4, rel=1e-10, abs=1e-12)
    assert M.rmatvec(b) == pytest.approx(before_transposed / 4, rel=1e-10, abs=1e-12)


def test_levels_follow(A):
    ml = ziggurat.solver(A)
    ml.update_values(4 * A)
    assert abs(ml.levels[0].A - 4 * A).max() == 0
    assert ml.setup_seconds > 0


# ---- an array of values


SOLVERS = {
    "smoothed aggregation": {"method": "sa"},
    "16 bits": {"method": "sa", "precision": "f16"},
    "classical": {"method": "classical"},
    "a grid": {"method": "structured"},
    "factors": {"method": "direct"},
    "another order": {"method": "sa", "config": {"reorder": "on"}},
}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("arguments", SOLVERS.values(), ids=SOLVERS)
def test_values_alone_are_the_same_as_the_matrix(A, arguments, sign):
    rng = np.random.default_rng(4)
    scale = sparse.csr_array(sparse.diags(rng.uniform(0.5, 2.0, A.shape[0])))
    now = sparse.csr_array(sign * (scale @ A @ scale))
    assert np.array_equal(now.indices, A.indices)
    by_values, by_matrix = (ziggurat.solver(sign * A, **arguments) for _ in range(2))
    b = np.ones(A.shape[0])
    assert by_values.update_values(now.data) == by_matrix.update_values(now)
    assert np.array_equal(by_values.solve(b), by_matrix.solve(b))
    assert abs(by_values.levels[0].A - now).max() == 0
    # Again, with the values of an update.
    by_values.update_values((sign * A).data)
    assert residual(sign * A, by_values.solve(b), b) <= 1e-8


def test_values_of_every_kind(A):
    ml = ziggurat.solver(A)
    b = np.ones(1728)
    for values in (2 * A.data.astype(np.int64), (2 * A.data).astype(np.float32), (2 * A.data).tolist(), np.repeat(2 * A.data, 2)[::2]):
        ml.update_values(A)
        ml.update_values(values)
        assert residual(2 * A, ml.solve(b), b) <= 1e-8


def test_values_are_copied(A):
    ml = ziggurat.solver(A)
    values = 2 * A.data
    ml.update_values(values)
    x = ml.solve(np.ones(1728))
    values[:] = np.nan
    assert np.array_equal(ml.solve(np.ones(1728)), x)


def test_stored_zeros_have_values_too(A):
    """Levels on a grid store no zeros."""
    with_zero = A.tolil()
    with_zero[0, 1] = with_zero[1, 0] = 1e-3
    with_zero = with_zero.tocsr()
    first, second = with_zero.copy(), with_zero.copy()
    first.data[first.data == 1e-3] = 0.0
    for arguments in ({}, {"method": "sa"}, {"method": "structured"}):
        ml = ziggurat.solver(first, **arguments)
        ml.update_values(second.data)
        assert residual(second, ml.solve(np.ones(1728)), np.ones(1728)) <= 1e-8


def test_unused_space_is_no_value(A):
    longer = A.copy()
    longer.data, longer.indices = np.append(A.data, [np.nan]), np.append(A.indices, [0])
    ml = ziggurat.solver(longer)
    ml.update_values(2 * A.data)
    with pytest.raises(ziggurat.MatrixError, match=f"there are {A.nnz + 1} values, but the matrix has {A.nnz} entries"):
        ml.update_values(longer.data)


def test_values_after_pickling(A):
    ml = pickle.loads(pickle.dumps(ziggurat.solver(A)))
    ml.update_values(2 * A.data)
    assert residual(2 * A, ml.solve(np.ones(1728)), np.ones(1728)) <= 1e-8


def unsorted(A):
    made = A.copy()
    made.indices[:2], made.data[:2] = made.indices[1::-1].copy(), made.data[1::-1].copy()
    made.has_sorted_indices = True  # a flag that is wrong must not matter
    return made


@pytest.mark.parametrize("make", [
    lambda A: A.tocsc(), lambda A: A.tocoo(), lambda A: A.tobsr((2, 2)), unsorted,
], ids=["csc", "coo", "bsr", "unsorted"])
def test_values_need_an_order(A, make):
    ml = ziggurat.solver(make(A))
    with pytest.raises(ziggurat.ConfigError, match=r"needs the order of a CSR matrix .* set up with A = A.tocsr\(\)"):
        ml.update_values(2 * A.data)
    ml.update_values(make(2 * A))  # as it says
    assert residual(2 * A, ml.solve(np.ones(1728)), np.ones(1728)) <= 1e-8


def test_values_that_are_refused_leave_the_old_ones(A):
    ml = ziggurat.solver(A)
    x = ml.solve(np.ones(1728))
    bad = A.data.copy()
    bad[0] = np.nan
    with pytest.raises(ziggurat.SetupError, match="row 0, column 0: the value is NaN"):
        ml.update_values(bad)
    with pytest.raises(TypeError, match="the values have dtype complex128"):
        ml.update_values(1j * A.data)
    with pytest.raises(ziggurat.MatrixError, match="there are 3 values, but the matrix has 11232 entries"):
        ml.update_values([1.0, 2.0, 3.0])
    assert np.array_equal(ml.solve(np.ones(1728)), x)
