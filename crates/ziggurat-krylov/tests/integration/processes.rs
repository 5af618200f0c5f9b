//! Several processes, played by threads: a method needs nothing of them but the sum.

use std::ops::ControlFlow;
use std::sync::{Arc, Barrier, Mutex};

use ziggurat_krylov::{Method, Progress, Space, StopReason, Stopping, System, Work, solve};
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::Cpu;
use ziggurat_sparse::operator::MatrixOperator;

use crate::matrices::*;

/// One of two processes.
struct Process {
    cpu: Cpu,
    rank: usize,
    barrier: Arc<Barrier>,
    mail: Arc<[Mutex<Vec<f64>>; 2]>,
}

impl Space for Process {
    type Device = Cpu;

    fn device(&self) -> &Cpu {
        &self.cpu
    }

    fn sum(&self, parts: &mut [f64]) {
        *self.mail[self.rank].lock().unwrap() = parts.to_vec();
        self.barrier.wait();
        let [first, second] = [0, 1].map(|rank| self.mail[rank].lock().unwrap().clone());
        for (k, part) in parts.iter_mut().enumerate() {
            *part = first[k] + second[k];
        }
        self.barrier.wait();
    }
}

/// Runs the same question in two processes, of which each has its own matrix and right-hand side.
fn in_two_processes<R: Send>(question: impl Fn(Process) -> R + Sync) -> Vec<R> {
    let barrier = Arc::new(Barrier::new(2));
    let mail = Arc::new([Mutex::default(), Mutex::default()]);
    std::thread::scope(|scope| {
        let processes: Vec<_> = [0, 1]
            .map(|rank| {
                let (barrier, mail, question) = (barrier.clone(), mail.clone(), &question);
                scope.spawn(move || question(Process { cpu: Cpu::new(), rank, barrier, mail }))
            })
            .into_iter()
            .collect();
        processes.into_iter().map(|process| process.join().unwrap()).collect()
    })
}

#[test]
fn two_processes_solve_as_one() {
    // Two blocks that meet in the inner products only; the second process has more rows.
    let (n, m) = (30, 50);
    let blocks = [random_matrix(n, true, 1), random_matrix(m, true, 2)];
    let whole = from_formula(n + m, |i, j| {
        let block = usize::from(i >= n);
        if block != usize::from(j >= n) {
            return 0.0;
        }
        blocks[block].get(i - block * n, j - block * n).unwrap_or(0.0)
    });
    let b = random_vector(n + m, 3);
    for method in Method::ALL {
        let (x, report) =
            ask::<_, f64>(&Cpu::new(), method, Question::new(&whole, &b), &Stopping::default(), None);
        assert_eq!(report.reason, StopReason::Converged);
        let parts = in_two_processes(|space| {
            let operator = MatrixOperator::new(&space.cpu, blocks[space.rank].clone()).unwrap();
            let system = System::new(&operator);
            let mut work = Work::new(method, &space, &system).unwrap();
            let b = if space.rank == 0 { b[..n].to_vec() } else { b[n..].to_vec() };
            let mut x = vec![0.0; b.len()];
            let report = solve(&space, &system, &b, &mut x, &Stopping::default(), None, &mut work).unwrap();
            (x, report)
        });
        let [(first, here), (second, there)] = &parts[..] else { panic!("two processes") };
        assert_eq!((here.reason, &here.history), (there.reason, &there.history), "{method}: they agree");
        assert_eq!(here.iterations, report.iterations, "{method}");
        let joined = [&first[..], second].concat();
        let difference: Vec<f64> = joined.iter().zip(&x).map(|(x, y)| x - y).collect();
        assert!(norm(&difference) <= 1e-10 * norm(&x), "{method}: {:.1e}", norm(&difference));
    }
}

#[test]
fn one_process_stops_all() {
    let a: Csr<f64> = laplace2d(8);
    for method in Method::ALL {
        let reports = in_two_processes(|space| {
            let operator = MatrixOperator::new(&space.cpu, a.clone()).unwrap();
            let system = System::new(&operator);
            let mut work = Work::new(method, &space, &system).unwrap();
            let (b, mut x) = (random_vector(64, space.rank as u64), vec![0.0; 64]);
            let rank = space.rank;
            let mut observer = |progress: &Progress| {
                if rank == 1 && progress.iteration == 2 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            // Their limits differ, too, as clocks do.
            let stopping = Stopping::default().max_seconds(1000.0 + rank as f64);
            solve(&space, &system, &b, &mut x, &stopping, Some(&mut observer), &mut work).unwrap()
        });
        for report in reports {
            assert_eq!((report.reason, report.iterations), (StopReason::Interrupted, 2), "{method}");
        }
    }
}
