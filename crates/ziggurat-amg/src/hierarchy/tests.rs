//! Properties that hierarchies must preserve, and the convergence of their cycles.

use super::*;
use crate::interpolate::LongRange;
use crate::smoother::Smoother;
use crate::{Cycle, Cycling, LevelPrecision, Lowering};
use ziggurat_sparse::algebra::transpose;
use ziggurat_sparse::device::{Cpu, Device, DeviceExt};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::hash::hash_id;
use ziggurat_sparse::operator::LinearOperator;
use ziggurat_sparse::{Coo, CsrRef, Kind};

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

fn classical() -> HierarchyConfig {
    HierarchyConfig { coarsening: Coarsening::Classical(Classical::default()), ..HierarchyConfig::default() }
}

fn aggregation() -> HierarchyConfig {
    let coarsening = Coarsening::SmoothedAggregation(SmoothedAggregation::default());
    HierarchyConfig { coarsening, ..HierarchyConfig::default() }
}

/// Smoothed aggregation below a plain level.
fn with_a_plain_level() -> HierarchyConfig {
    let method = SmoothedAggregation { plain_levels: Some(1), ..SmoothedAggregation::default() };
    HierarchyConfig { coarsening: Coarsening::SmoothedAggregation(method), ..HierarchyConfig::default() }
}

fn pairwise() -> HierarchyConfig {
    HierarchyConfig { coarsening: Coarsening::Pairwise(Pairwise::default()), ..HierarchyConfig::default() }
}

/// Elasticity and its rigid-body modes.
fn elasticity(size: u32) -> (Csr<f64>, MatrixProperties) {
    let (a, near_kernel) = crate::testing::rigid_bodies(size);
    (a, MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None })
}

