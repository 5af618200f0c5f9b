//! Reservoir systems: cells are found, pressures are solved for first, and units do not matter.

use crate::systems::residual;
use ziggurat::config::{Method, SmootherKind};
use ziggurat::sparse::device::Reference;
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::{Coo, Csr};
use ziggurat::{Solver, SolverConfig, Updated};

/// A grid with a pressure and two saturations per cell. Equations balance masses in other units
/// than pressures have, all of them depend on the pressures, and saturations are transported from
/// the cell before. The first equation does not contain the first unknown of its own cell.
fn reservoir(points: usize) -> Csr<f64> {
    let grid = format!("poisson3d:{points}").parse::<Problem>().unwrap().matrix().unwrap();
    let mut coo = Coo::new(3 * grid.rows(), 3 * grid.rows()).unwrap();
    for cell in 0..grid.rows() {
        let (columns, values) = grid.row(cell);
        for (&other, &value) in columns.iter().zip(values) {
            let (row, column) = (3 * cell, 3 * other as usize);
            for (equation, share) in [0.2, 0.5, 0.3].into_iter().enumerate() {
                coo.push(row + equation, column + 1, value * share * 1e-7).unwrap();
            }
            let accumulation = match other as usize {
                other if other == cell => 1e3,
                other if other + 1 == cell => -50.0,
                _ => continue,
            };
            coo.push(row, column + 2, accumulation).unwrap();
            coo.push(row + 1, column, accumulation).unwrap();
            coo.push(row + 2, column, -0.8 * accumulation).unwrap();
            coo.push(row + 2, column + 2, -0.6 * accumulation).unwrap();
        }
    }
    coo.to_csr()
}

#[test]
fn cells_are_found_and_few_iterations_are_needed() {
    for (points, most) in [(8, 12), (16, 15)] {
        let a = reservoir(points);
        let b = vec![1.0; a.rows()];
        let solver = Solver::new(&a, SolverConfig::default()).unwrap();
        let config = solver.config();
        assert_eq!((config.method, config.smoother.kind), (Method::Cpr, SmootherKind::Ilu0));
        assert_eq!((config.cpr.unknowns, config.cpr.pressure), (Some(3), Some(1)));
        assert_eq!((config.smoother.node_rows, config.cycle.pre_sweeps), (Some(3), 0));
        let rows: Vec<usize> = solver.hierarchy().levels().iter().map(ziggurat::amg::Level::rows).collect();
        assert_eq!(rows[1], rows[0] / 3);
        let solution = solver.solve(&b).unwrap();
        assert!(solution.promotion.is_none(), "{:?}", solution.promotion);
        assert!(solution.report.iterations <= most, "{points}: {}", solution.report.iterations);
        assert!(residual(&a, &solution.x, &b) <= 1e-8);
    }
}

#[test]
fn every_device_and_new_values_are_solved() {
    let mut a = reservoir(8);
    let b = vec![1.0; a.rows()];
    let mut solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let iterations = solver.solve(&b).unwrap().report.iterations;
    let on_reference = Solver::builder().device(&Reference).build(&a).unwrap().solve(&b).unwrap();
    assert_eq!(on_reference.report.iterations, iterations);
    a.values_mut()
        .iter_mut()
        .enumerate()
        .for_each(|(index, value)| *value *= 1.0 + 1e-3 * (index % 7) as f64);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.iterations <= iterations + 2 && residual(&a, &solution.x, &b) <= 1e-8);
}

#[test]
fn told_cells_are_honoured_and_impossible_ones_refused() {
    let a = reservoir(6);
    let told = |unknowns, pressure| {
        let with = move |config: &mut SolverConfig| {
            (config.cpr.unknowns, config.cpr.pressure) = (Some(unknowns), pressure);
        };
        Solver::builder().method(Method::Cpr).with(with).build(&a)
    };
    assert_eq!(told(3, None).unwrap().config().cpr.pressure, Some(1));
    // Another unknown in place of the pressure is no error, only slow.
    assert_eq!(told(3, Some(0)).unwrap().config().cpr.pressure, Some(0));
    let error = told(5, None).unwrap_err().to_string();
    assert!(error.contains("no cells with one pressure each"), "{error}");
    let error = told(3, Some(3)).unwrap_err().to_string();
    assert_eq!(error, "`cpr.pressure` is 3; it must be from 0 to 2");
    let grid = "convection3d:8".parse::<Problem>().unwrap().matrix().unwrap();
    let error = Solver::builder().method(Method::Cpr).build(&grid).unwrap_err().to_string();
    assert!(error.starts_with("`method`: no cells with one pressure each"), "{error}");
    assert_eq!(Solver::builder().build(&grid).unwrap().config().method, Method::Air);
}
