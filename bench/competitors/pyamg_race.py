"""Setup and solve by PyAMG and by ziggurat, alternating in one process. Prints one JSON object.

usage: python pyamg_race.py ROUNDS THREADS PROBLEM …

PyAMG uses smoothed aggregation as its documentation recommends: with conjugate gradients and, for
elasticity, on a block matrix with the rigid-body modes. It runs with three settings, of which the
best counts for each problem: the defaults; without the improvement of candidates (optional according
to its documentation, and expensive in setup); and also with the strength threshold 0.08 of Vanek,
Mandel and Brezina. ziggurat uses its defaults. Both solve to a relative residual of 1e-8, which this
script recomputes for both.
"""

import json
import sys
import time

import numpy as np
import pyamg
from scipy import sparse

import ziggurat

SETTINGS = {
    "default": {},
    "candidates as given": {"improve_candidates": None},
    "candidates as given, theta 0.08": {"improve_candidates": None, "strength": ("symmetric", {"theta": 0.08})},
}


def residual(A, x, b):
    return float(np.linalg.norm(b - A @ x) / np.linalg.norm(b))


def theirs(problem, modes, setting):
    A = sparse.csr_matrix(problem.A)
    if problem.block_size > 1:
        A = A.tobsr((problem.block_size, problem.block_size))
    options = dict(SETTINGS[setting])
    if modes is not None:
        options["B"] = modes
    start = time.perf_counter()
    ml = pyamg.smoothed_aggregation_solver(A, **options)
    ready = time.perf_counter()
    residuals = []
    x = ml.solve(problem.b, tol=1e-8, maxiter=500, accel="cg", residuals=residuals)
    end = time.perf_counter()
    return {
        "setting": setting,
        "setup_seconds": ready - start,
        "solve_seconds": end - ready,
        "iterations": len(residuals) - 1,
        "relative_residual": residual(problem.A, x, problem.b),
    }


def ours(problem, threads):
    coords = problem.coords if problem.block_size > 1 else None
    start = time.perf_counter()
    ml = ziggurat.solver(problem.A, coords=coords, threads=threads)
    ready = time.perf_counter()
    x, info = ml.solve(problem.b, return_info=True)
    end = time.perf_counter()
    return {
        "setting": f"{info.method}, {info.krylov}, {info.precision}",
        "setup_seconds": ready - start,
        "solve_seconds": end - ready,
        "iterations": info.iterations,
        "relative_residual": residual(problem.A, x, problem.b),
    }


def total(measured):
    return measured["setup_seconds"] + measured["solve_seconds"]


def main():
    rounds, threads = int(sys.argv[1]), int(sys.argv[2])
    results = []
    for name in sys.argv[3:]:
        problem = ziggurat.gallery.problem(name)
        modes = ziggurat.gallery.rigid_body_modes(problem.coords) if problem.block_size > 1 else None
        pyamg_rounds, our_rounds = [], []
        for _ in range(rounds):
            for setting in SETTINGS:
                pyamg_rounds.append(theirs(problem, modes, setting))
                our_rounds.append(ours(problem, threads))
        results.append({"problem": name, "pyamg": min(pyamg_rounds, key=total), "ours": min(our_rounds, key=total)})
    print(json.dumps({"pyamg": pyamg.__version__, "ziggurat": ziggurat.__version__, "threads": threads, "problems": results}))


main()
