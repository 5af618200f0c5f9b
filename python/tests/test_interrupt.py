"""Ctrl-C and callbacks stop a solve, exceptions propagate, and the solver stays usable."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
import _thread

import numpy as np
import pytest
from scipy import sparse

import ziggurat


def slow_system():
    """A system whose solve takes about a minute.

    Bilinear elements with an aspect ratio of 1000 need hundreds of iterations, and there are many
    right-hand sides.
    """
    n = 150
    stiffness = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    mass = sparse.diags([1 / 6, 4 / 6, 1 / 6], [-1, 0, 1], shape=(n, n))
    A = sparse.csr_array(sparse.kron(stiffness, mass) + 1e-6 * sparse.kron(mass, stiffness))
    return A, np.random.default_rng(0).standard_normal((n * n, 400))


@pytest.fixture(autouse=True)
def handle_sigint():
    """Restores the default SIGINT handler: background processes may inherit an ignored SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def slow():
    A, B = slow_system()
    return ziggurat.solver(A, precision="f64"), B


PROGRAM = """
    import signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:0] = [{folder!r}]
    import numpy as np, ziggurat
    from test_interrupt import slow_system

    A, B = slow_system()
    ml = ziggurat.solver(A, precision="f64")
    print("solving", flush=True)
    try:
        ml.solve(B)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    x = ml.solve(B[:, 0])
    print("usable" if np.linalg.norm(B[:, 0] - A @ x) <= 1e-8 * np.linalg.norm(B[:, 0]) else "broken", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console")
def test_ctrl_c_from_outside():
    from pathlib import Path

    program = textwrap.dedent(PROGRAM).format(folder=str(Path(__file__).parent))
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "solving\n", child.stderr.read()
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        start = time.perf_counter()
        assert child.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - start < 5.0  # signals are checked every 50 milliseconds
        assert child.stdout.readline() == "usable\n"
    finally:
        child.kill()
        child.communicate()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers for signals")
def test_any_signal_handler_may_stop_a_solve(slow):
    ml, B = slow

    def handler(number, frame):
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.perf_counter()
        with pytest.raises(TimeoutError, match="enough"):
            ml.solve(B)
        assert time.perf_counter() - start < 5.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_in_this_process(slow):
    ml, B = slow
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        ml.solve(B)
    assert time.perf_counter() - start < 5.0
    timer.join()
    _, info = ml.solve(B[:, 0], return_info=True)
    assert info.converged


def test_ctrl_c_while_callbacks_run(slow):
    ml, B = slow
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        ml.solve(B[:, :30], callback=lambda progress: False)
    assert time.perf_counter() - start < 5.0
    timer.join()


# ---- callbacks


def test_a_callback_is_called_after_every_iteration(ml, b):
    seen = []
    x, info = ml.solve(b, callback=seen.append, return_info=True)
    assert [progress.iteration for progress in seen] == list(range(1, info.iterations + 1))
    assert [progress.relative_residual for progress in seen] == pytest.approx(info.residuals.tolist())
    last = seen[-1]
    assert isinstance(last, ziggurat.Progress)
    assert last.target == pytest.approx(1e-8 * np.linalg.norm(b))
    assert last.residual <= last.target
    assert last.residual == pytest.approx(last.relative_residual * np.linalg.norm(b))
    assert [progress.seconds for progress in seen] == sorted(progress.seconds for progress in seen)
    assert repr(last).startswith(f"Progress(iteration={info.iterations}, relative_residual=")
    assert np.array_equal(x, ml.solve(b))


def test_a_callback_runs_on_the_thread_that_solves(ml, b):
    seen = set()
    ml.solve(b, callback=lambda progress: seen.add(threading.get_ident()))
    assert seen == {threading.get_ident()}


def test_a_callback_that_returns_true_stops_the_solve(ml, poisson, b):
    x, info = ml.solve(b, callback=lambda progress: progress.iteration == 3, return_info=True)
    assert (info.stop_reason, info.iterations, info.converged) == ("interrupted", 3, False)
    assert info.relative_residual == pytest.approx(np.linalg.norm(b - poisson @ x) / np.linalg.norm(b), rel=1e-6)
    assert "interrupted on request" in info.reason
    assert ml.solve(b, callback=lambda progress: 1).shape == b.shape


@pytest.mark.parametrize("answer", [None, False, 0, ""])
def test_a_false_return_value_continues(ml, b, answer):
    _, info = ml.solve(b, callback=lambda progress: answer, return_info=True)
    assert info.converged


def test_an_exception_of_a_callback_is_raised_as_it_is(ml, b):
    class Mine(Exception):
        pass

    raised = Mine("from inside")

    def fail(progress):
        if progress.iteration == 2:
            raise raised

    with pytest.raises(Mine) as caught:
        ml.solve(b, callback=fail)
    assert caught.value is raised
    assert any(entry.name == "fail" for entry in caught.traceback)
    assert ml.solve(b, return_info=True)[1].converged


def test_an_exception_stops_every_right_hand_side(ml, b):
    calls = []

    def fail(progress):
        calls.append(progress)
        raise ArithmeticError("at once")

    with pytest.raises(ArithmeticError):
        ml.solve(np.column_stack([b, b, b]), callback=fail)
    assert len(calls) == 1


def test_a_callback_stops_one_right_hand_side_of_many(ml, b):
    stop = iter([True])
    _, infos = ml.solve(np.column_stack([b, b]), callback=lambda progress: next(stop, False), return_info=True)
    assert [info.stop_reason for info in infos] == ["interrupted", "converged"]


def test_a_return_value_without_a_truth_value(ml, b):
    with pytest.raises(ValueError, match="truth value"):
        ml.solve(b, callback=lambda progress: np.ones(2))


def test_a_callback_may_solve(ml, b):
    inner = []

    def solve_again(progress):
        if progress.iteration == 1:
            inner.append(ml.solve(b))

    x = ml.solve(b, callback=solve_again)
    assert np.array_equal(inner[0], x)


def test_a_callback_that_cannot_be_called(ml, b):
    with pytest.raises(TypeError, match="not callable"):
        ml.solve(b, callback=3)
