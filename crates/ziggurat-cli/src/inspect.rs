//! `ziggurat inspect`: the diagnosis of a matrix as text, JSON and a picture of its pattern.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use ziggurat::SolverConfig;
use ziggurat::config::Decision;
use ziggurat::diagnose::{Advice, AdviceLevel, Diagnosis, MatrixKind, diagnose};
use ziggurat::sparse::device::Cpu;
use ziggurat_report::facts;
use ziggurat_report::figures::{grouped, wrapped};

use crate::arguments::InspectOptions;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::spy::{Spy, spy};
use crate::system::System;

/// Maximum size of the picture in characters: about square in most terminals.
const PICTURE: (usize, usize) = (40, 20);

/// The diagnosis as JSON. The keys are a stable interface.
#[derive(Serialize)]
struct Report<'a> {
    source: &'a str,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    advice: &'a [Advice],
    /// The choices that `ziggurat solve` would make; empty if the matrix is not square.
    decisions: &'a [Decision],
    version: &'static str,
}

pub(crate) fn run(options: &InspectOptions, progress: &Progress) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref();
    output::check(options.source.file.as_deref(), json.map(|path| ("--json", path)))?;
    let system = System::load(&options.source, progress)?;
    let (diagnosis, picture) = {
        let _stage = progress.stage("diagnosing");
        let width = PICTURE.0.min(output::columns().saturating_sub(4));
        (diagnose(system.a.view()), spy(system.a.view(), width, PICTURE.1))
    };
    let (advice, decisions) = (diagnosis.advice(), decisions(&system));
    if let Some(path) = json {
        let version = env!("CARGO_PKG_VERSION");
        output::write_json(
            path,
            &Report {
                source: &system.name,
                diagnosis: &diagnosis,
                advice: &advice,
                decisions: &decisions,
                version,
            },
        )?;
    }
    if !json.is_some_and(output::is_standard) {
        let facts = facts(&diagnosis, system.a.bytes() as u64);
        output::print(&text(&system.name, &facts, &picture, &advice, &decisions))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The choices that `ziggurat solve` would make for this matrix without options.
fn decisions(system: &System) -> Vec<Decision> {
    if system.a.rows() != system.a.cols() || system.a.rows() == 0 {
        return Vec::new();
    }
    let kind = MatrixKind::of_whole(&system.a);
    // A matrix that cannot be examined has problems that the advice states.
    kind.map(|kind| SolverConfig::default().decisions(kind.facts(&Cpu::new()))).unwrap_or_default()
}

/// The report as text.
fn text(
    name: &str,
    facts: &[(&str, String)],
    picture: &Spy,
    advice: &[Advice],
    decisions: &[Decision],
) -> String {
    let columns = output::columns();
    let mut text = format!("{name}\n\n");
    for (label, fact) in facts {
        for (k, line) in wrapped(fact, columns - 19).iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {:<15}  {line}", if k == 0 { label } else { "" });
        }
    }
    if let Some(line) = picture.lines.first() {
        let edge = "─".repeat(line.chars().count());
        let _ = writeln!(text, "\n  ┌{edge}┐");
        for line in &picture.lines {
            let _ = writeln!(text, "  │{line}│");
        }
        let scale = match picture.rows_per_dot {
            1 => "each dot is a nonzero entry".to_owned(),
            rows => format!("each dot is a {0} x {0} block with a nonzero entry", grouped(rows)),
        };
        let _ = writeln!(text, "  └{edge}┘\n  {scale}");
    }
    if !advice.is_empty() {
        text.push('\n');
    }
    for advice in advice {
        let mark = match advice.level {
            AdviceLevel::Note => "note",
            AdviceLevel::Warning => "warning",
            AdviceLevel::Problem => "problem",
        };
        for (k, line) in wrapped(&advice.text, columns - 11).iter().enumerate() {
            let _ = writeln!(text, "  {:<7}  {line}", if k == 0 { mark } else { "" });
        }
    }
    if !decisions.is_empty() {
        text.push_str("\n  `ziggurat solve` would choose:\n");
    }
    for Decision { key, value, reason } in decisions {
        let decision = format!("{value}: {reason}");
        for (k, line) in wrapped(&decision, columns - 19).iter().enumerate() {
            let _ = writeln!(text, "  {:<15}  {line}", if k == 0 { key } else { "" });
        }
    }
    text
}
