"""The result of a solve, and the error for a solve that did not converge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ziggurat import _native
from ziggurat._errors import ZigguratError
from ziggurat._plot import Convergence, convergence
from ziggurat._words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NotConvergedError", "SolveInfo", "raise_unless_converged"]


class _Recorded:
    """A native outcome as plain text: the content of a pickled :class:`SolveInfo`."""

    def __init__(self, said: dict[str, str]) -> None:
        self._said = said

    def json(self) -> str:
        return self._said["json"]

    def reason(self) -> str:
        return self._said["reason"]

    def text(self, name: str) -> str:
        return self._said["text"]

    def html(self, name: str) -> str:
        return self._said["html"]


class SolveInfo:
    """The result of a solve: the fields of ``ziggurat solve --json`` as attributes.

    Printing it gives a report. In a notebook it shows the hierarchy and the convergence.

    Attributes
    ----------
    converged : bool
        Whether the true residual meets the tolerance.
    stop_reason, reason : str
        Why the iteration stopped: a short identifier, and a sentence that says what to try.
    iterations : int
        The number of iterations.
    relative_residual : float
        ‖b − A x‖ / ‖b‖ of the returned solution, recomputed in double precision.
    left_out : float
        The part of ``b``, relative to ‖b‖, that no ``x`` can reach because the matrix is singular; 0
        for a regular matrix.
    residuals : numpy.ndarray
        The residual by recurrence after each iteration, relative to ‖b‖.
    true_residuals : numpy.ndarray
        Two columns: the iteration, and ‖b − A x‖ / ‖b‖ after it, for each iteration at which the
        true residual was computed (see ``verify_every``).
    setup_seconds, solve_seconds : float
        Time spent in setup and in the solve.
    method, krylov, precision : str
        The multigrid method, the Krylov method and the storage precision that were used.
    promotion : str or None
        What the solve changed to a stronger preconditioner (wider numbers, another smoother, sparse
        factors) and why, or None if it changed nothing.
    rounding : str or None
        What to choose instead of the precision that was asked for, if its rounding slows the solve.
    config : dict
        The configuration that was used, with every automatic choice resolved.
    decisions : list of dict
        The automatic choices, each with ``key``, ``value`` and ``reason``.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> A = ziggurat.gallery.poisson3d(12)
    >>> x, info = ziggurat.solver(A).solve(np.ones(A.shape[0]), return_info=True)
    >>> info.converged, info.stop_reason, info.relative_residual <= 1e-8
    (True, 'converged', True)
    >>> len(info.residuals) == info.iterations
    True
    """

    def __init__(self, outcome: _native.Outcome | _Recorded, name: str = "A") -> None:
        self._outcome = outcome
        self._name = name
        self._data: dict[str, Any] = json.loads(outcome.json())

    @property
    def converged(self) -> bool:
        return bool(self._data["converged"])

    @property
    def stop_reason(self) -> str:
        return str(self._data["stop_reason"])

    @property
    def reason(self) -> str:
        return self._outcome.reason()

    @property
    def iterations(self) -> int:
        return int(self._data["iterations"])

    @property
    def relative_residual(self) -> float:
        # JSON cannot represent NaN.
        value = self._data["relative_residual"]
        return float("nan") if value is None else float(value)

    @property
    def left_out(self) -> float:
        return float(self._data["left_out"])

    @property
    def residuals(self) -> NDArray[np.float64]:
        return np.array(self._data["residuals"], dtype=np.float64)

    @property
    def true_residuals(self) -> NDArray[np.float64]:
        return np.array(self._data["true_residuals"], dtype=np.float64).reshape(-1, 2)

    @property
    def setup_seconds(self) -> float:
        return float(self._data["setup_seconds"])

    @property
    def solve_seconds(self) -> float:
        return float(self._data["solve_seconds"])

    @property
    def method(self) -> str:
        return str(self._data["method"])

    @property
    def krylov(self) -> str:
        return str(self._data["krylov"])

    @property
    def precision(self) -> str:
        return str(self._data["precision"])

    @property
    def setup_on(self) -> str:
        """Where the levels were made: ``"host"`` or ``"device"``."""
        return str(self._data["setup_on"])

    @property
    def promotion(self) -> str | None:
        promotion = self._data["promotion"]
        return None if promotion is None else str(promotion)

    @property
    def rounding(self) -> str | None:
        rounding = self._data.get("rounding")
        return None if rounding is None else str(rounding)

    @property
    def decisions(self) -> list[dict[str, str]]:
        return list(self._data.get("decisions", []))

    @property
    def config(self) -> dict[str, Any]:
        return dict(self._data["config"])

    @property
    def nbytes(self) -> int:
        """Bytes of the matrices and transfers of all levels; see :attr:`MultilevelSolver.nbytes`."""
        return sum(int(level["bytes"]) + int(level["transfer_bytes"]) for level in self._data["levels"])

    def to_dict(self) -> dict[str, Any]:
        """All fields, with the keys of ``ziggurat solve --json``.

        ``peak_bytes`` is None, because the peak memory of the process is not that of the solver; see
        :attr:`nbytes`.
        """
        return json.loads(json.dumps(self._data))  # type: ignore[no-any-return]

    def plot(self, ax: Axes | None = None, label: str | None = None) -> Axes:
        """Plots the convergence with matplotlib.

        To compare several solves, plot them into the same ``ax``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw into. The default is a new figure.
        label : str, optional
            The label in the legend.
        """
        return convergence(self._history(), ax, label)

    def _history(self) -> Convergence:
        """The convergence history, for plots."""
        label = f"{self.method}, {self.krylov}, {self.precision}"
        return Convergence(self.residuals, self.true_residuals, self._data["tolerance"], label)

    def _failure(self) -> str:
        """The message for a solve that did not converge."""
        failure = f"relative residual {self.relative_residual:.2e} after {self._steps()}: {self.reason}"
        advice = self._data.get("advice", [])
        return f"{failure}. The matrix: {advice[0]['text']}" if advice else failure

    def _steps(self) -> str:
        return counted(self.iterations, "iteration")

    def __repr__(self) -> str:
        verdict = "converged" if self.converged else f"NOT converged ({self.stop_reason})"
        residual = f"relative residual {self.relative_residual:.2e}"
        return f"<SolveInfo: {verdict} in {self._steps()}, {residual}>"

    def __str__(self) -> str:
        return self._outcome.text(self._name)

    def _repr_html_(self) -> str:
        return self._outcome.html(self._name)

    def __reduce__(self) -> tuple[Any, ...]:
        outcome, name = self._outcome, self._name
        said = {"json": outcome.json(), "reason": outcome.reason(), "text": outcome.text(name), "html": outcome.html(name)}
        return SolveInfo, (_Recorded(said), name)


class NotConvergedError(ZigguratError, RuntimeError):
    """A solution misses the tolerance, in ``ziggurat.solve`` and ``ml.solve`` without ``return_info``.

    Attributes
    ----------
    info : SolveInfo
        The result of the solve, with the reason why it stopped. Of several right-hand sides, that of
        the first that failed.
    x : numpy.ndarray
        The last iterate, or the last iterates of all right-hand sides.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> A = ziggurat.gallery.poisson2d(50)
    >>> try:
    ...     x = ziggurat.solver(A).solve(np.ones(2500), maxiter=3)
    ... except ziggurat.NotConvergedError as error:
    ...     x, reason = error.x, error.info.stop_reason
    >>> reason, x.shape
    ('max_iterations', (2500,))
    """

    def __init__(self, text: str, info: SolveInfo | None = None, x: object = None) -> None:
        super().__init__(text)
        self.info = info
        self.x = x


def raise_unless_converged(x: NDArray[np.float64], infos: list[SolveInfo]) -> None:
    """Raises if a solution misses the tolerance, unless the caller's callback has stopped it."""
    failed = [column for column, info in enumerate(infos) if not info.converged and info.stop_reason != "interrupted"]
    if failed:
        info = infos[failed[0]]
        where = "" if len(infos) == 1 else f"{len(failed)} of {len(infos)} right-hand sides failed; column {failed[0]}: "
        raise NotConvergedError(where + info._failure(), info, x)
