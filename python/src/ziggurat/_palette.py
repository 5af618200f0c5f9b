"""The colours of plots: those of the HTML reports, from which they are taken.

They are from the palette of Okabe and Ito (2008), which remains distinguishable with colour
blindness.
"""

from __future__ import annotations

import json

from ziggurat import _native

__all__ = ["CURVES", "MEANINGS", "colour"]

#: By what they mean: a number format, a part of a solve, or a residual.
MEANINGS: dict[str, str] = json.loads(_native.palette())

#: Of convergence curves, in order: that of the first is the one of a single solve.
CURVES = list(dict.fromkeys(MEANINGS[meaning] for meaning in ("updated residual", "true residual", "bf16", "other", "f16", "f32")))


def colour(meaning: str) -> str:
    """The colour of a meaning; that of ``other`` if it has none of its own."""
    return MEANINGS.get(meaning, MEANINGS["other"])
