"""Model problems: matrices to try things with, the same as ``ziggurat solve --problem`` has.

Examples
--------
>>> import ziggurat
>>> A = ziggurat.gallery.poisson3d(10)
>>> A.shape, A.nnz
((1000, 1000), 6400)
>>> [name for name, _ in ziggurat.gallery.names()][:2]
['poisson2d', 'poisson3d']
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ziggurat import _native
from ziggurat._matrix import in_order
from ziggurat._errors import ConfigError

__all__ = [
    "Problem",
    "anisotropic3d",
    "convection3d",
    "elasticity3d",
    "jump3d",
    "names",
    "neumann3d",
    "poisson2d",
    "poisson3d",
    "poisson3d27",
    "problem",
    "rigid_body_modes",
]


class Problem(NamedTuple):
    """A model problem."""

    #: The matrix.
    A: sparse.csr_array
    #: The right-hand side.
    b: NDArray[np.float64]
    #: The coordinates of the nodes, one row each.
    coords: NDArray[np.float64]
    #: Unknowns per node.
    block_size: int


def problem(name: str) -> Problem:
    """The problem of a name such as ``poisson3d:100``.

    Examples
    --------
    >>> import ziggurat
    >>> beam = ziggurat.gallery.problem("elasticity3d:4")
    >>> beam.A.shape, beam.coords.shape, beam.block_size
    ((300, 300), (100, 3), 3)
    """
    rows, (indptr, indices, data), b, coords, block = _native.problem(name)
    return Problem(sparse.csr_array((data, indices, indptr), shape=(rows, rows)), b, coords, block)


def names() -> list[tuple[str, str]]:
    """The names of all problems, each with what it is."""
    return _native.problems()


def poisson2d(n: int) -> sparse.csr_array:
    """The five-point Laplacian on n × n points."""
    return problem(f"poisson2d:{n}").A


def poisson3d(n: int) -> sparse.csr_array:
    """The seven-point Laplacian on n × n × n points."""
    return problem(f"poisson3d:{n}").A


def poisson3d27(n: int) -> sparse.csr_array:
    """The 27-point Laplacian on n × n × n points."""
    return problem(f"poisson3d27:{n}").A


def anisotropic3d(n: int) -> sparse.csr_array:
    """Seven points, a hundred times weaker in z."""
    return problem(f"anisotropic3d:{n}").A


def jump3d(n: int) -> sparse.csr_array:
    """A checkerboard of blocks of 10³ points whose conductivities are 1 and 10⁴."""
    return problem(f"jump3d:{n}").A


def elasticity3d(n: int) -> sparse.csr_array:
    """An elastic cube of n³ hexahedra with one face clamped; three unknowns per node."""
    return problem(f"elasticity3d:{n}").A


def convection3d(n: int) -> sparse.csr_array:
    """Convection and diffusion: not symmetric."""
    return problem(f"convection3d:{n}").A


def neumann3d(n: int) -> sparse.csr_array:
    """The Laplacian without Dirichlet points: singular."""
    return problem(f"neumann3d:{n}").A


def rigid_body_modes(coords: ArrayLike) -> NDArray[np.float64]:
    """The motions that cost an elastic body no energy, in columns: three in the plane, six in space.

    Parameters
    ----------
    coords : array
        One row per node, with two or three columns. Unknowns are numbered node by node.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.gallery.rigid_body_modes([[0, 0], [1, 0], [0, 1]]).shape
    (6, 3)
    """
    points = in_order(coords, np.float64)
    if points.ndim != 2:
        raise ConfigError(f"coords has {points.ndim} dimension(s); give one row per node: x, y and z in columns")
    return _native.rigid_body_modes(points)
