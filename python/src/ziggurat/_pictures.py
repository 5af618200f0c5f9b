"""SVG pictures and diagnoses of matrices. They need no plotting package.

The drawing code is shared with the HTML pages of ``ziggurat solve --report``.
"""

from __future__ import annotations

import json
import os
from typing import Any, Union

from ziggurat import _native
from ziggurat._matrix import SparseMatrix, csr_parts
from ziggurat._words import counted

__all__ = ["Diagnosis", "Picture", "diagnose", "spy"]


class Picture:
    """An SVG picture. Notebooks display it; ``save`` writes it to a file."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the picture to a file, whose name should end in .svg."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg)} bytes of SVG; .save(path) writes it>"


def spy(A: SparseMatrix, pixels: int = 120) -> Picture:
    """Draws the sparsity pattern of a matrix; darker squares hold more entries.

    Each square counts the entries in its part of the matrix, so the picture stays small for
    matrices of any size, unlike that of matplotlib's ``spy``.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    pixels : int
        Maximum number of squares in each direction.

    Examples
    --------
    >>> import ziggurat
    >>> picture = ziggurat.spy(ziggurat.gallery.poisson2d(20))
    >>> picture.svg.startswith("<svg")
    True
    """
    return Picture(_native.spy(csr_parts(A)[0], pixels))


class Diagnosis(dict[str, Any]):
    """Properties of a matrix, with the keys of ``ziggurat inspect --json``.

    ``advice`` says what they mean for solving.
    """

    advice: list[str]

    def __str__(self) -> str:
        kind = "symmetric" if self["symmetric"] else "not symmetric"
        lines = [f"{counted(self['rows'], 'row')}, {counted(self['nnz'], 'entry')}, {kind}", *self.advice]
        return "\n".join(lines)


def diagnose(A: SparseMatrix) -> Diagnosis:
    """Analyses a matrix without setting up a solver.

    Examples
    --------
    >>> import ziggurat
    >>> diagnosis = ziggurat.diagnose(ziggurat.gallery.elasticity3d(4))
    >>> diagnosis["symmetric"], diagnosis["graph"]["block_size"]
    (True, 3)
    """
    found, advice = _native.diagnose(csr_parts(A)[0])
    diagnosis = Diagnosis(json.loads(found))
    diagnosis.advice = advice
    return diagnosis
