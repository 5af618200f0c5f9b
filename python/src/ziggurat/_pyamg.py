"""Translates the arguments of PyAMG's solvers to configurations.

An argument is accepted if it has an equivalent. The others are refused with what to write instead.
"""

from __future__ import annotations

from typing import Any, Optional

from ziggurat._errors import ConfigError
from ziggurat._options import real, whole

__all__ = ["aggregation", "classical", "cycle", "extent", "smoothers"]

#: PyAMG's default smoother, for an argument that is not given beside one that is.
_PYAMG_SMOOTHER = ("block_gauss_seidel", {"sweep": "symmetric"})

#: Methods of PyAMG that solve the coarsest level directly, as this package always does.
_DIRECT = ("pinv", "splu", "lu", "cholesky")

_CYCLES = {"V": "v", "W": "w", "F": "f", "AMLI": "k", "K": "k"}


def _refused(name: str, value: Any, instead: str) -> ConfigError:
    return ConfigError(f"{name}={value!r} has no equivalent here; {instead}")


def _described(name: str, value: Any) -> tuple[Optional[str], dict[str, Any]]:
    """The name and the parameters of a description: a name, None, or a name with a dict."""
    if isinstance(value, list):
        if len(value) != 1:
            raise _refused(name, value, "all levels are built alike: give one description, not a list by level")
        value = value[0]
    if value is None or isinstance(value, str):
        return value, {}
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
        return value[0], dict(value[1])
    raise ConfigError(f"{name} is {value!r}; it must be a name, or a pair of a name and a dict of its parameters")


def _none_left(name: str, method: str, parameters: dict[str, Any], instead: str) -> None:
    for parameter, value in parameters.items():
        raise _refused(name, (method, {parameter: value}), instead)


def _strength(value: Any, section: str) -> dict[str, Any]:
    if value == "auto":
        return {}
    method, parameters = _described("strength", value)
    instead = "the strength is 'symmetric' or 'classical', with a theta: strength=('symmetric', {'theta': 0.08})"
    if method is None:
        return {section: {"strength": {"filter": {"threshold": 0.0}}}}
    if method not in ("symmetric", "classical"):
        raise _refused("strength", value, instead)
    strength: dict[str, Any] = {"measure": method}
    theta = real("theta", parameters.pop("theta", None))
    if parameters.get("norm") == "min":  # PyAMG's name of the measure by negative entries
        del parameters["norm"]
    if theta is not None:
        strength["filter"] = {"threshold": theta}
    _none_left("strength", method, parameters, instead)
    return {section: {"strength": strength}}


def _smoother(name: str, value: Any) -> tuple[dict[str, Any], int]:
    """The smoother and the number of sweeps; no smoother has none."""
    method, parameters = _described(name, value)
    if method is None:
        return {}, 0
    sweeps = whole("iterations", parameters.pop("iterations", 1), 0) or 0
    if method in ("gauss_seidel", "block_gauss_seidel"):
        # The direction is forward before the coarse correction and backward after it.
        sweep = parameters.pop("sweep", "forward")
        if sweep not in ("forward", "backward", "symmetric"):
            raise ConfigError(f"sweep is {sweep!r}; it must be 'forward', 'backward' or 'symmetric'")
        _none_left(name, method, parameters, "write block_size=… for the blocks of the matrix")
        return {"kind": "gauss-seidel"}, 2 * sweeps if sweep == "symmetric" else sweeps
    if method == "jacobi":
        smoother: dict[str, Any] = {"kind": "jacobi"}
        omega, scaled = real("omega", parameters.pop("omega", None)), parameters.pop("withrho", True)
        if omega is not None and scaled:
            instead = "leave omega out (it is chosen by the spectral radius), or give it with 'withrho': False"
            raise _refused(name, ("jacobi", {"omega": omega}), instead)
        if omega is not None:
            smoother["omega"] = omega
        _none_left(name, method, parameters, "leave it out")
        return smoother, sweeps
    if method == "chebyshev":
        smoother = {"kind": "chebyshev", "degree": whole("degree", parameters.pop("degree", 3), 1)}
        _none_left(name, method, parameters, "write config={'smoother': {'ratio': …}} for upper_bound / lower_bound")
        return smoother, sweeps
    instead = (
        "write 'gauss_seidel', 'jacobi' or 'chebyshev', or config={'smoother': {'kind': …}} with a name of "
        "ziggurat.choices()['smoother.kind']"
    )
    raise _refused(name, value, instead)


