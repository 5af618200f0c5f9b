"""The solver: set up once, solve often."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Callable, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from ziggurat import _native
from ziggurat._errors import ConvergenceWarning, NotConvergedError
from ziggurat._info import SolveInfo
from ziggurat._matrix import SparseMatrix, csr_parts, vector

#: Called after each iteration; returning something true stops the solve.
Callback = Callable[[_native.Progress], object]


class Level:
    """One level of a hierarchy: its matrix ``A``, the prolongation ``P`` from the next level and the restriction ``R`` to it
    (``None`` on the coarsest), and how it is stored.

    Attributes
    ----------
    rows, nnz : int
    storage, working : str
        The number that its matrix is stored in, and the one that is computed in.
    format : str
        How the matrix lies in memory.
    bytes, transfer_bytes : int
        Of its matrix, and of ``P`` and ``R``.
    reason : str
        Which formats were considered, with their bytes.
    """

    def __init__(self, native: _native.NativeSolver, index: int, data: dict[str, Any]) -> None:
        self._native = native
        self._index = index
        self.rows = int(data["rows"])
        self.nnz = int(data["nnz"])
        self.storage = str(data["storage"])
        self.working = str(data["working"])
        self.format = str(data["format"])
        self.bytes = int(data["bytes"])
        self.transfer_bytes = int(data["transfer_bytes"])
        self.reason = str(data["reason"])
        self.setup_seconds: Optional[float] = data.get("setup_seconds")

    def _matrix(self, which: str) -> Optional[sparse.csr_array]:
        found = self._native.matrix(self._index, which)
        if found is None:
            return None
        rows, cols, (indptr, indices, data) = found
        return sparse.csr_array((data, indices, indptr), shape=(rows, cols))

    @property
    def A(self) -> sparse.csr_array:
        """The level's matrix, in double precision: a copy."""
        return self._matrix("A")

    @property
    def P(self) -> Optional[sparse.csr_array]:
        """The prolongation from the next level: a copy."""
        return self._matrix("P")

    @property
    def R(self) -> Optional[sparse.csr_array]:
        """The restriction to the next level: a copy."""
        return self._matrix("R")

    def __repr__(self) -> str:
        stored = f"{self.storage} {self.format}, {self.bytes} bytes"
        return f"<Level {self._index}: {self.rows} rows, {self.nnz} entries, {stored}>"


class Preconditioner(LinearOperator):
    """One multigrid cycle as a linear operator, for the ``M`` of scipy's Krylov solvers."""

    def __init__(self, native: _native.NativeSolver, rows: int) -> None:
        super().__init__(np.dtype(np.float64), (rows, rows))
        self._native = native

    def _apply(self, b: ArrayLike, transposed: bool) -> NDArray[np.float64]:
        columns, shape = vector(b, self.shape[0])
        x = self._native.precondition(columns, transposed)
        return x.reshape(shape[::-1]).T

    def _matvec(self, x: ArrayLike) -> NDArray[np.float64]:
        return self._apply(x, False)

    def _rmatvec(self, x: ArrayLike) -> NDArray[np.float64]:
        return self._apply(x, True)

    def _matmat(self, X: ArrayLike) -> NDArray[np.float64]:
        return self._apply(X, False)

    def _rmatmat(self, X: ArrayLike) -> NDArray[np.float64]:
        return self._apply(X, True)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid over it, key by key."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


