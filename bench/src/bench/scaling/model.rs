//! A performance model of one preconditioned iteration on many ranks, each with a box of m³ points
//! of a 7-point grid.
//!
//! ```text
//! rows      N_0 = P m³,  N_1 = N_0 / 8.3,  N_l = N_{l-1} / 30          smoothed aggregation, as measured
//! ranks     P_l = min(P, N_l / 512)                                    agglomeration by grains
//! halo      7-point: Σ_d s_d e²       coarser: Π_d (e + 2 s_d) − e³    e = (N_l / P_l)^⅓,  s_d: neighbours along d, at most 2
//! messages  7-point: Σ_d s_d          coarser: Π_d (1 + s_d) − 1
//! time      rows · bytes / stream  +  Σ_l exchanges_l (messages α + halo bytes / β)  +  reductions · 2 log₂P · α
//! ```
//!
//! A V(1,1) cycle exchanges a halo four times per level: residual, restriction, prolongation,
//! post-smoothing sweep. (The first pre-smoothing sweep starts from zero and needs no product.) The
//! product of the outer iteration is a fifth exchange on the finest level. Coarse halos are two
//! points deep, because aggregates are not aligned. The model ignores congestion and the overlap of
//! messages with own products.

use serde::Serialize;
use tasks::table::Table;

use super::LevelCounts;

/// Seconds per message, from memory to memory, on a current interconnect.
const LATENCY: f64 = 1.5e-6;

/// Bytes per second of one rank's messages, if the hundred ranks of a node share 100 GB/s.
const NETWORK: f64 = 1e9;

/// Bytes per second of one rank's memory, if the hundred ranks of a node share 400 GB/s.
const STREAM: f64 = 4e9;

/// Bytes per fine row and iteration: 3.7 products of a CSR matrix in double precision, as measured
/// by `bench precision` for K64P32D16.
const BYTES_PER_ROW: f64 = 3.7 * 12.6 * 7.0;

/// All-reduces per iteration of conjugate gradients.
const REDUCTIONS: f64 = 3.0;

/// Rows per rank below which a level moves to fewer ranks.
const GRAIN: f64 = 512.0;

/// A level of this size is solved directly.
const COARSEST: f64 = 300.0;

/// Rows per row of the next level: on the finest level, and on coarser ones.
const COARSENING: [f64; 2] = [8.3, 30.0];

/// Boxes of m³ points on P ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    points: f64,
    ranks: f64,
}

/// A level in the model.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Level {
    rows: f64,
    ranks: f64,
    halo_rows: f64,
    messages: f64,
}

/// The prediction for an iteration.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Predicted {
    points: f64,
    ranks: f64,
    levels: usize,
    memory_seconds: f64,
    message_seconds: f64,
    reduction_seconds: f64,
    efficiency: f64,
}

impl Model {
    pub(super) fn new(points: u64, ranks: u64) -> Self {
        Model { points: points as f64, ranks: ranks as f64 }
    }

    /// The levels, finest first.
    fn levels(&self) -> Vec<Level> {
        let mut levels = Vec::new();
        let mut rows = self.ranks * self.points.powi(3);
        loop {
            let finest = levels.is_empty();
            let last = rows <= COARSEST;
            let ranks = if last { 1.0 } else { self.ranks.min((rows / GRAIN).round().max(1.0)) };
            // Neighbours in each of the three directions.
            let sides = (ranks.cbrt() - 1.0).clamp(0.0, 2.0);
            let edge = (rows / ranks).cbrt();
            let (halo_rows, messages) = match finest {
                true => (3.0 * sides * edge * edge, 3.0 * sides),
                false => ((edge + 2.0 * sides).powi(3) - edge.powi(3), (1.0 + sides).powi(3) - 1.0),
            };
            levels.push(Level { rows, ranks, halo_rows, messages });
            if last {
                return levels;
            }
            rows /= COARSENING[usize::from(!finest)];
        }
    }

