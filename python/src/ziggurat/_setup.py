"""The functions that set up a solver, and ``solve``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Optional, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ziggurat import _native, _pyamg
from ziggurat._arguments import SolveArguments, SolveAtOnceArguments, SolverArguments, unexpected
from ziggurat._info import raise_unless_converged
from ziggurat._matrix import SparseMatrix
from ziggurat._options import merged, one_of, real
from ziggurat._solver import MultilevelSolver

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["choices", "default_config", "ruge_stuben_solver", "smoothed_aggregation_solver", "solve", "solver"]


def solver(
    A: SparseMatrix,
    method: str = "auto",
    *,
    precision: str = "auto",
    krylov: Optional[str] = None,
    accel: Optional[str] = None,
    cycle: Optional[str] = None,
    tol: Optional[float] = None,
    rtol: Optional[float] = None,
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
        The multigrid method: 'auto', 'sa' (smoothed aggregation), 'classical' (Ruge–Stüben),
        'pairwise' (pairwise aggregation), 'structured' (structured grids in natural order), 'cpr'
        (reservoir systems with several unknowns per cell), 'air' (transport and convection), 'bamg'
        (structures without coordinates), 'direct' (no levels: sparse factors of the matrix), or 'none'
        (no levels: the smoother alone).
    precision : str
        The storage precision of the levels: 'auto', 'f64', 'f32', 'f16', 'bf16', or a list by level
        such as 'f64-f32,f16' (arithmetic, then storage). The solution always has double precision.
    krylov, accel : str, optional
        The Krylov method: 'auto', 'cg', 'fcg', 'gmres', 'fgmres', 'bicgstab', 'minres', 'idr' or
        'cgs'; or 'none' for multigrid alone. ``accel`` is PyAMG's name of the same argument.
    cycle : str, optional
        The multigrid cycle: 'V', 'W', 'F', or 'K' ('AMLI' in PyAMG). The default is chosen by the
        method.
    tol, rtol : float, optional
        The default relative tolerance of solves. It is 1e-8 if not given. ``rtol`` is scipy's name
        of the same argument.
    near_nullspace : array, optional
        Near-nullspace vectors, such as rigid-body modes, as columns. The default is the constant
        vector.
    coords : array, optional
        Coordinates for elasticity, instead of ``near_nullspace``: one row per node, or one row per
        unknown.
    block_size : int, optional
        Unknowns per node. It must divide the number of rows. The default is the block size of a BSR
        matrix, or else what the sparsity pattern suggests.
    threads : int, optional
        The number of threads. The default is ``RAYON_NUM_THREADS``, else ``OMP_NUM_THREADS``, else
        ``SLURM_CPUS_PER_TASK``, else one per core that the process is bound to. Results do not
        depend on it.
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
    ziggurat.ConfigError: `method`: unknown method `clasical`; did you mean `classical`? (known: auto, sa, classical, pairwise, structured, cpr, air, bamg, direct, none)
    """
    if isinstance(method, dict):
        raise TypeError("method is a dict; for PyAMG's solver(A, config) write ziggurat.smoothed_aggregation_solver(A, **config)")
    if config is not None and not isinstance(config, dict):
        raise TypeError(f"config is a {type(config).__name__}; it must be a dict")
    asked: dict[str, Any] = {} if preset is None else json.loads(_native.preset(preset))
    chosen = {"method": method, "precision": precision, "krylov": one_of(krylov=krylov, accel=accel)}
    asked.update({key: value for key, value in chosen.items() if value not in (None, "auto")})
    tolerance = real("tol", one_of(tol=tol, rtol=rtol))
    if tolerance is not None:
        asked = merged(asked, {"stopping": {"rtol": tolerance}})
    if cycle is not None:
        asked = merged(asked, {"cycle": {"kind": _pyamg.cycle(cycle)}})
    asked = merged(asked, config or {})
    return MultilevelSolver(A, asked, near_nullspace, coords, threads, block_size)


#: The smoother of the solvers with PyAMG's names.
_SMOOTHER = {"smoother": {"kind": "chebyshev", "degree": 2}}


def _with_config(options: SolverArguments, *parts: dict[str, Any]) -> SolverArguments:
    """The options with these configurations, which the caller's own configuration overrides."""
    config: dict[str, Any] = {}
    for part in (*parts, options.get("config") or {}):
        config = merged(config, part)
    return {**options, "config": config}


