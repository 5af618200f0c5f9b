"""PyAMG's arguments and gallery: what has an equivalent is accepted, the rest says what to write."""

from __future__ import annotations

import numpy as np
import pytest

import ziggurat
from ziggurat import gallery

A = gallery.poisson2d(40)
b = np.random.default_rng(0).standard_normal(1600)

GAUSS_SEIDEL = ("gauss_seidel", {"sweep": "symmetric"})


def config_of(solver, **arguments):
    """The configuration; the solver must also solve."""
    ml = solver(A, **arguments)
    assert np.linalg.norm(b - A @ ml.solve(b)) <= 1e-8 * np.linalg.norm(b)
    return ml.config


def sa(**arguments):
    return config_of(ziggurat.smoothed_aggregation_solver, **arguments)


def classical(**arguments):
    return config_of(ziggurat.ruge_stuben_solver, **arguments)


# ---- arguments with an equivalent


def test_smoothers():
    config = sa(presmoother=GAUSS_SEIDEL, postsmoother=GAUSS_SEIDEL)
    assert config["smoother"]["kind"] == "gauss-seidel"
    assert (config["cycle"]["pre_sweeps"], config["cycle"]["post_sweeps"]) == (2, 2)
    config = sa(presmoother=("block_gauss_seidel", {"iterations": 3}))  # the other is PyAMG's default
    assert config["smoother"]["kind"] == "gauss-seidel"
    assert (config["cycle"]["pre_sweeps"], config["cycle"]["post_sweeps"]) == (3, 2)
    config = classical(presmoother="jacobi", postsmoother=("jacobi", {"iterations": 2}))
    assert config["smoother"]["kind"] == "jacobi"
    assert (config["cycle"]["pre_sweeps"], config["cycle"]["post_sweeps"]) == (1, 2)
    damped = ("jacobi", {"omega": 0.7, "withrho": False})
    assert classical(presmoother=damped, postsmoother=damped)["smoother"]["omega"] == 0.7
    polynomial = ("chebyshev", {"degree": 4})
    config = sa(presmoother=polynomial, postsmoother=polynomial)
    assert (config["smoother"]["kind"], config["smoother"]["degree"]) == ("chebyshev", 4)
    config = sa(presmoother=None, postsmoother=GAUSS_SEIDEL)
    assert (config["cycle"]["pre_sweeps"], config["cycle"]["post_sweeps"]) == (0, 2)


def test_strength():
    strength = sa(strength=("symmetric", {"theta": 0.08}))["sa"]["strength"]
    assert (strength["measure"], strength["filter"]) == ("symmetric", {"threshold": 0.08})
    assert sa(strength="classical")["sa"]["strength"]["measure"] == "classical"
    assert sa(strength=None)["sa"]["strength"]["filter"] == {"threshold": 0.0}
    assert classical(strength=("classical", {"theta": 0.5}))["classical"]["strength"]["filter"] == {"threshold": 0.5}


def test_smoothing_of_interpolation():
    assert sa(smooth=("jacobi", {"omega": 1.0}))["sa"]["damping"] == 1.0
    assert sa(smooth="jacobi")["sa"]["damping"] == pytest.approx(4 / 3)
    ml = ziggurat.smoothed_aggregation_solver(A, smooth=None)
    assert ml.levels[0].P.nnz == A.shape[0]  # one entry in each row: plain aggregation


def test_interpolation_and_coarsening():
    config = classical(CF="PMIS", interpolation="classical")
    assert config["classical"]["interpolation"] == "classical-modified"


def test_cycles():
    for name, kind in {"V": "v", "W": "w", "F": "f", "AMLI": "k"}.items():
        ml = ziggurat.smoothed_aggregation_solver(A, cycle=name)
        assert ml.config["cycle"]["kind"] == kind
        assert np.linalg.norm(b - A @ ml.solve(b, cycle=name)) <= 1e-8 * np.linalg.norm(b)
        assert ml.aspreconditioner(cycle=name).shape == A.shape
    with pytest.raises(ziggurat.ConfigError, match="chosen at setup: ziggurat.solver.A, cycle='W'."):
        ziggurat.solver(A).solve(b, cycle="W")
    with pytest.raises(ziggurat.ConfigError, match="chosen at setup: ziggurat.solver.A, cycle='W'."):
        ziggurat.solver(A).aspreconditioner(cycle="W")


