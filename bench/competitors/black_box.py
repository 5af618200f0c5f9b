"""Solve one system with a solver that needs no options, for `cargo xtask bench collection`.

    python black_box.py pyamg|spsolve MATRIX.mtx.gz RHS.mtx.gz|ones|balanced

- `pyamg`: `pyamg.solve`, PyAMG's black box, with rtol 1e-8. It chooses smoothed aggregation and a
  Krylov method from the symmetry of the matrix.
- `spsolve`: `scipy.sparse.linalg.spsolve`, which factorises by SuperLU.

Prints one line of JSON: seconds of setup and solve together, and ‖b − A x‖ / ‖b‖. Reading the files
does not count.
"""

import json
import sys
import time
import warnings

import numpy as np
import scipy.io
import scipy.sparse
import scipy.sparse.linalg


def right_hand_side(source: str, rows: int) -> np.ndarray:
    if source == "ones":
        return np.ones(rows)
    if source == "balanced":
        place = 2 * np.arange(rows) + 1
        return np.sign(rows - place).astype(float)
    return np.asarray(scipy.io.mmread(source)).ravel().astype(float)


def main() -> None:
    name, matrix, source = sys.argv[1:]
    warnings.simplefilter("ignore")
    a = scipy.sparse.csr_matrix(scipy.io.mmread(matrix).astype(float))
    b = right_hand_side(source, a.shape[0])
    if name == "pyamg":
        import pyamg

        start = time.perf_counter()
        x = pyamg.solve(a, b, verb=False, tol=1e-8, maxiter=1000)
    else:
        start = time.perf_counter()
        x = scipy.sparse.linalg.spsolve(a.tocsc(), b)
    seconds = time.perf_counter() - start
    residual = float(np.linalg.norm(b - a @ x) / np.linalg.norm(b))
    print(json.dumps({"seconds": seconds, "residual": residual if np.isfinite(residual) else None}))


main()
