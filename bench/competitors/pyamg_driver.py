"""Conjugate gradients with PyAMG on a system written by `cargo xtask bench race`.

usage: python pyamg_driver.py SYSTEM SOLUTION METHOD THETA SMOOTHER

Files and output are described in `system.h`. METHOD is sa (smoothed aggregation, candidates as
given instead of improved, which its documentation calls optional and which is expensive in setup)
or rs (Ruge-Stuben). SMOOTHER is gs (symmetric Gauss-Seidel) or jacobi. Elastic bodies are BSR
matrices with the rigid-body modes as candidates. PyAMG has no threads: it runs on one core. The
race tries sa with theta 0 and 0.08 and with both smoothers.
"""

import sys
import time

import numpy as np
import pyamg
from scipy import sparse


def read(path):
    with open(path, "rb") as file:
        rows, entries = np.fromfile(file, np.int64, 2)
        starts = np.fromfile(file, np.int64, rows + 1).astype(np.int32)
        columns = np.fromfile(file, np.int32, entries)
        values = np.fromfile(file, np.float64, entries)
        rhs = np.fromfile(file, np.float64, rows)
        unknowns, _, modes = np.fromfile(file, np.int64, 3)
        modes = np.fromfile(file, np.float64, modes * rows).reshape(modes, rows).T
    a = sparse.csr_matrix((values, columns, starts), shape=(rows, rows))
    if unknowns > 1:
        a = a.tobsr((unknowns, unknowns))
    return a, rhs, int(unknowns), np.ascontiguousarray(modes)


def peak():
    with open("/proc/self/status") as status:
        kib = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
    return int(kib) * 1024 / 1e6


def main():
    system, solution, method, theta, smoother = sys.argv[1:]
    a, b, unknowns, modes = read(system)
    sweep = ("jacobi", {"omega": 4 / 3, "withrho": True})
    if smoother == "gs":
        name = "block_gauss_seidel" if unknowns > 1 else "gauss_seidel"
        sweep = (name, {"sweep": "symmetric"})
    options = {"presmoother": sweep, "postsmoother": sweep, "max_coarse": 500}
    start = time.perf_counter()
    if method == "sa":
        strength = ("symmetric", {"theta": float(theta)})
        candidates = modes if modes.shape[1] > 0 else None
        ml = pyamg.smoothed_aggregation_solver(
            a, B=candidates, strength=strength, improve_candidates=None, max_levels=15, **options
        )
    else:
        strength = ("classical", {"theta": float(theta)})
        ml = pyamg.ruge_stuben_solver(a.tocsr(), strength=strength, max_levels=20, **options)
    ready = time.perf_counter()
    residuals = []
    x = ml.solve(b, tol=1e-8, maxiter=500, accel="cg", residuals=residuals)
    end = time.perf_counter()
    peak_mb = peak()
    x.astype(np.float64).tofile(solution)
    print(f"RESULT {ready - start:.6f} {end - ready:.6f} {len(residuals) - 1} {peak_mb:.1f}")


main()
