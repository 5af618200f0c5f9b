//! How many threads: one rule for the command, Python, C and MPI ranks.
//!
//! The first of these that is given decides:
//!
//! 1. the number of the caller: `--threads` of the command, `threads=` in Python,
//!    `ziggurat_set_threads` and `ziggurat_mpi_set_threads` in C;
//! 2. `RAYON_NUM_THREADS`;
//! 3. `OMP_NUM_THREADS`, of which the first number counts;
//! 4. `SLURM_CPUS_PER_TASK`, which Slurm sets for `--cpus-per-task`;
//! 5. the cores that the process is bound to. MPI ranks on the same cores divide them.
//!
//! A variable that is not a positive number is ignored, and no number exceeds [`MOST`]. Results do
//! not depend on the number of threads.
//!
//! A program in Rust owns its pools: kernels run on the rayon pool of the thread that calls them.
//! Rayon's global pool follows steps 2 and 5, unless the program builds it by this rule, before
//! anything runs in parallel:
//!
//! ```no_run
//! let threads = ziggurat::threads::count(None);
//! rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
//! # Ok::<(), rayon::ThreadPoolBuildError>(())
//! ```

use std::num::NonZeroUsize;

/// The largest number of threads. Rayon would start as many as are asked for, and hundreds of
/// thousands never finish starting.
pub const MOST: usize = 1024;

/// The variables of the environment, the first that counts first.
const VARIABLES: [&str; 3] = ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"];

/// The number of threads of this process by the [rule](self), where `given` is the number of the
/// caller.
///
/// ```
/// let threads = ziggurat::threads::count(None);
/// assert!((1..=ziggurat::threads::MOST).contains(&threads));
/// assert_eq!(ziggurat::threads::count(Some(3)), 3);
/// ```
pub fn count(given: Option<usize>) -> usize {
    given.or_else(requested).unwrap_or_else(cores).clamp(1, MOST)
}

/// The number of threads that the environment asks for: steps 2 to 4 of the [rule](self).
///
/// ```
/// assert!(ziggurat::threads::requested().is_none_or(|threads| threads > 0));
/// ```
pub fn requested() -> Option<usize> {
    requested_by(|name| std::env::var(name).ok())
}

/// As [`requested`], of variables with these values.
fn requested_by(value: impl Fn(&str) -> Option<String>) -> Option<usize> {
    VARIABLES.iter().find_map(|name| number(&value(name)?))
}

/// A positive number, or the first one of a list: OpenMP gives one number per nested region.
fn number(text: &str) -> Option<usize> {
    let first = text.split(',').next()?.trim();
    first.parse::<NonZeroUsize>().ok().map(|number| number.get().min(MOST))
}

/// The cores that this process may use, by its binding and by the limits of its container.
///
/// ```
/// assert!(ziggurat::threads::cores() > 0);
/// ```
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_with_a_number_counts() {
        let requested = |variables: &[(&str, &str)]| {
            requested_by(|name| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned()))
        };
        let (rayon, openmp, slurm) = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK");
        assert_eq!(requested(&[]), None);
        assert_eq!(requested(&[(slurm, "8")]), Some(8));
        assert_eq!(requested(&[(slurm, "8"), (openmp, "4")]), Some(4));
        assert_eq!(requested(&[(slurm, "8"), (openmp, "4"), (rayon, "2")]), Some(2));
        assert_eq!(requested(&[(openmp, " 6,2 ")]), Some(6));
        // Rayon reads 0 as "not set".
        for nothing in ["0", "", "all", "-1", "2.5"] {
            assert_eq!(requested(&[(rayon, nothing), (slurm, "3")]), Some(3), "{nothing}");
            assert_eq!(requested(&[(rayon, nothing)]), None, "{nothing}");
        }
        assert_eq!(requested(&[(rayon, "100000")]), Some(MOST));
    }

    #[test]
    fn the_number_of_the_caller_comes_first() {
        assert_eq!((count(Some(2)), count(Some(0)), count(Some(1 << 20))), (2, 1, MOST));
    }
}
