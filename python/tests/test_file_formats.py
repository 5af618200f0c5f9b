"""Files of every format: what scipy, NumPy and h5py write is read, and scipy reads what ziggurat writes."""

from __future__ import annotations

import gzip
import pathlib
import struct

import numpy as np
import pytest
import scipy.io
from scipy import sparse

import ziggurat

# Written by ziggurat; a test of ziggurat-sparse compares them with what it writes now.
FILES = pathlib.Path(__file__).parents[2] / "crates" / "ziggurat-sparse" / "tests" / "files"


def random(rows, cols):
    rng = np.random.default_rng(0)
    return sparse.csr_array(sparse.random(rows, cols, density=0.05, random_state=rng, data_rvs=rng.standard_normal))


def same(read, matrix):
    assert isinstance(read, sparse.csr_array) and read.dtype == np.float64
    assert read.shape == matrix.shape and read.has_sorted_indices
    assert abs(read - matrix).max() == 0


MATRICES = {"square": random(60, 60), "wide": random(40, 70), "symmetric": ziggurat.gallery.poisson2d(12)}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("compressed", [False, True])
def test_what_save_npz_writes(tmp_path, name, form, compressed):
    matrix, path = MATRICES[name], tmp_path / "A.npz"
    sparse.save_npz(path, matrix.asformat(form), compressed=compressed)
    same(ziggurat.read_matrix(path), matrix)
    other = tmp_path / "name"  # recognised by the content
    other.write_bytes(gzip.compress(path.read_bytes()))
    same(ziggurat.read_matrix(other), matrix)


def test_blocks_indices_and_numbers_of_other_types(tmp_path):
    path, matrix = tmp_path / "A.npz", sparse.csr_array(np.arange(24.0).reshape(4, 6))
    sparse.save_npz(path, sparse.bsr_array(matrix, blocksize=(2, 3)))
    same(ziggurat.read_matrix(path), matrix)
    for dtype in (np.float32, np.float16, np.int64, np.int32, np.uint8):
        narrow = sparse.csr_matrix((matrix.data.astype(dtype), matrix.indices, matrix.indptr), shape=(4, 6))
        narrow.indices, narrow.indptr = narrow.indices.astype(np.int64), narrow.indptr.astype(np.int64)
        with open(path, "wb") as file:
            np.savez(file, format=b"csr", shape=narrow.shape, data=narrow.data, indices=narrow.indices, indptr=narrow.indptr)
        same(ziggurat.read_matrix(path), matrix)
    sparse.save_npz(path, matrix.astype(complex))
    with pytest.raises(ziggurat.MatrixError, match="A.npz, array `data`: an array of complex numbers is not supported"):
        ziggurat.read_matrix(path)
    np.savez(path, b=np.ones(3))
    with pytest.raises(ziggurat.MatrixError, match="array `format`: the archive has no such array"):
        ziggurat.read_matrix(path)


def test_what_numpy_save_writes(tmp_path):
    path, matrix = tmp_path / "A.npy", MATRICES["wide"]
    for dense in (matrix.toarray(), np.asfortranarray(matrix.toarray()), matrix.toarray().astype(">f8")):
        np.save(path, dense)
        same(ziggurat.read_matrix(path), matrix)


@pytest.mark.parametrize("name", ["square", "wide", "symmetric"])
def test_what_hb_write_writes(tmp_path, name):
    path, matrix = tmp_path / "A.rua", MATRICES[name]
    scipy.io.hb_write(path, sparse.csc_matrix(matrix))
    same(ziggurat.read_matrix(path), matrix)
    path.rename(tmp_path / "A")  # recognised by its header
    same(ziggurat.read_matrix(tmp_path / "A"), matrix)


@pytest.mark.parametrize("integer", ["i", "q"], ids=["32-bit", "64-bit"])
def test_petsc(tmp_path, integer):
    path, matrix = tmp_path / "A.dat", MATRICES["wide"]
    lengths = np.diff(matrix.indptr)
    integers = [1211216, *matrix.shape, matrix.nnz, *lengths, *matrix.indices]
    path.write_bytes(struct.pack(f">{len(integers)}{integer}", *integers) + matrix.data.astype(">f8").tobytes())
    same(ziggurat.read_matrix(path), matrix)


@pytest.mark.parametrize("matlab", [False, True])
def test_hdf5(tmp_path, matlab):
    h5py = pytest.importorskip("h5py")
    path, matrix = tmp_path / "system.h5", MATRICES["wide"]
    columns = sparse.csc_array(matrix)
    kind = np.uint64 if matlab else np.int32
    with h5py.File(path, "w", userblock_size=512 if matlab else 0) as file:
        for name in ("A", "M"):
            group = file.create_group(f"Problem/{name}")
            group.attrs["MATLAB_sparse"] = kind(matrix.shape[0])
            members = {"data": columns.data, "ir": columns.indices.astype(kind), "jc": columns.indptr.astype(kind)}
            for member, array in members.items():
                group.create_dataset(member, data=array, compression="gzip" if matlab else None)
        dense = file.create_dataset("dense", data=matrix.toarray().T if matlab else matrix.toarray())
        if matlab:
            dense.attrs["MATLAB_class"] = np.bytes_("double")
    try:
        read = ziggurat.read_matrix(path)  # by its name
    except ziggurat.MatrixError as error:
        if "without the cargo feature `hdf5`" not in str(error):
            raise
        pytest.skip("built without the feature hdf5")
    same(read, matrix)
    same(ziggurat.read_matrix(f"{path}:Problem/M"), matrix)
    same(ziggurat.read_matrix(f"{path}:dense"), matrix)
    with pytest.raises(ziggurat.MatrixError, match="object `B`: the file has no such object"):
        ziggurat.read_matrix(f"{path}:B")


@pytest.mark.skipif(not FILES.is_dir(), reason="not in the repository")
def test_scipy_reads_what_ziggurat_writes():
    matrix = sparse.load_npz(FILES / "csr.npz")  # written by scipy
    same(sparse.csr_array(sparse.load_npz(FILES / "ziggurat.npz")), matrix)
    same(sparse.csr_array(scipy.io.hb_read(FILES / "ziggurat.rb")), matrix)
    # Symmetric files are not supported by hb_read.
    same(ziggurat.read_matrix(FILES / "ziggurat_symmetric.rb"), ziggurat.gallery.poisson2d(3))
    assert np.array_equal(np.load(FILES / "ziggurat.npy"), np.load(FILES / "vector.npy"))
    assert np.array_equal(np.load(FILES / "ziggurat_points.npy"), np.load(FILES / "points.npy"))
