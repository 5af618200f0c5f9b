"""Solvers, infos and errors survive pickling, to files and to other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import ziggurat
from ziggurat import gallery


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_the_same_bits_after_loading(ml, b, protocol):
    loaded = pickle.loads(pickle.dumps(ml, protocol))
    assert np.array_equal(loaded.solve(b), ml.solve(b))
    assert loaded.config == ml.config
    assert [level.rows for level in loaded.levels] == [level.rows for level in ml.levels]
    assert loaded.info is None or loaded.info.converged


@pytest.mark.parametrize("precision", ["f64", "f32", "f16", "bf16", "auto"])
@pytest.mark.parametrize("name", ["poisson3d:14", "convection3d:14"])
def test_every_precision_survives(name, precision):
    problem = gallery.problem(name)
    ml = ziggurat.solver(problem.A, precision=precision)
    loaded = pickle.loads(pickle.dumps(ml))
    assert [level.storage for level in loaded.levels] == [level.storage for level in ml.levels]
    assert np.array_equal(loaded.solve(problem.b), ml.solve(problem.b))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_independent(duplicate):
    A = gallery.poisson3d(12)
    b = np.ones(A.shape[0])
    ml = ziggurat.solver(A)
    other = duplicate(ml)
    x = ml.solve(b)
    ml.update_values(2 * A)
    assert np.array_equal(other.solve(b), x)
    assert not np.array_equal(ml.solve(b), x)


def test_new_values_after_loading():
    A = gallery.poisson3d(12)
    b = np.ones(A.shape[0])
    ml = ziggurat.solver(A)
    loaded = pickle.loads(pickle.dumps(ml))
    for one in (ml, loaded):
        one.update_values(3 * A)
    assert np.array_equal(loaded.solve(b), ml.solve(b))


def test_a_pickle_after_new_values_has_the_new_ones():
    A = gallery.poisson3d(12)
    b = np.ones(A.shape[0])
    ml = ziggurat.solver(A)
    ml.update_values(3 * A)
    assert np.array_equal(pickle.loads(pickle.dumps(ml)).solve(b), ml.solve(b))


@pytest.mark.parametrize("how", ["near_nullspace", "coords"])
def test_the_near_nullspace_survives(how):
    problem = gallery.problem("elasticity3d:5")
    given = problem.coords if how == "coords" else gallery.rigid_body_modes(problem.coords)
    ml = ziggurat.solver(problem.A, **{how: given})
    loaded = pickle.loads(pickle.dumps(ml))
    x, info = loaded.solve(problem.b, return_info=True)
    expected, expected_info = ml.solve(problem.b, return_info=True)
    assert np.array_equal(x, expected)
    assert info.iterations == expected_info.iterations
    # An update may rebuild the hierarchy, which needs the near-nullspace vectors.
    for one in (ml, loaded):
        one.update_values(problem.A * 1.5)
    assert np.array_equal(loaded.solve(problem.b), ml.solve(problem.b))


def test_options_survive(poisson, b):
    ml = ziggurat.solver(poisson, threads=1, tol=1e-4, config={"smoother": {"kind": "chebyshev"}})
    loaded = pickle.loads(pickle.dumps(ml))
    assert loaded.config == ml.config
    assert loaded.solve(b, return_info=True)[1].iterations == ml.solve(b, return_info=True)[1].iterations


def test_an_info_survives(ml, b):
    _, info = ml.solve(b, verify_every=2, return_info=True)
    loaded = pickle.loads(pickle.dumps(info))
    assert loaded.to_dict() == info.to_dict()
    assert (str(loaded), repr(loaded), loaded.reason) == (str(info), repr(info), info.reason)
    assert loaded._repr_html_() == info._repr_html_()
    again = pickle.loads(pickle.dumps(loaded))
    assert np.array_equal(again.true_residuals, info.true_residuals)


def test_an_error_survives(poisson, b):
    with pytest.raises(ziggurat.NotConvergedError) as caught:
        ziggurat.solve(poisson, b, maxiter=1)
    loaded = pickle.loads(pickle.dumps(caught.value))
    assert str(loaded) == str(caught.value)
    assert loaded.info.iterations == 1
    assert np.array_equal(loaded.x, caught.value.x)


def solve_elsewhere(given):
    """Solves in another process."""
    ml, b = given
    return ml.solve(b, return_info=True)


def test_other_processes_share_the_work(ml):
    sides = [np.random.default_rng(seed).standard_normal(8000) for seed in range(3)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map_async(solve_elsewhere, [(ml, b) for b in sides]).get(timeout=120)
    for b, (x, info) in zip(sides, found):
        assert np.array_equal(x, ml.solve(b))
        assert info.converged


# ---- corrupt data


def broken(ml, change):
    state = ml.__getstate__()
    state["hierarchy"] = change(state["hierarchy"])
    return lambda: ziggurat.MultilevelSolver.__new__(ziggurat.MultilevelSolver).__setstate__(state)


@pytest.mark.parametrize("change", [
    lambda saved: b"",
    lambda saved: b"x" + saved[1:],
    lambda saved: saved[: len(saved) // 2],
    lambda saved: saved[:-1],
], ids=["empty", "wrong magic", "half of it", "one byte short"])
def test_corrupt_data_is_refused(ml, change):
    with pytest.raises(ziggurat.HierarchyError, match="hierarchy"):
        broken(ml, change)()


def test_corrupt_data_never_crashes(ml, b):
    rng = np.random.default_rng(0)
    saved = ml.__getstate__()["hierarchy"]
    for place in rng.integers(0, len(saved), 60):
        changed = bytearray(saved)
        changed[place] ^= 1 << rng.integers(8)
        try:
            broken(ml, lambda _: bytes(changed))()
        except (ziggurat.ZigguratError, MemoryError):
            pass  # a modified value is undetectable; any other corruption must be detected
