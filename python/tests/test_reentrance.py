"""Calls from inside a call: callbacks and signal handlers that solve, update, raise or wait.

Each program runs in a process of its own with a time limit, so that a hang fails.
"""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import textwrap
import time

import pytest

START = """
import _thread, logging, os, signal, sys, threading, time
import numpy as np, ziggurat
signal.signal(signal.SIGINT, signal.default_int_handler)
threads = {threads}
A = ziggurat.gallery.poisson3d(16)
b = np.random.default_rng(0).standard_normal(A.shape[0])
ml = ziggurat.solver(A, threads=threads)
expected = ml.solve(b)
"""


def run(program, threads=1, seconds=60):
    """Runs a program and returns its output."""
    text = START.format(threads=threads) + textwrap.dedent(program)
    try:
        done = subprocess.run([sys.executable, "-c", text], timeout=seconds, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return "timed out"
    return done.stdout.strip() + (done.stderr if done.returncode else "")


both = pytest.mark.parametrize("threads", [1, 4])


@both
def test_a_callback_solves_with_the_same_solver_and_with_another(threads):
    program = """
        other, inner = ziggurat.solver(2 * A, threads=threads), []

        def callback(progress):
            if progress.iteration <= 2:
                inner.append(ml.solve(b))
                inner.append(2 * other.solve(b))
                inner.append(ziggurat.solver(A, threads=threads).solve(b))
                assert ml.levels and ml.shape and (ml.aspreconditioner() @ b).shape == b.shape

        x = ml.solve(b, callback=callback)
        assert np.array_equal(x, expected) and len(inner) == 6
        assert all(np.allclose(one, expected, rtol=1e-5, atol=1e-8) for one in inner)
        print("done")
    """
    assert run(program, threads) == "done"


@both
def test_callbacks_of_callbacks(threads):
    program = """
        depths = []

        def callback(depth):
            def call(progress):
                if progress.iteration == 1 and depth < 6:
                    depths.append(depth)
                    assert np.array_equal(ml.solve(b, callback=callback(depth + 1)), expected)
            return call

        assert np.array_equal(ml.solve(b, callback=callback(0)), expected)
        print(depths)
    """
    assert run(program, threads) == "[0, 1, 2, 3, 4, 5]"


@both
def test_a_callback_updates_its_own_solver(threads):
    program = """
        def callback(progress):
            ml.update_values(2 * A)

        try:
            ml.solve(b, callback=callback)
        except RuntimeError as error:
            print(error)
        # Nothing has changed, and the lock is free.
        assert np.array_equal(ml.solve(b), expected)
        ml.update_values(2 * A)
        assert np.allclose(2 * ml.solve(b), expected, rtol=1e-5, atol=1e-8)
    """
    said = run(program, threads)
    assert said == "this solver is in use by the same thread, in a callback or a signal handler; update it after the call has returned"


@both
def test_a_callback_updates_another_solver(threads):
    program = """
        other = ziggurat.solver(A, threads=threads)

        def callback(progress):
            if progress.iteration == 1:
                other.update_values(2 * A)

        assert np.array_equal(ml.solve(b, callback=callback), expected)
        assert np.allclose(2 * other.solve(b), expected, rtol=1e-5, atol=1e-8)
        print("done")
    """
    assert run(program, threads) == "done"


@both
def test_two_callbacks_that_update_each_others_solver(threads):
    program = """
        other = ziggurat.solver(A, threads=threads)
        meet, outcomes = threading.Barrier(2), []

        def solve(own, foreign):
            def callback(progress):
                if progress.iteration == 1:
                    meet.wait()
                    try:
                        foreign.update_values(A)
                        outcomes.append("updated")
                    except RuntimeError as error:
                        outcomes.append("in use by another thread" in str(error))
                    meet.wait()
            assert np.array_equal(own.solve(b, callback=callback), expected)

        jobs = [threading.Thread(target=solve, args=pair) for pair in ((ml, other), (other, ml))]
        for job in jobs: job.start()
        for job in jobs: job.join()
        print(outcomes)
    """
    assert run(program, threads) == "[True, True]"


@both
def test_a_callback_solves_while_another_thread_waits_to_update(threads):
    program = """
        started, inner = threading.Event(), []

        def update():
            started.set()
            ml.update_values(2 * A)

        updater = threading.Thread(target=update)

        def callback(progress):
            if progress.iteration == 1:
                updater.start()
                started.wait()
                time.sleep(0.2)  # the update waits for this solve
                inner.append(ml.solve(b))

        assert np.array_equal(ml.solve(b, callback=callback), expected)
        updater.join()
        assert np.array_equal(inner[0], expected)
        assert np.allclose(2 * ml.solve(b), expected, rtol=1e-5, atol=1e-8)
        print("done")
    """
    assert run(program, threads) == "done"


@both
def test_an_exception_of_an_inner_callback(threads):
    program = """
        def inner(progress):
            raise ArithmeticError("inside")

        try:
            ml.solve(b, callback=lambda progress: ml.solve(b, callback=inner))
        except ArithmeticError as error:
            print(error)
        assert np.array_equal(ml.solve(b), expected)
    """
    assert run(program, threads) == "inside"


@both
def test_many_threads_with_callbacks_that_solve(threads):
    program = """
        def job():
            def callback(progress):
                if progress.iteration == 1:
                    assert np.array_equal(ml.solve(b), expected)
            for _ in range(5):
                assert np.array_equal(ml.solve(b, callback=callback), expected)
            finished.append(True)

        finished = []
        jobs = [threading.Thread(target=job) for _ in range(8)]
        for one in jobs: one.start()
        for one in jobs: one.join()
        print(len(finished))
    """
    assert run(program, threads) == "8"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers for signals")
@both
def test_a_signal_handler_solves_and_updates(threads):
    program = """
        small, said = ziggurat.solver(A, threads=threads), []
        big = ziggurat.gallery.poisson3d(40)
        slow = ziggurat.solver(big, threads=threads)
        # In the order in which columns are passed on, so that the solve begins at once.
        side = np.asfortranarray(np.random.default_rng(0).standard_normal((64000, 40)))

        def handler(number, frame):
            said.append(np.array_equal(small.solve(b), expected))
            said.append(slow.solve(side[:, 0]).shape == (64000,))
            try:
                slow.update_values(big)
            except RuntimeError as error:
                said.append("same thread" in str(error))

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        slow.solve(side)
        print(said)
    """
    assert run(program, threads) == "[True, True, True]"


@both
def test_a_log_handler_must_not_solve(threads):
    program = """
        class Handler(logging.Handler):
            def emit(self, record):
                for call in (lambda: ml.solve(b), lambda: ziggurat.solver(A), lambda: ml.update_values(A)):
                    try:
                        call()
                    except RuntimeError as error:
                        said.append(str(error).split(";")[0])
                said.append((ml.aspreconditioner() @ b).shape == b.shape and ml.shape == A.shape)

        said, logger = [], logging.getLogger("ziggurat.solve")
        logger.setLevel(logging.INFO)
        logger.addHandler(Handler())
        assert np.array_equal(ml.solve(b), expected)
        print(*said, sep="\\n")
    """
    refused = "a handler of log events must not set up, solve or update"
    busy = "this solver is in use by the same thread, in a callback or a signal handler"
    assert run(program, threads).splitlines() == [refused, refused, busy, "True"]


# ---- Ctrl-C


SETUP = """
    big = ziggurat.gallery.problem("poisson3d:{points}").A
    print("ready", flush=True)
    try:
        {call}
        print("finished", flush=True)
    except KeyboardInterrupt:
        spent = time.process_time()
        print("interrupted", flush=True)
        time.sleep(0.5)
        print("at work" if time.process_time() - spent > 0.05 else "idle", flush=True)
    assert np.array_equal(ml.solve(b), expected)
    print("usable", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console")
@both
@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("ziggurat.solver(big, threads=threads)", "at work"),
        ("ml.solve(b, callback=lambda progress: ziggurat.solver(big, threads=threads) and None)", "at work"),
        ("ml.solve(b, callback=lambda progress: time.sleep(60))", "idle"),
    ],
)
def test_ctrl_c_during_setup(threads, call, state):
    program = START.format(threads=threads) + textwrap.dedent(SETUP.format(points=150, call=call))
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        start = time.perf_counter()
        assert child.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - start < 30.0
        # Python goes on while the abandoned setup still computes. Seconds would not show that:
        # they depend on what else the machine does.
        assert child.stdout.readline() == f"{state}\n"
        assert child.stdout.readline() == "usable\n", child.stderr.read()
        # The abandoned setup does not keep the process alive, nor crash it.
        assert child.wait(timeout=20) == 0, child.stderr.read()
    finally:
        child.kill()
        child.communicate()


# ---- forks


FORK = """
    import multiprocessing
    context = multiprocessing.get_context("fork")

    def child(queue):
        try:
            queue.put({work})
        except RuntimeError as error:
            queue.put(str(error))

    inside, leave = threading.Event(), threading.Event()

    def callback(progress):
        if progress.iteration == 1:
            inside.set()
            leave.wait()

    solving = threading.Thread(target=ml.solve, args=(b,), kwargs={{"callback": callback}})
    if {busy}:
        solving.start()
        inside.wait()
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get(timeout=30))
    process.join(timeout=30)
    leave.set()
    if {busy}:
        solving.join()
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.skipif(sys.platform == "darwin", reason="forking is not safe on macOS")
@pytest.mark.parametrize(
    ("busy", "work", "expected"),
    [
        (False, "ml.update_values(2 * A) or np.allclose(2 * ml.solve(b), expected, rtol=1e-5, atol=1e-8)", "True"),
        (True, "np.array_equal(ml.solve(b), expected)", "True"),
        (True, "np.array_equal(ziggurat.solver(A, threads=threads).solve(b), expected)", "True"),
        (True, "ml.update_values(2 * A)", "a thread of the parent process used this solver"),
    ],
)
def test_a_fork_while_another_thread_solves(busy, work, expected):
    said = run(FORK.format(busy=busy, work=work), threads=2)
    assert said.startswith(expected), said
