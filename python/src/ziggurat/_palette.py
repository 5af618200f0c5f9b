"""The colours of plots: those of the HTML reports.

They are from the palette of Okabe and Ito (2008), which remains distinguishable with colour
blindness. The reports have them in ``crates/ziggurat-report/src/palette.rs``, where a test compares
the two lists.
"""

from __future__ import annotations

__all__ = ["BLUE", "CURVES", "GREEN", "ORANGE", "OTHER", "PRECISIONS", "PURPLE", "SETUP", "SKY", "SOLVE", "VERMILLION"]

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
ORANGE = "#E69F00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"

#: By the storage precision of a level, and of any other precision.
PRECISIONS = {"f64": BLUE, "f32": SKY, "f16": ORANGE, "bf16": GREEN}
OTHER = PURPLE

#: Of the stages of setup, and of the solve.
SETUP, SOLVE = GREEN, BLUE

#: Of convergence curves, in order.
CURVES = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY]
