//! Memory read bandwidth: the bound that every sparse kernel is compared with.
//!
//! The benchmark sums an array of 64-bit integers that is larger than any cache (1.25 GiB), read
//! once from start to end. Nothing is written, so the results are not comparable with STREAM's
//! triad, which writes an array. A matrix–vector product writes one number per row and reads a
//! dozen, so the read bandwidth is the appropriate bound.
//!
//! Each thread reads its part as 1 stream and as 4 parallel streams. Hardware prefetchers work per
//! page, so several streams are often faster (here by about 10 %), and a CSR product itself reads
//! four arrays. The bandwidth is the better of the two. With several accumulators per stream,
//! additions are not the bottleneck and the compiler can use vectors.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;

use super::pool::Pool;
use super::timing::{Contestant, Timing, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "bandwidth", what: "memory read bandwidth by number of threads", rounds: 7, run };

/// Numbers per task: 256 KiB, a few microseconds of work.
const PIECE: usize = 32 * 1024;
/// Numbers per step and stream: one cache line.
const LANES: usize = 8;

/// An array that is larger than the caches.
pub(crate) struct ReadSet {
    data: Vec<u64>,
}

/// The bandwidth of one number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bandwidth {
    pub(crate) threads: usize,
    /// With one stream per thread, best pass, in 10⁹ bytes per second.
    pub(crate) one_stream: f64,
    /// With four streams per thread, best pass.
    pub(crate) four_streams: f64,
    /// The better of the two, which kernels are compared with.
    pub(crate) gb_per_s: f64,
}

impl ReadSet {
    /// 1.25 GiB of numbers, or 8 MiB if `quick`. The threads of the calling pool write them, so
    /// that on a NUMA machine each memory holds a part.
    pub(crate) fn new(quick: bool) -> Self {
        let bytes: usize = if quick { 8 << 20 } else { 5 << 28 };
        // Not zeros: the system would map one shared page of zeros, which stays in the cache.
        ReadSet { data: (0..(bytes / size_of::<u64>()) as u64).into_par_iter().collect() }
    }

    /// The size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.data[..])
    }

    /// Two contestants per pool: one stream, then four. Run them together with the kernels that
    /// they are compared with, under the same conditions.
    pub(crate) fn contestants<'a>(&'a self, pools: &'a [Pool]) -> Vec<Contestant<'a>> {
        let sums = [("1 stream", sum::<1> as fn(&[u64]) -> u64), ("4 streams", sum::<4>)];
        let one = |pool: &'a Pool, (name, sum)| {
            Contestant::new(format!("read, {name}, {}", pool.label()), move || pool.run(|| self.total(sum)))
        };
        pools.iter().flat_map(|pool| sums.map(|sum| one(pool, sum))).collect()
    }

    /// The bandwidths from the timings of these contestants, in their order.
    pub(crate) fn bandwidths(&self, pools: &[Pool], timings: &[Timing]) -> Vec<Bandwidth> {
        debug_assert_eq!(timings.len(), 2 * pools.len());
        let rate = |timing: &Timing| timing.gb_per_s(self.bytes());
        pools
            .iter()
            .zip(timings.as_chunks::<2>().0)
            .map(|(pool, [one, four])| {
                let (one_stream, four_streams) = (rate(one), rate(four));
                let gb_per_s = one_stream.max(four_streams);
                Bandwidth { threads: pool.threads, one_stream, four_streams, gb_per_s }
            })
            .collect()
    }

    fn total(&self, sum: fn(&[u64]) -> u64) -> u64 {
        self.data.par_chunks(PIECE).map(sum).reduce(|| 0, u64::wrapping_add)
    }
}

/// Sums `piece`, read as `STREAMS` parallel streams. Its length is a multiple of `STREAMS * LANES`.
fn sum<const STREAMS: usize>(piece: &[u64]) -> u64 {
    let (lines, rest) = piece.as_chunks::<LANES>();
    debug_assert!(rest.is_empty() && lines.len().is_multiple_of(STREAMS));
    let length = lines.len() / STREAMS;
    let streams: [&[[u64; LANES]]; STREAMS] = std::array::from_fn(|s| &lines[s * length..][..length]);
    let mut sums = [[0u64; LANES]; STREAMS];
    for step in 0..length {
        for (sums, stream) in sums.iter_mut().zip(streams) {
            for (sum, number) in sums.iter_mut().zip(stream[step]) {
                *sum = sum.wrapping_add(number);
            }
        }
    }
    sums.iter().flatten().fold(0, |total, &sum| total.wrapping_add(sum))
}

/// The table of bandwidths, which other benchmarks print, too.
pub(crate) fn table(bandwidths: &[Bandwidth]) -> Table {
    let mut table = Table::new(["threads", "1 stream GB/s", "4 streams GB/s", "read bandwidth GB/s"]);
    for bandwidth in bandwidths {
        let rates = [bandwidth.one_stream, bandwidth.four_streams, bandwidth.gb_per_s];
        let rates = rates.into_iter().map(|rate| format!("{rate:.2}"));
        table.row(std::iter::once(bandwidth.threads.to_string()).chain(rates));
    }
    table
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let set = ReadSet::new(setting.quick);
    let timings = alternate(set.contestants(&setting.pools), setting.rounds);
    let bandwidths = set.bandwidths(&setting.pools, &timings);
    let (mib, rounds) = (set.bytes() >> 20, setting.rounds);
    println!("reading {mib} MiB, nothing written (not STREAM triad); best of {rounds} passes\n");
    println!("{}", table(&bandwidths));
    Ok(serde_json::json!({ "bytes": set.bytes(), "bandwidth": bandwidths, "timings": timings }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pool::pools;

    #[test]
    fn every_number_is_read_once_for_any_number_of_streams_and_threads() {
        let set = ReadSet::new(true);
        let count = set.data.len() as u64;
        let expected = count * (count - 1) / 2;
        for pool in pools(&[1, 2]).unwrap() {
            assert_eq!(pool.run(|| set.total(sum::<1>)), expected);
            assert_eq!(pool.run(|| set.total(sum::<4>)), expected);
        }
        assert!(set.data.len().is_multiple_of(4 * LANES) && PIECE.is_multiple_of(4 * LANES));
    }

    #[test]
    fn the_better_of_the_two_patterns_counts() {
        let set = ReadSet::new(true);
        let pools = pools(&[2]).unwrap();
        let timing = |best| Timing { name: String::new(), best, median: best };
        let seconds = set.bytes() as f64 * 1e-9;
        let found = set.bandwidths(&pools, &[timing(seconds / 10.0), timing(seconds / 12.0)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].threads, 2);
        assert!((found[0].one_stream - 10.0).abs() < 1e-9 && (found[0].gb_per_s - 12.0).abs() < 1e-9);
    }
}
