"""The Helmholtz equation with scikit-fem: −Δu − k² u = f with an absorbing boundary, as a real system.

Run it with ``pip install ziggurat scikit-fem`` and ``python scikit_fem_helmholtz.py``;
``python scikit_fem_helmholtz.py 160 20`` has 25,921 complex unknowns and k = 20.

Complex matrices are refused. A x = b is the same as

    [Re A  −Im A] [Re x]   [Re b]
    [Im A   Re A] [Im x] = [Im b]

with twice the unknowns. Real and imaginary parts of an unknown may also follow one another, which
is compared here. Multigrid is not made for waves: with growing k it takes more and more iterations,
and then sparse factors.
"""

import sys

import numpy as np
from scipy import sparse
from skfem import Basis, BilinearForm, ElementTriP1, FacetBasis, LinearForm, MeshTri
from skfem.helpers import dot, grad
from verdict import TOLERANCE, solved

import ziggurat


@BilinearForm
def stiffness(u, v, w):
    return dot(grad(u), grad(v))


@BilinearForm
def mass(u, v, w):
    return u * v


@LinearForm
def source(v, w):
    return np.exp(-200.0 * ((w.x[0] - 0.3) ** 2 + (w.x[1] - 0.4) ** 2)) * v


def in_blocks(A):
    """The real form: all real parts, then all imaginary parts."""
    real = sparse.block_array([[A.real, -A.imag], [A.imag, A.real]], format="csr")
    real.eliminate_zeros()  # the imaginary part has the pattern of the whole matrix
    return real


def main(cells: int, k: float) -> None:
    mesh = MeshTri.init_tensor(*2 * [np.linspace(0.0, 1.0, cells + 1)])
    basis = Basis(mesh, ElementTriP1())
    edge = FacetBasis(mesh, ElementTriP1())
    A = stiffness.assemble(basis) - k**2 * mass.assemble(basis) - 1j * k * mass.assemble(edge)
    A, b = sparse.csr_array(A), source.assemble(basis).astype(complex)
    n = A.shape[0]
    print(f"{n} complex unknowns, k = {k:g}")
    try:
        ziggurat.solver(A)
    except TypeError as error:
        print(f"  refused: {error}")
    else:
        raise AssertionError("a complex matrix is not refused")

    real = in_blocks(A)
    x, info = solved("in blocks", real, np.concatenate([b.real, b.imag]))
    assert info.converged, info.reason
    u = x[:n] + 1j * x[n:]
    assert np.linalg.norm(b - A @ u) <= 1.001 * TOLERANCE * np.linalg.norm(b)

    pairs = np.arange(2 * n).reshape(2, n).T.ravel()  # 0, n, 1, n + 1, …
    x, info = solved("in pairs", real[pairs][:, pairs], np.concatenate([b.real, b.imag])[pairs])
    assert info.converged, info.reason
    assert np.linalg.norm(b - A @ (x[::2] + 1j * x[1::2])) <= 1.001 * TOLERANCE * np.linalg.norm(b)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, float(sys.argv[2]) if len(sys.argv) > 2 else 8.0)
