//! A fault on one rank ends all ranks with the words of that rank. Without the mechanism of
//! `ziggurat_mpi::together` these tests hang.

use std::sync::Arc;
use std::time::Duration;

use mpi::ffi;
use ziggurat::{SolveOptions, SolverConfig};
use ziggurat_mpi::{Comm, DistributedCsr, DistributedError, DistributedSolver, Mpi, Session, together};

use crate::faulty::{Faulty, Memory};
use crate::launch::{Ran, asked, is_rank, mpirun, mpirun_with, rank};

/// Three ranks, of which the second has the fault.
const RANKS: usize = 3;
const FAULTY: usize = 1;

/// Large enough for several levels on several ranks.
const PROBLEM: &str = "poisson3d:16";

/// A patience that is short for a test and long for a step of it.
const PATIENCE: Duration = Duration::from_secs(5);

fn set_up_and_solve(comm: &Arc<dyn Comm>) -> Result<usize, DistributedError> {
    let a = DistributedCsr::generate(comm, PROBLEM.parse().unwrap())?;
    let solver = DistributedSolver::new(&a, SolverConfig::default())?;
    Ok(solver.solve(&vec![1.0; a.own_rows().count()])?.report.iterations)
}

/// The job was aborted, and these words say why.
fn expect_abort(ran: &Ran, words: &str) {
    assert!(!ran.success, "{}", ran.everything);
    assert!(ran.everything.contains(words), "{words:?} is missing:\n{}", ran.everything);
    assert!(ran.lines.is_empty(), "a rank continued:\n{}", ran.everything);
}

#[test]
fn a_panic_in_any_call() {
    let test = "faults::a_panic_in_any_call";
    if is_rank() {
        let _session = Session::start().unwrap();
        let (number, in_transit) = asked().split_once(' ').map(|(k, t)| (k.parse(), t == "true")).unwrap();
        let comm: Arc<dyn Comm> =
            Arc::new(Faulty::new(Mpi::world().unwrap(), FAULTY, number.unwrap(), in_transit));
        let iterations = set_up_and_solve(&comm);
        println!("SAID {iterations:?}");
    } else {
        // In the generation of the matrix, in setup, in its last level, and in the solve.
        for number in [0, 3, 20, 100, 400] {
            let ran = mpirun_with(test, RANKS, &format!("{number} false"));
            expect_abort(&ran, "rank 1 of 3 failed, and all ranks are aborted: panicked: a fault on demand");
        }
        for number in [0, 7, 60] {
            let ran = mpirun_with(test, RANKS, &format!("{number} true"));
            expect_abort(&ran, "rank 1 of 3 failed, and all ranks are aborted: panicked: a fault in transit");
        }
        // Without a fault there are more calls than that.
        let ran = mpirun_with(test, RANKS, "100000 false");
        assert!(ran.success && ran.lines.len() == RANKS, "{}", ran.everything);
    }
}

#[test]
fn a_panic_of_an_observer() {
    if is_rank() {
        rank(|comm| {
            let a = DistributedCsr::generate(comm, PROBLEM.parse().unwrap()).unwrap();
            let solver = DistributedSolver::new(&a, SolverConfig::default()).unwrap();
            let mut observer = |progress: &ziggurat::krylov::Progress| {
                assert!(comm.rank() != FAULTY || progress.iteration < 3, "seen enough");
                std::ops::ControlFlow::Continue(())
            };
            let solution = solver.solve_observed(&vec![1.0; a.own_rows().count()], Some(&mut observer));
            vec![format!("{solution:?}")]
        });
    } else {
        expect_abort(&mpirun("faults::a_panic_of_an_observer", RANKS), "panicked: seen enough");
    }
}

#[test]
fn a_panic_of_the_program() {
    if is_rank() {
        rank(|comm| {
            assert!(comm.rank() != FAULTY, "a panic between calls");
            set_up_and_solve(comm).unwrap();
            vec!["continued".to_owned()]
        });
    } else {
        expect_abort(&mpirun("faults::a_panic_of_the_program", RANKS), "a panic between calls");
    }
}

#[test]
fn an_error_while_others_communicate() {
    if is_rank() {
        let _session = Session::start().unwrap();
        let world = Mpi::world().unwrap().with_patience(PATIENCE);
        let error = || DistributedError::ColumnsNotIncreasing { row: 7, column: 3, previous: 5 };
        let result = together(&world, || match world.rank() {
            FAULTY => Err(error()),
            _ => {
                world.sum(&mut [1]);
                Ok(())
            }
        });
        println!("SAID {result:?}");
    } else {
        let ran = mpirun("faults::an_error_while_others_communicate", RANKS);
        expect_abort(&ran, "rank 1 of 3 failed, and all ranks are aborted: row 7: column 3 follows column 5");
    }
}