def smoothed_aggregation_solver(
    A: SparseMatrix,
    B: Optional[ArrayLike] = None,
    BH: None = None,
    symmetry: str = "auto",
    strength: Any = "auto",
    aggregate: Any = "auto",
    smooth: Any = "auto",
    presmoother: Any = "auto",
    postsmoother: Any = "auto",
    improve_candidates: Any = "auto",
    max_levels: Optional[int] = None,
    max_coarse: Optional[int] = None,
    diagonal_dominance: bool = False,
    keep: bool = False,
    *,
    coarse_solver: Any = "auto",
    **options: Unpack[SolverArguments],
) -> MultilevelSolver:
    """Smoothed aggregation, under PyAMG's name and with its arguments.

    PyAMG's cycle smooths with four sequential Gauss–Seidel sweeps. By default, this one uses
    Chebyshev polynomials of degree 2 instead, which run in parallel. The cycle is stronger than the
    default of :func:`ziggurat.solver` and needs fewer iterations.

    An argument that has no equivalent raises :class:`ConfigError`, which says what to write instead.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    B : array, optional
        Near-nullspace vectors, as columns.
    strength
        'symmetric' or 'classical', also with a threshold, as in ``('symmetric', {'theta': 0.08})``.
        None makes all connections strong.
    smooth
        'jacobi', also with a damping, as in ``('jacobi', {'omega': 4/3})``. None is plain
        aggregation.
    presmoother, postsmoother
        'gauss_seidel' (or 'block_gauss_seidel'), 'jacobi' or 'chebyshev', also with parameters, as
        in ``('gauss_seidel', {'sweep': 'symmetric', 'iterations': 2})``. Both must be alike up to
        the number of sweeps. Gauss–Seidel runs forward before the coarse correction and backward
        after it, in parallel over blocks of rows. None is no smoothing.
    max_levels, max_coarse : int, optional
        The maximum number of levels, and the maximum number of rows that are solved directly.
    coarse_solver
        'pinv', 'splu', 'lu' and 'cholesky' are accepted: the coarsest level is solved directly.
    symmetry, aggregate, improve_candidates, BH, diagonal_dominance, keep
        Accepted only with the values that describe what is done anyway: symmetry is found in the
        matrix, aggregates are 'standard', and ``B`` is used as it is.
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
    >>> sweep = ("gauss_seidel", {"sweep": "symmetric"})
    >>> ml = ziggurat.smoothed_aggregation_solver(problem.A, modes, presmoother=sweep, postsmoother=sweep)
    >>> ml.config["smoother"]["kind"], ml.config["cycle"]["pre_sweeps"]
    ('gauss-seidel', 2)
    """
    parts = (
        _SMOOTHER,
        _pyamg.aggregation(BH, symmetry, strength, aggregate, smooth, improve_candidates, diagonal_dominance, keep),
        _pyamg.smoothers(presmoother, postsmoother),
        _pyamg.extent(max_levels, max_coarse, coarse_solver),
    )
    if B is not None:
        options["near_nullspace"] = B
    return solver(A, "sa", **_with_config(options, *parts))


def ruge_stuben_solver(
    A: SparseMatrix,
    strength: Any = "auto",
    CF: Any = "auto",
    interpolation: Any = "auto",
    presmoother: Any = "auto",
    postsmoother: Any = "auto",
    max_levels: Optional[int] = None,
    max_coarse: Optional[int] = None,
    keep: bool = False,
    *,
    coarse_solver: Any = "auto",
    **options: Unpack[SolverArguments],
) -> MultilevelSolver:
    """Classical (Ruge–Stüben) multigrid, under PyAMG's name and with its arguments.

    ``CF`` may be 'PMIS', the coarsening that is used, and ``interpolation`` 'classical'; the default
    is extended+i. The other parameters are those of :func:`smoothed_aggregation_solver`.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.ruge_stuben_solver(ziggurat.gallery.poisson2d(40)).config["method"]
    'classical'
    """
    parts = (
        _SMOOTHER,
        # PyAMG does not coarsen aggressively; our default does on the finest level.
        {"classical": {"aggressive_levels": 0}},
        _pyamg.classical(strength, CF, interpolation, keep),
        _pyamg.smoothers(presmoother, postsmoother),
        _pyamg.extent(max_levels, max_coarse, coarse_solver),
    )
    return solver(A, "classical", **_with_config(options, *parts))


