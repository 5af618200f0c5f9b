"""Plots with matplotlib, an optional dependency: ``pip install "ziggurat[plot]"`` installs it.

The functions take plain data. They import matplotlib when the first plot is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ziggurat._level import Level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The Okabe-Ito palette, which remains distinguishable with colour blindness. The HTML reports use
#: the same colours.
COLOURS = {"f64": "#0072B2", "f32": "#56B4E9", "f16": "#E69F00", "bf16": "#D55E00"}


class Convergence(NamedTuple):
    """The convergence history of one solve."""

    #: Residuals by recurrence, one per iteration, relative to ‖b‖.
    residuals: NDArray[np.float64]
    #: Two columns: the iteration, and the true residual after it, relative to ‖b‖.
    true_residuals: NDArray[np.float64]
    #: The relative tolerance.
    tolerance: float
    #: The name in the legend, unless the caller gives another.
    label: str


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


def convergence(history: Convergence, ax: Axes | None, label: str | None) -> Axes:
    """Plots residuals by recurrence as a line, true residuals as dots, and the tolerance dashed."""
    if ax is None:
        ax = _pyplot().figure(figsize=(6, 4), layout="constrained").add_subplot()
    truth = history.true_residuals
    start = truth[:1, 1].tolist()
    iterations = range(1 - len(start), len(history.residuals) + 1)
    # The tolerance comes first: if b is zero, it is the only positive value on the log axis.
    if history.tolerance > 0 and not any(other.get_linestyle() == "--" for other in ax.get_lines()):
        ax.axhline(history.tolerance, linestyle="--", linewidth=1, color="0.5")
    (line,) = ax.semilogy(iterations, [*start, *history.residuals], label=label or history.label)
    ax.semilogy(truth[:, 0], truth[:, 1], "o", markersize=4, color=line.get_color())
    ax.set_xlabel("iterations")
    ax.set_ylabel("residual / ‖b‖  (dots: true residual)")
    ax.grid(True, alpha=0.3)
    ax.legend()
    return ax


def _levels(levels: Sequence[Level], ax: Axes) -> None:
    """Plots the size of each level in bytes, coloured by storage precision."""
    positions = range(len(levels))
    for position, level in zip(positions, levels):
        ax.barh(position, level.bytes, color=COLOURS.get(level.storage, "0.5"))
        text = f" {level.rows:,} rows, {level.nnz:,} entries, {_in_bytes(level.bytes)}"
        ax.text(level.bytes, position, text, va="center", fontsize="small")
    for storage in dict.fromkeys(level.storage for level in levels):
        ax.barh(0, 0, color=COLOURS.get(storage, "0.5"), label=storage)
    # The axis starts at zero because bar lengths are compared; the factor leaves room for the text.
    ax.set_xlim(0, 1.8 * max(1, *(level.bytes for level in levels)))
    ax.set_yticks(list(positions), [f"level {position}" for position in positions])
    ax.invert_yaxis()
    ax.set_xlabel("bytes of the matrix")
    ax.legend(title="stored in", loc="lower right")


def _stages(stages: Sequence[tuple[str, float]], ax: Axes) -> None:
    """Plots the time of each stage."""
    positions = range(len(stages))
    ax.barh(list(positions), [1e3 * seconds for _, seconds in stages], color="#009E73")
    ax.set_yticks(list(positions), [name for name, _ in stages])
    ax.invert_yaxis()
    ax.set_xlabel("milliseconds")


def hierarchy(
    levels: Sequence[Level], stages: Sequence[tuple[str, float]], history: Convergence | None
) -> Any:
    """Plots levels, stages and, after a solve, its convergence. Returns the figure."""
    count = 2 if history is None else 3
    figure = _pyplot().figure(figsize=(8, 3.2 * count), layout="constrained")
    axes = figure.subplots(count, 1)
    _levels(levels, axes[0])
    _stages(stages, axes[1])
    if history is not None:
        convergence(history, axes[2], None)
    return figure
