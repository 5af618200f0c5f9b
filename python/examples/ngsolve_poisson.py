"""Poisson's equation with NGSolve: quadratic elements on an unstructured mesh.

Run it with ``pip install ziggurat ngsolve`` and ``python ngsolve_poisson.py``.

NGSolve assembles. Its matrix becomes a scipy matrix of the free unknowns, and the solution is
compared with that of NGSolve's own direct solver.
"""

import sys

import numpy as np
from netgen.csg import unit_cube
from ngsolve import H1, BilinearForm, GridFunction, LinearForm, Mesh, dx, grad
from scipy import sparse

import ziggurat


def main(size: float) -> None:
    mesh = Mesh(unit_cube.GenerateMesh(maxh=size))
    space = H1(mesh, order=2, dirichlet=".*")
    u, v = space.TnT()
    form = BilinearForm(grad(u) * grad(v) * dx).Assemble()
    load = LinearForm(v * dx).Assemble()

    free = np.flatnonzero(np.array(list(space.FreeDofs())))
    values, columns, rows = form.mat.CSR()
    shape = (form.mat.height, form.mat.width)
    whole = sparse.csr_array((np.array(values), np.array(columns), np.array(rows)), shape=shape)
    A, b = whole[free][:, free], load.vec.FV().NumPy()[free]

    solution = GridFunction(space)
    x, info = ziggurat.solve(A, b, tol=1e-10, return_info=True)
    solution.vec.FV().NumPy()[free] = x
    print(f"{A.shape[0]} unknowns: {info.iterations} iterations")
    assert info.converged, info.reason

    direct = GridFunction(space)
    direct.vec.data = form.mat.Inverse(space.FreeDofs()) * load.vec
    expected = direct.vec.FV().NumPy()
    assert np.linalg.norm(solution.vec.FV().NumPy() - expected) <= 1e-8 * np.linalg.norm(expected)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.12)
