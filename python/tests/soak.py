"""Solves for a given number of seconds: threads, updates, forks and pickles.

``cargo xtask soak`` runs it and watches the memory. It prints ``soak python RESIDENT_KIB SOLVES
CHECKED`` every few seconds, and fails if a solution is wrong.
"""

import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import ziggurat

SOLVES_PER_UPDATE = 8
CHECKED = 1000


def resident_kibibytes() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def check(A, x, b) -> None:
    relative = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    if not relative <= 1.01e-8:
        raise SystemExit(f"a solution is wrong: {relative:e}")


def in_fork(solver, A, b) -> None:
    """A child process solves with the solver of its parent."""
    child = os.fork()
    if child == 0:
        try:
            check(A, solver.solve(b), b)
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit(f"a solve after fork ended with status {status}")


def main(seconds: float) -> None:
    # Small, so that there are many calls, whose leaks add up: about 200 solves a second.
    given = ziggurat.gallery.poisson3d(8)
    rows = given.shape[0]
    end, told = time.monotonic() + seconds, time.monotonic()
    solves, checked, updates = 0, 0, 0
    with ThreadPoolExecutor(4) as pool:
        while time.monotonic() < end:
            precision = ("f16", "f64", "auto", "bf16")[updates // 20 % 4]
            if updates % 20 == 0:
                solver = ziggurat.solver(given, precision=precision)
            updates += 1
            A = given.copy()
            A.data *= 1 + 0.01 * (updates % 50)
            solver.update_values(A)
            sides = [((np.arange(rows) + solves + k) % 7) - 2.0 for k in range(SOLVES_PER_UPDATE)]
            solutions = list(pool.map(solver.solve, sides))
            if solves // CHECKED != (solves + len(sides)) // CHECKED:
                check(A, solutions[0], sides[0])
                checked += 1
            solves += len(sides)
            if updates % 50 == 0:
                solver = pickle.loads(pickle.dumps(solver))
                check(A, solver.solve(sides[0]), sides[0])
            if updates % 100 == 0:
                in_fork(solver, A, sides[0])
            if time.monotonic() - told > 5:
                told = time.monotonic()
                print("soak python", resident_kibibytes(), solves, checked, flush=True)
    print("soak python", resident_kibibytes(), solves, checked, flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
