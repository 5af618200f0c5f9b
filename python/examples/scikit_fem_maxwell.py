"""Maxwell's equations with scikit-fem: Nédélec's edge elements, curl curl u + σ u = f.

Run it with ``pip install ziggurat scikit-fem`` and ``python scikit_fem_maxwell.py``;
``python scikit_fem_maxwell.py 17`` has 26,416 unknowns, 33 has 220,256, and a second argument is σ.

The curl vanishes on gradients, which smoothers by points do not reduce and no coarse level
represents. So iterations double when the mesh is halved, and grow as σ falls: the verdict is right,
but a solver for H(curl) would be faster.
"""

import sys

import numpy as np
from skfem import Basis, BilinearForm, ElementTetN0, LinearForm, MeshTet, condense
from skfem.helpers import curl, dot
from verdict import solved


def main(points: int, sigma: float) -> None:
    @BilinearForm
    def maxwell(u, v, w):
        return dot(curl(u), curl(v)) + sigma * dot(u, v)

    @LinearForm
    def current(v, w):
        return dot(np.array([w.x[1], w.x[2], w.x[0]]), v)

    basis = Basis(MeshTet.init_tensor(*3 * [np.linspace(0.0, 1.0, points)]), ElementTetN0())
    A, b, _, _ = condense(maxwell.assemble(basis), current.assemble(basis), D=basis.get_dofs())
    print(f"{A.shape[0]} unknowns, sigma {sigma}")
    _, info = solved("defaults", A, b)
    assert info.converged, info.reason


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9, float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
