"""Newton's method with scikit-fem: −∇·((ε² + |∇u|²) ∇u) = 1 + x, the p-Laplacian with p = 4.

Run it with ``pip install ziggurat scikit-fem`` and ``python scikit_fem_newton.py``;
``python scikit_fem_newton.py 7`` has 48,641 unknowns.

All matrices have one pattern, so that the first setup serves all steps: ``update_values`` takes the
values alone, in the order of the first matrix. scikit-fem leaves out entries that are exactly zero,
and a constant u has such entries on a regular mesh: so the first step begins with the solution for
p = 2.
"""

import sys
import time

import numpy as np
from scipy import sparse
from skfem import Basis, BilinearForm, ElementTriP1, LinearForm, MeshTri, condense
from skfem.helpers import dot, grad
from verdict import checked

import ziggurat

EPSILON = 1e-2


@BilinearForm
def laplacian(u, v, w):
    return dot(grad(u), grad(v))


@LinearForm
def load(v, w):
    return (1.0 + w.x[0]) * v


@BilinearForm
def derivative(u, v, w):
    slope = grad(w["before"])
    return (EPSILON**2 + dot(slope, slope)) * dot(grad(u), grad(v)) + 2.0 * dot(slope, grad(u)) * dot(slope, grad(v))


@LinearForm
def residual(v, w):
    slope = grad(w["before"])
    return (EPSILON**2 + dot(slope, slope)) * dot(slope, grad(v)) - (1.0 + w.x[0]) * v


def main(refinements: int) -> None:
    basis = Basis(MeshTri.init_lshaped().refined(refinements), ElementTriP1())
    u, edge = basis.zeros(), basis.get_dofs()
    linear = condense(laplacian.assemble(basis), load.assemble(basis), D=edge)
    u[basis.complement_dofs(edge)] = ziggurat.solve(linear[0], linear[1])
    ml, updates = None, 0.0
    for step in range(30):
        before = basis.interpolate(u)
        A, b, _, unknowns = condense(derivative.assemble(basis, before=before), -residual.assemble(basis, before=before), D=edge)
        A = sparse.csr_array(A)
        if step == 0:
            print(f"{A.shape[0]} unknowns")
        size = np.linalg.norm(b)
        if step > 0 and size <= 1e-9 * first:
            break
        start = time.perf_counter()
        if ml is None:
            ml, first = ziggurat.solver(A), size
        else:
            ml.update_values(A.data)
            updates += time.perf_counter() - start
        x, info = ml.solve(b, return_info=True)
        checked(f"step {step}, |residual| {size:.1e}", A, b, x, info, time.perf_counter() - start)
        assert info.converged, info.reason
        u[unknowns] += x
    else:
        raise AssertionError("Newton's method has not converged")
    print(f"  {step} steps, updates took {updates:.2f} s in all")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
