"""The search for the fastest configuration."""

from __future__ import annotations

import numpy as np
import pytest

import ziggurat


def test_the_best_configuration_solves_and_is_not_slower_than_the_given_one():
    A = ziggurat.gallery.anisotropic3d(10)
    b = np.ones(A.shape[0])
    trials: list = []
    best = ziggurat.tune(A, b, seconds=10, config={"stopping": {"rtol": 1e-6}}, trials=trials, threads=1)
    assert best["stopping"]["rtol"] == 1e-6
    assert trials[0]["changes"] == [] and len(trials) > 5
    assert {change[0] for trial in trials for change in trial["changes"]} >= {"method", "smoother.kind"}
    x = ziggurat.solver(A, config=best).solve(b)
    assert np.linalg.norm(b - A @ x) <= 1.01e-6 * np.linalg.norm(b)


def test_what_cannot_be_tuned_for_is_refused():
    A = ziggurat.gallery.poisson2d(10)
    with pytest.raises(ziggurat.ConfigError, match="seconds is 0; it must be positive"):
        ziggurat.tune(A, np.ones(100), seconds=0)
    with pytest.raises(ziggurat.SolveError, match="b has 2 columns"):
        ziggurat.tune(A, np.ones((100, 2)))
    with pytest.raises(ziggurat.ConfigError, match="unknown key"):
        ziggurat.tune(A, np.ones(100), config={"metod": "sa"})
