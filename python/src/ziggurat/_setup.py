"""The functions that set up a solver, and ``solve``."""

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
) -> MultilevelSolver:
    """Sets up a solver for a matrix.

    Parameters
    ----------
    A : scipy.sparse matrix or array
        A square matrix in any sparse format, with int32 or int64 indices and real values. It is
        copied, so that you may modify it afterwards; see :meth:`MultilevelSolver.update_values`.
    method : str
        The multigrid method: 'auto', 'sa' (smoothed aggregation), 'classical' (Ruge–Stüben) or
        'pairwise' (pairwise aggregation).
    precision : str
        The storage precision of the levels: 'auto', 'f64', 'f32', 'f16', 'bf16', or a list by level
        such as 'f64-f32,f16' (arithmetic, then storage). The solution always has double precision.
    krylov : str
        The Krylov method: 'auto', 'cg', 'fcg', 'gmres', 'fgmres' or 'bicgstab'.
    tol : float, optional
        The default relative tolerance of solves. It is 1e-8 if not given.
    near_nullspace : array, optional
        Near-nullspace vectors, such as rigid-body modes, as columns. The default is the constant
        vector.
    coords : array, optional
        Coordinates of the nodes, one row per node: for elasticity, instead of ``near_nullspace``.
    block_size : int, optional
        Unknowns per node, used with ``near_nullspace``. The default is the block size of a BSR
        matrix, or else what the sparsity pattern suggests.
    threads : int, optional
        The number of threads. The default is one per core. Results do not depend on it.
    preset : str, optional
        Start from a preset: 'robust', 'fast' or 'low-memory'.
    config : dict, optional
        Any other option, with the keys of a configuration file of ``ziggurat solve``, such as
        ``{"smoother": {"kind": "chebyshev"}}``. It overrides the other arguments.
        :func:`ziggurat.default_config` lists all keys.

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
        raise TypeError(f"config is a {type(config).__name__}; it must be a dict")
    asked: dict[str, Any] = {} if preset is None else json.loads(_native.preset(preset))
    chosen = {"method": method, "precision": precision, "krylov": krylov}
    asked.update({key: value for key, value in chosen.items() if value != "auto"})
    if tol is not None:
        asked = merged(asked, {"stopping": {"rtol": real("tol", tol)}})
    asked = merged(asked, config or {})
    return MultilevelSolver(A, asked, near_nullspace, coords, threads, block_size)


#: The smoother of the solvers with PyAMG's names.
_CYCLE = {"smoother": {"kind": "chebyshev", "degree": 2}}


def _extent(max_levels: Optional[int], max_coarse: Optional[int]) -> dict[str, Any]:
    """The configuration for PyAMG's arguments ``max_levels`` and ``max_coarse``."""
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

    PyAMG's cycle smooths with four sequential Gauss–Seidel sweeps. This one uses Chebyshev
    polynomials of degree 2 instead, which run in parallel. The cycle is stronger than the default
    of :func:`ziggurat.solver` and needs fewer iterations.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    B : array, optional
        Near-nullspace vectors, as columns.
    max_levels, max_coarse : int, optional
        The maximum number of levels, and the maximum number of rows that are solved directly.
    **options
        Options of :func:`ziggurat.solver`.

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
    """Classical (Ruge–Stüben) multigrid, under PyAMG's name.

    The parameters are those of :func:`smoothed_aggregation_solver`.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.ruge_stuben_solver(ziggurat.gallery.poisson2d(40)).config["method"]
    'classical'
    """
    # PyAMG does not coarsen aggressively; our default does on the finest level.
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
    project_rhs: Optional[bool] = ...,
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
    project_rhs: Optional[bool] = ...,
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
    project_rhs: Optional[bool] = None,
    return_solver: bool = False,
    **options: Any,
) -> Any:
    """Solves A x = b with a solver chosen for the matrix.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    b : array
        The right-hand side, or a matrix whose columns are right-hand sides.
    x0, tol, maxiter, residuals, project_rhs
        As in :meth:`MultilevelSolver.solve`.
    return_solver : bool
        Return ``(x, ml)``, so that the solver can be reused.
    **options
        Options of :func:`ziggurat.solver`.

    Raises
    ------
    NotConvergedError
        If the solution misses the tolerance. Its ``info`` says why, and ``x`` is the last iterate.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> A = ziggurat.gallery.poisson3d(20)
    >>> x = ziggurat.solve(A, np.ones(A.shape[0]))
    >>> float(np.abs(A @ x - 1).max()) < 1e-6
    True
    """
    ml = solver(A, **options)
    x, info = ml.solve(
        b, x0, tol, maxiter, residuals=residuals, project_rhs=project_rhs, return_info=True
    )
    for one in info if isinstance(info, list) else [info]:
        if not one.converged:
            raise NotConvergedError(one._failure(), one, x)
    return (x, ml) if return_solver else x


def default_config() -> dict[str, Any]:
    """All configuration keys with their default values.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.default_config()["stopping"]["rtol"]
    1e-08
    """
    return json.loads(_native.config("{}"))  # type: ignore[no-any-return]


def choices() -> dict[str, dict[str, str]]:
    """The names that configuration keys accept, each with a one-line description.

    Examples
    --------
    >>> import ziggurat
    >>> list(ziggurat.choices()["method"])
    ['auto', 'sa', 'classical', 'pairwise']
    """
    return {key: dict(values) for key, values in json.loads(_native.choices())}