@overload
def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = ...,
    tol: Optional[float] = ...,
    maxiter: Optional[int] = ...,
    *,
    return_info: Literal[False] = ...,
    return_solver: Literal[False] = ...,
    **options: Unpack[SolveAtOnceArguments],
) -> NDArray[np.float64]: ...


@overload
def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = ...,
    tol: Optional[float] = ...,
    maxiter: Optional[int] = ...,
    *,
    return_info: Literal[False] = ...,
    return_solver: Literal[True],
    **options: Unpack[SolveAtOnceArguments],
) -> tuple[NDArray[np.float64], MultilevelSolver]: ...


@overload
def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = ...,
    tol: Optional[float] = ...,
    maxiter: Optional[int] = ...,
    *,
    return_info: Literal[True],
    return_solver: Literal[False] = ...,
    **options: Unpack[SolveAtOnceArguments],
) -> tuple[NDArray[np.float64], Any]: ...


@overload
def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = ...,
    tol: Optional[float] = ...,
    maxiter: Optional[int] = ...,
    *,
    return_info: Literal[True],
    return_solver: Literal[True],
    **options: Unpack[SolveAtOnceArguments],
) -> tuple[NDArray[np.float64], Any, MultilevelSolver]: ...


def solve(
    A: SparseMatrix,
    b: ArrayLike,
    x0: Optional[ArrayLike] = None,
    tol: Optional[float] = None,
    maxiter: Optional[int] = None,
    *,
    return_info: bool = False,
    return_solver: bool = False,
    **options: Any,
) -> Any:
    """Solves A x = b with a solver chosen for the matrix.

    It sets up ``ml = ziggurat.solver(A, …)`` and returns ``ml.solve(b, …)``. It takes the arguments
    of both, and fails as ``ml.solve`` does.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    b : array
        The right-hand side, or a matrix whose columns are right-hand sides.
    x0, tol, maxiter
        As in :meth:`MultilevelSolver.solve`.
    return_info : bool
        Return ``(x, info)``, and do not raise if the solution misses the tolerance.
    return_solver : bool
        Return ``(x, ml)``, so that the solver can be reused, or ``(x, info, ml)``.
    **options
        Options of :meth:`MultilevelSolver.solve` (``callback``, ``residuals``, ``atol``, …) and of
        :func:`ziggurat.solver` (``method``, ``coords``, ``preset``, …).

    Raises
    ------
    NotConvergedError
        If the solution misses the tolerance and ``return_info`` is not set. Its ``info`` says why,
        and ``x`` is the last iterate.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> A = ziggurat.gallery.poisson3d(20)
    >>> x = ziggurat.solve(A, np.ones(A.shape[0]))
    >>> float(np.abs(A @ x - 1).max()) < 1e-6
    True
    >>> x, info = ziggurat.solve(A, np.ones(A.shape[0]), rtol=1e-4, accel="fcg", return_info=True)
    >>> info.krylov, info.relative_residual <= 1e-4
    ('fcg', True)
    """
    if options.pop("verb", False):
        raise TypeError("solve() never prints; for verb=True write logging.basicConfig(level=logging.INFO)")
    of_solve = {name: options.pop(name) for name in SolveArguments.__annotations__ if name in options}
    # Keywords that both take belong to setup, which may choose other parts to fit.
    of_setup = {name: of_solve.pop(name) for name in ("krylov", "accel", "cycle", "rtol") if name in of_solve}
    known = [*SolverArguments.__annotations__, *SolveArguments.__annotations__]
    for name in options:
        if name != "method" and name not in SolverArguments.__annotations__:
            raise unexpected("solve", name, [*known, "method", "maxiter", "return_info", "return_solver"])
    ml = solver(A, tol=tol, **options, **of_setup)
    x, info = ml.solve(b, x0, None, maxiter, return_info=True, **of_solve)
    if not return_info:
        raise_unless_converged(x, info if isinstance(info, list) else [info])
    if return_info and return_solver:
        return x, info, ml
    if return_info:
        return x, info
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
    ['auto', 'sa', 'classical', 'pairwise', 'structured', 'cpr', 'air', 'bamg', 'direct', 'none']
    """
    return {key: dict(values) for key, values in json.loads(_native.choices())}
