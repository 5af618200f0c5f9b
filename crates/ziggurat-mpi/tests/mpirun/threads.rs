//! How many threads a rank has: by the caller, by variables, by the cores that ranks share.

use std::process::Command;

use ziggurat_mpi::Threads;

use crate::c_program::Place;
use crate::launch::{asked, is_rank, launcher, rank, run_test};

/// Exports a variable on rank 0 only, as a launcher that passes variables to one machine, and runs
/// the words that follow.
const ON_RANK_0: &str = r#"[ "$OMPI_COMM_WORLD_RANK" = 0 ] && export OMP_NUM_THREADS=6,2; exec "$0" "$@""#;

/// A launcher of two ranks with these variables and no others that count.
fn with(variables: &[(&str, &str)]) -> Command {
    let mut command = launcher(2);
    for name in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command
}

#[test]
fn threads_of_ranks_follow_the_rule() {
    const TEST: &str = "threads::threads_of_ranks_follow_the_rule";
    if is_rank() {
        return rank(|comm| {
            let Threads { count, crowded } = Threads::of_ranks(&**comm, asked().parse().ok());
            let same = comm.total(count as u64) == 2 * count as u64;
            vec![format!("{count} {same} {crowded:?}")]
        });
    }
    let found = |command, given: &str| {
        let ran = run_test(command, TEST, given);
        assert!(ran.success && ran.lines.len() == 1, "{}", ran.everything);
        ran.lines[0].clone()
    };
    let (rayon, slurm) = (("RAYON_NUM_THREADS", "1"), ("SLURM_CPUS_PER_TASK", "5"));
    assert!(found(with(&[rayon, slurm]), "").starts_with("1 true"));
    assert!(found(with(&[slurm]), "").starts_with("5 true"));
    let mut on_rank_0 = with(&[slurm]);
    on_rank_0.args(["sh", "-c", ON_RANK_0]);
    assert!(found(on_rank_0, "").starts_with("6 true"));
    // More ranks than cores are allowed, so ranks are not bound.
    let cores = ziggurat::threads::cores();
    let each = (cores / 2).max(1);
    let crowded = (cores == 1).then_some((2, 1));
    assert_eq!(found(with(&[]), ""), format!("{each} true {crowded:?}"));
    let given = cores + 1;
    assert_eq!(
        found(with(&[rayon]), &given.to_string()),
        format!("{given} true {:?}", Some((2 * given, cores)))
    );
}

#[test]
fn the_library_starts_as_many_threads_as_the_rule_says() {
    let place = Place::new("threads");
    let program = place.compile_c("tests/c/threads.c");
    for (variables, given, expected) in
        [(&[("OMP_NUM_THREADS", "3")][..], "0", 3), (&[("RAYON_NUM_THREADS", "1")], "2", 2)]
    {
        let ran = place.run_on(with(variables), &program, &[given]);
        assert!(ran.success, "{}", ran.everything);
        for rank in 0..2 {
            let line = format!("rank {rank} of 2: {expected} threads");
            assert!(ran.everything.lines().any(|found| found == line), "{}", ran.everything);
        }
    }
}
