"""Fixtures shared by many tests: a small system and a solver for it."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import ziggurat

matplotlib.use("Agg")  # works without a display


@pytest.fixture(scope="session")
def poisson():
    """A matrix whose hierarchy has three levels."""
    return ziggurat.gallery.poisson3d(20)


@pytest.fixture(scope="session")
def b(poisson):
    """A random right-hand side, which contains all frequencies."""
    return np.random.default_rng(0).standard_normal(poisson.shape[0])


@pytest.fixture(scope="session")
def ml(poisson):
    """A shared solver. Tests must not modify it; those that update values create their own."""
    return ziggurat.solver(poisson)
