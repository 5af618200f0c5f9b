"""The search for the fastest configuration of a system."""

from __future__ import annotations

import json
from typing import Any, Optional

from numpy.typing import ArrayLike

from ziggurat import _native
from ziggurat._errors import ConfigError, SolveError
from ziggurat._matrix import SparseMatrix, square_parts, vector
from ziggurat._options import plain, real, whole
from ziggurat._solver import nodes
from ziggurat._words import counted

__all__ = ["tune"]


def tune(
    A: SparseMatrix,
    b: ArrayLike,
    *,
    seconds: float = 60.0,
    solves: int = 1,
    config: Optional[dict[str, Any]] = None,
    near_nullspace: Optional[ArrayLike] = None,
    coords: Optional[ArrayLike] = None,
    block_size: Optional[int] = None,
    threads: Optional[int] = None,
    trials: Optional[list[dict[str, Any]]] = None,
) -> dict[str, Any]:
    """Searches for the fastest configuration of a system, as ``ziggurat tune`` does.

    It changes one choice at a time (coarsening, smoother, sweeps, cycle, precision) and keeps what
    gains.

    Parameters
    ----------
    A : scipy.sparse matrix or array
        A square matrix.
    b : array
        A right-hand side.
    seconds : float
        The time limit of the search.
    solves : int
        The number of solves per setup that the configuration is for.
    config : dict, optional
        The configuration to start from; its tolerance and other settings are kept.
    near_nullspace, coords, block_size, threads
        As for :func:`ziggurat.solver`.
    trials : list, optional
        Receives all trials as dicts, in the order in which they were made: ``changes`` from the
        given configuration, ``converged``, ``stop_reason``, ``iterations``, ``setup_seconds`` and
        ``solve_seconds``.

    Returns
    -------
    dict
        The fastest configuration, for ``ziggurat.solver(A, config=...)``.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> A = ziggurat.gallery.poisson2d(30)
    >>> trials = []
    >>> best = ziggurat.tune(A, np.ones(900), seconds=5, trials=trials)
    >>> trials[0]["changes"], trials[0]["converged"]
    ([], True)
    >>> x = ziggurat.solver(A, config=best).solve(np.ones(900))
    """
    parts, block = square_parts(A)
    rows = parts[0]
    limits = (real("seconds", seconds) or 0.0, whole("solves", solves, 0) or 0)
    if limits[0] == 0.0:
        raise ConfigError(f"seconds is {seconds}; it must be positive")
    known = nodes(rows, block, near_nullspace, coords, block_size)
    right, shape = vector(b, rows)
    if len(shape) == 2 and shape[1] != 1:
        raise SolveError(f"b has {counted(shape[1], 'column')}; give one right-hand side")
    asked = json.dumps(config or {}, default=plain)
    found = json.loads(_native.tune(parts, right, asked, known, limits, whole("threads", threads, 1)))
    if trials is not None:
        trials.extend({**trial, "changes": [tuple(change) for change in trial["changes"]]} for trial in found["trials"])
    best: dict[str, Any] = found["config"]
    return best
