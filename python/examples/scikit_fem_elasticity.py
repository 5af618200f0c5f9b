"""Linear elasticity with scikit-fem: a cube of linear tetrahedra, clamped at one face.

Run it with ``pip install ziggurat scikit-fem`` and ``python scikit_fem_elasticity.py``.

``condense`` takes out the clamped unknowns, so that nodes at the clamped face may lose some of their
unknowns. Coordinates can be given for every unknown that is left, or for every node if all of its
unknowns are left or taken out together.

``python scikit_fem_elasticity.py POINTS pyamg`` also solves with PyAMG's smoothed aggregation, with
and without the rigid-body modes.
"""

import sys
import time

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


def main(points: int, with_pyamg: bool) -> None:
    mesh = MeshTet.init_tensor(*3 * [np.linspace(0.0, 1.0, points)])
    basis = Basis(mesh, ElementVector(ElementTetP1()))
    clamped = basis.get_dofs(lambda x: x[0] == 0.0)
    A, b, _, unknowns = condense(stiffness.assemble(basis), weight.assemble(basis), D=clamped)
    by_unknown = basis.doflocs[:, unknowns].T
    by_node = by_unknown[::3]  # here whole nodes are clamped: three unknowns per node are left
    many = {"effort": "many-solves"}
    contestants = {
        "no coordinates": {},
        "coordinates by unknown": {"coords": by_unknown},
        "coordinates by node": {"coords": by_node},
        "no coordinates, many solves": {"config": many},
        "coordinates by node, many solves": {"coords": by_node, "config": many},
    }
    for name, arguments in contestants.items():
        start = time.perf_counter()
        x, info = ziggurat.solve(A, b, return_info=True, **arguments)
        report(name, A, b, x, info.iterations, start)
        assert info.converged, info.reason
    if with_pyamg:
        import pyamg

        for name, modes in {"PyAMG": None, "PyAMG, rigid-body modes": ziggurat.gallery.rigid_body_modes(by_node)}.items():
            start = time.perf_counter()
            blocks = A.tobsr((3, 3))
            residuals: list[float] = []
            solver = pyamg.smoothed_aggregation_solver(blocks, B=modes)
            x = solver.solve(b, tol=1e-8, accel="cg", maxiter=1000, residuals=residuals)
            report(name, A, b, x, len(residuals) - 1, start)


def report(name, A, b, x, iterations: int, start: float) -> None:
    seconds, residual = time.perf_counter() - start, np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    print(f"{A.shape[0]} unknowns, {name}: {iterations} iterations, {seconds:.2f} s, residual {residual:.1e}")
    assert residual <= 1.1e-8


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 14, "pyamg" in sys.argv)
