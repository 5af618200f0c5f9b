//! Unknowns numbered field by field: coarsened by nodes, as if they were numbered node by node.

use crate::systems::uneven;
use ziggurat::config::Method;
use ziggurat::sparse::Csr;
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::graph::{Permutation, permute_symmetric};
use ziggurat::{Coordinates, CoordinatesError, Solver, Updated};

/// A body of hexahedra, node by node and field by field, with the coordinates of its nodes.
fn body(name: &str) -> (Csr<f64>, Csr<f64>, Vec<[f64; 3]>) {
    let problem: Problem = name.parse().unwrap();
    let a = problem.matrix().unwrap();
    let nodes = a.rows() as u32 / 3;
    let order = (0..3).flat_map(|field| (0..nodes).map(move |node| 3 * node + field)).collect();
    let order = Permutation::from_new_to_old(order).unwrap();
    let by_fields = permute_symmetric(a.view(), &order).unwrap();
    (a, by_fields, problem.coordinates().unwrap())
}

fn iterations(solver: &Solver) -> usize {
    let rows = solver.hierarchy().levels()[0].rows();
    let report = solver.solve(&uneven(rows)).unwrap().report;
    assert!(report.reason.is_converged());
    report.iterations
}

#[test]
fn fields_take_the_iterations_of_nodes() {
    for name in ["elasticity3d:8", "elasticity3d:14"] {
        let (by_nodes, by_fields, points) = body(name);
        // The larger one would be recognised as a grid.
        let usual = Solver::builder().method(Method::Sa).build(&by_nodes).unwrap();
        let mut solver = Solver::builder().method(Method::Sa).build(&by_fields).unwrap();
        assert_eq!(solver.config().smoother.kind, usual.config().smoother.kind, "{name}");
        assert!(solver.hierarchy().levels()[1].block() == 3, "{name}");
        let (expected, found) = (iterations(&usual), iterations(&solver));
        assert!(found <= expected + expected / 5, "{name}: {found} and {expected}");
        // An update keeps what was found.
        assert_eq!(solver.update_values(&by_fields).unwrap(), Updated::Values, "{name}");
        assert_eq!(iterations(&solver), found, "{name}");

        // Rotations, from the coordinates of the nodes or of all unknowns.
        let points = |times| Coordinates::try_new(points.repeat(times), 3).unwrap();
        let usual = Solver::builder().coordinates(points(1)).build(&by_nodes).unwrap();
        let expected = iterations(&usual);
        for times in [1, 3] {
            let solver = Solver::builder().coordinates(points(times)).build(&by_fields).unwrap();
            let found = iterations(&solver);
            assert!(found <= expected + expected / 5, "{name}, {times}: {found} and {expected}");
        }
        // By fields, but the matrix is by nodes.
        let refused = points(3).near_kernel(by_nodes.view()).unwrap_err();
        assert!(matches!(refused, CoordinatesError::NotByNode { .. }), "{refused}");
    }
}

#[test]
fn the_diagnosis_states_fields() {
    let (by_nodes, by_fields, _) = body("elasticity3d:6");
    let (nodes, fields) = (ziggurat::diagnose(by_nodes.view()), ziggurat::diagnose(by_fields.view()));
    assert_eq!((nodes.graph.block_size, nodes.graph.fields), (3, 1));
    assert_eq!((fields.graph.block_size, fields.graph.fields), (1, 3));
    assert!(fields.advice().iter().any(|advice| advice.code == "fields"));
}
