//! Results are bitwise identical for any number of threads and in every run.

use ziggurat_krylov::{Method, Stopping};
use ziggurat_sparse::device::Cpu;

use crate::matrices::*;

#[test]
fn one_thread_or_two() {
    let m = 150; // 22500 rows: vectors and products are split among threads
    let a = convection2d(m, 0.0);
    let (p, b) = (jacobi(&a), random_vector(m * m, 1));
    let stopping = Stopping::default().max_iterations(25);
    for method in Method::ALL.into_iter().chain([Method::Gmres { restart: 10 }]) {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let case = Case::new(&a, &b).preconditioned(&p);
                let (x, report) = solve_case(&Cpu::new(), method, case, &stopping, None);
                assert_eq!(report.iterations, 25);
                let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                (bits(&x), bits(&report.history), report.residual.to_bits())
            })
        };
        let one = run(1);
        assert_eq!(one, run(2), "{method}: one thread and two");
        assert_eq!(one, run(1), "{method}: two runs");
    }
}
