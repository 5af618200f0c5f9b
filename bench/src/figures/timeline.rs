//! Setup and solve on a time axis: what runs when, and on which level.
//!
//! Drawn from a trace in the repository, because times differ from run to run. This writes it:
//!
//! ```text
//! ziggurat solve --problem poisson3d:100 --trace bench/src/figures/timeline.json
//! ```

use std::error::Error;

use serde_json::Value;

use super::drawing::{Anchor, Drawing, PALETTE};

const TRACE: &str = include_str!("timeline.json");

/// Spans that contain others, which are drawn instead.
const CONTAINERS: [&str; 5] = ["setup", "solve", "iteration", "cycle", "conversion"];

/// The kinds of spans in the solve, with their colours; all other spans are setup.
const KINDS: [(&str, &[&str], &str); 4] = [
    ("smoothing", &["pre-smoothing", "post-smoothing"], PALETTE[4]),
    ("transfer to and from the next level", &["restriction", "prolongation"], PALETTE[2]),
    ("product or residual of the outer iteration", &["product", "residual"], PALETTE[6]),
    ("coarsest solve", &["coarsest solve"], PALETTE[5]),
];
const SETUP: (&str, &str) = ("setup", PALETTE[0]);

/// An event of the trace; times in milliseconds.
struct Span {
    name: String,
    level: Option<usize>,
    start: f64,
    end: f64,
}

impl Span {
    fn of(event: &Value) -> Option<Span> {
        let (start, duration) = (event["ts"].as_f64()? / 1e3, event["dur"].as_f64()? / 1e3);
        let level = event["args"]["level"].as_u64().map(|level| level as usize);
        Some(Span { name: event["name"].as_str()?.to_owned(), level, start, end: start + duration })
    }

    fn colour(&self) -> &'static str {
        let kind = KINDS.iter().find(|(_, names, _)| names.contains(&&*self.name));
        kind.map_or(SETUP.1, |kind| kind.2)
    }
}

pub(crate) fn svg() -> Result<String, Box<dyn Error>> {
    let trace: Value = serde_json::from_str(TRACE)?;
    let spans: Vec<Span> =
        trace["traceEvents"].as_array().ok_or("no events")?.iter().filter_map(Span::of).collect();
    let named = |name: &'static str| spans.iter().filter(move |span| span.name == name);
    let (setup, solve) = (named("setup").next().ok_or("no setup")?, named("solve").next().ok_or("no solve")?);
    let shortest =
        named("iteration").min_by(|one, other| (one.end - one.start).total_cmp(&(other.end - other.start)));
    let iteration = shortest.ok_or("no iteration")?;
    let levels = spans.iter().filter_map(|span| span.level).max().map_or(0, |level| level + 1);

    let row = 22.0;
    let panel = row * (levels as f64 + 1.0);
    let mut drawing = Drawing::new(760, (2.0 * panel + 250.0) as u32);
    let titles = [
        format!("{:.0} ms of setup and {:.0} ms of solve", setup.end - setup.start, solve.end - solve.start),
        format!("one iteration: {:.1} ms", iteration.end - iteration.start),
    ];
    for (number, (from, to)) in
        [(setup.start, solve.end), (iteration.start, iteration.end)].into_iter().enumerate()
    {
        let top = 46.0 + number as f64 * (panel + 64.0);
        drawing.text(110.0, top - 14.0, Anchor::Start, &titles[number]);
        let place = |time: f64| 110.0 + 630.0 * (time.clamp(from, to) - from) / (to - from);
        for at in 0..=levels {
            let y = top + row * at as f64;
            let label = if at == 0 { "all rows".to_owned() } else { format!("level {}", at - 1) };
            drawing.text(100.0, y + 15.0, Anchor::End, &label);
            drawing.line((110.0, y + row - 1.0), (740.0, y + row - 1.0), "stroke=\"#ddd\"");
        }
        let shown = spans.iter().filter(|span| !CONTAINERS.contains(&&*span.name));
        for span in shown.filter(|span| span.end > from && span.start < to) {
            let (x, y) = (place(span.start), top + row * span.level.map_or(0.0, |level| level as f64 + 1.0));
            let width = (place(span.end) - x).max(0.5);
            drawing.add(&format!(
                "<rect x=\"{x:.1}\" y=\"{:.0}\" width=\"{width:.1}\" height=\"{:.0}\" fill=\"{}\"/>",
                y + 2.0,
                row - 5.0,
                span.colour()
            ));
        }
    }
    let kinds = KINDS.iter().map(|&(name, _, colour)| (name, colour));
    for (number, (name, colour)) in std::iter::once(SETUP).chain(kinds).enumerate() {
        let y = 2.0 * panel + 136.0 + 22.0 * number as f64;
        drawing.bar((110.0, y), (14.0, 14.0), colour);
        drawing.text(132.0, y + 12.0, Anchor::Start, name);
    }
    Ok(drawing.svg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_has_every_kind_of_span() {
        let trace: Value = serde_json::from_str(TRACE).unwrap();
        let spans: Vec<Span> = trace["traceEvents"].as_array().unwrap().iter().filter_map(Span::of).collect();
        for name in KINDS.iter().flat_map(|kind| kind.1).chain(&CONTAINERS) {
            assert!(spans.iter().any(|span| span.name == *name), "{name}");
        }
    }
}
