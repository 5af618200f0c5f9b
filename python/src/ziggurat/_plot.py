"""Plots with matplotlib, an optional dependency: ``pip install "ziggurat[plot]"`` installs it.

The functions take plain data. They import matplotlib when the first plot is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ziggurat import _palette
from ziggurat._level import Level
from ziggurat._words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Convergence", "convergence", "hierarchy", "in_bytes"]


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


def in_bytes(count: float) -> str:
    """A number of bytes with a binary unit."""
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
    drawn = sum(other.get_linestyle() == "-" for other in ax.get_lines())
    colour = _palette.CURVES[drawn % len(_palette.CURVES)]
    ax.semilogy(iterations, [*start, *history.residuals], label=label or history.label, color=colour)
    ax.semilogy(truth[:, 0], truth[:, 1], "o", markersize=4, color=colour)
    ax.set_xlabel("iterations")
    ax.set_ylabel("residual / ‖b‖\n(dots: true residual)")
    ax.grid(True, alpha=0.3)
    ax.legend()
    return ax


def _levels(levels: Sequence[Level], ax: Axes) -> None:
    """Plots the size of each level in MB, coloured by storage precision."""
    positions = range(len(levels))
    for position, level in zip(positions, levels):
        ax.barh(position, level.bytes / 1e6, color=_palette.colour(level.storage))
        size = f"{counted(level.rows, 'row', ',')}, {counted(level.nnz, 'entry', ',')}"
        text = f"{size}, {level.bytes / 1e6:.3g} MB"
        place = (level.bytes / 1e6, position)
        # `_fit_texts` makes room for the text, not the layout.
        ax.annotate(text, place, (4, 0), textcoords="offset points", va="center", fontsize="small", in_layout=False)
    for storage in dict.fromkeys(level.storage for level in levels):
        ax.barh(0, 0, color=_palette.colour(storage), label=storage)
    # The axis starts at zero because bar lengths are compared.
    ax.set_xlim(0, max(1e-6, *(level.bytes / 1e6 for level in levels)))
    ax.set_yticks(list(positions), [f"level {position}" for position in positions])
    ax.invert_yaxis()
    ax.set_xlabel("matrix in MB")
    ax.legend(title="stored in", loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0)


def _stages(stages: Sequence[tuple[str, float]], ax: Axes) -> None:
    """Plots the time of each stage."""
    positions = range(len(stages))
    colours = [_palette.colour("solve" if name == "solve" else "setup") for name, _ in stages]
    ax.barh(list(positions), [1e3 * seconds for _, seconds in stages], color=colours)
    ax.set_yticks(list(positions), [name for name, _ in stages])
    ax.invert_yaxis()
    ax.set_xlabel("milliseconds")


def _fit_texts(figure: Figure, ax: Axes) -> None:
    """Widens the horizontal axis until the annotations of the bars are inside."""
    for _ in range(4):
        figure.canvas.draw()  # the layout changes with the axis
        right = ax.get_window_extent().x1
        bars = ax.get_window_extent().x0
        needed = [text.get_window_extent() for text in ax.texts]
        # A text begins at its bar, whose length scales with the axis, and keeps its own width.
        room = right - bars
        factors = [(box.x0 - bars) / max(room - box.width, 0.2 * room) for box in needed if box.x1 > right]
        if not factors:
            return
        ax.set_xlim(0, ax.get_xlim()[1] * max(*factors, 1.05))


def hierarchy(levels: Sequence[Level], stages: Sequence[tuple[str, float]], history: Convergence | None) -> Figure:
    """Plots levels, stages and, after a solve, its convergence. Returns the figure."""
    heights = [0.9 + 0.3 * len(levels), 0.9 + 0.24 * len(stages)] + ([] if history is None else [3.2])
    figure: Figure = _pyplot().figure(figsize=(8, sum(heights)), layout="constrained")
    axes = figure.subplots(len(heights), 1, gridspec_kw={"height_ratios": heights})
    _levels(levels, axes[0])
    _stages(stages, axes[1])
    if history is not None:
        convergence(history, axes[2], None)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    _fit_texts(figure, axes[0])
    return figure
