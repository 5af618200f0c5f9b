//! The operations of a level, and their spans ([`ziggurat_sparse::trace`]).

use tracing::field::Empty;
use tracing::{Span, trace_span};
use ziggurat_sparse::trace::TARGET;

/// An operation of a level in a cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Smoothing, before or after the coarse-grid correction.
    Smooth(Sweeps),
    /// b_coarse = R (b − A x)
    Restrict,
    /// x += P e
    Prolong,
    /// y = A x, between two visits of the same level.
    Multiply,
}

/// How many sweeps a smoother makes, and in which role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweeps {
    /// Number of sweeps.
    pub count: usize,
    /// Start from zero instead of from x.
    pub from_zero: bool,
    /// Post-smoothing: the adjoint of pre-smoothing.
    pub post: bool,
}

/// A span of an operation, with the bytes that it reads.
macro_rules! span {
    ($name:literal, $level:expr, $rows:expr, $bytes:expr) => {{
        let (level, rows, bytes): (usize, usize, usize) = ($level, $rows, $bytes);
        let span = trace_span!(target: TARGET, $name, level, rows, bytes, gb_per_s = Empty);
        (span, bytes)
    }};
}

impl Operation {
    /// The span of this operation on a level with `rows` rows, and the bytes of the matrices that
    /// it reads.
    pub(super) fn span(self, index: usize, rows: usize, bytes: usize) -> (Span, usize) {
        match self {
            Operation::Smooth(Sweeps { post: false, .. }) => span!("pre-smoothing", index, rows, bytes),
            Operation::Smooth(Sweeps { post: true, .. }) => span!("post-smoothing", index, rows, bytes),
            Operation::Restrict => span!("restriction", index, rows, bytes),
            Operation::Prolong => span!("prolongation", index, rows, bytes),
            Operation::Multiply => span!("product", index, rows, bytes),
        }
    }
}

/// The span of the solve on the coarsest level, whose inverse or factors take `bytes`.
pub(super) fn coarsest_span(index: usize, rows: usize, bytes: usize) -> (Span, usize) {
    span!("coarsest solve", index, rows, bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fmt;
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};
    use ziggurat_sparse::Kind;
    use ziggurat_sparse::device::Cpu;
    use ziggurat_sparse::operator::LinearOperator;
    use ziggurat_sparse::trace::TARGET;

    use crate::smoother::Smoother;
    use crate::testing::problem;
    use crate::{Cycle, Cycling, Hierarchy, HierarchyConfig, LevelPrecision, Lowering, Multigrid};

    /// Of each operation and level, how often it was done and the bytes it stated last.
    type Counts = HashMap<(&'static str, Option<u64>), (usize, u64)>;

    #[derive(Clone, Default)]
    struct Counter(Arc<Mutex<Counts>>);

    /// The level and the bytes of a span.
    #[derive(Default)]
    struct Fields(Option<u64>, u64);

    impl Visit for Fields {
        fn record_u64(&mut self, field: &Field, value: u64) {
            match field.name() {
                "level" => self.0 = Some(value),
                "bytes" => self.1 = value,
                _ => {}
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
    }

    impl Subscriber for Counter {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.is_span() && metadata.target() == TARGET
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut fields = Fields::default();
            span.record(&mut fields);
            let mut counts = self.0.lock().unwrap();
            let count = counts.entry((span.metadata().name(), fields.0)).or_default();
            *count = (count.0 + 1, fields.1);
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// The spans of one cycle over three levels.
    fn spans_of_cycle(cycling: &Cycling) -> (Multigrid, Counts) {
        let (a, cpu) = (problem("poisson2d:40"), Cpu::new());
        let config = HierarchyConfig { coarse_rows: 40, max_levels: 3, ..HierarchyConfig::default() };
        let hierarchy = Hierarchy::build(a, &config).unwrap();
        assert_eq!(hierarchy.levels().len(), 3);
        let precision = |_| LevelPrecision::default();
        let multigrid = hierarchy.lower(&cpu, cycling, precision, Lowering::default()).unwrap();
        let (b, mut x) = (vec![1.0; 1600].into(), vec![0.0; 1600].into());
        let mut work = multigrid.workspace(&cpu, Kind::F64).unwrap();
        let counter = Counter::default();
        tracing::subscriber::with_default(counter.clone(), || {
            multigrid.apply(&cpu, &b, &mut x, &mut work);
        });
        multigrid.apply(&cpu, &b, &mut x, &mut work); // nobody listens
        let counts = std::mem::take(&mut *counter.0.lock().unwrap());
        (multigrid, counts)
    }

    #[test]
    fn every_operation_of_every_level_is_a_span() {
        for (cycle, visits, products) in [(Cycle::V, 1, 0), (Cycle::W, 2, 1)] {
            let (_, counts) = spans_of_cycle(&Cycling { cycle, ..Cycling::default() });
            let count = |name, level| counts.get(&(name, level)).map_or(0, |count| count.0);
            assert_eq!(count("cycle", None), 1);
            for name in ["pre-smoothing", "restriction", "prolongation", "post-smoothing"] {
                assert_eq!([0, 1].map(|level| count(name, Some(level))), [1, visits], "{cycle:?} {name}");
            }
            assert_eq!(count("product", Some(1)), products, "{cycle:?}");
            assert_eq!(count("coarsest solve", Some(2)), visits, "{cycle:?}");
            let all: usize = counts.values().map(|count| count.0).sum();
            assert_eq!(all, 1 + 4 * (1 + visits) + products + visits, "{cycle:?}");
        }
    }

    #[test]
    fn bytes_count_each_pass_over_a_matrix() {
        let passes = |smoother, sweeps| {
            let cycling = Cycling { smoother, pre_sweeps: sweeps, post_sweeps: sweeps, ..Cycling::default() };
            let (multigrid, counts) = spans_of_cycle(&cycling);
            let (stored, bytes) = (multigrid.stored(), |name| counts[&(name, Some(0))].1 as usize);
            let [matrix, transfer] = [stored[0].format.bytes(), stored[0].transfer_bytes];
            assert_eq!(bytes("restriction") + bytes("prolongation"), matrix + transfer);
            assert_eq!(counts[&("coarsest solve", Some(2))].1 as usize, stored[2].format.bytes());
            ["pre-smoothing", "post-smoothing"].map(|name| bytes(name) as f64 / matrix as f64)
        };
        assert_eq!(passes(Smoother::L1Jacobi, 2), [1.0, 2.0]);
        assert_eq!(passes(Smoother::GaussSeidel { block: 64 }, 1), [1.0, 1.0]);
        // Incomplete factors are matrices, too, about as large as A.
        let [pre, post] = passes(Smoother::Ilu0 { block: 512, node_rows: 1, omega: Some(1.0) }, 2);
        assert!(pre > 2.0 && (post - pre - 1.0).abs() < 1e-12, "{pre} {post}");
    }
}
