"""A typed program for mypy to check (``python -m mypy`` in ``python/``). It is never run.

`assert_type` is exact, so the check fails if the package's types are wrong or less precise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy import sparse
from typing_extensions import assert_type

import ziggurat

Vector = NDArray[np.float64]


def stop_early(progress: ziggurat.Progress) -> bool:
    assert_type(progress.iteration, int)
    return progress.relative_residual < 1e-3


def solves(A: sparse.csr_array, b: Vector) -> Vector:
    ml = ziggurat.solver(A, method="sa", precision="f16", threads=2, config={"smoother": {"kind": "chebyshev"}})
    assert_type(ml, ziggurat.MultilevelSolver)
    norms: list[float] = []
    assert_type(ml.solve(b, tol=1e-6, maxiter=50, residuals=norms, callback=stop_early), Vector)
    assert_type(ml.solve(b, return_info=False), Vector)
    assert_type(ml.solve(b, transpose=True), Vector)
    assert_type(ml.update_values(A.data), bool)
    x, info = ml.solve(b, return_info=True)
    assert_type(x, Vector)
    # The type of b does not tell whether it is a matrix, for which info is a list.
    assert_type(info, Any)
    assert isinstance(info, ziggurat.SolveInfo)
    assert_type(info.converged, bool)
    assert_type(info.promotion, "str | None")
    assert_type(info.residuals, Vector)
    assert_type(info.to_dict(), dict[str, Any])
    return x


def takes_all_arguments(A: sparse.csr_array, b: Vector) -> int:
    x, info, ml = ziggurat.solve(A, b, coords=np.ones((8, 3)), callback=stop_early, return_info=True, return_solver=True)
    assert_type(x, Vector)
    assert_type(ml, ziggurat.MultilevelSolver)
    assert isinstance(info, ziggurat.SolveInfo)
    assert_type(ziggurat.solve(A, b, rtol=1e-4, atol=0.0, method="sa", return_info=True)[0], Vector)
    ziggurat.solve(A, b, colback=stop_early)  # type: ignore[call-overload]
    ml.solve(b, rtl=1e-4)  # type: ignore[call-overload]
    return info.iterations


def files(path: Path) -> sparse.csr_array:
    ziggurat.solver(ziggurat.read_matrix(path), cycle="W", accel="cg", rtol=1e-6, block_size=3)
    return ziggurat.read_matrix("A.mtx.gz")


def solves_at_once(A: sparse.csr_array, b: Vector) -> Vector:
    assert_type(ziggurat.solve(A, b, tol=1e-10), Vector)
    x, ml = ziggurat.solve(A, b, return_solver=True)
    assert_type(ml, ziggurat.MultilevelSolver)
    assert_type(x, Vector)
    return x


def looks(ml: ziggurat.MultilevelSolver, path: Path) -> int:
    assert_type(ml.shape, tuple[int, int])
    assert_type(ml.setup_seconds, float)
    assert_type(ml.stages, list[tuple[str, float]])
    ml.report(path)
    entries = 0
    for level in ml.levels:
        entries += level.A.nnz
        if level.P is not None:  # None on the coarsest level
            entries += level.P.nnz
    if ml.info is not None:  # None before the first solve
        axes: Axes = ml.info.plot()
        ml.info.plot(axes, label="again")
    return entries


def preconditions(A: sparse.csr_array, b: Vector) -> Vector:
    from scipy.sparse.linalg import LinearOperator, cg

    M: LinearOperator = ziggurat.ruge_stuben_solver(A, max_coarse=100, presmoother="jacobi", postsmoother="jacobi").aspreconditioner()
    x, _ = cg(A, b, M=M)
    return np.asarray(x, dtype=np.float64)


def catches(A: sparse.csr_array, b: Vector) -> str:
    try:
        ziggurat.solve(A, b, maxiter=1)
    except ziggurat.NotConvergedError as error:
        return "" if error.info is None else error.info.reason
    except ziggurat.ZigguratError as error:
        return str(error)
    problem = ziggurat.gallery.problem("elasticity3d:5")
    modes: Vector = ziggurat.gallery.rigid_body_modes(problem.coords)
    ml = ziggurat.smoothed_aggregation_solver(problem.A, modes, max_levels=5)
    assert_type(ml.update_values(problem.A), bool)
    return ziggurat.spy(A).svg
