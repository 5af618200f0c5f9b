"""Unknowns in a new order: the caller does not notice."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import cg

import ziggurat
from ziggurat import gallery


@pytest.fixture(scope="module")
def A():
    """A grid in random order."""
    natural = gallery.poisson3d(12)
    order = np.random.default_rng(0).permutation(natural.shape[0])
    return sparse.csr_array(natural[order][:, order])


@pytest.fixture
def ml(A):
    return ziggurat.solver(A, config={"reorder": "on"})


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def test_solves_cycles_and_pickles_are_in_the_given_order(A, ml):
    assert ml.config["reorder"] == "on"
    b = np.random.default_rng(1).standard_normal((A.shape[0], 3))
    assert residual(A, ml.solve(b), b) <= 1.01e-8
    x, failed = cg(A, b[:, 0], rtol=1e-8, M=ml.aspreconditioner(), maxiter=40)
    assert failed == 0 and residual(A, x, b[:, 0]) <= 1e-7
    again = pickle.loads(pickle.dumps(ml))
    assert np.array_equal(again.solve(b[:, 0]), ml.solve(b[:, 0]))


def test_the_finest_level_is_shown_in_the_given_order(A, ml):
    finest, coarser = ml.levels[:2]
    assert abs(finest.A - A).max() == 0
    assert abs(finest.R - finest.P.T).max() == 0
    assert abs(finest.R @ A @ finest.P - coarser.A).max() < 1e-12


def test_new_values_and_errors_are_in_the_given_order(A, ml):
    b = np.random.default_rng(2).standard_normal(A.shape[0])
    ml.update_values(3 * A)
    assert residual(3 * A, ml.solve(b), b) <= 1.01e-8
    wrong = A.copy()
    wrong.data[wrong.indptr[700]] = np.nan
    with pytest.raises(ziggurat.ZigguratError, match="row 700"):
        ml.update_values(wrong)