fn asymmetry(a: CsrRef<'_, f64>) -> f64 {
    let at = transpose(a, a.all_rows());
    assert_eq!((at.row_ptr(), at.columns()), (a.row_ptr(), a.columns()), "the pattern is not symmetric");
    at.values().iter().zip(a.values()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

#[test]
fn coarse_matrices_of_a_symmetric_matrix_are_symmetric() {
    let names = ["poisson3d:14", "jump3d:20", "anisotropic3d:14"];
    for (name, config) in names.into_iter().flat_map(|name| [classical(), aggregation()].map(|c| (name, c))) {
        let hierarchy = Hierarchy::build(matrix(name), &config).unwrap();
        assert!(hierarchy.levels().len() >= 2, "{name}");
        for level in hierarchy.levels() {
            let largest = level.matrix().values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            assert!(asymmetry(level.matrix().view()) <= 1e-13 * largest, "{name}");
        }
    }
}

#[test]
fn constants_are_in_the_kernel_on_every_level() {
    let hierarchy = Hierarchy::build(matrix("neumann3d:14"), &classical()).unwrap();
    for level in hierarchy.levels() {
        let a = level.matrix();
        for row in a.all_rows() {
            let (_, values) = a.row(row);
            let (sum, size) = values.iter().fold((0.0, 0.0), |(sum, size), v| (sum + v, size + v.abs()));
            assert!(f64::abs(sum) < 1e-12 * size, "row {row}: {sum}");
        }
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let same = |build: &(dyn Fn() -> Hierarchy + Sync)| {
        let on = |threads: usize| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(build)
        };
        let (one, two) = (on(1), on(2));
        assert_eq!(one.levels().len(), two.levels().len());
        for (one, two) in one.levels().iter().zip(two.levels()) {
            assert_eq!(one.matrix(), two.matrix());
            assert_eq!(one.prolongation(), two.prolongation());
        }
    };
    for config in [classical(), aggregation(), with_a_plain_level(), pairwise()] {
        same(&|| Hierarchy::build(matrix("jump3d:24"), &config).unwrap());
    }
    let (a, known) = elasticity(8);
    same(&|| Hierarchy::with_properties(&a, known.clone(), &aggregation()).unwrap());
}

#[test]
fn new_values_give_the_hierarchy_of_the_new_matrix() {
    let mut a = matrix("poisson3d:14");
    let mut hierarchy = Hierarchy::build(a.clone(), &classical()).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value *= 4.0);
    hierarchy.update_values(a.clone()).unwrap();
    let fresh = Hierarchy::build(a, &classical()).unwrap();
    // SmoothingScale by a power of two changes no rounding, so the two are equal bit for bit.
    for (updated, fresh) in hierarchy.levels().iter().zip(fresh.levels()) {
        assert_eq!(updated.matrix(), fresh.matrix());
    }
    let error = hierarchy.update_values(matrix("poisson3d27:14")).unwrap_err();
    assert!(error.to_string().contains("same pattern"), "{error}");
}

#[test]
fn coarsening_reports_why_it_stopped() {
    let config = classical();
    let build = |a, config: &HierarchyConfig| Hierarchy::build(a, config).unwrap().stop();
    assert_eq!(build(matrix("poisson2d:40"), &config), CoarseningStop::SmallEnough);
    assert_eq!(
        build(matrix("poisson2d:80"), &HierarchyConfig { max_levels: 2, ..config }),
        CoarseningStop::MaxLevels
    );
    assert_eq!(build(Csr::identity(1000).unwrap(), &config), CoarseningStop::NothingToCoarsen);
    let error =
        Hierarchy::build(Csr::try_new(1, 2, vec![0, 0], vec![], vec![]).unwrap(), &config).unwrap_err();
    assert!(error.to_string().contains("columns of a square matrix"), "{error}");
}

/// Residual reduction per cycle of x ← x + M(b − A x).
fn convergence_factor(name: &str) -> f64 {
    let (cpu, a) = (Cpu::new(), matrix(name));
    let hierarchy = Hierarchy::build(a.clone(), &classical()).unwrap();
    let cycling = Cycling { smoother: Smoother::GaussSeidel { block: 4096 }, ..Cycling::default() };
    let m = hierarchy.lower(&cpu, &cycling, |_| LevelPrecision::default(), Lowering::default()).unwrap();
    let mut work = m.workspace(&cpu, Kind::F64).unwrap();
    let n = a.rows();
    let a = cpu.upload_matrix(a).unwrap();
    let mut x = cpu.adopt((0..n as u64).map(ziggurat_sparse::hash::uniform_signed).collect()).unwrap();
    let [b, mut r, mut z] = [(); 3].map(|()| cpu.zeros(Kind::F64, n).unwrap());
    let mut norms = vec![];
    for _ in 0..12 {
        cpu.residual(&a, &x, &b, &mut r);
        norms.push(cpu.norm(&r));
        m.apply(&cpu, &r, &mut z, &mut work);
        cpu.axpby(1.0, &z, 1.0, &mut x);
    }
    (norms[11] / norms[3]).powf(1.0 / 8.0)
}

#[test]
fn cycles_converge_fast() {
    for (name, ceiling) in
        [("poisson3d:20", 0.45), ("poisson3d27:16", 0.35), ("anisotropic3d:20", 0.45), ("jump3d:20", 0.45)]
    {
        let factor = convergence_factor(name);
        assert!(factor < ceiling, "{name}: {factor}");
    }
}

#[test]
fn the_table_has_a_line_per_level() {
    let hierarchy = Hierarchy::build(matrix("poisson2d:40"), &HierarchyConfig::default()).unwrap();
    let table = hierarchy.to_string();
    assert_eq!(table.lines().count(), hierarchy.levels().len() + 3);
    assert!(table.contains("ms by stage: strength "), "{table}");
    assert!(table.contains("operator complexity") && table.contains("small enough"), "{table}");
}

/// Iterations of conjugate gradients preconditioned by one cycle until the residual falls by 10⁻⁸,
/// for a right-hand side of ones.
fn iterations(a: &Csr<f64>, hierarchy: &Hierarchy, cycling: &Cycling) -> usize {
    let cpu = Cpu::new();
    let m = hierarchy.lower(&cpu, cycling, |_| LevelPrecision::default(), Lowering::default()).unwrap();
    let mut work = m.workspace(&cpu, Kind::F64).unwrap();
    let n = a.rows();
    let a = cpu.upload_matrix(a.clone()).unwrap();
    let [mut x, mut r, mut z, mut p, mut ap] = [(); 5].map(|()| cpu.zeros(Kind::F64, n).unwrap());
    cpu.fill(1.0, &mut r);
    let (start, mut before) = (cpu.norm(&r), 1.0);
    for iteration in 0..100 {
        if cpu.norm(&r) <= 1e-8 * start {
            return iteration;
        }
        m.apply(&cpu, &r, &mut z, &mut work);
        let rz = cpu.dot(&r, &z);
        cpu.axpby(1.0, &z, if iteration == 0 { 0.0 } else { rz / before }, &mut p);
        cpu.spmv(1.0, &a, &p, 0.0, &mut ap);
        let step = rz / cpu.dot(&p, &ap);
        cpu.axpby(step, &p, 1.0, &mut x);
        cpu.axpby(-step, &ap, 1.0, &mut r);
        before = rz;
    }
    100
}

/// Compares iterations and complexity with measured values, so that a loss of quality fails the
/// test.
fn check_quality(config: &HierarchyConfig, smoother: Smoother, ceilings: &[(&str, usize, f64)]) {
    let cycling = Cycling { smoother, ..Cycling::default() };
    for &(name, most_iterations, most_complexity) in ceilings {
        let a = matrix(name);
        let hierarchy = Hierarchy::build(a.clone(), config).unwrap();
        let (found, complexity) = (iterations(&a, &hierarchy, &cycling), hierarchy.operator_complexity());
        println!("{name}: {found} iterations, complexity {complexity}");
        assert!(found <= most_iterations, "{name}: {found} iterations");
        assert!(complexity <= most_complexity, "{name}: complexity {complexity}");
    }
}

#[test]
fn classical_setup_is_cheap_and_takes_few_iterations() {
    let ceilings = [
        ("poisson2d:120", 16, 1.65),
        ("poisson3d:26", 14, 1.5),
        ("poisson3d27:22", 9, 1.25),
        ("anisotropic3d:26", 14, 1.95),
        ("jump3d:26", 14, 1.5),
    ];
    check_quality(&classical(), Smoother::GaussSeidel { block: 4096 }, &ceilings);
}

#[test]
fn aggregation_is_cheap_and_takes_few_iterations() {
    let ceilings = [
        ("poisson2d:120", 20, 1.45),
        ("poisson3d:26", 14, 1.6),
        ("poisson3d27:22", 13, 1.06),
        ("anisotropic3d:26", 14, 1.7),
        ("jump3d:26", 16, 1.7),
    ];
    check_quality(&aggregation(), Smoother::default(), &ceilings);
}

#[test]
fn one_plain_level_is_cheaper_and_takes_twice_the_iterations() {
    let ceilings = [
        ("poisson2d:120", 32, 1.4),
        ("poisson3d:26", 27, 1.3),
        ("poisson3d27:22", 23, 1.06),
        ("anisotropic3d:26", 28, 1.45),
        ("jump3d:26", 29, 1.35),
    ];
    check_quality(&with_a_plain_level(), Smoother::default(), &ceilings);
    // Every row of P has one entry, and the coarse matrix is a sum over aggregates.
    let hierarchy = Hierarchy::build(matrix("poisson3d:26"), &with_a_plain_level()).unwrap();
    let p = hierarchy.levels()[0].prolongation().unwrap();
    assert!(p.all_rows().all(|row| p.row(row).0.len() == 1));
    assert!(hierarchy.levels()[0].radius().is_none());
    let smoothed = hierarchy.levels()[1].prolongation().unwrap();
    assert!(smoothed.all_rows().any(|row| smoothed.row(row).0.len() > 1));
    assert!(hierarchy.levels()[1].radius().is_some());
}

#[test]
fn rigid_body_modes_halve_the_iterations_of_elasticity() {
    let (a, known) = elasticity(10);
    let cycling = Cycling::default();
    let hierarchy = Hierarchy::with_properties(&a, known, &aggregation()).unwrap();
    let with = iterations(&a, &hierarchy, &cycling);
    assert!(with <= 21 && hierarchy.operator_complexity() < 1.3, "{with} iterations");
    let without = iterations(&a, &Hierarchy::build(&a, &aggregation()).unwrap(), &cycling);
    assert!(2 * with <= without, "{with} against {without}");
}

#[test]
fn pairwise_aggregation_converges_with_k_cycles() {
    let cycling = Cycling { cycle: Cycle::K, ..Cycling::default() };
    for (name, ceiling) in [("poisson2d:60", 22), ("poisson3d:20", 22)] {
        let a = matrix(name);
        let found = iterations(&a, &Hierarchy::build(&a, &pairwise()).unwrap(), &cycling);
        assert!(found <= ceiling, "{name}: {found}");
    }
}

#[test]
fn the_finest_level_is_coarsened_aggressively_where_it_pays() {
    let rows_left = |name: &str, aggressive_levels| {
        let coarsening = Coarsening::Classical(Classical { aggressive_levels, ..Classical::default() });
        let config = HierarchyConfig { coarsening, ..HierarchyConfig::default() };
        Hierarchy::build(matrix(name), &config).unwrap().levels()[1].matrix().rows()
    };
    // One row in twelve against one in three.
    assert!(3 * rows_left("poisson3d:20", 1) < rows_left("poisson3d:20", 0));
    // PMIS alone keeps one in fourteen, so there is no second pass.
    assert_eq!(rows_left("poisson3d27:20", 1), rows_left("poisson3d27:20", 0));
}

#[test]
fn multipass_is_cheaper_and_takes_more_iterations() {
    let (a, cycling) = (matrix("poisson3d:26"), Cycling::default());
    let coarsening =
        Coarsening::Classical(Classical { long_range: LongRange::Multipass, ..Classical::default() });
    let config = HierarchyConfig { coarsening, ..HierarchyConfig::default() };
    let of = |config: &HierarchyConfig| Hierarchy::build(&a, config).unwrap();
    let (multipass, two_stage) = (of(&config), of(&classical()));
    assert!(multipass.operator_complexity() < two_stage.operator_complexity());
    let (more, fewer) = (iterations(&a, &multipass, &cycling), iterations(&a, &two_stage, &cycling));
    assert!(fewer < more && more <= 24, "{fewer} and {more}");
}

#[test]
fn a_large_level_that_cannot_be_coarsened_is_smoothed() {
    // Diagonally dominant: no row is strongly connected, and a factorisation would take minutes.
    let mut a = matrix("poisson3d:40");
    for row in a.all_rows() {
        let (begin, place) = (a.row_ptr()[row], a.row(row).0.binary_search(&(row as u32)).unwrap());
        a.values_mut()[begin + place] += 100.0;
    }
    let hierarchy = Hierarchy::build(a.clone(), &classical()).unwrap();
    assert_eq!((hierarchy.stop(), hierarchy.levels().len()), (CoarseningStop::NothingToCoarsen, 1));
    let found = iterations(&a, &hierarchy, &Cycling::default());
    assert!(found <= 6, "{found}");
}

/// The Laplacian of a graph in which every node is joined with four earlier ones, nodes with many
/// connections more often than others (Barabási & Albert, 1999).
fn graph_with_hubs(nodes: usize) -> Csr<f64> {
    let mut ends = vec![0_usize];
    let mut laplacian = Coo::new(nodes, nodes).unwrap();
    for i in 1..nodes {
        for edge in 0..4 {
            let chosen = hash_id((4 * i + edge) as u64) as usize % ends.len();
            let j = ends[chosen].min(i - 1);
            for (row, column, value) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                laplacian.push(row, column, value).unwrap();
            }
            ends.push(j);
        }
        ends.extend([i; 4]);
    }
    laplacian.into_csr()
}