def test_values_that_describe_what_is_done_anyway():
    for coarse in ("pinv", "splu", ("lu", {}), "cholesky"):
        sa(coarse_solver=coarse, symmetry="hermitian", aggregate="standard", improve_candidates=None, keep=False)
    classical(coarse_solver="pinv", keep=False, CF=("PMIS", {}))


def test_the_callers_configuration_overrides_the_arguments():
    config = sa(presmoother=GAUSS_SEIDEL, postsmoother=GAUSS_SEIDEL, config={"cycle": {"pre_sweeps": 1}})
    assert (config["cycle"]["pre_sweeps"], config["cycle"]["post_sweeps"]) == (1, 2)


# ---- arguments without


REFUSED = {
    "sor": ("sa", {"presmoother": ("sor", {"omega": 1.2})}, "write 'gauss_seidel', 'jacobi' or 'chebyshev'"),
    "omega": ("sa", {"presmoother": ("jacobi", {"omega": 0.5})}, "leave omega out"),
    "bounds": ("sa", {"presmoother": ("chebyshev", {"lower_bound": 0.1})}, "config={'smoother': {'ratio': …}}"),
    "unlike": ("sa", {"presmoother": "jacobi", "postsmoother": GAUSS_SEIDEL}, "give both alike"),
    "by level": ("sa", {"presmoother": ["jacobi", "gauss_seidel"]}, "not a list by level"),
    "strength": ("sa", {"strength": "evolution"}, "strength=('symmetric', {'theta': 0.08})"),
    "aggregate": ("sa", {"aggregate": "pairwise"}, "ziggurat.solver(A, method='pairwise')"),
    "smooth": ("sa", {"smooth": ("energy", {"degree": 2})}, "smooth=None for plain aggregation"),
    "degree": ("sa", {"smooth": ("jacobi", {"degree": 2})}, "smooth=('jacobi', {'omega': 4/3})"),
    "candidates": ("sa", {"improve_candidates": [("gauss_seidel", {}), None]}, "the columns of B are used as they are"),
    "left": ("sa", {"BH": np.ones((1600, 1))}, "leave BH out"),
    "dominance": ("sa", {"diagonal_dominance": True}, "config={'sa': {'strength': {'max_row_sum': 0.9}}}"),
    "keep": ("classical", {"keep": True}, "levels keep A, P and R only"),
    "coarse": ("sa", {"coarse_solver": "gauss_seidel"}, "the coarsest level is solved directly"),
    "function": ("sa", {"coarse_solver": lambda A, b: b}, "the coarsest level is solved directly"),
    "coarsening": ("classical", {"CF": ("RS", {"second_pass": True})}, "CF='PMIS'"),
    "interpolation": ("classical", {"interpolation": "direct"}, "interpolation='classical'"),
    "cycle": ("sa", {"cycle": "Z"}, "it must be 'V', 'W', 'F' or 'AMLI'"),
    "not a name": ("sa", {"presmoother": 3}, "it must be a name, or a pair of a name and a dict"),
}


