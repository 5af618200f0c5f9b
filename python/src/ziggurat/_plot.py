"""Pictures with matplotlib, which is imported when the first is drawn: ``pip install "ziggurat[plot]"`` brings it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ziggurat._info import SolveInfo
    from ziggurat._solver import MultilevelSolver

#: Okabe and Ito's colours, which colour-blind people can tell apart; the same as in the pages of ``--report``.
COLOURS = {"f64": "#0072B2", "f32": "#56B4E9", "f16": "#E69F00", "bf16": "#D55E00"}


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install matplotlib, or pip install "ziggurat[plot]"') from error
    return pyplot


def _in_bytes(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1000 and len(units) > 1:
        count /= 1024
        del units[0]
    unit = units[0]
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"


def convergence(info: SolveInfo, ax: Axes | None, label: str | None) -> Axes:
    """The residual by recurrence as a line, true ones as dots, the tolerance dashed."""
    if ax is None:
        ax = _pyplot().figure(figsize=(6, 4), layout="constrained").add_subplot()
    truth = info.true_residuals
    start = truth[:1, 1].tolist()
    iterations = range(1 - len(start), info.iterations + 1)
    name = label or f"{info.method}, {info.krylov}, {info.precision}"
    # First, so that there is something above zero to draw even if b was zero.
    tolerance = info.config["stopping"]["rtol"]
    if tolerance > 0 and not any(other.get_linestyle() == "--" for other in ax.get_lines()):
        ax.axhline(tolerance, linestyle="--", linewidth=1, color="0.5")
    (line,) = ax.semilogy(iterations, [*start, *info.residuals], label=name)
    ax.semilogy(truth[:, 0], truth[:, 1], "o", markersize=4, color=line.get_color())
    ax.set_xlabel("iterations")
    ax.set_ylabel("residual / ‖b‖  (dots: computed afresh)")
    ax.grid(True, alpha=0.3)
    ax.legend()
    return ax


def levels(ml: MultilevelSolver, ax: Axes) -> Axes:
    """Bytes of every level, coloured by what it is stored in."""
    found = ml.levels
    positions = range(len(found))
    for position, level in zip(positions, found):
        ax.barh(position, level.bytes, color=COLOURS.get(level.storage, "0.5"))
        text = f" {level.rows:,} rows, {level.nnz:,} entries, {_in_bytes(level.bytes)}"
        ax.text(level.bytes, position, text, va="center", fontsize="small")
    for storage in dict.fromkeys(level.storage for level in found):
        ax.barh(0, 0, color=COLOURS.get(storage, "0.5"), label=storage)
    # From zero, since lengths are compared; and with room for the words.
    ax.set_xlim(0, 1.8 * max(1, *(level.bytes for level in found)))
    ax.set_yticks(list(positions), [f"level {position}" for position in positions])
    ax.invert_yaxis()
    ax.set_xlabel("bytes of the matrix")
    ax.legend(title="stored in", loc="lower right")
    return ax


def stages(ml: MultilevelSolver, ax: Axes) -> Axes:
    """Seconds of every stage of setup, and of the last solve."""
    found = list(ml.stages)
    if ml.info is not None:
        found.append(("solve", ml.info.solve_seconds))
    positions = range(len(found))
    ax.barh(list(positions), [1e3 * seconds for _, seconds in found], color="#009E73")
    ax.set_yticks(list(positions), [name for name, _ in found])
    ax.invert_yaxis()
    ax.set_xlabel("milliseconds")
    return ax


def hierarchy(ml: MultilevelSolver) -> Any:
    """Levels and stages, and the convergence of the last solve if there was one."""
    count = 2 if ml.info is None else 3
    figure = _pyplot().figure(figsize=(8, 3.2 * count), layout="constrained")
    axes = figure.subplots(count, 1)
    levels(ml, axes[0])
    stages(ml, axes[1])
    if ml.info is not None:
        convergence(ml.info, axes[2], None)
    return figure