#[test]
fn an_error_that_others_learn_of_elsewhere() {
    if is_rank() {
        rank(|comm| {
            // The other ranks are in an inner step when this one leaves the outer one.
            let result = together(&**comm, || match comm.rank() {
                FAULTY => Err(DistributedError::TooManyRows),
                _ => together(&**comm, || Ok(())),
            });
            // All ranks have returned, and can continue together.
            let failed = comm.total(u64::from(result.is_err()));
            vec![format!("{failed} {}", result.unwrap_err())]
        });
    } else {
        let ran = mpirun("faults::an_error_that_others_learn_of_elsewhere", RANKS);
        assert!(ran.success, "{}", ran.everything);
        assert_eq!(ran.lines, ["3 rank 1: more than 2^64 rows"]);
    }
}

#[test]
fn memory_that_runs_out() {
    let test = "faults::memory_that_runs_out";
    if is_rank() {
        let _session = Session::start().unwrap();
        let world: Arc<dyn Comm> = Arc::new(Mpi::world().unwrap().with_patience(PATIENCE));
        let number: usize = asked().parse().unwrap();
        if world.rank() == FAULTY {
            Memory::fail_after(number);
        }
        let result = set_up_and_solve(&world);
        let count = if world.rank() == FAULTY { Memory::counted(number) } else { 0 };
        let failed = world.total(u64::from(result.is_err()));
        let message = result.err().map(|error| error.to_string()).unwrap_or_default();
        let count = world.total(count as u64);
        if world.rank() == 0 {
            println!("SAID {failed} {count} {message}");
        }
    } else {
        let without = mpirun_with(test, RANKS, "1000000");
        assert!(without.success, "{}", without.everything);
        let count: usize = without.lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        assert!(without.lines[0].starts_with("0 ") && count > 100, "{:?}", without.lines);
        // Everywhere in setup, and the last ones in the solve.
        for number in (0..8).map(|k| k * count / 8).chain([1, 10, 20].map(|last| count - last)) {
            let ran = mpirun_with(test, RANKS, &number.to_string());
            // An allocation that cannot be refused ends the process, and with it the job.
            if ran.everything.contains("memory allocation of")
                || ran.everything.contains("rank 1 of 3 failed")
            {
                expect_abort(&ran, "");
            } else {
                assert!(ran.success && ran.lines[0].starts_with("3 "), "{number}: {}", ran.everything);
                assert!(ran.lines[0].contains("rank 1: "), "{number}: {:?}", ran.lines);
            }
        }
    }
}

/// A slow solve compares its levels with levels in single precision. Memory for these runs out on
/// one rank, while the others exchange messages about them.
#[test]
fn memory_that_runs_out_for_other_levels() {
    let test = "faults::memory_that_runs_out_for_other_levels";
    if is_rank() {
        let _session = Session::start().unwrap();
        let world: Arc<dyn Comm> = Arc::new(Mpi::world().unwrap().with_patience(PATIENCE));
        let a = DistributedCsr::generate(&world, "poisson3d:32".parse().unwrap()).unwrap();
        let mut config = SolverConfig::default();
        config.smoother.omega = Some(0.02);
        config.stopping.max_iterations = 20;
        let solver = DistributedSolver::new(&a, config).unwrap();
        let number: usize = asked().parse().unwrap();
        if world.rank() == FAULTY {
            // The rank has 21 or 22 grains of 512 rows, and a number in single precision for each.
            Memory::fail_after_sizes(number, 4 * 512 * 21..=4 * 512 * 22);
        }
        let result = solver.solve(&vec![1.0; a.own_rows().count()]);
        let count = if world.rank() == FAULTY { Memory::counted(number) } else { 0 };
        let (failed, count) = (world.total(u64::from(result.is_err())), world.total(count as u64));
        if world.rank() == 0 {
            let message = result.err().map(|error| error.to_string()).unwrap_or_default();
            println!("SAID {failed} {count} {message}");
        }
    } else {
        let without = mpirun_with(test, RANKS, "1000000");
        let count: usize = without.lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        assert!(without.lines[0].starts_with("0 ") && (1..30).contains(&count), "{:?}", without.lines);
        let mut refused = 0;
        for number in 0..count {
            let ran = mpirun_with(test, RANKS, &number.to_string());
            // An allocation that cannot be refused ends the process, and with it the job.
            if !ran.everything.contains("memory allocation of") {
                assert!(ran.success && ran.lines[0].starts_with("3 "), "{number}: {}", ran.everything);
                assert!(ran.lines[0].contains("rank 1: "), "{number}: {:?}", ran.lines);
                refused += 1;
            }
        }
        assert!(refused > 0);
    }
}

