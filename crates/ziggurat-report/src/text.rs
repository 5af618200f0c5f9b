//! The report for a terminal: the verdict, key figures and a table of the levels.

use std::fmt::Write as _;

use crate::figures::{aligned, bytes, counted, grouped, seconds, size, value};
use crate::level::Level;
use crate::outcome::Outcome;
use crate::verdict::DECISIVE;

/// Formats the report as plain text. `name` identifies the problem.
///
/// ```
/// use ziggurat::{Solver, sparse::gallery::Problem};
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let solver = Solver::builder().build(&a)?;
/// let solution = solver.solve(&vec![1.0; a.rows()])?;
/// let outcome = ziggurat_report::Outcome::of(&solver, &solution, (0.01, 0.002));
/// assert!(ziggurat_report::text("A.mtx", &outcome).contains("converged in"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn text(name: &str, outcome: &Outcome) -> String {
    let verdict = if outcome.converged { "converged" } else { "NOT converged" };
    let mut text = format!(
        "{name}: {}\n\n{verdict} in {}: relative residual {:.2e} (tolerance {})\n",
        size(outcome.rows, outcome.rows, outcome.nnz),
        counted(outcome.iterations, "iteration"),
        outcome.relative_residual,
        value(outcome.tolerance),
    );
    let setup = match &*outcome.setup_on {
        "device" => format!("{}, the levels made on the device", seconds(outcome.setup_seconds)),
        _ => seconds(outcome.setup_seconds),
    };
    let mut facts = vec![
        ("method", format!("{}, {}, {}", outcome.method, outcome.krylov, outcome.precision)),
        ("device", outcome.device.clone()),
        ("setup", setup),
        ("solve", seconds(outcome.solve_seconds)),
    ];
    if let Some(method) = outcome.decisions.iter().find(|decision| decision.key == "method") {
        facts.insert(1, ("because", method.reason.to_owned()));
    }
    if !outcome.converged {
        let why = outcome.stop_text.strip_prefix("not converged: ").unwrap_or(&outcome.stop_text);
        facts.insert(0, ("stopped", outcome.stop_reason.clone()));
        facts.insert(1, ("why", why.to_owned()));
        let matrix = outcome.advice.iter().take(DECISIVE).map(|advice| ("matrix", advice.text.clone()));
        let next = outcome.next_step.iter();
        let next = next.flat_map(|next| [("next", next.sentence.clone()), ("", next.command.clone())]);
        facts.splice(2..2, matrix.chain(next));
    }
    if let Some(convergence) = outcome.convergence() {
        facts.push(("rate", convergence));
    }
    if let Some(part) = outcome.unreachable() {
        let part = format!("{part:.2e} of the right-hand side");
        facts.push(("left out", format!("{part}: outside the range of the singular matrix")));
    }
    if let Some(traffic) = &outcome.traffic {
        facts.push(("traffic", traffic.sentence()));
    }
    if let Some(promotion) = &outcome.promotion {
        facts.push((outcome.promotion_label(), promotion.clone()));
    }
    if let Some(rounding) = &outcome.rounding {
        facts.push(("rounding", rounding.clone()));
    }
    if let Some(peak) = outcome.peak_bytes {
        facts.push(("memory", format!("peak {}", bytes(peak))));
    }
    if let Some(ranks) = &outcome.ranks {
        facts.push(("ranks", ranks.sentence()));
    }
    text.push('\n');
    let width = facts.iter().map(|fact| fact.0.len()).fold(7, usize::max);
    for (label, fact) in facts {
        let _ = writeln!(text, "  {label:<width$}  {fact}"); // writing to a string cannot fail
    }
    if !outcome.levels.is_empty() {
        text.push('\n');
        text += &levels_text(&outcome.levels);
        if outcome.levels.iter().any(|level| level.distribution.is_some()) {
            text.push('\n');
            text += &distribution(&outcome.levels);
        }
        let _ = writeln!(
            text,
            "\n  operator complexity {:.2}, grid complexity {:.2}",
            outcome.operator_complexity, outcome.grid_complexity
        );
    }
    text
}

