"""One solve, its verdict in a line, and a check that the verdict is true.

The examples beside this file use it. NumPy computes the residual again from the solution, without
the solver's help.
"""

import time

import numpy as np

import ziggurat

#: The default of ``tol``.
TOLERANCE = 1e-8


def checked(name, A, b, x, info, seconds: float):
    """Prints what a solve says of itself, and fails if that is not true. Returns the info."""
    residual = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    verdict = "converged" if info.converged else f"NOT converged ({info.stop_reason})"
    used = f"{info.method}, {info.krylov}, {info.precision}"
    print(f"  {name}: {verdict}, {info.iterations} iterations, residual {residual:.1e}, {seconds:.2f} s ({used})")
    if info.promotion:
        print(f"    changed: {info.promotion}")
    # The same sum in another order differs in the last digits.
    assert abs(info.relative_residual - residual) <= 1e-3 * residual + 1e-13, (info.relative_residual, residual)
    if info.converged:
        assert residual <= 1.001 * TOLERANCE, residual
    else:
        assert info.stop_reason != "converged" and len(info.reason) > len(info.stop_reason)
        advice = [entry["text"] for entry in info.to_dict().get("advice", [])]
        for line in (info.reason, *advice):
            print(f"    {line}")
        assert advice or "try" in info.reason, "no word on what to try"
    return info


def solved(name, A, b, **arguments):
    """Sets up and solves with these arguments of ``ziggurat.solve``, and checks the verdict."""
    start = time.perf_counter()
    x, info = ziggurat.solve(A, b, return_info=True, **arguments)
    checked(name, A, b, x, info, time.perf_counter() - start)
    return x, info
