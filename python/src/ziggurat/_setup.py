"""Functions that choose, and set a solver up: what most users call."""

from __future__ import annotations

import json
from typing import Any, Literal, Optional, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ziggurat import _native
from ziggurat._info import NotConvergedError
from ziggurat._matrix import SparseMatrix
from ziggurat._options import merged, real
from ziggurat._solver import MultilevelSolver


def solver(
    A: SparseMatrix,
    method: str = "auto",
    *,
    precision: str = "auto",
    krylov: str = "auto",
    tol: Optional[float] = None,
    near_nullspace: Optional[ArrayLike] = None,
    coords: Optional[ArrayLike] = None,
    block_size: Optional[int] = None,
    threads: Optional[int] = None,
    preset: Optional[str] = None,
    config: Optional[dict[str, Any]] = None,
    copy: bool = False,
) -> MultilevelSolver:
    """Sets a solver up for a matrix.

    Parameters
    ----------
    A : scipy.sparse matrix or array
        Square; csr, csc, coo, bsr …; int32 or int64 indices; float64 or float32 values. A CSR matrix of float64 with int32 indices
        is not copied: do not change it in place while the solver lives, or give ``copy=True``. It is never changed.
    method : str
        How the hierarchy is built: 'auto', 'sa' (smoothed aggregation), 'classical' (Ruge–Stüben), 'pairwise'.
    precision : str
        What it is stored in: 'auto', 'f64', 'f32', 'f16', 'bf16', or a ladder by levels. The solution is always in double precision.
    krylov : str
        The outer iteration: 'auto', 'cg', 'fcg', 'gmres', 'fgmres', 'bicgstab'.
    tol : float, optional
        The relative tolerance of solves that give none: 1e-8.
    near_nullspace : array, optional
        Vectors that the matrix maps to almost zero, in columns, such as rigid-body modes; constants otherwise.
    coords : array, optional
        Coordinates of the nodes, one row each: for elasticity, instead of ``near_nullspace``.
    block_size : int, optional
        Unknowns per node, with ``near_nullspace``; otherwise those of a BSR matrix, or what the pattern shows.
    threads : int, optional
        Threads to compute with; every core otherwise. Results do not depend on it.
    preset : str, optional
        Begin with 'robust', 'fast' or 'low-memory'.
    config : dict, optional
        Anything else, as in a configuration file of ``ziggurat solve``: ``{"smoother": {"kind": "chebyshev"}}``.
        :func:`ziggurat.default_config` shows all of it.
    copy : bool
        Copy ``A``'s arrays.

    Examples
    --------
    >>> import ziggurat
    >>> A = ziggurat.gallery.poisson2d(40)
    >>> ml = ziggurat.solver(A, method="classical", precision="f16")
    >>> ml.levels[0].storage
    'f16'
    >>> ziggurat.solver(A, method="clasical")
    Traceback (most recent call last):
    ziggurat.ConfigError: `method`: unknown method `clasical`; did you mean `classical`? (known: auto, sa, classical, pairwise)
    """
    if config is not None and not isinstance(config, dict):
        raise TypeError(f"config is a {type(config).__name__}; give a dict")
    asked: dict[str, Any] = {} if preset is None else json.loads(_native.preset(preset))
    chosen = {"method": method, "precision": precision, "krylov": krylov}
    asked.update({key: value for key, value in chosen.items() if value != "auto"})
    if tol is not None:
        asked = merged(asked, {"stopping": {"rtol": real("tol", tol)}})
    asked = merged(asked, config or {})
    return MultilevelSolver(A, asked, near_nullspace, coords, threads, copy, block_size)


#: The cycle of the solvers that have PyAMG's names.
_CYCLE = {"smoother": {"kind": "chebyshev", "degree": 2}}


def _extent(max_levels: Optional[int], max_coarse: Optional[int]) -> dict[str, Any]:
    """PyAMG's names for the extent of a hierarchy."""
    given = {"max_levels": max_levels, "coarse_rows": max_coarse}
    return {"hierarchy": {key: value for key, value in given.items() if value is not None}}