def smoothers(presmoother: Any, postsmoother: Any) -> dict[str, Any]:
    """The configuration for ``presmoother`` and ``postsmoother``; ``'auto'`` is not given."""
    if presmoother == "auto" and postsmoother == "auto":
        return {}
    given = [_PYAMG_SMOOTHER if value == "auto" else value for value in (presmoother, postsmoother)]
    (pre, pre_sweeps), (post, post_sweeps) = _smoother("presmoother", given[0]), _smoother("postsmoother", given[1])
    if pre and post and pre != post:
        raise ConfigError(
            f"presmoother={given[0]!r} and postsmoother={given[1]!r} differ; one smoother is used before and after "
            "the coarse correction: give both alike"
        )
    sweeps = {"pre_sweeps": pre_sweeps, "post_sweeps": post_sweeps}
    chosen = pre or post
    return {"cycle": sweeps, "smoother": chosen} if chosen else {"cycle": sweeps}


def cycle(value: Any, argument: str = "cycle") -> str:
    """Our name of a cycle that PyAMG names ``value``; our own names are accepted, too."""
    name = str(value)
    if name.upper() in _CYCLES:
        return _CYCLES[name.upper()]
    if name in ("auto", "k-gcr"):
        return name
    raise ConfigError(f"{argument} is {value!r}; it must be 'V', 'W', 'F' or 'AMLI' (a K-cycle)")


def extent(max_levels: Optional[int], max_coarse: Optional[int], coarse_solver: Any = "auto") -> dict[str, Any]:
    """The configuration for the size of a hierarchy and its coarsest level."""
    if coarse_solver != "auto":
        method, parameters = (None, {}) if callable(coarse_solver) else _described("coarse_solver", coarse_solver)
        if method not in _DIRECT or parameters:
            raise _refused("coarse_solver", coarse_solver, f"the coarsest level is solved directly: 'auto', or one of {_DIRECT}")
    given = {"max_levels": whole("max_levels", max_levels, 1), "coarse_rows": whole("max_coarse", max_coarse, 1)}
    return {"hierarchy": {key: value for key, value in given.items() if value is not None}}


def _fixed(given: dict[str, tuple[Any, tuple[Any, ...], str]]) -> None:
    """Refuses values other than those that describe what is done anyway."""
    for name, (value, accepted, instead) in given.items():
        method = value[0] if isinstance(value, tuple) and len(value) == 2 and value[1] == {} else value
        if not (method is None or isinstance(method, (str, bool))) or method not in accepted:
            raise _refused(name, value, instead)


def aggregation(
    BH: Any, symmetry: Any, strength: Any, aggregate: Any, smooth: Any, improve_candidates: Any, diagonal_dominance: Any, keep: Any
) -> dict[str, Any]:
    """The configuration for the arguments of PyAMG's ``smoothed_aggregation_solver``."""
    _fixed({
        "BH": (BH, (None,), "restriction is the transpose of interpolation: leave BH out"),
        "symmetry": (symmetry, ("auto", "hermitian", "symmetric", "nonsymmetric"), "symmetry is found in the matrix: leave it out"),
        "aggregate": (
            aggregate, ("auto", "standard"),
            "leave it out for aggregates by MIS-2, or write ziggurat.solver(A, method='pairwise') for pairs",
        ),
        "improve_candidates": (improve_candidates, ("auto", None), "the columns of B are used as they are: leave it out"),
        "diagonal_dominance": (
            diagonal_dominance, (False,), "write config={'sa': {'strength': {'max_row_sum': 0.9}}} or leave it out",
        ),
        "keep": (keep, (False,), "levels keep A, P and R only: leave it out"),
    })
    config = _strength(strength, "sa")
    if smooth == "auto":
        return config
    method, parameters = _described("smooth", smooth)
    sa = config.setdefault("sa", {})
    instead = "write smooth=('jacobi', {'omega': 4/3}), or smooth=None for plain aggregation"
    if method is None:
        sa["plain_levels"] = 100  # more than there can be
    elif method != "jacobi":
        raise _refused("smooth", smooth, instead)
    else:
        omega = real("omega", parameters.pop("omega", None))
        if omega is not None:
            sa["damping"] = omega
        if parameters.pop("degree", 1) != 1 or parameters.pop("weighting", "diagonal") != "diagonal":
            raise _refused("smooth", smooth, instead)
        _none_left("smooth", method, parameters, instead)
    return config


def classical(strength: Any, CF: Any, interpolation: Any, keep: Any) -> dict[str, Any]:
    """The configuration for the arguments of PyAMG's ``ruge_stuben_solver``."""
    _fixed({
        "CF": (CF, ("auto", "PMIS"), "coarsening is by PMIS, which runs in parallel: leave it out, or write CF='PMIS'"),
        "keep": (keep, (False,), "levels keep A, P and R only: leave it out"),
    })
    config = _strength(strength, "classical")
    if interpolation == "auto":
        return config
    method, parameters = _described("interpolation", interpolation)
    instead = "write interpolation='classical', or leave it out for extended+i interpolation"
    if method != "classical":
        raise _refused("interpolation", interpolation, instead)
    if not parameters.pop("modified", True):
        raise _refused("interpolation", interpolation, instead)
    _none_left("interpolation", method, parameters, instead)
    config.setdefault("classical", {})["interpolation"] = "classical-modified"
    return config
