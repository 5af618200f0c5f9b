//! `ziggurat inspect`: what kind of matrix this is, in words and as a picture.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use ziggurat::diagnose::{Advice, AdviceLevel, Diagnosis, DiagonalSign, Fit, diagnose};

use crate::arguments::InspectOptions;
use crate::failure::Failure;
use crate::figures::{bytes, counted, grouped, percent, share, value, wrapped};
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

/// What is known of the matrix, a line for each subject.
fn facts(d: &Diagnosis, memory: u64) -> Vec<(&'static str, String)> {
    let square = d.rows == d.cols;
    let mut facts = vec![
        (
            "size",
            format!(
                "{} x {}, {} entries, {}",
                grouped(d.rows),
                grouped(d.cols),
                grouped(d.nnz),
                bytes(memory)
            ),
        ),
        ("row lengths", row_lengths(d)),
    ];
    if square {
        facts.push(("symmetry", symmetry(d)));
    }
    facts.push(("diagonal", diagonal(d)));
    facts.push(("off-diagonal", off_diagonal(d)));
    if d.rows > 0 {
        facts.push(("rows", rows(d)));
    }
    facts.push(("values", values(d)));
    facts.push((
        "blocks",
        match d.graph.block_size {
            1 => "none: one unknown per node".to_owned(),
            block => format!("{block} x {block}"),
        },
    ));
    if let (Some(parts), Some(isolated)) = (d.graph.components, d.graph.isolated_rows) {
        let joined = match (parts - isolated, isolated) {
            (0, 0) => "none".to_owned(),
            (parts, 0) => grouped(parts),
            (parts, isolated) => format!("{} and {}", grouped(parts), counted(isolated, "single row")),
        };
        facts.push(("parts", joined));
    }
    facts.push(("bandwidth", grouped(d.graph.bandwidth)));
    facts
}

fn row_lengths(d: &Diagnosis) -> String {
    let entries = &d.entries;
    let mut text = match (entries.per_row_min, entries.per_row_max) {
        (min, max) if min == max => format!("{min} in every row"),
        (min, max) => {
            format!("{} to {}, on average {:.1}", grouped(min), grouped(max), entries.per_row_average)
        }
    };
    if entries.empty_rows > 0 {
        text += &format!("; {} empty", counted(entries.empty_rows, "row"));
    }
    if entries.explicit_zeros > 0 {
        let zeros = grouped(entries.explicit_zeros);
        text += &format!("; {zeros} stored zeros ({})", share(entries.explicit_zeros, d.nnz));
    }
    text
}

fn symmetry(d: &Diagnosis) -> String {
    let Some(symmetry) = &d.symmetry else { return String::new() };
    if symmetry.exact && symmetry.structure {
        return "symmetric, to the last bit".to_owned();
    }
    let structure = if symmetry.structure { "structure symmetric" } else { "structure not symmetric" };
    if symmetry.exact {
        format!("symmetric, to the last bit; {structure} (stored zeros)")
    } else if symmetry.to_rounding {
        format!("symmetric, but for rounding ({:.0e}); {structure}", symmetry.largest_difference)
    } else {
        format!("not symmetric, skew part {}; {structure}", percent(symmetry.skew))
    }
}

/// "6" or "1e-3 to 7".
fn range(smallest: Option<f64>, largest: Option<f64>) -> String {
    match (smallest, largest) {
        (Some(smallest), Some(largest)) if smallest == largest => value(smallest),
        (Some(smallest), Some(largest)) => format!("{} to {}", value(smallest), value(largest)),
        _ => "none".to_owned(),
    }
}

fn diagonal(d: &Diagnosis) -> String {
    let diagonal = &d.diagonal;
    let places = d.rows.min(d.cols);
    let sizes = range(diagonal.smallest, diagonal.largest);
    match diagonal.sign {
        _ if places == 0 => "none".to_owned(),
        DiagonalSign::Positive => format!("all positive, {sizes}"),
        DiagonalSign::Negative => format!("all negative, {sizes} in absolute value"),
        DiagonalSign::Mixed | DiagonalSign::SomeZero => {
            let absent = places - diagonal.stored;
            let mut kinds = Vec::new();
            for (count, kind) in [
                (diagonal.positive, "positive"),
                (diagonal.negative, "negative"),
                (diagonal.zero - absent.min(diagonal.zero), "zero"),
                (absent, "absent"),
            ] {
                if count > 0 {
                    kinds.push(format!("{} {kind}", grouped(count)));
                }
            }
            let sizes = if diagonal.smallest.is_some() {
                format!("; {sizes} in absolute value")
            } else {
                String::new()
            };
            kinds.join(", ") + &sizes
        }
    }
}

fn off_diagonal(d: &Diagnosis) -> String {
    let signs = &d.off_diagonal;
    match (signs.negative, signs.positive) {
        (0, 0) => "none".to_owned(),
        (_, 0) => "all negative".to_owned(),
        (0, _) => "all positive".to_owned(),
        (negative, positive) => format!(
            "{} negative, {} positive ({})",
            grouped(negative),
            grouped(positive),
            share(positive, negative + positive)
        ),
    }
}

fn rows(d: &Diagnosis) -> String {
    let special = &d.special_rows;
    let mut text = format!(
        "diagonally dominant: {}; sum to zero: {}",
        share(special.dominant, d.rows),
        share(special.zero_sum, d.rows)
    );
    if special.dirichlet > 0 {
        text += &format!("; {} with a diagonal only", grouped(special.dirichlet));
    }
    text
}

fn values(d: &Diagnosis) -> String {
    let values = &d.values;
    if values.smallest.is_none() {
        return "none but zeros".to_owned();
    }
    let sizes = range(values.smallest, values.largest);
    let numbers = [("f32", values.f32), ("f16", values.f16), ("bf16", values.bf16)];
    let named = |fit: Fit| {
        let names: Vec<&str> =
            numbers.iter().filter(|number| number.1 == fit).map(|number| number.0).collect();
        names.join(", ")
    };
    let mut text = format!("{sizes} in absolute value");
    for (fit, words) in
        [(Fit::Fits, "fits"), (Fit::Underflows, "too small for"), (Fit::Overflows, "too large for")]
    {
        let names = named(fit);
        if !names.is_empty() {
            text += &format!("; {words} {names}");
        }
    }
    text
}
