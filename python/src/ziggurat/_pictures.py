"""Pictures that need no plotting package: SVG, drawn by the same code as the pages of ``ziggurat solve --report``."""

from __future__ import annotations

import json
import os
from typing import Any, Union

from ziggurat import _native
from ziggurat._matrix import SparseMatrix, csr_parts


class Picture:
    """An SVG picture: shows itself in a notebook, and can be saved."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the picture to a file, which should end in .svg."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg)} bytes of SVG; .save(path) writes it>"


def spy(A: SparseMatrix, pixels: int = 120) -> Picture:
    """Where the entries of a matrix are: darker is denser.

    Unlike matplotlib's ``spy`` it can draw a matrix of any size, since it counts entries instead of drawing each.

    Parameters
    ----------
    A : scipy.sparse matrix or array
    pixels : int
        Squares in each direction, at most.

    Examples
    --------
    >>> import ziggurat
    >>> picture = ziggurat.spy(ziggurat.gallery.poisson2d(20))
    >>> picture.svg.startswith("<svg")
    True
    """
    return Picture(_native.spy(csr_parts(A)[0], pixels))


class Diagnosis(dict[str, Any]):
    """What kind of matrix it is, as ``ziggurat inspect --json`` tells; ``advice`` says what follows."""

    advice: list[str]

    def __str__(self) -> str:
        kind = "symmetric" if self["symmetric"] else "not symmetric"
        lines = [f"{self['rows']} rows, {self['nnz']} entries, {kind}", *self.advice]
        return "\n".join(lines)


def diagnose(A: SparseMatrix) -> Diagnosis:
    """Finds out what kind of matrix this is, before anybody solves with it.

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