@pytest.mark.parametrize(("solver", "arguments", "text"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_equivalent_says_what_to_write_instead(solver, arguments, text):
    with pytest.raises(ziggurat.ConfigError) as caught:
        {"sa": sa, "classical": classical}[solver](**arguments)
    assert text in str(caught.value)


def test_other_calls_of_pyamg_say_what_to_write_instead():
    with pytest.raises(TypeError, match=r"ziggurat.smoothed_aggregation_solver\(A, \*\*config\)"):
        ziggurat.solver(A, {"presmoother": "jacobi"})
    with pytest.raises(TypeError, match="it must be the name of a Krylov method; .*aspreconditioner"):
        ziggurat.solver(A).solve(b, accel=lambda A, b: b)
    with pytest.raises(TypeError, match=r"logging.basicConfig\(level=logging.INFO\)"):
        ziggurat.solve(A, b, verb=True)
    assert ziggurat.solve(A, b, verb=False).shape == b.shape
    with pytest.raises(AttributeError, match=r"ziggurat has no 'pairwise_solver'; .*ziggurat.solver\(A, method='pairwise'\)"):
        ziggurat.pairwise_solver  # noqa: B018
    with pytest.raises(AttributeError, match="ziggurat has no 'rootnode_solver'; .*smoothed_aggregation_solver"):
        ziggurat.rootnode_solver  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'xyzzy'"):
        ziggurat.xyzzy  # noqa: B018


# ---- the gallery


def equal(ours, theirs):
    return ours.shape == theirs.shape and abs(ours - theirs).max() <= 1e-14 * abs(theirs).max()


@pytest.mark.parametrize("type", ["FD", "FE"])
@pytest.mark.parametrize("grid", [(7,), (5, 6), (1, 4), (2, 2), (4, 3, 5), (2, 3, 2, 3)])
def test_poisson_is_that_of_pyamg(grid, type):
    pyamg = pytest.importorskip("pyamg")
    ours = gallery.poisson(grid, type=type)
    assert ours.format == "csr"
    assert equal(ours, pyamg.gallery.poisson(grid, type=type, format="csr"))


def test_stencils_are_those_of_pyamg():
    pyamg = pytest.importorskip("pyamg")
    stencil = np.arange(15.0).reshape(3, 5)  # not symmetric
    assert equal(gallery.stencil_grid(stencil, (4, 6)), pyamg.gallery.stencil_grid(stencil, (4, 6), format="csr"))
    assert gallery.stencil_grid([-1, 2, -1], (5,), dtype=np.float32, format="csc").dtype == np.float32
    assert gallery.stencil_grid(np.zeros((3, 3)), (2, 2)).nnz == 0
    for type in ("FE", "FD"):
        for angle in (0.0, 0.5, 2.0):
            theirs = pyamg.gallery.diffusion_stencil_2d(0.01, angle, type)
            assert gallery.diffusion_stencil_2d(0.01, angle, type) == pytest.approx(theirs, abs=1e-15)


def test_elasticity_is_that_of_pyamg():
    pyamg = pytest.importorskip("pyamg")
    # PyAMG numbers the points of grids that are not square inconsistently.
    for spacing in (None, (1.0, 0.25)):
        (ours, modes), (theirs, their_modes) = (
            package.gallery.linear_elasticity((6, 6), spacing=spacing) for package in (ziggurat, pyamg)
        )
        assert ours.format == "bsr" and equal(ours, theirs)
        assert modes == pytest.approx(their_modes, abs=1e-13)


def test_rigid_motions_of_a_rectangle_cost_no_energy():
    A, B = gallery.linear_elasticity((8, 5), spacing=(1.0, 0.5))
    energy = np.abs(A @ B).max(axis=1).reshape(5, 8, 2)
    assert energy[1:-1, 1:-1].max() <= 1e-9 * abs(A).max()
    assert energy[0].max() > 1e-3 * abs(A).max()  # the clamped points are missing


@pytest.mark.parametrize(("make", "text"), [
    (lambda: gallery.poisson((3, 0)), "give the number of points in each direction"),
    (lambda: gallery.poisson((3, 3), type="FV"), "it must be 'FD' or 'FE'"),
    (lambda: gallery.diffusion_stencil_2d(type="FV"), "it must be 'FD' or 'FE'"),
    (lambda: gallery.stencil_grid([1, 2], (3,)), "every extent must be odd"),
    (lambda: gallery.stencil_grid([1, 2, 1], (3, 3)), "the stencil has 1 dimension"),
    (lambda: gallery.linear_elasticity((3, 3, 3)), "ziggurat.gallery.elasticity3d"),
])
def test_invalid_grids(make, text):
    with pytest.raises(ziggurat.ConfigError, match=text):
        make()


def test_what_the_gallery_has_not_says_what_to_use():
    with pytest.raises(AttributeError, match="use pyamg.gallery.gauge_laplacian, whose matrices ziggurat takes"):
        gallery.gauge_laplacian  # noqa: B018
    with pytest.raises(AttributeError, match="ziggurat.gallery has no 'poison'; it has .*poisson"):
        gallery.poison  # noqa: B018
