"""What many tests need: small systems, and one that is set up already."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import ziggurat

matplotlib.use("Agg")  # there may be no screen


@pytest.fixture(scope="session")
def poisson():
    """A matrix whose hierarchy has three levels."""
    return ziggurat.gallery.poisson3d(20)


@pytest.fixture(scope="session")
def b(poisson):
    """A right-hand side for it that has every frequency."""
    return np.random.default_rng(0).standard_normal(poisson.shape[0])


@pytest.fixture(scope="session")
def ml(poisson):
    """A solver that no test may change: those that update values make their own."""
    return ziggurat.solver(poisson)
