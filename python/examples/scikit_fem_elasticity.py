"""Linear elasticity with scikit-fem: a cube of linear tetrahedra, clamped at one face.

Run it with ``pip install ziggurat scikit-fem`` and ``python scikit_fem_elasticity.py``.

``condense`` takes out the clamped unknowns, so that nodes at the clamped face may lose some of their
unknowns. Coordinates can be given for every unknown that is left, or for every node if all of its
unknowns are left or taken out together.
"""

import sys

import numpy as np
from skfem import Basis, BilinearForm, ElementTetP1, ElementVector, LinearForm, MeshTet, condense
from skfem.helpers import ddot, dot, eye, sym_grad, trace

import ziggurat


@BilinearForm
def stiffness(u, v, w):
    strain = sym_grad(u)
    stress = 2.0 * strain + eye(trace(strain), 3)  # both Lamé parameters are 1
    return ddot(stress, sym_grad(v))


@LinearForm
def weight(v, w):
    return dot(np.array([0.0, 0.0, -1.0])[:, None, None], v)


def main(points: int) -> None:
    mesh = MeshTet.init_tensor(*3 * [np.linspace(0.0, 1.0, points)])
    basis = Basis(mesh, ElementVector(ElementTetP1()))
    clamped = basis.get_dofs(lambda x: x[0] == 0.0)
    A, b, _, unknowns = condense(stiffness.assemble(basis), weight.assemble(basis), D=clamped)
    by_unknown = basis.doflocs[:, unknowns].T
    by_node = by_unknown[::3]  # here whole nodes are clamped: three unknowns per node are left
    coordinates = {"no coordinates": None, "coordinates by unknown": by_unknown, "coordinates by node": by_node}
    for name, coords in coordinates.items():
        x, info = ziggurat.solve(A, b, coords=coords, return_info=True)
        print(f"{A.shape[0]} unknowns, {name}: {info.iterations} iterations")
        assert info.converged, info.reason
        assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 14)
