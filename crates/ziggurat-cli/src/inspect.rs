//! `ziggurat inspect`: the diagnosis of a matrix as text, JSON and a picture of its pattern.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use ziggurat::diagnose::{Advice, AdviceLevel, Diagnosis, diagnose};
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
    let advice = diagnosis.advice();
    if let Some(path) = json {
        let version = env!("CARGO_PKG_VERSION");
        output::write_json(
            path,
            &Report { source: &system.name, diagnosis: &diagnosis, advice: &advice, version },
        )?;
    }
    if !json.is_some_and(output::is_standard) {
        let facts = facts(&diagnosis, system.a.bytes() as u64);
        output::print(&text(&system.name, &facts, &picture, &advice))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The report as text.
fn text(name: &str, facts: &[(&str, String)], picture: &Spy, advice: &[Advice]) -> String {
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
    text
}