#[test]
fn hubs_keep_the_finest_level_plain() {
    let a = graph_with_hubs(4000);
    let hierarchy = Hierarchy::build(a.clone(), &aggregation()).unwrap();
    assert_eq!(hierarchy.levels()[0].radius(), None, "{hierarchy}");
    assert!(hierarchy.operator_complexity() < 1.5, "{hierarchy}");
    for name in ["poisson3d:12", "poisson3d27:10", "jump3d:12"] {
        assert!(
            Hierarchy::build(matrix(name), &aggregation()).unwrap().levels()[0].radius().is_some(),
            "{name}"
        );
    }
}

#[test]
fn wide_stencils_do_not_make_large_aggregates() {
    // Rows are coupled with the 56 nearest ones, the nearer the more.
    let n = 3000_usize;
    let mut a = Coo::new(n, n).unwrap();
    for i in 0..n {
        for j in i.saturating_sub(28)..n.min(i + 29) {
            let distance = i.abs_diff(j);
            a.push(i, j, if distance == 0 { 58.0 } else { -1.0 - 0.2 / distance as f64 }).unwrap();
        }
    }
    let hierarchy = Hierarchy::build(a.into_csr(), &aggregation()).unwrap();
    assert!(hierarchy.levels()[1].rows() > n / 40, "{hierarchy}");
}