class MultilevelSolver:
    """A system that is set up: made by :func:`ziggurat.solver`, which has the parameters.

    Solving releases the GIL, so several Python threads can solve at once. Prints as the table of its levels; can be pickled.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> A = ziggurat.gallery.poisson3d(20)
    >>> ml = ziggurat.solver(A)
    >>> x = ml.solve(np.ones(A.shape[0]))
    >>> float(np.linalg.norm(1 - A @ x)) <= 1e-8 * A.shape[0] ** 0.5
    True
    >>> len(ml.levels), ml.levels[0].rows
    (3, 8000)
    """

    def __init__(
        self,
        A: SparseMatrix,
        config: dict[str, Any],
        near_nullspace: Optional[ArrayLike] = None,
        coords: Optional[ArrayLike] = None,
        threads: Optional[int] = None,
        copy: bool = False,
        block_size: Optional[int] = None,
    ) -> None:
        parts, block = csr_parts(A, copy)
        self._asked = json.dumps(config)
        self._threads = threads
        self._vectors: Optional[_native.Vectors] = None
        self._coords = None if coords is None else np.ascontiguousarray(coords, dtype=np.float64)
        if self._coords is not None and self._coords.ndim != 2:
            raise ValueError(f"coords has {self._coords.ndim} dimension(s); give one row per node: x, y and z in columns")
        if near_nullspace is not None:
            if coords is not None:
                raise ValueError("give near_nullspace or coords, not both: coordinates stand for rigid-body modes")
            vectors = np.asarray(near_nullspace, dtype=np.float64)
            vectors = vectors.reshape(-1, 1) if vectors.ndim == 1 else vectors
            if vectors.ndim != 2:
                raise ValueError(f"near_nullspace has {vectors.ndim} dimensions; give a matrix with a vector in each column")
            self._vectors = (np.ascontiguousarray(vectors), block_size or block)
        self._native = _native.NativeSolver(parts, self._asked, self._vectors, self._coords, threads)
        self._last: Optional[SolveInfo] = None

    # ---- solving

    def solve(
        self,
        b: ArrayLike,
        x0: Optional[ArrayLike] = None,
        tol: Optional[float] = None,
        maxiter: Optional[int] = None,
        *,
        accel: Optional[str] = None,
        residuals: Optional[list[float]] = None,
        callback: Optional[Callback] = None,
        return_info: bool = False,
        atol: Optional[float] = None,
        restart: Optional[int] = None,
        max_seconds: Optional[float] = None,
        verify_every: Optional[int] = None,
    ) -> Any:
        """Solves A x = b.

        Parameters
        ----------
        b : array
            The right-hand side, or several in the columns of a matrix.
        x0 : array, optional
            An initial guess, of the same shape; zero otherwise.
        tol : float, optional
            Stop when ‖b − A x‖ ≤ max(tol ‖b‖, atol), for the true residual: 1e-8 unless the solver was set up with another.
        maxiter : int, optional
            Iterations at most: 1000 otherwise.
        accel : str, optional
            The outer iteration: 'cg', 'fcg', 'gmres', 'fgmres', 'bicgstab'; otherwise what the matrix asks for. (PyAMG
            iterates without one by default. Here a cycle always preconditions a Krylov method.)
        residuals : list, optional
            Filled with the residual norms: that of the guess, then one for each iteration, by the method's recurrence.
        callback : callable, optional
            Called after each iteration with a ``Progress``: ``iteration``, ``residual``, ``relative_residual``,
            ``target``, ``seconds``. The solve stops if it returns something true.
        return_info : bool
            Return ``(x, info)``, where ``info`` is a :class:`SolveInfo`, or a list of them for several right-hand sides.
        atol, restart, max_seconds : optional
            The absolute tolerance, steps before GMRES starts anew, and a limit of time.
        verify_every : int, optional
            Also compute the true residual after every so many iterations, for ``info.true_residuals``.

        Returns
        -------
        x : numpy.ndarray
            Of the shape of ``b``, in float64. If it is not as good as was asked for and ``return_info`` is not given, a
            :class:`ConvergenceWarning` says so.

        Examples
        --------
        >>> import numpy as np, ziggurat
        >>> A = ziggurat.gallery.convection3d(10)
        >>> ml = ziggurat.solver(A)
        >>> B = np.random.default_rng(0).standard_normal((1000, 3))
        >>> X, infos = ml.solve(B, tol=1e-10, return_info=True)
        >>> X.shape, all(info.converged for info in infos)
        ((1000, 3), True)
        """
        rows = self.shape[0]
        columns, shape = vector(b, rows)
        guess = None
        if x0 is not None:
            guess, guess_shape = vector(x0, rows, "x0")
            if guess_shape != shape:
                raise ValueError(f"x0 has shape {guess_shape}, b {shape}; they must agree")
        given: dict[str, Any] = {
            "krylov": accel,
            "restart": restart,
            "rtol": tol,
            "atol": atol,
            "max_iterations": maxiter,
            "max_seconds": max_seconds,
            "verify_every": verify_every,
        }
        options = json.dumps({key: value for key, value in given.items() if value is not None})
        x, outcomes = self._native.solve(columns, guess, options, callback)
        infos = [SolveInfo(outcome) for outcome in outcomes]
        if infos:
            self._last = infos[-1]
        if residuals is not None:
            for outcome, info in zip(outcomes, infos):
                norms = np.concatenate([info.true_residuals[:1, 1], info.residuals]) * outcome.b_norm()
                residuals.extend(norms.tolist())
        solution = x.reshape(shape[::-1]).T
        if return_info:
            return solution, (infos[0] if len(shape) == 1 else infos)
        for column, info in enumerate(infos):
            if not info.converged:
                where = "" if len(infos) == 1 else f"column {column}: "
                text = f"{where}relative residual {info.relative_residual:.2e} after {info.iterations} iterations: {info.reason}"
                warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return solution

    def aspreconditioner(self) -> Preconditioner:
        """One cycle as a scipy LinearOperator: ``scipy.sparse.linalg.cg(A, b, M=ml.aspreconditioner())``.

        It has matvec, matmat and rmatvec, and follows :meth:`update_values`.

        Examples
        --------
        >>> import numpy as np, ziggurat
        >>> from scipy.sparse.linalg import cg
        >>> A = ziggurat.gallery.poisson2d(50)
        >>> x, failed = cg(A, np.ones(2500), M=ziggurat.solver(A).aspreconditioner())
        >>> failed
        0
        """
        return Preconditioner(self._native, self.shape[0])

    def update_values(self, A: SparseMatrix) -> bool:
        """Takes new values on the same pattern, as in time stepping: a fraction of the cost of a new setup.

        Returns
        -------
        bool
            Whether the hierarchy had to be built anew: because solves had become slow, or the matrix is of another kind.

        Examples
        --------
        >>> import numpy as np, ziggurat
        >>> A = ziggurat.gallery.poisson3d(12)
        >>> ml = ziggurat.solver(A)
        >>> ml.update_values(2 * A)
        False
        >>> bool(np.allclose(A @ ml.solve(np.ones(1728)), 0.5))
        True
        """
        return self._native.update_values(csr_parts(A)[0])

    # ---- looking

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        rows = self._native.complexity()[0]
        return rows, rows

    @property
    def levels(self) -> list[Level]:
        """The levels, finest first."""
        found = json.loads(self._native.levels())
        return [Level(self._native, index, data) for index, data in enumerate(found)]

    @property
    def config(self) -> dict[str, Any]:
        """The configuration in use, nothing left to be chosen."""
        return json.loads(self._native.config())  # type: ignore[no-any-return]

    @property
    def stages(self) -> list[tuple[str, float]]:
        """What setup spent its time on, in seconds, in order."""
        return self._native.stages()[0]

    @property
    def setup_seconds(self) -> float:
        """What setup took, or the last :meth:`update_values`."""
        return self._native.stages()[1]

    @property
    def info(self) -> Optional[SolveInfo]:
        """How the last solve went."""
        return self._last

    def operator_complexity(self) -> float:
        """Entries of all levels over those of the finest: what a cycle costs."""
        return self._native.complexity()[1]

    def grid_complexity(self) -> float:
        """Rows of all levels over those of the finest."""
        return self._native.complexity()[2]

    def plot(self) -> Any:
        """Draws the sizes of the levels with their precision and bytes, the time of each stage of setup, and the convergence of
        the last solve, with matplotlib. Returns the figure."""
        from ziggurat._plot import hierarchy

        return hierarchy(self)

    def report(self, path: Union[str, os.PathLike[str]], name: str = "A", command: str = "") -> None:
        """Writes a self-contained HTML page about the last solve, as ``ziggurat solve --report`` does.

        Parameters
        ----------
        path : path
            The file to write.
        name : str
            What was solved, for the headline.
        command : str
            What to run to do it again, if you want it to be shown.
        """
        if self._last is None:
            raise RuntimeError("there is nothing to report yet: call solve first")
        page = self._native.page(name, self._last._outcome, command)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)

    def __repr__(self) -> str:
        config = self.config
        what = f"{config['method']}, {config['krylov']}, {config['precision']}"
        return f"<MultilevelSolver: {self.shape[0]} rows, {len(self.levels)} levels, {what}>"

    def __str__(self) -> str:
        config = self.config
        head = f"{config['method']}, {config['krylov']}, {config['precision']}"
        complexity = f"operator complexity {self.operator_complexity():.2f}, grid complexity {self.grid_complexity():.2f}"
        return f"MultilevelSolver ({head})\n\n{self._native.table()}\n  {complexity}, setup {self.setup_seconds:.3f} s"

    def _repr_html_(self) -> str:
        return self._native.html() if self._last is None else self._last._repr_html_()

    # ---- pickling

    def __getstate__(self) -> dict[str, Any]:
        return {
            "hierarchy": self._native.save(),
            "config": self._asked,
            "near_nullspace": self._vectors,
            "coords": self._coords,
            "threads": self._threads,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._asked, self._threads = state["config"], state["threads"]
        self._vectors, self._coords = state["near_nullspace"], state["coords"]
        self._native = _native.NativeSolver.load(
            state["hierarchy"], self._asked, self._vectors, self._coords, self._threads
        )
        self._last = None


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
    asked: dict[str, Any] = {} if preset is None else json.loads(_native.preset(preset))
    chosen = {"method": method, "precision": precision, "krylov": krylov}
    asked.update({key: value for key, value in chosen.items() if value != "auto"})
    if tol is not None:
        asked = _merged(asked, {"stopping": {"rtol": tol}})
    asked = _merged(asked, config or {})
    return MultilevelSolver(A, asked, near_nullspace, coords, threads, copy, block_size)


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
    """Smoothed aggregation, under PyAMG's name, with a cycle as strong as PyAMG's.

    PyAMG's cycle smooths with four sweeps of Gauss–Seidel, which know no threads. Here a Chebyshev polynomial of degree 2
    before and after the coarse level takes their place; :func:`ziggurat.solver` takes what is usually fastest.

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
    usual = {"smoother": {"kind": "chebyshev", "degree": 2}, **_extent(max_levels, max_coarse)}
    options["config"] = _merged(usual, options.get("config") or {})
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
    options["config"] = _merged(_extent(max_levels, max_coarse), options.get("config") or {})
    return solver(A, "classical", **options)


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
            text = f"relative residual {one.relative_residual:.2e} after {one.iterations} iterations: {one.reason}"
            raise NotConvergedError(text, one, x)
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
