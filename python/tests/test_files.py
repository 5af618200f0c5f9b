"""Matrices from Matrix Market files, against scipy's reader."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
from scipy import sparse

import ziggurat


def written(path, matrix, **options):
    scipy.io.mmwrite(path, matrix, **options)
    return path


def random(rows, cols):
    rng = np.random.default_rng(0)
    return sparse.csr_array(sparse.random(rows, cols, density=0.05, random_state=rng, data_rvs=rng.standard_normal))


@pytest.mark.parametrize("matrix", [random(60, 60), random(40, 70), ziggurat.gallery.poisson2d(12)], ids=["square", "wide", "symmetric"])
@pytest.mark.parametrize("compressed", [False, True])
def test_what_scipy_writes(tmp_path, matrix, compressed):
    path = written(tmp_path / "A.mtx", matrix, precision=17)
    if compressed:
        packed = tmp_path / "A.mtx.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    for given in (path, str(path)):
        read = ziggurat.read_matrix(given)
        assert isinstance(read, sparse.csr_array) and read.dtype == np.float64
        assert read.shape == matrix.shape and read.has_sorted_indices
        assert abs(read - matrix).max() == 0


def test_a_matrix_that_is_read_can_be_solved(tmp_path):
    A = ziggurat.read_matrix(written(tmp_path / "A.mtx", ziggurat.gallery.poisson2d(20), symmetry="symmetric"))
    b = np.ones(400)
    assert np.linalg.norm(b - A @ ziggurat.solve(A, b)) <= 1e-8 * 20


def test_errors_name_the_file_and_the_line(tmp_path):
    missing = tmp_path / "missing.mtx"
    with pytest.raises(FileNotFoundError, match="missing.mtx: "):
        ziggurat.read_matrix(missing)
    with pytest.raises(OSError, match="directory"):
        ziggurat.read_matrix(tmp_path)
    path = tmp_path / "A.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.5\n")
    with pytest.raises(ziggurat.MatrixError, match="A.mtx, line 3: row 3 is outside 1..=2"):
        ziggurat.read_matrix(path)
    path.write_text("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0 2.0\n")
    with pytest.raises(ziggurat.MatrixError, match="complex matrices are not supported"):
        ziggurat.read_matrix(path)
    with pytest.raises(TypeError, match="PathLike"):
        ziggurat.read_matrix(3)
