//! `ziggurat inspect`: what kind of matrix this is, in words and as a picture.

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

/// The picture's largest size in characters: as wide as high on most screens.
const PICTURE: (usize, usize) = (40, 20);

/// The diagnosis as JSON; every key is part of what we promise.
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
        let _stage = progress.stage("looking at the matrix");
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

/// The report, ready to print.
fn text(name: &str, facts: &[(&str, String)], picture: &Spy, advice: &[Advice]) -> String {
    let columns = output::columns();
    let mut text = format!("{name}\n\n");
    for (label, fact) in facts {
        for (k, line) in wrapped(fact, columns - 19).iter().enumerate() {
            let _ = writeln!(text, "  {:<15}  {line}", if k == 0 { label } else { "" }); // a string takes it all
        }
    }
    if let Some(line) = picture.lines.first() {
        let edge = "─".repeat(line.chars().count());
        let _ = writeln!(text, "\n  ┌{edge}┐");
        for line in &picture.lines {
            let _ = writeln!(text, "  │{line}│");
        }
        let scale = match picture.rows_per_dot {
            1 => "a dot is a nonzero entry".to_owned(),
            rows => format!("a dot is {0} x {0} places with a nonzero entry", grouped(rows)),
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
