"""Stokes flow with scikit-fem: a driven cavity, with P2 velocities and P1 pressures.

Run it with ``pip install ziggurat scikit-fem`` and ``python scikit_fem_stokes.py``;
``python scikit_fem_stokes.py 80`` has 57,122 unknowns.

The matrix is that of a saddle point, [[K, Bᵀ], [B, 0]], with a zero block where smoothers need a
diagonal. Three ways to solve it are shown: with the defaults, by sparse factors, and with MINRES.
The fourth uses the solver for the velocities only, as a block of a preconditioner for SciPy's
MINRES, whose iterations hardly grow with the mesh.
"""

import sys
import time

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, minres
from skfem import Basis, BilinearForm, ElementTriP1, ElementTriP2, ElementVector, MeshTri, condense
from skfem.helpers import ddot, div, grad
from verdict import TOLERANCE, solved

import ziggurat


@BilinearForm
def viscosity(u, v, w):
    return ddot(grad(u), grad(v))


@BilinearForm
def divergence(u, q, w):
    return -div(u) * q


@BilinearForm
def mass(p, q, w):
    return p * q


def by_blocks(A, b, velocities: int, coords, pressure_mass) -> None:
    """MINRES of SciPy, preconditioned by a cycle for K and by the diagonal of the mass matrix."""
    start = time.perf_counter()
    cycle = ziggurat.solver(sparse.csr_array(A[:velocities, :velocities]), coords=coords).aspreconditioner()

    def apply(r):
        return np.concatenate([cycle @ r[:velocities], r[velocities:] / pressure_mass])

    steps = []
    M = LinearOperator(A.shape, apply)
    # MINRES measures the residual in the norm of the preconditioner.
    x, _ = minres(A, b, rtol=1e-4 * TOLERANCE, maxiter=1000, M=M, callback=lambda _: steps.append(1))
    seconds, residual = time.perf_counter() - start, np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    print(f"  SciPy's MINRES with blocks: {len(steps)} iterations, residual {residual:.1e}, {seconds:.2f} s")
    assert residual <= TOLERANCE


def main(cells: int) -> None:
    mesh = MeshTri.init_tensor(*2 * [np.linspace(0.0, 1.0, cells + 1)])
    velocity = Basis(mesh, ElementVector(ElementTriP2()))
    pressure = velocity.with_element(ElementTriP1())
    K, B, Q = viscosity.assemble(velocity), divergence.assemble(velocity, pressure), mass.assemble(pressure)
    whole = sparse.block_array([[K, B.T], [B, None]], format="csr")
    # The lid moves, and the first pressure is zero: only differences of pressures are determined.
    values = np.zeros(whole.shape[0])
    lid = velocity.get_dofs(lambda x: x[1] == 1.0).all(["u^1"])
    values[lid] = 1.0
    fixed = np.append(velocity.get_dofs().all(), velocity.N)
    A, b, _, unknowns = condense(whole, np.zeros(whole.shape[0]), x=values, D=fixed)
    A = sparse.csr_array(A)
    print(f"{A.shape[0]} unknowns")
    solved("defaults", A, b)
    for name, arguments in {"sparse factors": {"method": "direct"}, "MINRES": {"krylov": "minres"}}.items():
        _, info = solved(name, A, b, **arguments)
        assert info.converged, info.reason
    free = unknowns[unknowns < velocity.N]
    by_blocks(A, b, len(free), velocity.doflocs[:, free].T, Q.diagonal()[1:])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