/// Formats the levels as a table, with numbers aligned right and words aligned left.
///
/// ```
/// use ziggurat_report::{Level, levels_text};
/// let levels = [Level { rows: 8000, nnz: 53_600, format: "csr".to_owned(), ..Level::default() }];
/// assert!(levels_text(&levels).contains("53,600"));
/// ```
pub fn levels_text(levels: &[Level]) -> String {
    let mut table = vec![
        ["level", "rows", "entries", "per row", "memory", "stored", "computed", "format"].map(str::to_owned),
    ];
    table.extend(levels.iter().enumerate().map(|(k, level)| {
        [
            k.to_string(),
            grouped(level.rows),
            grouped(level.nnz),
            format!("{:.1}", level.nnz as f64 / level.rows.max(1) as f64),
            bytes(level.bytes),
            level.storage.clone(),
            level.working.clone(),
            level.format.clone(),
        ]
    }));
    aligned(&table, 5)
}

/// Formats the distribution of the levels over MPI ranks as a table.
fn distribution(levels: &[Level]) -> String {
    let mut table =
        vec![["level", "ranks", "rows/rank", "halo/rank", "messages", "bytes"].map(str::to_owned)];
    for (k, level) in levels.iter().enumerate() {
        if let Some(found) = &level.distribution {
            let counts = [found.ranks, found.rows_most, found.halo_rows_most, found.messages_most];
            let [ranks, rows, halo, messages] = counts.map(|count| grouped(count as usize));
            table.push([k.to_string(), ranks, rows, halo, messages, bytes(found.bytes_most)]);
        }
    }
    aligned(&table, 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::NextStep;
    use crate::outcome::tests::outcome;
    use ziggurat::sparse::device;

    #[test]
    fn device_traffic_is_reported() {
        let traffic = device::Traffic {
            kernels: 1500,
            by_matrix_units: 1200,
            uploads: 1,
            uploaded_bytes: 8000,
            downloads: 31,
            downloaded_bytes: 8240,
        };
        let outcome = Outcome { traffic: Some(traffic.into()), ..outcome(true) };
        let json = serde_json::to_value(&outcome).unwrap();
        let expected = serde_json::json!({
            "kernels": 1500, "by_matrix_units": 1200, "uploads": 1, "uploaded_bytes": 8000,
            "downloads": 31, "downloaded_bytes": 8240
        });
        assert_eq!(json["traffic"], expected);
        let text = text("A.mtx", &outcome);
        assert!(text.contains("  device   cpu (Portable, 1 thread)\n"), "{text}");
        assert!(
            text.contains("  traffic  1,500 kernels (1,200 by matrix units), 1 upload (7.8 KiB), 31 downloads (8.0 KiB)\n"),
            "{text}"
        );
    }

    #[test]
    fn the_text_states_convergence_and_aligns_columns() {
        let good = text("A.mtx", &outcome(true));
        assert!(
            good.contains("\nconverged in 14 iterations: relative residual 6.25e-9 (tolerance 1e-8)\n"),
            "{good}"
        );
        assert!(!good.contains("stopped"), "{good}");
        let table: Vec<&str> = good.lines().skip_while(|line| !line.contains("level")).take(3).collect();
        assert_eq!(
            table,
            [
                "  level   rows  entries  per row   memory  stored  computed  format",
                "      0  8,000   53,600      6.7  628 KiB  f64     f64       csr",
                "      1    800   12,000     15.0  141 KiB  f64     f64       csr",
            ]
        );
        assert!(good.contains("\n  rate     residual × 0.26 per iteration\n"), "{good}");
        let next = NextStep { sentence: "Try it.".into(), command: "ziggurat compare A.mtx".into() };
        let bad = text("A.mtx", &outcome(false).with_next_step(next));
        assert!(bad.contains("\n  next     Try it.\n           ziggurat compare A.mtx\n"), "{bad}");
        assert!(
            bad.contains("\nNOT converged in 14") && bad.contains("  stopped  iteration limit\n"),
            "{bad}"
        );
    }
}
