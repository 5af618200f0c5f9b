"""Solutions are correct and meet the tolerance, for right-hand sides of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

import ziggurat
from ziggurat import gallery

MODEL_PROBLEMS = [
    "poisson2d:30",
    "poisson3d:12",
    "poisson3d27:10",
    "anisotropic3d:12",
    "jump3d:12",
    "elasticity3d:5",
    "convection3d:12",
]


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def random_spd(n, rng):
    """A graph Laplacian with random weights, plus a small diagonal that makes it definite."""
    graph = sparse.csr_array(sparse.random(n, n, density=4 / n, random_state=rng, data_rvs=rng.random))
    graph = graph + graph.T
    return sparse.csr_array(sparse.diags(graph @ np.ones(n) + 0.01) - graph)


def random_nonsymmetric(n, rng):
    """Random entries in a random pattern, with a dominant diagonal that makes it nonsingular."""
    entries = sparse.csr_array(sparse.random(n, n, density=5 / n, random_state=rng, data_rvs=rng.standard_normal))
    return sparse.csr_array(entries + sparse.diags(abs(entries) @ np.ones(n) + 1.0))


@pytest.mark.parametrize("name", MODEL_PROBLEMS)
def test_model_problems_against_a_direct_solver(name):
    problem = gallery.problem(name)
    x = ziggurat.solve(problem.A, problem.b, tol=1e-12)
    expected = spsolve(problem.A.tocsc(), problem.b)
    assert np.linalg.norm(x - expected) <= 1e-8 * np.linalg.norm(expected)


@pytest.mark.parametrize("make", [random_spd, random_nonsymmetric])
@pytest.mark.parametrize("seed", range(3))
def test_random_matrices_against_a_direct_solver(make, seed):
    rng = np.random.default_rng(seed)
    A = make(500, rng)
    b = rng.standard_normal(500)
    x = ziggurat.solve(A, b, tol=1e-12)
    expected = spsolve(A.tocsc(), b)
    assert np.linalg.norm(x - expected) <= 1e-7 * np.linalg.norm(expected)


def test_a_singular_matrix_is_solved_in_least_squares():
    A = gallery.neumann3d(6)
    b = np.random.default_rng(0).standard_normal(216) + 1.0  # partly outside the range of A
    x = ziggurat.solve(A, b, tol=1e-10, project_rhs=True)
    expected = np.linalg.lstsq(A.toarray(), b, rcond=None)[0]  # has minimum norm and zero mean
    assert abs(x.mean()) <= 1e-10 * np.abs(x).max()
    assert np.linalg.norm(x - expected) <= 1e-7 * np.linalg.norm(expected)
    # The residual is the component outside the range: the mean.
    assert b - A @ x == pytest.approx(np.full(216, b.mean()), abs=1e-8)
    with pytest.raises(ziggurat.NotConvergedError, match="project_rhs"):
        ziggurat.solve(A, b)


def test_a_right_hand_side_outside_the_range_is_reported():
    ml = ziggurat.solver(gallery.neumann3d(8))
    x, info = ml.solve(np.ones(512), return_info=True)
    assert not x.any()
    assert (info.converged, info.stop_reason) == (False, "inconsistent")
    assert (info.relative_residual, info.left_out) == (pytest.approx(1.0), pytest.approx(1.0))
    x, info = ml.solve(np.ones(512), project_rhs=True, return_info=True)
    assert (info.converged, info.left_out) == (True, pytest.approx(1.0))


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8, 1e-12])
def test_the_tolerance_holds_for_the_true_residual(ml, poisson, b, tol):
    x, info = ml.solve(b, tol=tol, return_info=True)
    assert info.converged
    assert residual(poisson, x, b) <= tol * (1 + 1e-6)
    assert info.relative_residual == pytest.approx(residual(poisson, x, b), rel=1e-3)


def test_a_looser_tolerance_needs_fewer_iterations(ml, b):
    counts = [ml.solve(b, tol=tol, return_info=True)[1].iterations for tol in (1e-2, 1e-6, 1e-10)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_the_tolerance_of_setup_is_that_of_solves_that_give_none(poisson, b):
    ml = ziggurat.solver(poisson, tol=1e-3)
    _, loose = ml.solve(b, return_info=True)
    _, tight = ml.solve(b, tol=1e-9, return_info=True)
    assert loose.iterations < tight.iterations
    assert tight.config["stopping"]["rtol"] == 1e-9


def test_the_absolute_tolerance_is_for_the_residual_itself(ml, poisson, b):
    x = ml.solve(b, tol=0.0, atol=1e-3)
    assert 1e-9 < np.linalg.norm(b - poisson @ x) <= 1e-3


def test_numpy_scalars_are_accepted(ml, b):
    _, info = ml.solve(b, tol=np.float32(1e-4), maxiter=np.int64(50), return_info=True)
    assert info.converged


def test_a_good_guess_is_used(ml, b):
    x = ml.solve(b, tol=1e-10)
    _, info = ml.solve(b, x0=x, return_info=True)
    assert info.iterations == 0
    near = x + 1e-6 * np.random.default_rng(1).standard_normal(len(x))
    _, fewer = ml.solve(b, x0=near, return_info=True)
    _, from_zero = ml.solve(b, return_info=True)
    assert 0 < fewer.iterations < from_zero.iterations


def test_the_guess_is_not_changed(ml, b):
    guess = np.ones_like(b)
    ml.solve(b, x0=guess)
    assert np.all(guess == 1.0)


def test_residuals_are_those_of_the_guess_and_of_each_iteration(ml, poisson, b):
    norms = []
    x, info = ml.solve(b, residuals=norms, return_info=True)
    assert len(norms) == info.iterations + 1
    assert norms[0] == pytest.approx(np.linalg.norm(b))
    assert norms[-1] == pytest.approx(np.linalg.norm(b - poisson @ x), rel=1e-2)
    assert norms[1:] == pytest.approx(info.residuals * np.linalg.norm(b))


def test_true_residuals_are_computed_on_the_way(ml, poisson, b):
    _, info = ml.solve(b, verify_every=3, return_info=True)
    verified = info.true_residuals[:, 0]
    assert set(range(0, info.iterations, 3)) <= set(verified)
    _, partial = ml.solve(b, maxiter=6, return_info=True)
    at_six = info.true_residuals[verified == 6, 1][0]
    assert at_six == pytest.approx(partial.relative_residual, rel=1e-6)


# ---- shapes


@pytest.mark.parametrize("order", ["C", "F"])
def test_many_right_hand_sides_give_the_same_as_one_by_one(ml, order):
    B = np.asarray(np.random.default_rng(2).standard_normal((8000, 3)), order=order)
    X, infos = ml.solve(B, return_info=True)
    assert X.shape == B.shape
    assert [info.converged for info in infos] == [True] * 3
    for column in range(3):
        assert np.array_equal(X[:, column], ml.solve(B[:, column]))


@pytest.mark.parametrize("precision", ["f64", "f16", "auto"])
@pytest.mark.parametrize("name", ["poisson3d:12", "convection3d:12"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_solves_at_the_same_time_give_the_same_as_alone(name, precision, threads):
    problem = gallery.problem(name)
    ml = ziggurat.solver(problem.A, precision=precision, threads=threads)
    rng = np.random.default_rng(3)
    B, X0 = rng.standard_normal((2, 1728, 7))
    B[:, 2] = 0.0
    X, infos = ml.solve(B, X0, return_info=True)
    in_turn, others = ml.solve(B, X0, return_info=True, callback=lambda progress: False)
    assert np.array_equal(X, in_turn)
    for column in range(7):
        x, info = ml.solve(B[:, column], X0[:, column], return_info=True)
        assert np.array_equal(X[:, column], x)
        assert infos[column].residuals.tolist() == info.residuals.tolist() == others[column].residuals.tolist()
        assert infos[column].converged and infos[column].solve_seconds > 0


def test_of_solves_at_the_same_time_every_one_reports_its_own_failure(ml, b):
    B = np.column_stack([b, np.full_like(b, np.nan), np.zeros_like(b), b])
    _, infos = ml.solve(B, return_info=True)
    assert [info.stop_reason for info in infos] == ["converged", "not_finite", "converged", "converged"]


# ---- the transpose


@pytest.mark.parametrize("precision", ["f64", "f16", "auto"])
@pytest.mark.parametrize("name", ["convection3d:12", "transport3d:12", "poisson3d:12"])
def test_the_transpose_has_its_own_residual(name, precision):
    problem = gallery.problem(name)
    ml = ziggurat.solver(problem.A, precision=precision)
    b = np.random.default_rng(5).standard_normal(1728)
    x, info = ml.solve(b, transpose=True, return_info=True)
    residual = np.linalg.norm(b - problem.A.T @ x) / np.linalg.norm(b)
    assert info.converged and residual <= 1.001e-8
    assert info.relative_residual == pytest.approx(residual, rel=1e-3)
    if name == "poisson3d:12":
        assert np.array_equal(x, ml.solve(b))
    else:
        assert np.linalg.norm(b - problem.A @ x) > 1e-3 * np.linalg.norm(b)


def test_everything_but_the_matrix_is_that_of_a_solve():
    A = gallery.convection3d(10)
    ml, B = ziggurat.solver(A), np.random.default_rng(6).standard_normal((1000, 3))
    X, infos = ml.solve(B, transpose=True, tol=1e-10, return_info=True)
    assert X.shape == B.shape and all(info.converged for info in infos)
    for column in range(3):
        assert np.array_equal(X[:, column], ml.solve(B[:, column], transpose=True, tol=1e-10))
        assert np.linalg.norm(B[:, column] - A.T @ X[:, column]) <= 1.001e-10 * np.linalg.norm(B[:, column])
    seen = []
    ml.solve(B[:, 0], x0=X[:, 0], transpose=True, callback=lambda progress: seen.append(progress.iteration))
    assert seen == []  # the guess is the solution
    assert np.array_equal(ziggurat.solve(A, B[:, 0], transpose=True, tol=1e-10), X[:, 0])
    with pytest.raises(ziggurat.NotConvergedError):
        ml.solve(B[:, 0], transpose=True, maxiter=1)


def test_the_transpose_follows_an_update():
    A = gallery.convection3d(10)
    ml, b = ziggurat.solver(A), np.ones(1000)
    x = ml.solve(b, transpose=True)
    ml.update_values(2 * A)
    assert ml.solve(b, transpose=True) == pytest.approx(x / 2, rel=1e-6, abs=1e-9)


# ---- shapes of right-hand sides


def test_a_column_stays_a_column(ml, b):
    column = ml.solve(b.reshape(-1, 1))
    assert column.shape == (len(b), 1)
    assert np.array_equal(column[:, 0], ml.solve(b))


def test_no_right_hand_side_has_no_solution(ml):
    X, infos = ml.solve(np.ones((8000, 0)), return_info=True)
    assert X.shape == (8000, 0)
    assert infos == []


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.bool_, np.uint16])
def test_right_hand_sides_of_other_numbers(ml, dtype):
    given = (np.arange(8000) % 7).astype(dtype)
    x = ml.solve(given)
    assert x.dtype == np.float64
    assert np.array_equal(x, ml.solve(given.astype(np.float64)))


def test_strided_and_listed_right_hand_sides(ml, b):
    assert np.array_equal(ml.solve(np.repeat(b, 2)[::2]), ml.solve(b))
    assert np.array_equal(ml.solve(b.tolist()), ml.solve(b))


def test_a_zero_right_hand_side_has_a_zero_solution(ml):
    x, info = ml.solve(np.zeros(8000), return_info=True)
    assert not x.any()
    assert (info.converged, info.iterations) == (True, 0)


# ---- solves that do not converge


def solve_at_once(A, b, **options):
    return ziggurat.solve(A, b, **options)


def solve_after_setup(A, b, **options):
    return ziggurat.solver(A).solve(b, **options)


@pytest.mark.parametrize("solve", [solve_at_once, solve_after_setup])
def test_a_solve_raises_and_keeps_the_last_iterate_unless_the_info_is_asked_for(poisson, b, solve):
    with pytest.raises(ziggurat.NotConvergedError, match="after 2 iterations: not converged: the iteration limit") as caught:
        solve(poisson, b, maxiter=2)
    error = caught.value
    assert (error.info.converged, error.info.iterations) == (False, 2)
    assert error.info.stop_reason == "max_iterations"
    assert error.info.relative_residual == pytest.approx(residual(poisson, error.x, b), rel=1e-6)
    x, info = solve(poisson, b, maxiter=2, return_info=True)
    assert not info.converged and np.array_equal(x, error.x)


@pytest.mark.parametrize("solve", [solve_at_once, solve_after_setup])
def test_an_error_names_the_column_and_keeps_all_of_them(poisson, b, solve):
    B = np.column_stack([np.zeros_like(b), b, b])
    with pytest.raises(ziggurat.NotConvergedError, match="2 of 3 right-hand sides failed; column 1: .* after 1 iteration: ") as caught:
        solve(poisson, B, maxiter=1)
    assert caught.value.x.shape == B.shape
    assert caught.value.info.iterations == 1
    _, infos = solve(poisson, B, maxiter=1, return_info=True)
    assert [info.converged for info in infos] == [True, False, False]


@pytest.mark.parametrize("solve", [solve_at_once, solve_after_setup])
def test_a_solve_that_its_callback_has_stopped_returns_the_last_iterate(poisson, b, solve):
    x = solve(poisson, b, callback=lambda progress: progress.iteration == 3)
    expected, info = solve(poisson, b, maxiter=3, return_info=True)
    assert np.array_equal(x, expected) and not info.converged


# ---- names of scipy and PyAMG


ARGUMENTS = {
    "rtol": {"rtol": 1e-3},
    "atol": {"tol": 0.0, "atol": 1e-3},
    "reduction": {"reduction": 1e-2, "combine": "any"},
    "maxiter": {"maxiter": 2},
    "accel": {"accel": "bicgstab"},
    "krylov": {"krylov": "fgmres", "restart": 5},
    "basis": {"krylov": "gmres", "basis": "f16"},
    "cycle": {"cycle": "V", "cycles_per_level": 1},
    "time": {"max_seconds": 0.0},
    "verify": {"verify_every": 2},
    "guess": {"x0": np.ones(8000)},
}


@pytest.mark.parametrize("options", ARGUMENTS.values(), ids=ARGUMENTS)
def test_solve_takes_the_arguments_of_a_solver(ml, poisson, b, options):
    norms, seen = ([], []), ([], [])
    x, info = ziggurat.solve(poisson, b, residuals=norms[0], callback=seen[0].append, return_info=True, **options)
    expected, other = ml.solve(b, residuals=norms[1], callback=seen[1].append, return_info=True, **options)
    assert np.array_equal(x, expected)
    assert (info.stop_reason, info.krylov, info.iterations) == (other.stop_reason, other.krylov, other.iterations)
    assert norms[0] == norms[1] and len(seen[0]) == len(seen[1]) == info.iterations
    assert info.true_residuals.tolist() == other.true_residuals.tolist()


def test_solve_takes_the_arguments_of_setup(poisson, b):
    x, info, ml = ziggurat.solve(
        poisson, b, method="classical", precision="f32", cycle="W", accel="fgmres", threads=1, preset="robust",
        return_info=True, return_solver=True, config={"smoother": {"kind": "jacobi"}},
    )
    assert (ml.config["method"], ml.config["cycle"]["kind"], ml.config["krylov"]) == ("classical", "w", "fgmres")
    assert ml.config["smoother"]["kind"] == "jacobi" and ml.levels[0].storage == "f32"
    assert info.converged and np.array_equal(x, ml.solve(b))


def test_two_names_of_the_same_argument_exclude_each_other(ml, poisson, b):
    for options in ({"tol": 1e-6, "rtol": 1e-6}, {"accel": "cg", "krylov": "cg"}):
        for solve in (ml.solve, lambda b, **options: ziggurat.solve(poisson, b, **options)):
            with pytest.raises(TypeError, match="are names of the same argument; give one of them"):
                solve(b, **options)


@pytest.mark.parametrize(("name", "text"), [
    ("colback", r"solve\(\) got an unexpected keyword argument 'colback'; did you mean 'callback'\?"),
    ("presmoother", r"'presmoother'; ziggurat.smoothed_aggregation_solver\(A, …\)"),
    ("existing_solver", r"call the solve method of the existing solver: ml.solve\(b\)"),
    ("xyzzy", "it takes .*coords.*callback.*return_info"),
])
def test_an_unexpected_argument_is_named_with_what_to_write_instead(poisson, b, name, text):
    with pytest.raises(TypeError, match=text):
        ziggurat.solve(poisson, b, **{name: None})


def test_the_tolerance_of_the_configuration_is_that_of_solve(poisson, b):
    _, info = ziggurat.solve(poisson, b, config={"stopping": {"rtol": 1e-2}}, return_info=True)
    assert 1e-6 < info.relative_residual <= 1e-2


def test_a_time_limit(ml, b):
    _, info = ml.solve(b, max_seconds=0.0, return_info=True)
    assert info.stop_reason == "time_limit"


# ---- setup options


def test_return_solver(poisson, b):
    x, ml = ziggurat.solve(poisson, b, return_solver=True)
    assert np.array_equal(ml.solve(b), x)


@pytest.mark.parametrize("accel", ["cg", "fcg", "gmres", "fgmres", "bicgstab", "minres", "idr", "cgs", "none"])
def test_every_outer_iteration(ml, poisson, b, accel):
    x, info = ml.solve(b, accel=accel, return_info=True)
    assert info.krylov == accel
    assert residual(poisson, x, b) <= 1e-8


@pytest.mark.parametrize("method", ["sa", "classical", "pairwise"])
@pytest.mark.parametrize("precision", ["f64", "f32", "f16", "bf16"])
def test_every_method_in_every_precision(poisson, b, method, precision):
    ml = ziggurat.solver(poisson, method, precision=precision)
    assert (ml.config["method"], ml.levels[0].storage) == (method, precision)
    assert residual(poisson, ml.solve(b), b) <= 1e-8


@pytest.mark.parametrize("preset", ["default", "robust", "fast", "low-memory"])
def test_presets(poisson, b, preset):
    ml = ziggurat.solver(poisson, preset=preset)
    assert residual(poisson, ml.solve(b), b) <= 1e-8


def test_arguments_override_the_preset_and_config_overrides_both(poisson):
    ml = ziggurat.solver(poisson, "sa", preset="robust", config={"cycle": {"pre_sweeps": 3}})
    assert ml.config["method"] == "sa"
    assert ml.config["cycle"]["pre_sweeps"] == 3
    assert ml.config["cycle"]["post_sweeps"] == 2  # from the preset
    assert ml.config["smoother"]["kind"] == "gauss-seidel"


def test_the_callers_config_is_not_changed(poisson):
    config = {"smoother": {"kind": "chebyshev"}}
    ziggurat.smoothed_aggregation_solver(poisson, max_coarse=50, config=config, tol=1e-4)
    assert config == {"smoother": {"kind": "chebyshev"}}


def test_names_of_pyamg(poisson, b):
    sa = ziggurat.smoothed_aggregation_solver(poisson, np.ones((8000, 1)), max_levels=2)
    assert (sa.config["method"], len(sa.levels)) == ("sa", 2)
    classical = ziggurat.ruge_stuben_solver(poisson, max_coarse=20)
    assert classical.config["method"] == "classical"
    assert classical.levels[-1].rows <= 20
    for ml in (sa, classical):
        assert residual(poisson, ml.solve(b), b) <= 1e-8


def test_rigid_body_modes_help_elasticity():
    problem = gallery.problem("elasticity3d:8")
    modes = gallery.rigid_body_modes(problem.coords)
    _, plain = ziggurat.solver(problem.A, "sa").solve(problem.b, return_info=True)
    _, by_coords = ziggurat.solver(problem.A, "sa", coords=problem.coords).solve(problem.b, return_info=True)
    _, by_modes = ziggurat.smoothed_aggregation_solver(problem.A, modes).solve(problem.b, return_info=True)
    assert by_coords.iterations < plain.iterations
    assert by_modes.iterations == by_coords.iterations


def test_unknowns_per_node_without_vectors_are_used(poisson, b):
    problem = gallery.problem("elasticity3d:6")
    given, detected = ziggurat.solver(problem.A, block_size=3), ziggurat.solver(problem.A)
    assert np.array_equal(given.solve(problem.b), detected.solve(problem.b))
    # The pattern of a scalar problem does not show blocks.
    pairs, scalar = ziggurat.solver(poisson, "sa", block_size=2), ziggurat.solver(poisson, "sa")
    assert pairs.levels[1].rows != scalar.levels[1].rows
    assert residual(poisson, pairs.solve(b), b) <= 1e-8


def test_coordinates_may_be_given_by_node_or_by_unknown():
    problem = gallery.problem("elasticity3d:6")
    by_node = ziggurat.solver(problem.A, coords=problem.coords)
    by_unknown = ziggurat.solver(problem.A, coords=np.repeat(problem.coords, 3, axis=0))
    assert np.array_equal(by_node.solve(problem.b), by_unknown.solve(problem.b))


def test_coordinates_by_unknown_describe_nodes_that_have_lost_some():
    problem = gallery.problem("elasticity3d:8")
    rows = problem.A.shape[0]
    kept = np.setdiff1d(np.arange(rows), np.arange(rows - 243, rows, 3))  # x is fixed at 81 nodes
    A, b = problem.A[kept][:, kept], problem.b[kept]
    coords = np.repeat(problem.coords, 3, axis=0)[kept]
    _, plain = ziggurat.solve(A, b, method="sa", block_size=1, return_info=True)
    _, info = ziggurat.solve(A, b, method="sa", coords=coords, return_info=True)
    assert info.converged and 2 * info.iterations < plain.iterations


def test_coordinates_of_another_numbering_are_refused():
    problem = gallery.problem("elasticity3d:4")
    by_displacement = np.tile(problem.coords, (3, 1))
    with pytest.raises(ziggurat.ConfigError, match="number them node by node"):
        ziggurat.solver(problem.A, coords=by_displacement)


def test_automatic_choices_have_reasons():
    A = ziggurat.gallery.convection3d(8)
    _, info = ziggurat.solve(A, np.ones(512), return_info=True)
    assert [decision["key"] for decision in info.decisions] == ["method", "smoother.kind", "cycle.kind", "krylov", "precision"]
    assert all(decision["reason"] for decision in info.decisions)
    assert {"key": "krylov", "value": "fgmres"}.items() <= info.decisions[3].items()
