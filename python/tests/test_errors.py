"""Every exception of the package that a user can trigger, with its message.

``DeviceError`` is not triggered: on a CPU it is raised only when memory runs out. Its class is tested
here; the Rust library tests its messages.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ziggurat
from ziggurat import _errors, _info, gallery

CLASSES = {
    "ConfigError": ValueError,
    "MatrixError": ValueError,
    "SetupError": ValueError,
    "SolveError": ValueError,
    "HierarchyError": ValueError,
    "DeviceError": RuntimeError,
    "NotConvergedError": RuntimeError,
}


@pytest.mark.parametrize(("name", "builtin"), CLASSES.items())
def test_classes_derive_from_builtin_exceptions(name, builtin):
    error = getattr(ziggurat, name)
    assert issubclass(error, ziggurat.ZigguratError)
    assert issubclass(error, builtin)
    assert error.__module__ == "ziggurat"
    assert error.__doc__


def test_every_class_is_public():
    defined = {**vars(_errors), **vars(_info)}
    classes = {name for name, value in defined.items() if isinstance(value, type) and issubclass(value, Exception)}
    assert classes == {*CLASSES, "ZigguratError"}
    assert classes <= set(ziggurat.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_errors_can_be_pickled(name):
    error = pickle.loads(pickle.dumps(getattr(ziggurat, name)("words")))
    assert type(error) is getattr(ziggurat, name)
    assert str(error) == "words"


# ---- configuration

A = gallery.poisson2d(10)
b = np.ones(100)

CONFIGURATIONS = {
    "method": ({"method": "clasical"}, "`method`: unknown method `clasical`; did you mean `classical`?"),
    "precision": ({"precision": "f17"}, "`precision`: unknown precision `f17`; did you mean `f16`?"),
    "krylov": ({"krylov": "gmre"}, "`krylov`: unknown krylov `gmre`; did you mean `gmres`?"),
    "preset": ({"preset": "robst"}, "unknown preset `robst`; did you mean `robust`?"),
    "key": ({"config": {"smother": {}}}, "unknown key `smother`; did you mean `smoother`?"),
    "inner key": ({"config": {"smoother": {"knd": "jacobi"}}}, "unknown key `smoother.knd`; did you mean `smoother.kind`?"),
    "inner value": ({"config": {"smoother": {"kind": "jacoby"}}}, "`smoother.kind`: unknown smoother `jacoby`; did you mean"),
    "negative tol": ({"tol": -1.0}, "tol is -1.0; it must be finite and non-negative"),
    "tol nan": ({"tol": np.nan}, "tol is nan; it must be finite and non-negative"),
    "threads": ({"threads": 0}, "threads is 0; it must be at least 1"),
    "block size": ({"near_nullspace": b, "block_size": 0}, "block_size is 0; it must be at least 1"),
    "both": ({"near_nullspace": b, "coords": np.ones((50, 2))}, "give near_nullspace or coords, not both"),
    "coords 1-D": ({"coords": b}, "coords has 1 dimension"),
    "coords rows": ({"coords": np.ones((99, 2))}, "coords has shape (99, 2), but the matrix has 100 rows; give one row per node"),
    "coords columns": ({"coords": np.ones((25, 4))}, "coords has shape (25, 4), but the matrix has 100 rows"),
    "coords not finite": ({"coords": np.full((50, 2), np.inf)}, "coordinate 0 in row 0 is inf; every coordinate must be finite"),
    "coords of all": ({"coords": np.ones((99, 2))}, "one row per node, shape (50, 2) or one row per unknown, shape (100, 2)"),
    "coords of blocks": ({"coords": np.ones((50, 2)), "block_size": 4}, "one row per node, shape (25, 2) or one row per unknown"),
    "coords transposed": ({"coords": np.ones((2, 50))}, "shape (50, 2) or one row per unknown, shape (100, 2), with x, y and z in columns; it looks transposed: give coords.T"),
    "block size of no node": ({"block_size": 7}, "block_size is 7, which does not divide the 100 rows of the matrix"),
    "block size of more than all": ({"block_size": 5000}, "block_size is 5000, which does not divide the 100 rows"),
    "block size of vectors": ({"near_nullspace": b, "block_size": 3}, "block_size is 3, which does not divide the 100 rows"),
    "vectors transposed": ({"near_nullspace": np.ones((3, 100))}, "near_nullspace has shape (3, 100), but the matrix has 100 rows; give one vector per column, shape (100, k); it looks transposed: give near_nullspace.T"),
    "vectors too short": ({"near_nullspace": np.ones(99)}, "near_nullspace has shape (99, 1), but the matrix has 100 rows; give one vector per column, shape (100, k)"),
    "vectors 3-D": ({"near_nullspace": np.ones((100, 1, 1))}, "near_nullspace has 3 dimensions"),
}


@pytest.mark.parametrize(("options", "text"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_configurations(options, text):
    with pytest.raises(ziggurat.ConfigError) as caught:
        ziggurat.solver(A, **options)
    assert text in str(caught.value)


def test_configurations_of_the_wrong_type():
    with pytest.raises(TypeError, match="configuration values must be numbers, strings, lists or dicts"):
        ziggurat.solver(A, config={"smoother": {"kind": object()}})
    with pytest.raises(TypeError, match="config is a list; it must be a dict"):
        ziggurat.solver(A, config=["sa"])


@pytest.mark.parametrize(("options", "text"), [
    ({"tol": -1}, "tol is -1; it must be finite and non-negative"),
    ({"tol": np.inf}, "tol is inf"),
    ({"atol": -1e-3}, "atol is -0.001; it must be finite and non-negative"),
    ({"reduction": -1}, "reduction is -1; it must be finite and non-negative"),
    ({"combine": "al"}, "unknown combination `al`; did you mean `all`?"),
    ({"maxiter": -1}, "maxiter is -1; it must be at least 0"),
    ({"restart": 0}, "restart is 0; it must be at least 1"),
    ({"basis": "f61"}, "unknown basis `f61`; did you mean `f16`?"),
    ({"max_seconds": -2}, "max_seconds is -2"),
    ({"verify_every": -1}, "verify_every is -1; it must be at least 0"),
    ({"accel": "bicgstb"}, "unknown krylov `bicgstb`; did you mean `bicgstab`?"),
])
def test_options_of_a_solve(options, text):
    with pytest.raises(ziggurat.ConfigError) as caught:
        ziggurat.solver(A).solve(b, **options)
    assert text in str(caught.value)


@pytest.mark.parametrize(("options", "text"), [
    ({"tol": "small"}, "tol is 'small'; it must be a number"),
    ({"maxiter": 2.5}, "maxiter is 2.5; it must be an integer"),
])
def test_options_of_the_wrong_type(options, text):
    with pytest.raises(TypeError, match=text):
        ziggurat.solver(A).solve(b, **options)


# ---- vectors


@pytest.mark.parametrize(("given", "guess", "text"), [
    (np.ones(99), None, "the right-hand side has 99 entries, but the matrix has 100 rows"),
    (np.ones((99, 2)), None, "the right-hand side has 99 entries, but the matrix has 100 rows"),
    (np.ones((100, 1, 1)), None, "b has 3 dimensions; give a vector, or a matrix with one right-hand side per column"),
    (np.float64(1.0), None, "b has 0 dimensions"),
    (b, np.ones(99), "the initial guess has 99 entries, but the matrix has 100 rows"),
    (b, np.ones((100, 1)), "x0 has shape (100, 1), but b has shape (100,); they must match"),
])
def test_vectors_that_do_not_fit(given, guess, text):
    with pytest.raises(ziggurat.SolveError) as caught:
        ziggurat.solver(A).solve(given, guess)
    assert text in str(caught.value)


def test_vectors_that_are_not_real_numbers():
    ml = ziggurat.solver(A)
    with pytest.raises(TypeError, match=r"b has dtype complex128, but the matrix is real: .*numpy.column_stack\(\[b.real, b.imag\]\)"):
        ml.solve(b * 1j)
    with pytest.raises(TypeError, match="b has dtype object; it must be numeric"):
        ml.solve(np.array([None] * 100))


def test_a_sparse_right_hand_side_says_how_to_convert_it():
    from scipy import sparse

    for name, arguments in {"b": (sparse.csr_array(b.reshape(-1, 1)),), "x0": (b, sparse.csr_array(b.reshape(-1, 1)))}.items():
        with pytest.raises(TypeError, match=rf"{name} is sparse; use {name}.toarray\(\)"):
            ziggurat.solver(A).solve(*arguments)


@pytest.mark.parametrize("accel", ["cg", "fcg", "gmres", "fgmres", "bicgstab", "minres", "idr", "cgs", "none"])
def test_a_tolerance_of_zero_is_not_blamed_on_the_matrix(accel):
    poisson = gallery.poisson3d(20)
    for seed in range(3):
        given = np.random.default_rng(seed).standard_normal(8000) if seed else np.ones(8000)
        _, info = ziggurat.solve(poisson, given, tol=0, accel=accel, return_info=True)
        assert info.relative_residual < 1e-13
        assert info.stop_reason == "stagnated" and "loosen the tolerance" in info.reason


def test_nan_in_the_right_hand_side_is_reported():
    with_nan = b.copy()
    with_nan[3] = np.nan
    with pytest.raises(ziggurat.NotConvergedError, match="check the matrix, right-hand side and initial guess for NaN"):
        ziggurat.solve(A, with_nan)


# ---- setup


@pytest.mark.parametrize(("options", "text"), [
    ({"near_nullspace": np.ones((100, 2))}, "near-kernel vector 1 is a combination of those before it; leave it out"),
    ({"near_nullspace": b * np.nan}, "near-kernel vector 0, row 0: the value is NaN; every value must be finite"),
])
def test_setup(options, text):
    with pytest.raises(ziggurat.SetupError) as caught:
        ziggurat.solver(A, **options)
    assert text in str(caught.value)


# ---- the gallery


@pytest.mark.parametrize(("name", "text"), [
    ("poison3d:10", "unknown problem `poison3d`; did you mean `poisson3d`?"),
    ("poisson3d", "expected NAME:SIZE, such as `poisson3d:50`"),
    ("poisson3d:0", "SIZE is a whole number from 1 to"),
    ("poisson3d:100000", "are more than one process can index"),
])
def test_problems_that_do_not_exist(name, text):
    with pytest.raises(ziggurat.ConfigError) as caught:
        gallery.problem(name)
    assert text in str(caught.value)


def test_rigid_body_modes_of_invalid_coordinates():
    with pytest.raises(ziggurat.ConfigError, match="coords has 4 columns; rigid-body modes need 2 or 3"):
        gallery.rigid_body_modes(np.ones((3, 4)))
    with pytest.raises(ziggurat.ConfigError, match="coords has 1 dimension"):
        gallery.rigid_body_modes(np.ones(3))
