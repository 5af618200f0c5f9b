"""Setup and solve log through Python's logging, from any thread."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import sparse

import ziggurat
from ziggurat import gallery


def records_of(caplog, logger):
    return [record for record in caplog.records if record.name == logger]


def test_setup_and_solve_are_logged(caplog, poisson, b):
    with caplog.at_level(logging.INFO, logger="ziggurat"):
        ml = ziggurat.solver(poisson)
        (setup,) = records_of(caplog, "ziggurat.setup")
        assert setup.levelno == logging.INFO
        assert "8000 rows, 53600 entries: sa, cg" in setup.getMessage()
        _, info = ml.solve(b, return_info=True)
    (solve,) = records_of(caplog, "ziggurat.solve")
    assert solve.levelno == logging.INFO
    assert solve.getMessage().startswith(f"{info.iterations} iterations, relative residual ")


def test_details_are_logged_at_debug_level(caplog, poisson, b):
    with caplog.at_level(logging.DEBUG, logger="ziggurat"):
        ml = ziggurat.solver(poisson)
    details = [record for record in records_of(caplog, "ziggurat.setup") if record.levelno == logging.DEBUG]
    for index, level in enumerate(ml.levels):
        assert any(f"level {index}: {level.rows} rows" in record.getMessage() for record in details)


def test_changes_of_the_level_take_effect_immediately(caplog, poisson):
    logged = []
    for level in (logging.WARNING, logging.DEBUG, logging.WARNING, logging.INFO, logging.DEBUG):
        caplog.clear()
        with caplog.at_level(level, logger="ziggurat"):
            ziggurat.solver(poisson)
        logged.append({record.levelno for record in records_of(caplog, "ziggurat.setup")})
    both = {logging.DEBUG, logging.INFO}
    assert logged == [set(), both, set(), {logging.INFO}, both]


def test_the_level_of_one_logger_is_its_own(caplog, poisson, b):
    setup = logging.getLogger("ziggurat.setup")
    setup.setLevel(logging.ERROR)
    try:
        with caplog.at_level(logging.INFO, logger="ziggurat"):
            ziggurat.solver(poisson).solve(b)
    finally:
        setup.setLevel(logging.NOTSET)
    assert records_of(caplog, "ziggurat.setup") == []
    assert len(records_of(caplog, "ziggurat.solve")) == 1


def test_a_good_solve_warns_of_nothing(caplog, poisson, b):
    with caplog.at_level(logging.WARNING):
        ziggurat.solve(poisson, b)
    assert [record for record in caplog.records if record.name.startswith("ziggurat")] == []


def strip(length):
    """A strip of 3 × ``length`` cells with conductances between 1 and 2, held at one end.

    Its smallest eigenvalues are far below the rounding errors of 16 bits.
    """
    cells = np.arange(3 * length).reshape(length, 3)
    one = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    other = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    values = np.random.default_rng(0).uniform(1.0, 2.0, one.size)
    graph = sparse.coo_array((values, (one, other)), shape=(cells.size, cells.size))
    graph = graph + graph.T
    held = np.zeros(cells.size)
    held[0] = 1.0
    return sparse.csr_array(sparse.diags(graph @ np.ones(cells.size) + held) - graph)


def test_a_promotion_is_logged_as_a_warning(caplog):
    """Rounding that slows a solve promotes 16-bit levels to a wider precision, which is logged."""
    ml = ziggurat.solver(strip(30_000))
    assert ml.levels[0].storage == "f16"
    with caplog.at_level(logging.WARNING, logger="ziggurat"):
        _, info = ml.solve(np.ones(90_000), tol=1e-6, return_info=True)
    assert info.converged
    assert info.promotion.startswith("levels changed from f16 to f32 after ")
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [info.promotion]


def test_slow_convergence_in_any_precision_is_no_reason_for_a_promotion(caplog):
    n = 150
    stiffness = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    mass = sparse.diags([1 / 6, 4 / 6, 1 / 6], [-1, 0, 1], shape=(n, n))
    A = sparse.csr_array(sparse.kron(stiffness, mass) + 1e-3 * sparse.kron(mass, stiffness))
    # Without another smoother.
    ml = ziggurat.solver(A, method="sa", config={"fallback": False})
    assert ml.levels[0].storage == "f16"
    with caplog.at_level(logging.WARNING, logger="ziggurat"):
        _, info = ml.solve(np.random.default_rng(0).standard_normal(n * n), return_info=True)
    assert info.converged and info.iterations > 40 and info.promotion is None
    assert [record for record in caplog.records if record.levelno == logging.WARNING] == []


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads_may_log(caplog, threads):
    A = gallery.poisson3d(24)
    with caplog.at_level(logging.DEBUG, logger="ziggurat"):
        ml = ziggurat.solver(A, threads=threads)
        ml.solve(np.ones((A.shape[0], 2)))
    assert len([record for record in records_of(caplog, "ziggurat.solve") if record.levelno == logging.INFO]) == 2


def test_handlers_may_use_the_solver(poisson, b):
    """Worker threads wait while a handler runs, so they must not hold locks that it needs."""
    ml = ziggurat.solver(poisson, threads=2)
    seen = []

    class Inspecting(logging.Handler):
        def emit(self, record):
            seen.append((record.getMessage(), ml.shape, len(ml.levels)))

    logger, handler = logging.getLogger("ziggurat.solve"), Inspecting()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        ml.solve(b)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    assert seen and seen[0][1:] == ((8000, 8000), 3)
