//! How fast memory can be read: the bound that every sparse kernel is measured against.
//!
//! The sum of an array of 64-bit integers that no cache can hold (1.25 GiB), read once from start to end. Nothing is
//! written, so this is not STREAM: its triad moves a third array, and its figures are not comparable. A matrix-vector
//! product writes one number per row and reads a dozen, so reading is the bound that fits it.
//!
//! Each thread reads its part as 1 stream and as 4 side by side: the hardware's prefetchers work per page, so several
//! streams are often faster (here by about a tenth), and a CSR product itself reads four arrays. The bandwidth is the
//! better of the two. Many accumulators per stream keep additions out of the way and let the compiler use vectors.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::pool::Pool;
use super::table::Table;
use super::timing::{Contestant, Timing, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "bandwidth", what: "how fast memory can be read, per number of threads", rounds: 7, run };

/// Numbers that one task sums: 256 KiB, a few microseconds of work.
const PIECE: usize = 32 * 1024;
/// Numbers summed per step and stream: one cache line.
const LANES: usize = 8;

/// An array to be read, larger than the caches.
pub(crate) struct ReadSet {
    data: Vec<u64>,
}

/// The bandwidth that one number of threads reaches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bandwidth {
    pub(crate) threads: usize,
    /// One stream per thread, best pass: 10⁹ bytes per second.
    pub(crate) one_stream: f64,
    /// Four streams per thread, best pass.
    pub(crate) four_streams: f64,
    /// The better of the two: what kernels are measured against.
    pub(crate) gb_per_s: f64,
}

impl ReadSet {
    /// 1.25 GiB of numbers; 8 MiB when `quick`. They are written by the calling pool's threads, so that on a machine
    /// with several memories each holds a part.
    pub(crate) fn new(quick: bool) -> Self {
        let bytes: usize = if quick { 8 << 20 } else { 5 << 28 };
        // Not zeros: the system would hand out one shared page of zeros, which then lies in the cache.
        ReadSet { data: (0..(bytes / size_of::<u64>()) as u64).into_par_iter().collect() }
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.data[..])
    }

    /// Two contestants per pool: one stream, then four. Put them beside the kernels they are compared with, so that
    /// all see the same moments of the machine.
    pub(crate) fn contestants<'a>(&'a self, pools: &'a [Pool]) -> Vec<Contestant<'a>> {
        let sums = [("1 stream", sum::<1> as fn(&[u64]) -> u64), ("4 streams", sum::<4>)];
        let one = |pool: &'a Pool, (name, sum)| {
            Contestant::new(format!("read, {name}, {}", pool.label()), move || pool.run(|| self.total(sum)))
        };
        pools.iter().flat_map(|pool| sums.map(|sum| one(pool, sum))).collect()
    }

    /// What the timings of those contestants, in their order, say.
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

/// Sums `piece`, reading it as `STREAMS` streams side by side. Its length is a multiple of `STREAMS * LANES`.
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

/// The table of bandwidths; other benchmarks print it first.
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
    fn every_number_is_read_once_however_many_streams_and_threads() {
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
