"""A cycle as a scipy LinearOperator: in scipy's Krylov methods, and transposed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import linalg
from scipy.sparse.linalg import LinearOperator

import ziggurat
from ziggurat import gallery

METHODS = {"poisson3d:12": ["cg", "gmres", "bicgstab", "minres"], "convection3d:12": ["gmres", "bicgstab", "lgmres"]}
CASES = [(name, method) for name, methods in METHODS.items() for method in methods]


@pytest.fixture(scope="module")
def systems():
    return {name: (gallery.problem(name), ziggurat.solver(gallery.problem(name).A)) for name in METHODS}


def counted(method, A, b, **options):
    """Solves with scipy and counts products with A: iterations are not comparable between methods."""
    applied = 0

    def matvec(x):
        nonlocal applied
        applied += 1
        return A @ x

    operator = LinearOperator(A.shape, matvec=matvec, rmatvec=lambda x: A.T @ x, dtype=np.float64)
    x, failed = getattr(linalg, method)(operator, b, maxiter=2000, **options)
    return x, failed, applied


@pytest.mark.parametrize(("name", "method"), CASES)
def test_scipys_krylov_methods_need_fewer_products(systems, name, method):
    problem, ml = systems[name]
    b = np.random.default_rng(0).standard_normal(len(problem.b))
    x, failed, applied = counted(method, problem.A, b, M=ml.aspreconditioner())
    assert failed == 0
    # minres tests the preconditioned residual; the others the true one, against 1e-5.
    assert np.linalg.norm(b - problem.A @ x) <= 1e-3 * np.linalg.norm(b)
    assert applied < counted(method, problem.A, b)[2]


def test_qmr_which_needs_the_transposed_cycle(systems):
    problem, ml = systems["convection3d:12"]
    A, M = problem.A, ml.aspreconditioner()
    calls = {"plain": 0, "transposed": 0}

    def matvec(x):
        calls["plain"] += 1
        return M.matvec(x)

    def rmatvec(x):
        calls["transposed"] += 1
        return M.rmatvec(x)

    M1 = LinearOperator(A.shape, matvec=matvec, rmatvec=rmatvec, dtype=np.float64)
    identity = LinearOperator(A.shape, matvec=lambda x: x, rmatvec=lambda x: x, dtype=np.float64)
    x, failed = linalg.qmr(A, problem.b, M1=M1, M2=identity, maxiter=100)
    assert failed == 0
    assert np.linalg.norm(problem.b - A @ x) <= 1e-4 * np.linalg.norm(problem.b)
    assert calls["plain"] > 0 and calls["transposed"] > 0


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("precision", ["f64", "f16"])
def test_the_transposed_cycle_is_the_transpose(name, precision):
    A = gallery.problem(name).A
    M = ziggurat.solver(A, precision=precision).aspreconditioner()
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, A.shape[0]))
    # 16-bit levels use 32-bit arithmetic.
    tolerance = 1e-12 if precision == "f64" else 1e-5
    assert abs((M @ x) @ y - x @ M.rmatvec(y)) <= tolerance * np.linalg.norm(M @ x) * np.linalg.norm(y)


@pytest.mark.parametrize("name", METHODS)
def test_the_cycle_is_linear_and_columns_are_vectors(systems, name):
    M = systems[name][1].aspreconditioner()
    X = np.random.default_rng(2).standard_normal((M.shape[0], 4))
    for matrix, vector in ((M.matmat, M.matvec), (M.rmatmat, M.rmatvec)):
        Y = matrix(X)
        for column in range(4):
            assert np.array_equal(Y[:, column], vector(X[:, column]))
    # (n, 1) and (n,) are both vectors for scipy
    assert np.array_equal(M.matvec(X[:, :1])[:, 0], M.matvec(X[:, 0]))
    combined = M @ (2 * X[:, 0] - X[:, 1])
    assert combined == pytest.approx(2 * (M @ X[:, 0]) - M @ X[:, 1], rel=1e-9, abs=1e-10)
    assert np.array_equal(M.T @ X[:, 0], M.rmatvec(X[:, 0]))
    assert np.array_equal(M.H @ X[:, 0], M.rmatvec(X[:, 0]))


def test_shape_and_dtype(ml):
    M = ml.aspreconditioner()
    assert isinstance(M, LinearOperator)
    assert M.shape == (8000, 8000)
    assert M.dtype == np.float64
    with pytest.raises(ValueError, match="dimension mismatch"):
        M @ np.ones(7)


def test_a_symmetric_matrix_has_a_symmetric_definite_cycle():
    A = gallery.poisson2d(12)
    # By default this matrix has a single level, whose cycle is the exact inverse.
    ml = ziggurat.solver(A, config={"hierarchy": {"coarse_rows": 20}})
    assert len(ml.levels) > 1
    dense = ml.aspreconditioner() @ np.eye(144)
    assert np.abs(dense - dense.T).max() <= 1e-12
    assert np.linalg.eigvalsh((dense + dense.T) / 2).min() > 0


def test_the_argument_is_not_changed(ml, b):
    before = b.copy()
    ml.aspreconditioner() @ b
    assert np.array_equal(b, before)


def test_it_can_be_pickled(ml, b):
    M = ml.aspreconditioner()
    assert np.array_equal(pickle.loads(pickle.dumps(M)) @ b, M @ b)
