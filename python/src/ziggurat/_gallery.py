"""Model problems by name, for :mod:`ziggurat.gallery`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ziggurat import _native
from ziggurat._errors import ConfigError
from ziggurat._matrix import in_order
from ziggurat._words import counted

__all__ = [
    "Problem",
    "anisotropic3d",
    "anisotropic3d19",
    "convection3d",
    "elasticity3d",
    "jump3d",
    "laplace27e8",
    "lognormal3d",
    "names",
    "neumann3d",
    "poisson2d",
    "poisson3d",
    "poisson3d27",
    "problem",
    "radiation3t",
    "rigid_body_modes",
    "solid3d",
    "transport3d",
]


class Problem(NamedTuple):
    """A model problem."""

    #: The matrix.
    A: sparse.csr_array
    #: The right-hand side.
    b: NDArray[np.float64]
    #: The coordinates of the nodes, one row per node.
    coords: NDArray[np.float64]
    #: Unknowns per node.
    block_size: int


Problem.__module__ = "ziggurat.gallery"


def problem(name: str) -> Problem:
    """Builds a problem from its name and size, such as ``poisson3d:100``.

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
    """The names of all problems, each with a description."""
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
    """The seven-point Laplacian with coupling a hundred times weaker in z, on n × n × n points."""
    return problem(f"anisotropic3d:{n}").A


def jump3d(n: int) -> sparse.csr_array:
    """Diffusion with coefficients 1 and 10⁴ in a checkerboard of 10³-cell blocks, on n³ points."""
    return problem(f"jump3d:{n}").A


def elasticity3d(n: int) -> sparse.csr_array:
    """Linear elasticity on a cube of n³ hexahedra, clamped at one face; three unknowns per node."""
    return problem(f"elasticity3d:{n}").A


def convection3d(n: int) -> sparse.csr_array:
    """Convection-diffusion on n × n × n points: nonsymmetric."""
    return problem(f"convection3d:{n}").A


def neumann3d(n: int) -> sparse.csr_array:
    """The Laplacian with pure Neumann boundary conditions on n × n × n points: singular."""
    return problem(f"neumann3d:{n}").A


def anisotropic3d19(n: int) -> sparse.csr_array:
    """Diffusion a hundred times stronger in z, with 19 points, on n × n × n points."""
    return problem(f"anisotropic3d19:{n}").A


def laplace27e8(n: int) -> sparse.csr_array:
    """The 27-point Laplacian times 10⁸ on n × n × n points."""
    return problem(f"laplace27e8:{n}").A


def lognormal3d(n: int) -> sparse.csr_array:
    """Diffusion with a smooth random coefficient between 10⁻⁴ and 10⁴, on n × n × n points."""
    return problem(f"lognormal3d:{n}").A


def radiation3t(n: int) -> sparse.csr_array:
    """Three temperatures that exchange heat, on n × n × n points; three unknowns per point."""
    return problem(f"radiation3t:{n}").A


def solid3d(n: int) -> sparse.csr_array:
    """Linear elasticity on a cube whose faces are all fixed, with n × n × n free nodes."""
    return problem(f"solid3d:{n}").A


def transport3d(n: int) -> sparse.csr_array:
    """Transport without diffusion in a turning flow, upwind, on n × n × n cells: not symmetric."""
    return problem(f"transport3d:{n}").A


def rigid_body_modes(coords: ArrayLike) -> NDArray[np.float64]:
    """The rigid-body modes of an elastic body, as columns: three in 2-D, six in 3-D.

    Parameters
    ----------
    coords : array
        Node coordinates: one row per node, two or three columns.
        Unknowns are numbered node by node.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.gallery.rigid_body_modes([[0, 0], [1, 0], [0, 1]]).shape
    (6, 3)
    """
    points = in_order(coords, np.float64)
    if points.ndim != 2:
        raise ConfigError(f"coords has {counted(points.ndim, 'dimension')}; give one row per node, with x, y and z in columns")
    return _native.rigid_body_modes(points)
