"""Transient diffusion with FiPy: one solver for all time steps.

Run it with ``pip install ziggurat fipy`` and ``python fipy_diffusion.py``.

FiPy assembles the matrix of each time step. The pattern stays the same, so that ``update_values``
replaces the setup in all steps but the first.
"""

import os
import sys

os.environ.setdefault("FIPY_SOLVERS", "scipy")

import numpy as np
from fipy import CellVariable, DiffusionTerm, Grid3D, TransientTerm
from scipy import sparse

import ziggurat


def system(equation, variable, step):
    """The matrix and the right-hand side that FiPy assembles for a time step."""
    equation.cacheMatrix()
    equation.cacheRHSvector()
    equation.justResidualVector(var=variable, dt=step)
    return sparse.csr_array(equation.matrix.matrix), np.array(equation.RHSvector)


def main(cells: int) -> None:
    mesh = Grid3D(nx=cells, ny=cells, nz=cells)
    temperature = CellVariable(mesh=mesh, value=0.0, hasOld=True)
    temperature.constrain(1.0, mesh.facesLeft)
    temperature.constrain(0.0, mesh.facesRight)
    equation = TransientTerm() == DiffusionTerm(coeff=1.0)
    ml = None
    for number, step in enumerate([1.0, 2.0, 4.0, 8.0]):
        temperature.updateOld()
        A, b = system(equation, temperature, step)
        if ml is None:
            ml = ziggurat.solver(A)
        else:
            ml.update_values(A)
        x, info = ml.solve(b, x0=np.array(temperature.value), return_info=True)
        print(f"step {number}, {A.shape[0]} unknowns: {info.iterations} iterations")
        assert info.converged, info.reason
        assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
        temperature.value = x
    assert 0.0 <= temperature.value.min() and temperature.value.max() <= 1.0


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 24)