    /// The counts of the model beside the measured ones.
    pub(super) fn check(&self, measured: &[LevelCounts]) -> Table {
        let mut table = Table::new([
            "level",
            "rows",
            "model",
            "on ranks",
            "model",
            "halo each",
            "model",
            "messages",
            "model",
        ]);
        for (index, (found, level)) in measured.iter().zip(self.levels()).enumerate() {
            let counts = [
                (found.rows, level.rows),
                (found.ranks, level.ranks),
                (found.halo_rows_most, level.halo_rows),
                (found.messages_most, level.messages),
            ];
            let cells =
                counts.into_iter().flat_map(|(found, model)| [found.to_string(), format!("{model:.0}")]);
            table.row([index.to_string()].into_iter().chain(cells));
        }
        table
    }

    /// Seconds of memory traffic, messages and reductions of one iteration.
    fn seconds(&self) -> [f64; 3] {
        let memory = self.points.powi(3) * BYTES_PER_ROW / STREAM;
        let exchange = |(index, level): (usize, Level)| {
            // Outer vectors in double precision, inner ones in single.
            let (times, bytes) = if index == 0 { (5.0, 4.8) } else { (4.0, 4.0) };
            times * (level.messages * LATENCY + level.halo_rows * bytes / NETWORK)
        };
        let messages = self.levels().into_iter().enumerate().map(exchange).sum();
        [memory, messages, REDUCTIONS * 2.0 * self.ranks.log2() * LATENCY]
    }

    /// Weak scaling for boxes of 100³ and 20³ points.
    pub(super) fn predicted() -> Vec<Predicted> {
        let mut all = Vec::new();
        for points in [100.0, 20.0] {
            let alone: f64 = Model { points, ranks: 1.0 }.seconds().iter().sum();
            for ranks in [1.0, 8.0, 64.0, 512.0, 4096.0, 32768.0, 1e5] {
                let model = Model { points, ranks };
                let [memory_seconds, message_seconds, reduction_seconds] = model.seconds();
                let efficiency = alone / (memory_seconds + message_seconds + reduction_seconds);
                let levels = model.levels().len();
                all.push(Predicted {
                    points,
                    ranks,
                    levels,
                    memory_seconds,
                    message_seconds,
                    reduction_seconds,
                    efficiency,
                });
            }
        }
        all
    }

    /// The predictions as a table.
    pub(super) fn prediction() -> String {
        let mut table = Table::new([
            "points each, ranks",
            "levels",
            "memory ms",
            "messages ms",
            "reductions ms",
            "efficiency",
        ]);
        for found in Self::predicted() {
            let milliseconds = [found.memory_seconds, found.message_seconds, found.reduction_seconds]
                .map(|s| format!("{:.3}", 1e3 * s));
            let name = format!("{}³, {}", found.points, found.ranks);
            let efficiency = format!("{:.2}", found.efficiency);
            table.row([name, found.levels.to_string()].into_iter().chain(milliseconds).chain([efficiency]));
        }
        format!(
            "predicted iteration: {:.1} µs per message, {:.0} GB/s of messages and {:.0} GB/s of memory per rank\n\n{table}",
            1e6 * LATENCY,
            1e-9 * NETWORK,
            1e-9 * STREAM
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_of_ranks_has_the_faces_of_a_cube() {
        let levels = Model::new(100, 27).levels();
        assert_eq!((levels[0].rows, levels[0].ranks), (27e6, 27.0));
        assert!((levels[0].halo_rows - 6e4).abs() < 1.0 && (levels[0].messages - 6.0).abs() < 1e-9);
        assert!((levels[1].messages - 26.0).abs() < 1e-9);
        // The number of ranks decreases to one, which exchanges nothing.
        assert!(levels.windows(2).all(|pair| pair[0].ranks >= pair[1].ranks && pair[0].rows > pair[1].rows));
        let last = levels.last().unwrap();
        assert_eq!((last.ranks, last.halo_rows, last.messages), (1.0, 0.0, 0.0));
    }

    #[test]
    fn large_boxes_scale_better_than_small_ones() {
        let predicted = Model::predicted();
        let at = |points: f64, ranks: f64| {
            predicted.iter().find(|found| found.points == points && found.ranks == ranks).unwrap().efficiency
        };
        assert_eq!((at(100.0, 1.0), at(20.0, 1.0)), (1.0, 1.0));
        assert!(at(100.0, 1e5) > 0.9 && at(20.0, 1e5) < at(100.0, 1e5));
    }
}
