"""Algebraic multigrid for large sparse linear systems, with levels that may be stored in 16 bits.

>>> import numpy as np, ziggurat
>>> A = ziggurat.gallery.poisson3d(30)             # or any scipy.sparse matrix
>>> x = ziggurat.solve(A, np.ones(A.shape[0]))

``ziggurat.read_matrix("A.mtx.gz")`` reads Matrix Market, PETSc and other files.

For many right-hand sides, set up once: ``ml = ziggurat.solver(A)``, then ``ml.solve(b)``.
``print(ml)`` lists the levels, ``ml.plot()`` draws them, and ``ml.aspreconditioner()`` is an ``M``
for scipy's solvers. PyAMG's names work where they apply:
``ziggurat.smoothed_aggregation_solver(A, B)``, ``ziggurat.ruge_stuben_solver(A)``.

Setup and solve log to ``ziggurat.setup`` and ``ziggurat.solve`` through Python's ``logging``.
``logging.basicConfig(level=logging.INFO)`` shows the messages.
"""

import logging as _logging

from ziggurat import gallery
from ziggurat._errors import (
    ConfigError,
    DeviceError,
    HierarchyError,
    MatrixError,
    SetupError,
    SolveError,
    ZigguratError,
)
from ziggurat._files import read_matrix
from ziggurat._info import NotConvergedError, SolveInfo
from ziggurat._level import Level
from ziggurat._native import Progress, __version__
from ziggurat._pictures import Diagnosis, Picture, diagnose, spy
from ziggurat._preconditioner import Preconditioner
from ziggurat._setup import (
    choices,
    default_config,
    ruge_stuben_solver,
    smoothed_aggregation_solver,
    solve,
    solver,
)
from ziggurat._solver import MultilevelSolver
from ziggurat._tune import tune

__all__ = [
    "ConfigError",
    "DeviceError",
    "Diagnosis",
    "HierarchyError",
    "Level",
    "MatrixError",
    "MultilevelSolver",
    "NotConvergedError",
    "Picture",
    "Preconditioner",
    "Progress",
    "SetupError",
    "SolveError",
    "SolveInfo",
    "ZigguratError",
    "__version__",
    "choices",
    "default_config",
    "diagnose",
    "gallery",
    "read_matrix",
    "ruge_stuben_solver",
    "smoothed_aggregation_solver",
    "solve",
    "solver",
    "spy",
    "tune",
]

# The application decides which messages are shown. Without any handler, Python prints warnings.
_logging.getLogger("ziggurat").addHandler(_logging.NullHandler())

# Classes are shown and pickled under their public names.
for _class in (
    ConfigError,
    DeviceError,
    Diagnosis,
    HierarchyError,
    Level,
    MatrixError,
    MultilevelSolver,
    NotConvergedError,
    Picture,
    Preconditioner,
    SetupError,
    SolveError,
    SolveInfo,
    ZigguratError,
):
    _class.__module__ = "ziggurat"
del _class

#: Names of PyAMG that are not here, and what to write instead.
_PYAMG = {
    "adaptive_sa_solver": "estimated near-nullspace vectors are not supported: give near_nullspace=",
    "air_solver": "write ziggurat.solver(A, method='air')",
    "coarse_grid_solver": "the coarsest level is solved directly",
    "krylov": "write ml.solve(b, accel='gmres'), or use scipy's solvers with M=ml.aspreconditioner()",
    "pairwise_solver": "write ziggurat.solver(A, method='pairwise')",
    "rootnode_solver": "write ziggurat.smoothed_aggregation_solver(A, B)",
    "solver_configuration": "ziggurat.solver(A) chooses by itself; print(ziggurat.diagnose(A)) says what it sees",
}


def __getattr__(name: str) -> object:
    hint = _PYAMG.get(name)
    if hint is None:
        raise AttributeError(f"module 'ziggurat' has no attribute {name!r}")
    raise AttributeError(f"ziggurat has no {name!r}; {hint}")


def __dir__() -> list[str]:
    return __all__
