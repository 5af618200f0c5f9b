"""How a solve went."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ziggurat import _native

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Recorded:
    """What an outcome of the native part says, kept as text: this is what a pickled :class:`SolveInfo` carries."""

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
    """How a solve went: what ``ziggurat solve --json`` tells, as attributes.

    Prints as a report; in a notebook it shows the hierarchy and the convergence.

    Attributes
    ----------
    converged : bool
        Whether the true residual is as small as was asked for.
    stop_reason, reason : str
        Why the iteration stopped: a short name, and words that say what to try.
    iterations : int
        Iterations done.
    relative_residual : float
        ‖b − A x‖ / ‖b‖ of the solution, computed afresh in double precision.
    residuals : numpy.ndarray
        The residual by the method's recurrence after each iteration, relative to ‖b‖.
    true_residuals : numpy.ndarray
        Two columns: iterations, and ‖b − A x‖ / ‖b‖ after them, wherever it was computed (see ``verify_every``).
    setup_seconds, solve_seconds : float
        What it took.
    method, krylov, precision : str
        What was chosen.
    promotion : str or None
        Why levels became wider on the way, if they did.
    config : dict
        The configuration that was really used.

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
        # JSON has no word for NaN.
        value = self._data["relative_residual"]
        return float("nan") if value is None else float(value)

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
    def promotion(self) -> str | None:
        promotion = self._data["promotion"]
        return None if promotion is None else str(promotion)

    @property
    def config(self) -> dict[str, Any]:
        return dict(self._data["config"])

    def to_dict(self) -> dict[str, Any]:
        """Everything, under the keys of ``ziggurat solve --json``."""
        return json.loads(json.dumps(self._data))  # type: ignore[no-any-return]

    def plot(self, ax: Axes | None = None, label: str | None = None) -> Axes:
        """Draws the convergence, with matplotlib.

        Several solves drawn with the same ``ax`` can be compared.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure otherwise.
        label : str, optional
            The name in the legend.
        """
        from ziggurat._plot import convergence

        return convergence(self, ax, label)

    def _failure(self) -> str:
        """What to tell somebody who got no solution."""
        return f"relative residual {self.relative_residual:.2e} after {self.iterations} iterations: {self.reason}"

    def __repr__(self) -> str:
        verdict = "converged" if self.converged else f"NOT converged ({self.stop_reason})"
        residual = f"relative residual {self.relative_residual:.2e}"
        return f"<SolveInfo: {verdict} in {self.iterations} iterations, {residual}>"

    def __str__(self) -> str:
        return self._outcome.text(self._name)

    def _repr_html_(self) -> str:
        return self._outcome.html(self._name)

    def __reduce__(self) -> tuple[Any, ...]:
        outcome, name = self._outcome, self._name
        said = {"json": outcome.json(), "reason": outcome.reason(), "text": outcome.text(name), "html": outcome.html(name)}
        return SolveInfo, (_Recorded(said), name)
