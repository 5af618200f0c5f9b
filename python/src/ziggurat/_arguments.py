"""The keyword arguments that functions pass on, for type checkers and for errors."""

from __future__ import annotations

import difflib
from typing import Any, Callable, Optional, TypedDict

from numpy.typing import ArrayLike

from ziggurat import _native

__all__ = ["Callback", "SolveArguments", "SolveAtOnceArguments", "SolverArguments", "unexpected"]

#: Called after each iteration; a true return value stops the solve.
Callback = Callable[[_native.Progress], object]


class SolveArguments(TypedDict, total=False):
    """Keyword arguments of :meth:`ziggurat.MultilevelSolver.solve` beside ``return_info``."""

    rtol: Optional[float]
    atol: Optional[float]
    reduction: Optional[float]
    combine: Optional[str]
    accel: Optional[str]
    krylov: Optional[str]
    cycle: Optional[str]
    cycles_per_level: int
    restart: Optional[int]
    basis: Optional[str]
    residuals: Optional[list[float]]
    callback: Optional[Callback]
    max_seconds: Optional[float]
    verify_every: Optional[int]
    project_rhs: Optional[bool]
    transpose: bool


class _SetupArguments(TypedDict, total=False):
    """Keyword arguments of :func:`ziggurat.solver` that :meth:`solve` has no argument for."""

    precision: str
    near_nullspace: Optional[ArrayLike]
    coords: Optional[ArrayLike]
    block_size: Optional[int]
    threads: Optional[int]
    preset: Optional[str]
    config: Optional[dict[str, Any]]


class SolverArguments(_SetupArguments, total=False):
    """Keyword arguments of :func:`ziggurat.solver` beside ``method``."""

    krylov: Optional[str]
    accel: Optional[str]
    cycle: Optional[str]
    tol: Optional[float]
    rtol: Optional[float]


class SolveAtOnceArguments(_SetupArguments, SolveArguments, total=False):
    """Keyword arguments of :func:`ziggurat.solve` that it passes on."""

    method: str
    verb: bool


#: What to write instead of an argument of PyAMG that the called function has not.
_ELSEWHERE = {
    "existing_solver": "call the solve method of the existing solver: ml.solve(b)",
    "M": "the solver is the preconditioner: leave M out",
    "B": "near_nullspace=B",
    **dict.fromkeys(
        ("presmoother", "postsmoother", "strength", "aggregate", "smooth", "max_levels", "max_coarse", "coarse_solver"),
        "ziggurat.smoothed_aggregation_solver(A, …) and ziggurat.ruge_stuben_solver(A, …) take it",
    ),
}


def unexpected(function: str, name: str, known: list[str]) -> TypeError:
    """The error for an argument that the function has not, with what to write instead."""
    hint = _ELSEWHERE.get(name)
    if hint is None:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(known)}"
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}; {hint}")
