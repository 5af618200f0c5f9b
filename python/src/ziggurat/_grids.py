"""Matrices on regular grids, with the names and arguments of PyAMG's gallery.

They equal PyAMG's, and are CSR matrices unless another format is given.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ziggurat._errors import ConfigError

__all__ = ["diffusion_stencil_2d", "linear_elasticity", "poisson", "stencil_grid"]


def _grid(grid: Any) -> tuple[int, ...]:
    """The numbers of points in each direction; one number is a line."""
    shape = tuple(int(points) for points in np.atleast_1d(grid))
    if not shape or min(shape) < 1:
        raise ConfigError(f"grid is {grid!r}; give the number of points in each direction, such as (100, 100)")
    return shape


def stencil_grid(S: ArrayLike, grid: Any, dtype: Any = None, format: Optional[str] = "csr") -> Any:
    """The matrix that applies a stencil at every point of a regular grid.

    Parameters
    ----------
    S : array
        The stencil, with an odd number of entries in each direction. Entries outside the grid are
        left out.
    grid : tuple of int
        The numbers of points in each direction. The last direction is numbered first.
    dtype : optional
        The dtype of the matrix; by default that of ``S``.
    format : str, optional
        The format of the matrix.

    Examples
    --------
    >>> import ziggurat
    >>> ziggurat.gallery.stencil_grid([-1.0, 2.0, -1.0], (4,)).toarray().tolist()
    [[2.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -1.0, 0.0], [0.0, -1.0, 2.0, -1.0], [0.0, 0.0, -1.0, 2.0]]
    """
    stencil, shape = np.asarray(S, dtype=dtype), _grid(grid)
    if stencil.ndim != len(shape):
        raise ConfigError(f"the stencil has {stencil.ndim} dimension(s) and the grid {len(shape)}; they must match")
    if any(extent % 2 == 0 for extent in stencil.shape):
        raise ConfigError(f"the stencil has shape {stencil.shape}; every extent must be odd")
    points = np.arange(np.prod(shape)).reshape(shape)
    rows, columns, values = [], [], []
    for place in np.argwhere(stencil):
        offset = place - np.array(stencil.shape) // 2
        inside = [slice(max(0, -step), max(0, extent - max(0, step))) for step, extent in zip(offset, shape)]
        shifted = [slice(max(0, step), max(0, extent + min(0, step))) for step, extent in zip(offset, shape)]
        rows.append(points[tuple(inside)].ravel())
        columns.append(points[tuple(shifted)].ravel())
        values.append(np.full(rows[-1].size, stencil[tuple(place)]))
    if not rows:
        made: Any = sparse.csr_array((points.size, points.size), dtype=stencil.dtype)
    else:
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        made = sparse.coo_array(entries, shape=(points.size, points.size))
    return made.asformat(format)


def poisson(grid: Any, dtype: Any = float, format: Optional[str] = "csr", type: str = "FD") -> Any:
    """The Laplacian on a regular grid of any dimension, with Dirichlet boundary conditions.

    Parameters
    ----------
    grid : tuple of int
        The numbers of points in each direction, such as ``(100, 100)``.
    dtype, format : optional
        The dtype and the format of the matrix.
    type : str
        'FD' for finite differences (5 points in 2-D), 'FE' for multilinear finite elements (9
        points).

    Examples
    --------
    >>> import ziggurat
    >>> A = ziggurat.gallery.poisson((20, 20, 20))
    >>> A.shape, A.nnz == ziggurat.gallery.poisson3d(20).nnz
    ((8000, 8000), True)
    """
    dimension = len(_grid(grid))
    if type == "FD":
        stencil = np.zeros((3,) * dimension, dtype=dtype)
        for direction in range(dimension):
            for step in (0, 2):
                place = [1] * dimension
                place[direction] = step
                stencil[tuple(place)] = -1
        stencil[(1,) * dimension] = 2 * dimension
    elif type == "FE":
        stencil = np.full((3,) * dimension, -1, dtype=dtype)
        stencil[(1,) * dimension] = 3**dimension - 1
    else:
        raise ConfigError(f"type is {type!r}; it must be 'FD' or 'FE'")
    return stencil_grid(stencil, grid, format=format)


def diffusion_stencil_2d(epsilon: float = 1.0, theta: float = 0.0, type: str = "FE") -> NDArray[np.float64]:
    """The 3 × 3 stencil of anisotropic diffusion in a rotated direction, for :func:`stencil_grid`.

    The diffusion is 1 in the direction at the angle ``theta`` to the first axis of the grid, and
    ``epsilon`` across it.

    Parameters
    ----------
    epsilon : float
    theta : float
        The angle in radians.
    type : str
        'FE' for bilinear finite elements, 'FD' for finite differences.

    Examples
    --------
    >>> import numpy as np, ziggurat
    >>> stencil = ziggurat.gallery.diffusion_stencil_2d(epsilon=0.001, theta=np.pi / 6)
    >>> A = ziggurat.gallery.stencil_grid(stencil, (30, 30))
    >>> A.shape, bool(abs(A - A.T).max() < 1e-12)
    ((900, 900), True)
    """
    cosine, sine = np.cos(theta), np.sin(theta)
    # The diffusion tensor.
    first = cosine**2 + epsilon * sine**2
    second = epsilon * cosine**2 + sine**2
    mixed = (1 - epsilon) * cosine * sine
    # One-dimensional stencils: of the second derivative, and of the mean across it.
    second_derivative = np.array([-1.0, 2.0, -1.0])
    if type == "FD":
        mean = np.array([0.0, 1.0, 0.0])
    elif type == "FE":
        mean = np.array([1.0, 4.0, 1.0]) / 6
    else:
        raise ConfigError(f"type is {type!r}; it must be 'FD' or 'FE'")
    corners = np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, -1.0]])
    straight = first * np.outer(second_derivative, mean) + second * np.outer(mean, second_derivative)
    return np.asarray(straight + mixed / 2 * corners, dtype=np.float64)


def linear_elasticity(
    grid: Any, spacing: Any = None, E: float = 1e5, nu: float = 0.3, format: Optional[str] = None
) -> tuple[Any, NDArray[np.float64]]:
    """Plane-strain elasticity on a rectangle of bilinear elements, clamped at the boundary.

    Parameters
    ----------
    grid : tuple of int
        The numbers of interior points in the two directions. The first direction is numbered first.
    spacing : tuple of float, optional
        The distances of points.
    E, nu : float
        Young's modulus and Poisson's ratio.
    format : str, optional
        The format of the matrix. The default is BSR, with the two unknowns of a point as a block.

    Returns
    -------
    A : scipy.sparse array
    B : numpy.ndarray
        The three rigid-body modes, as columns.

    Examples
    --------
    >>> import ziggurat
    >>> A, B = ziggurat.gallery.linear_elasticity((30, 20))
    >>> A.shape, A.format, B.shape
    ((1200, 1200), 'bsr', (1200, 3))
    """
    shape = _grid(grid)
    if len(shape) != 2:
        raise ConfigError(f"grid is {grid!r}; it must have two directions (ziggurat.gallery.elasticity3d has three)")
    width, height = (1.0, 1.0) if spacing is None else (float(step) for step in spacing)
    local = _element(width, height, E * nu / ((1 + nu) * (1 - 2 * nu)), E / (2 + 2 * nu))
    # All points, with those of the boundary, which are left out at the end.
    across, along = shape[0] + 2, shape[1] + 2
    numbers = np.arange(across * along).reshape(along, across)
    corners = [numbers[:-1, :-1], numbers[:-1, 1:], numbers[1:, 1:], numbers[1:, :-1]]
    nodes = np.stack([corner.ravel() for corner in corners], axis=1)
    unknowns = np.stack([2 * nodes, 2 * nodes + 1], axis=2).reshape(-1, 8)
    rows, columns = np.repeat(unknowns, 8, axis=1).ravel(), np.tile(unknowns, 8).ravel()
    values = np.tile(local.ravel(), len(unknowns))
    whole = sparse.coo_array((values, (rows, columns)), shape=(2 * numbers.size, 2 * numbers.size)).tocsr()
    inner = numbers[1:-1, 1:-1].ravel()
    kept = np.stack([2 * inner, 2 * inner + 1], axis=1).ravel()
    A = whole[kept][:, kept].tobsr(blocksize=(2, 2))
    x = (inner % across - (across - 1) / 2) * width
    y = (inner // across - (along - 1) / 2) * height
    B = np.zeros((2 * inner.size, 3))
    B[0::2, 0] = B[1::2, 1] = 1.0
    B[0::2, 2], B[1::2, 2] = -y, x
    return A.asformat(format), B


def _element(width: float, height: float, lame: float, shear: float) -> NDArray[np.float64]:
    """The stiffness of a bilinear rectangle, by Gauss's rule with 2 × 2 points, which is exact."""
    elastic = np.array([[lame + 2 * shear, lame, 0], [lame, lame + 2 * shear, 0], [0, 0, shear]])
    stiffness = np.zeros((8, 8))
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    for point in signs / np.sqrt(3):
        slopes = signs * (1 + signs[:, ::-1] * point[::-1]) / 4 * [2 / width, 2 / height]
        strain = np.zeros((3, 8))
        strain[0, 0::2], strain[1, 1::2] = slopes[:, 0], slopes[:, 1]
        strain[2, 0::2], strain[2, 1::2] = slopes[:, 1], slopes[:, 0]
        stiffness += strain.T @ elastic @ strain * width * height / 4
    return stiffness
