//! Two-grid convergence of aggregation: one Jacobi sweep, an exact coarse solve, one Jacobi sweep, inside CG. Iteration
//! counts have ceilings, so that a quiet loss of quality fails.
#![allow(clippy::unwrap_used)] // tests, whose helpers clippy does not recognise as such

use ziggurat_amg::coarsen::{Aggregates, MATCHING_ROUNDS, mis2, node_matrix, pairwise_passes};
use ziggurat_amg::halo::Whole;
use ziggurat_amg::interpolate::{NearKernel, Scaling, Smoothing, Tentative, smoothed, tentative};
use ziggurat_amg::strength::{Filter, Strength, StrongGraph, strong_connections};
use ziggurat_sparse::algebra::{transpose, triple_product};
use ziggurat_sparse::gallery::{Problem, rigid_body_modes};
use ziggurat_sparse::spectrum::{LANCZOS_STEPS, lanczos_jacobi};
use ziggurat_sparse::{Csr, Dense};

fn multiply(a: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let product = |row: usize| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).map(|(&column, value)| value * x[column as usize]).sum()
    };
    (0..a.rows()).map(product).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// A dense Cholesky factor, row by row.
struct Cholesky {
    n: usize,
    factor: Vec<f64>,
}

impl Cholesky {
    fn new(a: &Csr<f64>) -> Self {
        let n = a.rows();
        let mut factor = vec![0.0; n * n];
        for row in 0..n {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values).filter(|(column, _)| **column as usize <= row)
            {
                factor[row * n + column as usize] = value;
            }
            for column in 0..=row {
                let (above, this) = factor.split_at_mut(row * n);
                let sum = if column == row {
                    dot(&this[..row], &this[..row])
                } else {
                    dot(&this[..column], &above[column * n..column * n + column])
                };
                let rest = this[column] - sum;
                if column == row {
                    assert!(rest > 0.0, "the coarse matrix is not positive definite: row {row}");
                    this[column] = rest.sqrt();
                } else {
                    this[column] = rest / above[column * n + column];
                }
            }
        }
        Cholesky { n, factor }
    }

    fn solve(&self, mut x: Vec<f64>) -> Vec<f64> {
        let n = self.n;
        for row in 0..n {
            let sum = dot(&self.factor[row * n..row * n + row], &x[..row]);
            x[row] = (x[row] - sum) / self.factor[row * n + row];
        }
        for row in (0..n).rev() {
            x[row] /= self.factor[row * n + row];
            for column in 0..row {
                x[column] -= self.factor[row * n + column] * x[row];
            }
        }
        x
    }
}

struct TwoGrid {
    a: Csr<f64>,
    p: Csr<f64>,
    r: Csr<f64>,
    coarse: Cholesky,
    jacobi: Vec<f64>,
}

impl TwoGrid {
    fn new(a: Csr<f64>, p: Csr<f64>, dead: &[u32]) -> Self {
        let r = transpose(p.view(), p.all_rows());
        let mut coarse = triple_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap();
        for &unknown in dead {
            let begin = coarse.row_ptr()[unknown as usize];
            let at = coarse.row(unknown as usize).0.binary_search(&unknown).unwrap();
            coarse.values_mut()[begin + at] = 1.0;
        }
        let omega = 1.6 / lanczos_jacobi(a.view(), LANCZOS_STEPS).unwrap().upper;
        let jacobi = a.view().diagonal(a.all_rows()).iter().map(|value| omega / value).collect();
        TwoGrid { coarse: Cholesky::new(&coarse), a, p, r, jacobi }
    }

    fn apply(&self, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = b.iter().zip(&self.jacobi).map(|(b, d)| d * b).collect();
        let residual =
            |x: &[f64]| multiply(&self.a, x).iter().zip(b).map(|(ax, b)| b - ax).collect::<Vec<_>>();
        let coarse = self.coarse.solve(multiply(&self.r, &residual(&x)));
        x.iter_mut().zip(multiply(&self.p, &coarse)).for_each(|(x, correction)| *x += correction);
        let last = residual(&x);
        x.iter_mut().zip(last).zip(&self.jacobi).for_each(|((x, r), d)| *x += d * r);
        x
    }

