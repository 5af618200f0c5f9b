//! A hierarchy that ranks have saved is the file of one process, and can be loaded on any number of
//! ranks.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ziggurat::amg::Hierarchy;
use ziggurat::config::Reorder;
use ziggurat::{Solver, SolverConfig, Updated};
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver};
use ziggurat_sparse::gallery::Problem;

use crate::launch::{is_rank, mpirun, rank};

/// Problems with their method, and a smoother that treats blocks of rows together.
const SYSTEMS: [(&str, &str); 4] = [
    ("poisson3d:20", r#"{"method": "sa"}"#),
    ("jump3d:16", r#"{"method": "classical", "precision": "f16"}"#),
    ("elasticity3d:8", r#"{"method": "sa"}"#),
    ("convection3d:16", "{}"),
];

fn config(text: &str) -> SolverConfig {
    SolverConfig::from_json(text).unwrap()
}

fn problem(name: &str) -> Problem {
    name.parse().unwrap()
}

fn bytes(hierarchy: &Hierarchy) -> Vec<u8> {
    let mut file = Vec::new();
    hierarchy.save(&mut file).unwrap();
    file
}

fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The file that one process saves, and its iterations from the loaded file.
fn alone(name: &str, text: &str) -> String {
    let a = problem(name).matrix().unwrap();
    let solver = Solver::new(&a, config(text)).unwrap();
    let loaded = Hierarchy::load(&bytes(solver.hierarchy())[..]).unwrap();
    let again = Solver::from_hierarchy(loaded, config(text)).unwrap();
    let report = again.solve(&problem(name).rhs().unwrap()).unwrap().report;
    format!("{name} {:x} {}", fingerprint(&bytes(solver.hierarchy())), report.iterations)
}

/// The same on ranks, with an update of the loaded levels.
fn here(comm: &Arc<dyn Comm>, name: &str, text: &str) -> String {
    let a = DistributedCsr::generate(comm, problem(name)).unwrap();
    let solver = DistributedSolver::new(&a, config(text)).unwrap();
    let file = solver.hierarchy().unwrap().map(|hierarchy| bytes(&hierarchy));
    assert_eq!(file.is_some(), comm.rank() == 0);
    let rows = a.own_rows().count();
    let load = || file.as_ref().map(|file| Hierarchy::load(&file[..]).unwrap());
    let mut again = DistributedSolver::from_hierarchy(comm, rows, load().as_ref(), config(text)).unwrap();
    let generator = problem(name).generator();
    let b: Vec<f64> = a.own_rows().map(|row| generator.rhs(row)).collect();
    let report = again.solve(&b).unwrap().report;
    assert!(report.reason.is_converged());
    let facts = |solver: &DistributedSolver| -> Vec<_> {
        solver.levels().iter().map(|level| (level.rows, level.nnz, level.fingerprint)).collect()
    };
    assert_eq!(facts(&again), facts(&solver), "{name}");
    assert_eq!(again.update_values(&a).unwrap(), Updated::Values);
    assert_eq!(facts(&again), facts(&solver), "{name} updated");
    // A caller with other rows gets the solution for these.
    let all_here = if comm.rank() + 1 == comm.size() { problem(name).global_rows() as usize } else { 0 };
    let elsewhere = DistributedSolver::from_hierarchy(comm, all_here, load().as_ref(), config(text)).unwrap();
    assert_eq!(elsewhere.own_rows().count(), all_here);
    let whole: Vec<f64> = elsewhere.own_rows().map(|row| generator.rhs(row)).collect();
    assert_eq!(elsewhere.solve(&whole).unwrap().report.iterations, report.iterations, "{name}");
    let print = file.map_or(0, |file| fingerprint(&file));
    format!("{name} {print:x} {}", report.iterations)
}

#[test]
fn ranks_save_the_file_of_one_process_and_load_it() {
    if is_rank() {
        return rank(|comm| SYSTEMS.map(|(name, text)| here(comm, name, text)).to_vec());
    }
    let expected = SYSTEMS.map(|(name, text)| alone(name, text));
    for ranks in [1, 2, 3, 7] {
        let ran = mpirun("files::ranks_save_the_file_of_one_process_and_load_it", ranks);
        assert!(ran.success, "{}", ran.everything);
        assert_eq!(ran.lines, expected, "{ranks} ranks");
    }
}

#[test]
fn what_does_not_fit_is_an_error_on_all_ranks() {
    if is_rank() {
        return rank(|comm| {
            let first = |config: SolverConfig| {
                let a = problem("poisson3d:10").matrix().unwrap();
                let made = (comm.rank() == 0).then(|| Solver::new(&a, config));
                made.map(|solver| solver.unwrap().hierarchy().clone())
            };
            let load = |rows: usize, hierarchy: Option<Hierarchy>| match DistributedSolver::from_hierarchy(
                comm,
                rows,
                hierarchy.as_ref(),
                SolverConfig::default(),
            ) {
                Ok(solver) => format!("{} levels", solver.levels().len()),
                Err(error) => error.to_string(),
            };
            let structured = first(config(r#"{"method": "structured"}"#));
            let reordered = first(SolverConfig { reorder: Reorder::On, ..SolverConfig::default() });
            let fits = if comm.rank() == 0 { 400 } else { 600 };
            vec![
                load(fits, structured),
                load(fits, None),
                load(400, first(config("{}"))),
                load(fits, reordered),
            ]
        });
    }
    let ran = mpirun("files::what_does_not_fit_is_an_error_on_all_ranks", 2);
    assert!(ran.success, "{}", ran.everything);
    let expected = [
        "2 levels",
        "levels of the hierarchy, which rank 0 gives: expected 1, found 0",
        "rows on all ranks, as the hierarchy has: expected 1000, found 800",
        "a hierarchy in a new order of the unknowns is not available on several ranks; set it up with \
         `reorder` off, or run without mpirun",
    ];
    assert_eq!(ran.lines, expected);
}
