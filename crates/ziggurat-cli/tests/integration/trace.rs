//! `ziggurat solve --trace FILE`: the timeline of a solve.

use std::collections::BTreeSet;
use std::fs;

use crate::command::Place;
use serde_json::Value;

/// A span of the timeline; times in microseconds.
#[derive(Debug)]
struct Span {
    name: String,
    begin: f64,
    end: f64,
    thread: u64,
    arguments: Value,
}

impl Span {
    fn level(&self) -> Option<u64> {
        self.arguments["level"].as_u64()
    }

    fn contains(&self, other: &Span) -> bool {
        self.thread == other.thread && self.begin <= other.begin && other.end <= self.end
    }
}

/// The spans of a file, which must be complete.
fn spans(place: &Place, name: &str) -> Vec<Span> {
    let trace: Value = serde_json::from_str(&fs::read_to_string(place.path(name)).unwrap()).unwrap();
    assert_eq!(trace["otherData"]["spans_left_out"], 0);
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events[0]["ph"], "M");
    events[1..]
        .iter()
        .map(|event| {
            assert_eq!(event["ph"], "X");
            let begin = event["ts"].as_f64().unwrap();
            Span {
                name: event["name"].as_str().unwrap().to_owned(),
                begin,
                end: begin + event["dur"].as_f64().unwrap(),
                thread: event["tid"].as_u64().unwrap(),
                arguments: event["args"].clone(),
            }
        })
        .collect()
}

/// The spans with that name; there are some.
fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    assert!(!found.is_empty(), "no {name}");
    found
}

#[test]
fn a_timeline_has_every_stage_and_every_operation_of_every_level() {
    let place = Place::new("a_timeline_has_every_stage");
    let arguments = ["solve", "--problem", "poisson3d:16", "--method", "sa", "--json", "r.json"];
    place.succeed(&[&arguments[..], &["--trace", "t.json"]].concat());
    let report: Value = serde_json::from_str(&fs::read_to_string(place.path("r.json")).unwrap()).unwrap();
    let spans = spans(&place, "t.json");
    let (setup, solve) = (named(&spans, "setup")[0], named(&spans, "solve")[0]);

    for stage in report["stages"].as_array().unwrap() {
        for span in named(&spans, stage[0].as_str().unwrap()) {
            assert!(setup.contains(span), "{span:?}");
        }
    }
    let levels = report["levels"].as_array().unwrap();
    let coarsest = levels.len() as u64 - 1;
    assert!(coarsest > 0);
    let on_levels = |name: &str| -> BTreeSet<u64> {
        named(&spans, name).iter().map(|span| span.level().unwrap()).collect()
    };
    assert_eq!(on_levels("lowering"), (0..=coarsest).collect());
    assert_eq!(on_levels("coarsening"), (0..coarsest).collect());

    let iterations = named(&spans, "iteration");
    assert_eq!(iterations.len() as u64, report["iterations"].as_u64().unwrap());
    assert!(iterations.iter().all(|span| solve.contains(span)));
    let cycles = named(&spans, "cycle");
    for name in ["pre-smoothing", "restriction", "prolongation", "post-smoothing"] {
        assert_eq!(on_levels(name), (0..coarsest).collect(), "{name}");
        assert_eq!(named(&spans, name).len(), cycles.len() * coarsest as usize, "{name}");
    }
    assert_eq!(on_levels("coarsest solve"), [coarsest].into());
    for span in spans.iter().filter(|span| solve.contains(span) && span.level().is_some()) {
        assert!(cycles.iter().any(|cycle| cycle.contains(span)), "{span:?}");
        let level = &levels[span.level().unwrap() as usize];
        assert_eq!(span.arguments["rows"], level["rows"], "{span:?}");
        let bytes = span.arguments["bytes"].as_u64().unwrap();
        let stated = span.arguments["gb_per_s"].as_f64();
        // Jacobi's first sweep reads no matrix.
        assert_eq!(bytes > 0, stated.is_some(), "{span:?}");
        let most = bytes as f64 * 1e-3 / (span.end - span.begin);
        assert!(stated.is_none_or(|stated| stated > 0.0 && stated >= 0.999 * most), "{span:?} {most}");
    }
    let restriction = named(&spans, "restriction").into_iter().find(|span| span.level() == Some(0)).unwrap();
    let [matrix, transfer] = ["bytes", "transfer_bytes"].map(|key| levels[0][key].as_u64().unwrap());
    let bytes = restriction.arguments["bytes"].as_u64().unwrap();
    assert!(matrix < bytes && bytes < matrix + transfer, "{matrix} {transfer} {bytes}");
}

#[test]
fn spans_nest_within_the_total_time() {
    let place = Place::new("spans_nest");
    place.write("c.toml", "cycle.kind = \"k\"\n");
    let start = std::time::Instant::now();
    let problem = ["solve", "--problem", "poisson3d:12", "--method", "pairwise", "--config", "c.toml"];
    place.succeed(&[&problem[..], &["--trace", "t.json", "--quiet"]].concat());
    let total = start.elapsed().as_secs_f64() * 1e6;
    let mut spans = spans(&place, "t.json");
    spans.sort_by(|a, b| a.begin.total_cmp(&b.begin).then(b.end.total_cmp(&a.end)));
    assert!(spans.iter().any(|span| span.name == "product" && span.level().is_some()));
    let mut open: Vec<&Span> = Vec::new();
    for span in &spans {
        assert!(0.0 <= span.begin && span.end <= total, "{span:?}");
        // Times are rounded to nanoseconds.
        open.retain(|outer| outer.end > span.begin + 2e-3 || outer.thread != span.thread);
        let outer = open.iter().rev().find(|outer| outer.thread == span.thread);
        assert!(outer.is_none_or(|outer| span.end <= outer.end + 2e-3), "{outer:?} {span:?}");
        open.push(span);
    }
}

#[test]
fn the_file_is_complete_without_convergence_and_without_a_solve() {
    let place = Place::new("the_file_is_complete");
    let limited = ["solve", "--problem", "poisson3d:12", "--max-iterations", "2", "--trace", "t.json"];
    let said = place.run(&[&limited[..], &["--verbose"]].concat());
    assert_eq!(said.code, Some(2), "{}", said.err);
    // Log lines appear as without a timeline.
    for line in ["setup: level 0:", "solve: iteration 1,", "solve: iteration 2,"] {
        assert_eq!(said.err.matches(line).count(), 1, "{line}: {}", said.err);
    }
    assert!(!said.err.contains("trace:"), "{}", said.err);
    assert_eq!(named(&spans(&place, "t.json"), "iteration").len(), 2);

    place.write("zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n");
    let failing = ["solve", "zero.mtx", "--smoother", "jacobi", "--method", "none", "--no-fallback"];
    let said = place.run(&[&failing[..], &["--trace", "f.json"]].concat());
    assert_eq!(said.code, Some(1), "{}", said.err);
    named(&spans(&place, "f.json"), "setup");
}

#[test]
fn a_timeline_that_cannot_be_written_is_refused_before_the_work() {
    let place = Place::new("a_timeline_that_cannot_be_written");
    for (arguments, cause) in [
        (["--trace", "-", "--json", "r.json"], "error: --trace - does not name a file"),
        (["--trace", "none/t.json", "--json", "r.json"], "error: cannot write none/t.json"),
        (["--trace", "r.json", "--json", "r.json"], "error: --json and --trace both name r.json"),
    ] {
        let said = place.run(&[&["solve", "--problem", "poisson3d:100"][..], &arguments].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(said.err.starts_with(cause), "{}", said.err);
    }
}