    /// Iterations of CG to a residual of 1e-8, the right-hand side being ones.
    fn iterations(&self) -> usize {
        let mut r = vec![1.0; self.a.rows()];
        let target = 1e-8 * dot(&r, &r).sqrt();
        let mut p = self.apply(&r);
        let mut rz = dot(&r, &p);
        for iteration in 1..200 {
            let ap = multiply(&self.a, &p);
            let alpha = rz / dot(&p, &ap);
            r.iter_mut().zip(ap).for_each(|(r, ap)| *r -= alpha * ap);
            if dot(&r, &r).sqrt() <= target {
                return iteration;
            }
            let z = self.apply(&r);
            let beta = dot(&r, &z) / rz;
            rz *= beta;
            p.iter_mut().zip(z).for_each(|(p, z)| *p = z + beta * *p);
        }
        200
    }
}

struct Setup {
    a: Csr<f64>,
    graph: StrongGraph,
    aggregates: Aggregates,
    tentative: Tentative,
}

impl Setup {
    fn new(name: &str, aggregate: impl Fn(&Csr<f64>, &StrongGraph) -> Aggregates) -> Self {
        let problem: Problem = name.parse().unwrap();
        let (a, block) = (problem.matrix().unwrap(), problem.block_size());
        let kernel = if block == 1 {
            NearKernel::constants(a.rows(), 1).unwrap()
        } else {
            let modes = rigid_body_modes(&problem.coordinates().unwrap()).concat();
            NearKernel::try_new(Dense::try_new(a.rows(), 6, modes).unwrap(), block).unwrap()
        };
        let nodes = node_matrix(a.view(), block, 0..kernel.nodes()).unwrap();
        let strength = Strength { filter: Filter::Threshold(0.02), ..Strength::symmetric() };
        let halo = Whole::new(nodes.rows());
        let graph = strong_connections(nodes.view(), nodes.all_rows(), &strength, &[], &halo).unwrap();
        let aggregates = aggregate(&nodes, &graph);
        let tentative = tentative(&aggregates, &kernel).unwrap();
        Setup { a, graph, aggregates, tentative }
    }

    fn mis2(name: &str) -> Self {
        Setup::new(name, |nodes, graph| mis2(graph, Some(nodes.view()), &Whole::new(nodes.rows())).unwrap())
    }

    fn smoothed(self, smoothing: Smoothing) -> TwoGrid {
        let (rows, tentative) = (self.a.all_rows(), &self.tentative);
        let p = smoothed(self.a.view(), rows, &self.graph, &self.aggregates, tentative, &smoothing).unwrap();
        TwoGrid::new(self.a, p, self.tentative.dead())
    }

    fn plain(self) -> TwoGrid {
        let p = self.tentative.matrix(&self.aggregates).unwrap();
        TwoGrid::new(self.a, p, self.tentative.dead())
    }
}

#[test]
fn smoothed_aggregation_of_scalar_problems() {
    for (name, ceiling) in [
        ("poisson2d:40", 13),
        ("poisson3d:14", 11),
        ("poisson3d27:16", 12),
        ("anisotropic3d:14", 12),
        ("jump3d:14", 12),
    ] {
        let iterations = Setup::mis2(name).smoothed(Smoothing::default()).iterations();
        assert!(iterations <= ceiling, "{name}: {iterations} iterations");
    }
}

#[test]
fn smoothed_aggregation_of_elasticity() {
    for (scaling, ceiling) in [(Scaling::RowSums, 22), (Scaling::SpectralRadius(3.0), 20)] {
        let smoothing = Smoothing { scaling, ..Smoothing::default() };
        let iterations = Setup::mis2("elasticity3d:4").smoothed(smoothing).iterations();
        assert!(iterations <= ceiling, "{scaling:?}: {iterations} iterations");
    }
}

#[test]
fn dead_unknowns_do_no_harm() {
    // Two nodes per aggregate: six unknowns for six modes, one of which is dead. And the first node alone.
    let of = |node: usize| node.div_ceil(2) as u32;
    let setup = Setup::new("elasticity3d:3", |nodes, _| {
        Aggregates::try_new(of(nodes.rows() - 1) as usize + 1, (0..nodes.rows()).map(of).collect()).unwrap()
    });
    assert!(!setup.tentative.dead().is_empty());
    let iterations = setup.smoothed(Smoothing::default()).iterations();
    assert!(iterations <= 14, "{iterations} iterations");
}

#[test]
fn pairs_of_pairs_without_smoothing() {
    for (name, ceiling) in [("poisson2d:30", 22), ("poisson3d:12", 16), ("anisotropic3d:12", 20)] {
        let setup = Setup::new(name, |nodes, _| pairwise_passes(nodes.view(), 2, MATCHING_ROUNDS).unwrap());
        let iterations = setup.plain().iterations();
        assert!(iterations <= ceiling, "{name}: {iterations} iterations");
    }
}
