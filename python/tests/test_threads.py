"""Threads: results do not depend on their number, other Python threads keep running, forks work."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

import ziggurat
from ziggurat import gallery


@pytest.mark.parametrize("name", ["poisson3d:30", "convection3d:25", "elasticity3d:9"])
@pytest.mark.parametrize("precision", ["f64", "f16"])
def test_the_same_bits_on_any_number_of_threads(name, precision):
    problem = gallery.problem(name)
    options = {"precision": precision, "coords": problem.coords}
    solvers = [ziggurat.solver(problem.A, threads=threads, **options) for threads in (1, 2, 4)]
    first, *others = [ml.solve(problem.b) for ml in solvers]
    for x in others:
        assert np.array_equal(x, first)
    first, *others = [ml.aspreconditioner() @ problem.b for ml in solvers]
    for x in others:
        assert np.array_equal(x, first)


def curl_curl(points, shift):
    """Edge elements on a grid: a hard matrix, for which a solve changes to a stronger smoother."""
    step, same = sparse.diags([-1.0, 1.0], [0, 1], shape=(points - 1, points)), sparse.eye(points - 1)
    curl = sparse.hstack([sparse.kron(step, same), -sparse.kron(same, step)])
    return sparse.csr_array(curl.T @ curl + shift * sparse.eye(curl.shape[1]))


def test_columns_of_which_one_changes_the_preconditioner_have_the_same_bits():
    A = curl_curl(20, 1e-3)
    B = np.random.default_rng(0).standard_normal((A.shape[0], 6))
    results = [ziggurat.solver(A, threads=threads).solve(B, return_info=True) for threads in (1, 2, 3)]
    first, infos = results[0]
    # The first column changes to another smoother, and the others start with it.
    assert [info.promotion is not None for info in infos] == [True] + 5 * [False]
    alone = ziggurat.solver(A).solve(B[:, 1])
    assert not np.array_equal(alone, first[:, 1])
    for x, others in results[1:]:
        assert np.array_equal(x, first)
        assert [info.iterations for info in others] == [info.iterations for info in infos]


def test_one_solver_solves_for_many_threads_at_once(ml):
    sides = [np.random.default_rng(seed).standard_normal(8000) for seed in range(12)]
    expected = [ml.solve(b) for b in sides]
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(ml.solve, sides))
    for x, y in zip(found, expected):
        assert np.array_equal(x, y)


def test_preconditioners_may_be_applied_at_once(ml, b):
    M = ml.aspreconditioner()
    expected = M @ b, M.rmatvec(b)
    with ThreadPoolExecutor(4) as executor:
        for x in executor.map(lambda _: M @ b, range(12)):
            assert np.array_equal(x, expected[0])
        for x in executor.map(lambda _: M.rmatvec(b), range(12)):
            assert np.array_equal(x, expected[1])


def test_the_gil_is_released_during_a_solve():
    A = gallery.poisson3d(40)
    ml = ziggurat.solver(A, threads=1)
    counted = []
    done = threading.Event()

    def count():
        while not done.is_set():
            counted.append(time.perf_counter())
            time.sleep(0.002)

    counter = threading.Thread(target=count)
    counter.start()
    start = time.perf_counter()
    ml.solve(np.ones((A.shape[0], 6)))
    end = time.perf_counter()
    done.set()
    counter.join()
    # If the solve held the GIL, the counter would run at most once.
    assert sum(start < moment < end for moment in counted) >= 3


def solve_in_child(given, queue):
    """Solves in a child process: with a solver of its own, and with the parent's if given."""
    ml, A, b = given
    own = ziggurat.solve(A, b)
    queue.put((own, None if ml is None else ml.solve(b)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.skipif(sys.platform == "darwin", reason="forking is not safe on macOS")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_solves_after_its_parent_has(ml, poisson, b):
    expected = ml.solve(b)  # starts the parent's threads, which the child does not inherit
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=solve_in_child, args=((ml, poisson, b), queue))
    child.start()
    try:
        own, inherited = queue.get(timeout=20)
    finally:
        child.join(timeout=5)
        if child.is_alive():
            child.kill()
    assert np.array_equal(own, expected)
    assert np.array_equal(inherited, expected)


def run(program, seconds):
    """Runs a program in a new process and returns its output."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], timeout=seconds, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    return done.stdout.strip() or done.stderr


def test_updates_and_solves_at_once():
    program = """
        import threading, numpy as np, ziggurat
        A = ziggurat.gallery.poisson3d(24)
        b, twice = np.ones(24**3), 2 * A
        ml = ziggurat.solver(A, threads=4)

        def often(what):
            for _ in range(40):
                what()

        jobs = [lambda: ml.solve(b), lambda: ml.update_values(twice), lambda: (ml.shape, ml.levels), lambda: ml.solve(b)]
        threads = [threading.Thread(target=often, args=(job,)) for job in jobs]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print("done")
    """
    assert run(program, 60) == "done"


@pytest.mark.parametrize("threads", [0, -1, 10**6])
def test_impossible_numbers_of_threads_are_refused(poisson, threads):
    with pytest.raises(ziggurat.ConfigError, match=f"threads is {threads}; it must be"):
        ziggurat.solver(poisson, threads=threads)


def test_half_a_thread_is_refused(poisson):
    with pytest.raises(TypeError, match="threads is 0.5; it must be an integer"):
        ziggurat.solver(poisson, threads=0.5)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
@pytest.mark.parametrize(
    "variables, expected",
    [
        ({"SLURM_CPUS_PER_TASK": "4"}, 4),
        ({"SLURM_CPUS_PER_TASK": "4", "OMP_NUM_THREADS": "3,2"}, 3),
        ({"OMP_NUM_THREADS": "3", "RAYON_NUM_THREADS": "2"}, 2),
    ],
)
def test_variables_set_the_number_of_threads(variables, expected):
    # Threads of every pool have the names ziggurat-0, ziggurat-1, and so on, from when they run.
    program = f"""
        import glob, time
        import ziggurat
        ziggurat.solver(ziggurat.gallery.poisson3d(8))
        for _ in range(100):
            names = {{open(name).read() for name in glob.glob("/proc/self/task/*/comm")}}
            count = sum(name.startswith("ziggurat-") for name in names)
            if count >= {expected}:
                break
            time.sleep(0.05)
        print(count)
    """
    known = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK")
    environment = {name: value for name, value in os.environ.items() if name not in known}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == str(expected), done.stderr