def smoothed_aggregation_solver(
    A: SparseMatrix,
    B: Optional[ArrayLike] = None,
    *,
    max_levels: Optional[int] = None,
    max_coarse: Optional[int] = None,
    **options: Any,
) -> MultilevelSolver:
    """Smoothed aggregation, under PyAMG's name.

    PyAMG's cycle smooths with four sweeps of Gauss–Seidel, one after the other. Here polynomials of Chebyshev, of degree 2, take their
    place, which threads can share: a stronger cycle than that of :func:`ziggurat.solver`, so that fewer iterations are needed.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    B : array, optional
        Near-nullspace vectors, in columns.
    max_levels, max_coarse : int, optional
        Levels at most, and rows that are solved directly.
    **options
        Those of :func:`ziggurat.solver`.

    Examples
    --------
    >>> import ziggurat
    >>> problem = ziggurat.gallery.problem("elasticity3d:5")
    >>> modes = ziggurat.gallery.rigid_body_modes(problem.coords)
    >>> ml = ziggurat.smoothed_aggregation_solver(problem.A, modes, max_coarse=100)
    >>> ml.config["method"], ml.levels[-1].rows <= 100
    ('sa', True)
    """
    options["config"] = merged({**_CYCLE, **_extent(max_levels, max_coarse)}, options.get("config") or {})
    if B is not None:
        options["near_nullspace"] = B
    return solver(A, "sa", **options)


def ruge_stuben_solver(
    A: SparseMatrix,
    *,
    max_levels: Optional[int] = None,
    max_coarse: Optional[int] = None,
    **options: Any,
) -> MultilevelSolver:
    """Classical (Ruge–Stüben) multigrid, under PyAMG's name; parameters as in :func:`smoothed_aggregation_solver`.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.ruge_stuben_solver(ziggurat.gallery.poisson2d(40)).config["method"]
    'classical'
    """
    # PyAMG coarsens every level by one step, and we by two on the finest unless told.
    usual = {**_CYCLE, **_extent(max_levels, max_coarse), "classical": {"aggressive_levels": 0}}
    options["config"] = merged(usual, options.get("config") or {})
    return solver(A, "classical", **options)


@overload
def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = ...,
    tol: float = ...,
    maxiter: Optional[int] = ...,
    *,
    residuals: Optional[list[float]] = ...,
    return_solver: Literal[False] = ...,
    **options: Any,
) -> NDArray[np.float64]: ...


@overload
def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = ...,
    tol: float = ...,
    maxiter: Optional[int] = ...,
    *,
    residuals: Optional[list[float]] = ...,
    return_solver: Literal[True],
    **options: Any,
) -> tuple[NDArray[np.float64], MultilevelSolver]: ...


def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = None,
    tol: float = 1e-8,
    maxiter: Optional[int] = None,
    *,
    residuals: Optional[list[float]] = None,
    return_solver: bool = False,
    **options: Any,
) -> Any:
    """Solves A x = b, everything chosen by the matrix.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    b : array
        The right-hand side, or several in the columns of a matrix.
    x0, tol, maxiter, residuals
        As in :meth:`MultilevelSolver.solve`.
    return_solver : bool
        Return ``(x, ml)``, to solve with the same matrix again.
    **options
        Those of :func:`ziggurat.solver`.

    Raises
    ------
    NotConvergedError
        If the solution is not as good as was asked for; it has ``info``, and what was reached as ``x``.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> A = ziggurat.gallery.poisson3d(20)
    >>> x = ziggurat.solve(A, np.ones(A.shape[0]))
    >>> float(np.abs(A @ x - 1).max()) < 1e-6
    True
    """
    ml = solver(A, **options)
    x, info = ml.solve(b, x0, tol, maxiter, residuals=residuals, return_info=True)
    for one in info if isinstance(info, list) else [info]:
        if not one.converged:
            raise NotConvergedError(one._failure(), one, x)
    return (x, ml) if return_solver else x


def default_config() -> dict[str, Any]:
    """Every key of a configuration, with its usual value.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.default_config()["stopping"]["rtol"]
    1e-08
    """
    return json.loads(_native.config("{}"))  # type: ignore[no-any-return]
