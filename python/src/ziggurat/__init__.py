"""Algebraic multigrid for large sparse linear systems, with levels that may be stored in 16 bits.

>>> import numpy as np, ziggurat
>>> A = ziggurat.gallery.poisson3d(30)             # or any scipy.sparse matrix
>>> x = ziggurat.solve(A, np.ones(A.shape[0]))

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
    ConvergenceWarning,
    DeviceError,
    HierarchyError,
    MatrixError,
    SetupError,
    SolveError,
    ZigguratError,
)
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

__all__ = [
    "ConfigError",
    "ConvergenceWarning",
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
    "ruge_stuben_solver",
    "smoothed_aggregation_solver",
    "solve",
    "solver",
    "spy",
]

# The application decides which messages are shown. Without any handler, Python prints warnings.
_logging.getLogger("ziggurat").addHandler(_logging.NullHandler())

# Classes are shown and pickled under their public names.
for _class in (
    ConfigError,
    ConvergenceWarning,
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
