"""Matrices from files."""

from __future__ import annotations

import os
from typing import Union

from scipy import sparse

from ziggurat import _native

__all__ = ["read_matrix"]


def read_matrix(path: Union[str, os.PathLike[str]]) -> sparse.csr_array:
    """Reads a matrix from a file, plain or compressed with gzip.

    The formats are Matrix Market, scipy's ``.npz`` (:func:`scipy.sparse.save_npz`), PETSc binary
    (``MatView``), and Rutherford–Boeing, which includes Harwell–Boeing. They are recognised by the
    content; Rutherford–Boeing also by names such as ``A.rb`` and ``A.rua``. A matrix in a NumPy
    ``.npy`` file is read without its zeros. HDF5 files in the layout of MATLAB 7.3 are read if the
    package was built with the feature ``hdf5``; ``"system.h5:Problem/A"`` names an object in one.

    Matrix Market is read in parallel. Symmetric files give the full matrix, duplicate entries are
    summed, and explicit zeros are kept. Of a PETSc file, the first matrix is read. Right-hand sides
    in Harwell–Boeing files are ignored.

    Parameters
    ----------
    path : path
        The file, such as ``"thermal2.mtx.gz"`` or ``"A.petsc"``.

    Returns
    -------
    scipy.sparse.csr_array

    Raises
    ------
    OSError
        If the file cannot be read, for example ``FileNotFoundError``.
    MatrixError
        If the file is not a valid matrix. The message names the line, byte or array.

    Examples
    --------
    >>> import pathlib, tempfile, ziggurat
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "A.mtx"
    >>> lines = ["%%MatrixMarket matrix coordinate real symmetric", "2 2 3", "1 1 4.0", "2 1 -1.5", "2 2 4.0"]
    >>> _ = path.write_text("\\n".join(lines))
    >>> ziggurat.read_matrix(path).toarray().tolist()
    [[4.0, -1.5], [-1.5, 4.0]]
    """
    rows, cols, (indptr, indices, data) = _native.read_matrix(os.fspath(path))
    return sparse.csr_array((data, indices, indptr), shape=(rows, cols))