#[test]
fn errors_of_mpi_are_fatal_whatever_the_caller_chose() {
    if is_rank() {
        let _session = Session::start().unwrap();
        // SAFETY: MPI is initialised, and all ranks make these calls.
        let comm = unsafe {
            ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_WORLD, ffi::RSMPI_ERRORS_RETURN);
            Mpi::from_c(ffi::RSMPI_COMM_WORLD).unwrap()
        };
        let subset = comm.subset(true).unwrap();
        let mut words = vec![1, 2, 3];
        if asked() == "subset" { &*subset } else { &comm as &dyn Comm }.broadcast(99, &mut words);
        println!("SAID {words:?}");
    } else {
        for which in ["world", "subset"] {
            let run = || mpirun_with("faults::errors_of_mpi_are_fatal_whatever_the_caller_chose", 2, which);
            // One time in twenty, Open MPI 4 loses its words on the way to mpirun and says so.
            let mut runs = (0..5).map(|_| run());
            let said = runs.find(|ran| ran.success || !ran.everything.contains("show_help.c")).unwrap();
            expect_abort(&said, "MPI_ERR_ROOT");
        }
    }
}

#[test]
fn communicators_that_are_none() {
    if is_rank() {
        rank(|_| {
            // SAFETY: the null communicator is refused.
            let null = unsafe { Mpi::from_c(ffi::RSMPI_COMM_NULL) };
            vec![null.unwrap_err().to_string()]
        });
    } else {
        let ran = mpirun("faults::communicators_that_are_none", 2);
        assert!(ran.success && ran.lines[0].contains("MPI_COMM_NULL"), "{}", ran.everything);
    }
}

#[test]
fn arguments_that_differ() {
    if is_rank() {
        rank(|comm| {
            let is_odd = comm.rank() == 2;
            let mut said = Vec::new();
            let mut note = |error: Option<DistributedError>| {
                let failed = comm.total(u64::from(error.is_some()));
                said.push(format!("{failed} {}", error.map(|error| error.to_string()).unwrap_or_default()));
            };
            let problem = if is_odd { "poisson3d:13" } else { PROBLEM };
            note(DistributedCsr::generate(comm, problem.parse().unwrap()).err());
            note(DistributedCsr::from_entries(comm, 6, if is_odd { 2 } else { 1 }, Vec::new()).err());
            let a = DistributedCsr::generate(comm, PROBLEM.parse().unwrap()).unwrap();
            note(a.clone().with_nodes(if is_odd { 2 } else { 1 }).err());
            let mut config = SolverConfig::default();
            if is_odd {
                config.stopping.rtol = 1e-9;
            }
            note(DistributedSolver::new(&a, config).err());
            let solver = DistributedSolver::new(&a, SolverConfig::default()).unwrap();
            let b = vec![1.0; a.own_rows().count()];
            let mut options = SolveOptions::from(solver.config());
            note(solver.solve_with(&b, is_odd.then_some(&b), &options, None).err());
            let mut observer = |_: &ziggurat::krylov::Progress| std::ops::ControlFlow::Continue(());
            note(solver.solve_observed(&b, if is_odd { Some(&mut observer) } else { None }).err());
            options.stopping.max_iterations = if is_odd { 3 } else { 30 };
            note(solver.solve_with(&b, None, &options, None).err());
            // None of this has harmed the solver.
            note(solver.solve(&b).err());
            said
        });
    } else {
        let ran = mpirun("faults::arguments_that_differ", RANKS);
        assert!(ran.success, "{}", ran.everything);
        let options = "set of options, including whether there is a guess and an observer,";
        let nodes = "number of unknowns per node";
        let expected = ["model problem", nodes, nodes, "configuration", options, options, options];
        let expected = expected.map(|what| {
            format!("3 rank 2: its {what} differs from that of rank 0; give the same on every rank")
        });
        assert_eq!(ran.lines[..7], expected);
        assert_eq!(ran.lines[7], "0 ");
    }
}
