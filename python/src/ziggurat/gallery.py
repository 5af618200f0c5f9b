"""Model problems: those of ``ziggurat solve --problem``, and functions of PyAMG's gallery.

Examples
--------
>>> import ziggurat
>>> A = ziggurat.gallery.poisson3d(10)
>>> A.shape, A.nnz
((1000, 1000), 6400)
>>> [name for name, _ in ziggurat.gallery.names()][:2]
['poisson2d', 'poisson3d']
>>> ziggurat.gallery.poisson((40, 30)).shape  # as in PyAMG
(1200, 1200)
"""

from ziggurat._gallery import (
    Problem,
    anisotropic3d,
    anisotropic3d19,
    convection3d,
    elasticity3d,
    jump3d,
    laplace27e8,
    lognormal3d,
    names,
    neumann3d,
    poisson2d,
    poisson3d,
    poisson3d27,
    problem,
    radiation3t,
    rigid_body_modes,
    solid3d,
    transport3d,
)
from ziggurat._grids import diffusion_stencil_2d, linear_elasticity, poisson, stencil_grid

__all__ = [
    "Problem",
    "anisotropic3d",
    "anisotropic3d19",
    "convection3d",
    "diffusion_stencil_2d",
    "elasticity3d",
    "jump3d",
    "laplace27e8",
    "linear_elasticity",
    "lognormal3d",
    "names",
    "neumann3d",
    "poisson",
    "poisson2d",
    "poisson3d",
    "poisson3d27",
    "problem",
    "radiation3t",
    "rigid_body_modes",
    "solid3d",
    "stencil_grid",
    "transport3d",
]

#: Functions of PyAMG's gallery that are not here.
_PYAMG = {
    "advection_2d", "demo", "fem", "gauge_laplacian", "linear_elasticity_p1", "load_example", "regular_triangle_mesh",
    "sprand", "laplacian", "elasticity", "diffusion", "stencil",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _PYAMG:
        raise AttributeError(f"ziggurat.gallery has no {name!r}; use pyamg.gallery.{name}, whose matrices ziggurat takes")
    raise AttributeError(f"ziggurat.gallery has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
