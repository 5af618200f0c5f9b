"""The solver object: set up once, then solve for any number of right-hand sides."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ziggurat import _matrix, _native, _pyamg
from ziggurat._arguments import Callback, SolveArguments
from ziggurat._errors import ConfigError, SolveError
from ziggurat._info import SolveInfo, raise_unless_converged
from ziggurat._level import Level
from ziggurat._matrix import SparseMatrix, csr_parts, square_parts, vector
from ziggurat._options import one_of, plain, real, whole
from ziggurat._plot import hierarchy, in_bytes
from ziggurat._preconditioner import Preconditioner
from ziggurat._words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from typing_extensions import Unpack

__all__ = ["MultilevelSolver", "nodes"]


def nodes(
    rows: int,
    block: Optional[int],
    near_nullspace: Optional[ArrayLike],
    coords: Optional[ArrayLike],
    block_size: Optional[int],
) -> _native.Nodes:
    """What is known about the nodes of a matrix, checked. ``block`` is the block size of a BSR matrix."""
    block_size = whole("block_size", block_size, 1)
    if block_size is not None and rows % block_size != 0:
        raise ConfigError(f"block_size is {block_size}, which does not divide the {counted(rows, 'row')} of the matrix")
    if near_nullspace is not None and coords is not None:
        raise ConfigError("give near_nullspace or coords, not both: coords defines the rigid-body modes")
    vectors = None if near_nullspace is None else _matrix.near_nullspace(near_nullspace, rows)
    points = None if coords is None else _matrix.coordinates(coords, rows, block_size)
    if block_size is None and vectors is not None:
        block_size = block
    return (vectors, points, block_size)


class MultilevelSolver:
    """A solver that has been set up for a matrix by :func:`ziggurat.solver`.

    Solving releases the GIL, so several Python threads can use one solver at the same time.
    Printing it gives a table of the levels. It can be pickled.

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
        block_size: Optional[int] = None,
    ) -> None:
        parts, block = square_parts(A)
        rows = parts[0]
        self._asked = json.dumps(config, default=plain)
        self._threads = threads = whole("threads", threads, 1)
        self._nodes = nodes(rows, block, near_nullspace, coords, block_size)
        self._native = _native.NativeSolver(parts, self._asked, self._nodes, threads)
        in_order = A.format == "csr" and self._native.is_in_given_order()
        self._entries: Optional[int] = len(parts[4]) if in_order else None
        self._last: Optional[SolveInfo] = None

    # ---- solving

    @overload
    def solve(
        self,
        b: ArrayLike,
        x0: Optional[ArrayLike] = ...,
        tol: Optional[float] = ...,
        maxiter: Optional[int] = ...,
        *,
        return_info: Literal[False] = ...,
        **options: Unpack[SolveArguments],
    ) -> NDArray[np.float64]: ...

    # `info` is Any: it is a SolveInfo, or a list of them if b is a matrix, which type checkers do not
    # distinguish.
    @overload
    def solve(
        self,
        b: ArrayLike,
        x0: Optional[ArrayLike] = ...,
        tol: Optional[float] = ...,
        maxiter: Optional[int] = ...,
        *,
        return_info: Literal[True],
        **options: Unpack[SolveArguments],
    ) -> tuple[NDArray[np.float64], Any]: ...

    def solve(
        self,
        b: ArrayLike,
        x0: Optional[ArrayLike] = None,
        tol: Optional[float] = None,
        maxiter: Optional[int] = None,
        *,
        rtol: Optional[float] = None,
        atol: Optional[float] = None,
        reduction: Optional[float] = None,
        combine: Optional[str] = None,
        accel: Optional[str] = None,
        krylov: Optional[str] = None,
        cycle: Optional[str] = None,
        cycles_per_level: int = 1,
        restart: Optional[int] = None,
        basis: Optional[str] = None,
        residuals: Optional[list[float]] = None,
        callback: Optional[Callback] = None,
        return_info: bool = False,
        max_seconds: Optional[float] = None,
        verify_every: Optional[int] = None,
        project_rhs: Optional[bool] = None,
        transpose: bool = False,
    ) -> Any:
        """Solves A x = b, or Aᵀ x = b.

        Parameters
        ----------
        b : array
            The right-hand side, or a matrix whose columns are right-hand sides.
        x0 : array, optional
            The initial guess, of the same shape as ``b``. The default is zero.
        tol, rtol : float, optional
            Stop when ‖b − A x‖ ≤ max(tol ‖b‖, atol) for the true residual. The default is the
            ``tol`` given at setup, or 1e-8. ``rtol`` is scipy's name of the same argument.
        maxiter : int, optional
            The maximum number of iterations. The default is 1000.
        atol : float, optional
            The absolute tolerance. The default is 0.
        reduction : float, optional
            The tolerance relative to the residual of the initial guess, ‖b − A x0‖. The default
            is 0.
        combine : str, optional
            How the tolerances combine that are not 0: with 'any', the default, one of them has to
            be reached, with 'all' all of them.
        accel, krylov : str, optional
            The Krylov method: 'cg', 'fcg', 'gmres', 'fgmres', 'bicgstab', 'minres', 'idr' or 'cgs'.
            The default is the one chosen at setup. ``accel`` is PyAMG's name. Cycles without a
            Krylov method, which ``None`` means in PyAMG, are 'none' here.
        cycle, cycles_per_level : optional
            PyAMG's choice of a cycle for one solve. Here the cycle is chosen at setup: another one
            raises :class:`ConfigError`.
        restart : int, optional
            The restart length of GMRES.
        basis : str, optional
            How GMRES and FGMRES store their Krylov basis: 'f64', 'f32' or 'f16'. Arithmetic and
            the solution are always in float64. The default is 'f64' or that of the setup. Other
            methods store no basis, and refuse a compressed one.
        residuals : list, optional
            Residual norms are appended to this list: that of the initial guess, then one per
            iteration, by recurrence.
        callback : callable, optional
            Called after each iteration with a ``Progress``, which has ``iteration``, ``residual``,
            ``relative_residual``, ``target`` and ``seconds``. A true return value stops the solve
            of this right-hand side. An exception stops all of them and is raised. It may use this
            solver and others, but not update the values of a solver that is in use.
        return_info : bool
            Return ``(x, info)``, where ``info`` is a :class:`SolveInfo`, or a list of them if ``b``
            is a matrix. A solution that misses the tolerance is then returned, not raised.
        max_seconds : float, optional
            A time limit.
        verify_every : int, optional
            Also compute the true residual every ``verify_every`` iterations, for
            ``info.true_residuals``.
        project_rhs : bool, optional
            Accept a right-hand side outside the range of a singular matrix: it is projected onto
            the range, and ``tol`` applies to the projection. The default is to report such a system
            as inconsistent.
        transpose : bool
            Solve Aᵀ x = b, as for adjoint equations. The tolerances apply to ‖b − Aᵀ x‖. The first
            such solve transposes the levels, which takes a fraction of a setup and as much memory as
            the solver has. With a symmetric matrix it is the same solve.

        Returns
        -------
        x : numpy.ndarray
            The solution, with the shape of ``b``, in float64.

        Raises
        ------
        NotConvergedError
            If a solution misses the tolerance and ``return_info`` is not set. Its ``info`` says
            why, and its ``x`` is the last iterate. A solve that ``callback`` has stopped returns
            its last iterate.

        Notes
        -----
        Several right-hand sides share the hierarchy, and each has its own iteration with the
        result that it has alone. They are solved at the same time, one per thread, if there are at
        least as many as threads or the matrix has fewer than 20,000 rows. Otherwise they are solved
        one after another, each with all threads, which takes as long as a loop over them. So are
        solves with a callback, with the transpose, and with levels whose precision a solve may
        raise for later ones: with ``precision='auto'`` that has chosen less than 'f64', as it does
        for large matrices.

        If the matrix is symmetric and all row sums are zero, the constants are its null space, and
        there is a solution only if ``b`` sums to zero. The same holds for each connected component
        whose row sums are zero. Otherwise ``x`` minimises the residual and has zero mean there,
        ``info.stop_reason`` is 'inconsistent' (unless ``project_rhs`` is set), and
        ``info.left_out`` is the part of ``b`` that no solution reaches.

        Examples
        --------
        >>> import numpy as np, ziggurat
        >>> A = ziggurat.gallery.convection3d(10)
        >>> ml = ziggurat.solver(A)
        >>> B = np.random.default_rng(0).standard_normal((1000, 3))
        >>> X, infos = ml.solve(B, tol=1e-10, return_info=True)
        >>> X.shape, all(info.converged for info in infos)
        ((1000, 3), True)
        >>> y = ml.solve(B[:, 0], transpose=True)
        >>> bool(np.linalg.norm(B[:, 0] - A.T @ y) <= 1e-8 * np.linalg.norm(B[:, 0]))
        True
        """
        rows = self.shape[0]
        columns, shape = vector(b, rows)
        guess = None
        if x0 is not None:
            guess, guess_shape = vector(x0, rows, "x0")
            if guess_shape != shape:
                raise SolveError(f"x0 has shape {guess_shape}, but b has shape {shape}; they must match")
        self._check_cycle(cycle, cycles_per_level)
        given: dict[str, Any] = {
            "krylov": self._known_krylov(one_of(accel=accel, krylov=krylov)),
            "restart": whole("restart", restart, 1),
            "basis": basis,
            "rtol": real("tol" if rtol is None else "rtol", one_of(tol=tol, rtol=rtol)),
            "atol": real("atol", atol),
            "reduction": real("reduction", reduction),
            "combine": combine,
            "max_iterations": whole("maxiter", maxiter, 0),
            "max_seconds": real("max_seconds", max_seconds),
            "verify_every": whole("verify_every", verify_every, 0),
            "project_rhs": None if project_rhs is None else bool(project_rhs),
        }
        options = json.dumps({key: value for key, value in given.items() if value is not None})
        x, outcomes = self._native.solve(columns, guess, options, callback, bool(transpose))
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
        raise_unless_converged(solution, infos)
        return solution

    def _check_cycle(self, cycle: Optional[str], cycles_per_level: int = 1) -> None:
        """Refuses another cycle than that of the setup."""
        if cycle is not None:
            asked, own = _pyamg.cycle(cycle), self.config["cycle"]["kind"]
            if asked not in (own, own.partition("-")[0], "auto"):
                hint = f"the cycle is chosen at setup: ziggurat.solver(A, cycle={cycle!r})"
                raise ConfigError(f"cycle is {cycle!r}, but this solver has the cycle {own.upper()!r}; {hint}")
        if cycles_per_level != 1:
            raise ConfigError(f"cycles_per_level is {cycles_per_level!r}; only 1 is supported")

    @staticmethod
    def _known_krylov(name: Any) -> Optional[str]:
        """Refuses methods of PyAMG and scipy that are not here, and functions."""
        if name is None or isinstance(name, str):
            return name
        hint = "to run your own, pass ml.aspreconditioner() to it as M"
        raise TypeError(f"accel is a {type(name).__name__}; it must be the name of a Krylov method; {hint}")

    def aspreconditioner(self, cycle: Optional[str] = None) -> Preconditioner:
        """One cycle as a scipy LinearOperator, to pass as ``M`` to scipy's Krylov methods.

        It supports matvec and matmat. Its transpose, ``M.T @ x`` or ``M.rmatvec(x)``, is the
        transposed cycle, which ``bicg`` and ``qmr`` need; its first use makes the transposed levels,
        and F- and K-cycles have none. To solve Aᵀ x = b, use ``ml.solve(b, transpose=True)``.
        After :meth:`update_values` all of these use the new values. ``cycle`` is an argument of
        PyAMG: the cycle is chosen at setup, and another one raises :class:`ConfigError`.

        Examples
        --------
        >>> import numpy as np, ziggurat
        >>> from scipy.sparse.linalg import cg
        >>> A = ziggurat.gallery.poisson2d(50)
        >>> x, failed = cg(A, np.ones(2500), M=ziggurat.solver(A).aspreconditioner())
        >>> failed
        0
        """
        self._check_cycle(cycle)
        return Preconditioner(self)

    def update_values(self, A: Union[SparseMatrix, ArrayLike]) -> bool:
        """Replaces the values of the matrix, with the same sparsity pattern, as in time stepping.

        Aggregates, interpolation and the patterns of all levels are kept; their values, the
        smoothers and the coarsest factors are computed again. That takes 0.4 to 0.8 of the time of a
        setup, and as long as one on structured grids, whose setup is cheap. The interpolation
        remains that of the matrix at setup, so iterations grow with the distance from it. If a solve
        since the last update took more than 1.5 times the iterations of those right after setup, the
        next update sets up from scratch; ``config={"update": {"rebuild": "never"}}`` prevents that.

        It waits until running solves of other threads have finished. From a callback of a solve, it
        raises ``RuntimeError`` if the solver is in use.

        Parameters
        ----------
        A : scipy.sparse matrix or array, or array of values
            The new matrix, in any format. Or only its values, in the order of ``A.data`` at setup:
            this needs a matrix at setup in CSR format with sorted rows and without duplicates
            (``A.has_canonical_format``). Values alone save making a matrix and passing its indices.

        Returns
        -------
        bool
            Whether the hierarchy was rebuilt, because convergence had slowed down or because
            properties of the matrix, such as symmetry, changed.

        Raises
        ------
        SetupError
            If the pattern differs or a value is not finite. The solver keeps its old matrix.

        Examples
        --------
        >>> import numpy as np, ziggurat
        >>> A = ziggurat.gallery.poisson3d(12)
        >>> ml = ziggurat.solver(A)
        >>> ml.update_values(2 * A)
        False
        >>> bool(np.allclose(A @ ml.solve(np.ones(1728)), 0.5))
        True
        >>> ml.update_values(4 * A.data)
        False
        >>> bool(np.allclose(A @ ml.solve(np.ones(1728)), 0.25))
        True
        """
        if _matrix.is_values(A):
            return self._native.update_values_in_order(_matrix.values(A, self._entries))
        return self._native.update_values(csr_parts(A)[0])

    # ---- inspection

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        rows = self._native.complexity()[0]
        return rows, rows

    @property
    def levels(self) -> list[Level]:
        """The levels, finest first."""
        found = json.loads(self._native.levels())
        return [Level(self._native, index, data) for index, data in enumerate(found)]

    @property
    def config(self) -> dict[str, Any]:
        """The configuration in use, with every automatic choice resolved."""
        return json.loads(self._native.config())  # type: ignore[no-any-return]

    @property
    def stages(self) -> list[tuple[str, float]]:
        """The stages of setup, in order, with the seconds spent in each."""
        return self._native.stages()[0]

    @property
    def setup_seconds(self) -> float:
        """Seconds spent in setup, or in the last :meth:`update_values`."""
        return self._native.stages()[1]

    @property
    def info(self) -> Optional[SolveInfo]:
        """The result of the last solve, or ``None`` before the first."""
        return self._last

    def operator_complexity(self) -> float:
        """Entries of all levels divided by those of the finest: the relative cost of a cycle."""
        return self._native.complexity()[1]

    def grid_complexity(self) -> float:
        """Rows of all levels divided by those of the finest."""
        return self._native.complexity()[2]

    @property
    def nbytes(self) -> int:
        """Bytes of the matrices and transfers of all levels, as they are stored for the iteration.

        The memory of the process is larger: it has the matrix in double precision for residuals and
        updates, the vectors of solves, and all that is not this solver's.
        """
        return sum(level.bytes + level.transfer_bytes for level in self.levels)

    def plot(self) -> Figure:
        """Plots the hierarchy with matplotlib and returns the figure.

        It shows the size and precision of each level, the time of each setup stage, and the
        convergence of the last solve.
        """
        last = self._last
        solve = [] if last is None else [("solve", last.solve_seconds)]
        return hierarchy(self.levels, [*self.stages, *solve], None if last is None else last._history())

    def report(self, path: Union[str, os.PathLike[str]], name: str = "A", command: str = "") -> None:
        """Writes a self-contained HTML report on the last solve, like ``ziggurat solve --report``.

        Parameters
        ----------
        path : path
            The file to write.
        name : str
            The name of the problem, for the title.
        command : str
            The command that reproduces the solve, shown if it is given.
        """
        if self._last is None:
            raise RuntimeError("there is nothing to report yet: call solve first")
        outcome = self._last._outcome
        assert isinstance(outcome, _native.Outcome), "the last solve was run by this solver"
        page = self._native.page(name, outcome, command)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)

    def _choices(self) -> str:
        config = self.config
        return f"{config['method']}, {config['krylov']}, {config['precision']}"

    def __repr__(self) -> str:
        size = f"{counted(self.shape[0], 'row')}, {counted(len(self.levels), 'level')}"
        return f"<MultilevelSolver: {size}, {self._choices()}>"

    def __str__(self) -> str:
        complexity = f"operator complexity {self.operator_complexity():.2f}, grid complexity {self.grid_complexity():.2f}"
        memory = f"{in_bytes(self.nbytes)} with transfers"
        return f"MultilevelSolver ({self._choices()})\n\n{self._native.table()}\n  {complexity}, {memory}, setup {self.setup_seconds:.3f} s"

    def _repr_html_(self) -> str:
        return self._native.html() if self._last is None else self._last._repr_html_()

    # ---- pickling

    def __getstate__(self) -> dict[str, Any]:
        return {
            "hierarchy": self._native.save(),
            "config": self._asked,
            "nodes": self._nodes,
            "threads": self._threads,
            "entries": self._entries,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._asked, self._nodes, self._threads = state["config"], state["nodes"], state["threads"]
        self._native = _native.NativeSolver.load(state["hierarchy"], self._asked, self._nodes, self._threads)
        self._entries = state.get("entries")
        self._last = None
