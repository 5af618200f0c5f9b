//! The header of a report page: name, verdict, key figures and the next step.

use ziggurat::diagnose::{Advice, AdviceLevel};

use crate::figures::{bytes, counted, seconds, size};
use crate::html::escaped;
use crate::machine::date;
use crate::outcome::Outcome;

/// Maximum number of advices in the header; all of them are shown with the matrix.
pub(crate) const DECISIVE: usize = 2;

/// A stepped pyramid as an icon.
const ICON: &str = "<svg class=\"icon\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 18\" width=\"24\" \
                    height=\"18\" aria-hidden=\"true\"><path fill=\"currentColor\" \
                    d=\"M9 0h6v4h-6zM6 5h12v4h-12zM3 10h18v4h-18zM0 15h24v3h-24z\"/></svg>";

/// The name of a matrix: the name of its file, without folders and endings.
pub(crate) fn title(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = file.strip_suffix(".gz").unwrap_or(file);
    let stem = stem.strip_suffix(".mtx").unwrap_or(stem);
    if stem.is_empty() { name } else { stem }
}

/// The header of the solve of `name`. On failure, `advice` about the matrix is part of it.
pub(crate) fn header(name: &str, outcome: &Outcome, threads: usize, advice: &[Advice]) -> String {
    let title = title(name);
    let source = if title == name { String::new() } else { format!("{} · ", escaped(name)) };
    format!(
        "<header>\n<p class=\"kicker\">{ICON}<b>ziggurat</b><span>solve report</span><time>{}</time></p>\n\
         <h1>{}</h1>\n<p class=\"about\">{source}{}</p>\n{}{}<p class=\"about\">{}</p>\n</header>\n",
        date(outcome.finished),
        escaped(title),
        size(outcome.rows, outcome.rows, outcome.nnz),
        verdict(outcome, advice),
        tiles(outcome),
        escaped(&machine(outcome, threads)),
    )
}

/// Where it ran. The name of a device may state its threads already.
fn machine(outcome: &Outcome, threads: usize) -> String {
    let Outcome { processor, device, .. } = outcome;
    let threads = (!device.contains("thread")).then(|| counted(threads, "thread"));
    let parts = [processor.clone(), Some(device.clone()), threads];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Whether the solve converged and, if not, why; then what to do next.
fn verdict(outcome: &Outcome, advice: &[Advice]) -> String {
    let (class, words, after) = match outcome.converged {
        true => ("good", "converged", "in"),
        false => ("bad", "not converged", "after"),
    };
    let mut lines = format!(
        "<p class=\"verdict{}\">{words} {after} {}, {} in total</p>\n",
        if outcome.converged { "" } else { " failed" },
        counted(outcome.iterations, "iteration"),
        seconds(outcome.total_seconds()),
    );
    if !outcome.converged {
        lines += &format!("<p>{}.</p>\n", escaped(&reason(outcome)));
        lines += &decisive(advice);
    }
    if let Some(promotion) = &outcome.promotion {
        lines += &format!("<p><b>{}</b> {}</p>\n", outcome.promotion_label(), escaped(promotion));
    }
    if let Some(rounding) = &outcome.rounding {
        lines += &format!("<p><b>rounding</b> {}</p>\n", escaped(rounding));
    }
    if let Some(next) = &outcome.next_step {
        lines += &format!(
            "<p class=\"next\"><b>next step</b> {}</p>\n<pre class=\"command\"><code>{}</code></pre>\n",
            escaped(&next.sentence),
            escaped(&next.command),
        );
    }
    format!("<div class=\"outcome {class}\">\n{lines}</div>\n")
}

/// Why the solve stopped, as a sentence without its full stop.
fn reason(outcome: &Outcome) -> String {
    // The verdict already says this.
    let why = outcome.stop_text.strip_prefix("not converged: ").unwrap_or(&outcome.stop_text);
    let mut letters = why.chars();
    letters.next().map(char::to_uppercase).into_iter().flatten().chain(letters).collect()
}

/// The gravest advice about the matrix.
fn decisive(advice: &[Advice]) -> String {
    let of = |level| advice.iter().filter(move |advice| advice.level == level);
    let grave = of(AdviceLevel::Problem).chain(of(AdviceLevel::Warning)).take(DECISIVE);
    let lines = grave.map(|advice| format!("<p><b>this matrix</b> {}</p>\n", escaped(&advice.text)));
    lines.collect()
}

/// The key figures.
fn tiles(outcome: &Outcome) -> String {
    let memory = outcome.peak_bytes.map_or("unknown".to_owned(), bytes);
    let factor = outcome.convergence_factor().map_or("–".to_owned(), |factor| format!("{factor:.2}"));
    let about_factor = match outcome.convergence_factor() {
        Some(factor) if factor >= 0.9995 => "the residual did not fall",
        _ => "residual per iteration",
    };
    let tiles = [
        (
            "total time",
            seconds(outcome.total_seconds()),
            format!("setup {} + solve {}", seconds(outcome.setup_seconds), seconds(outcome.solve_seconds)),
        ),
        ("iterations", outcome.iterations.to_string(), per_iteration(outcome)),
        ("convergence factor", factor, about_factor.to_owned()),
        (
            "true relative residual",
            format!("{:.2e}", outcome.relative_residual),
            outcome.tolerance_in_words(),
        ),
        ("peak memory", memory, format!("{} in levels", bytes(outcome.level_bytes()))),
    ];
    let tiles = tiles.iter().map(|(what, number, about)| {
        format!("<div><span>{what}</span><b>{number}</b><span>{about}</span></div>\n")
    });
    format!("<div class=\"tiles\">\n{}</div>\n", tiles.collect::<String>())
}

fn per_iteration(outcome: &Outcome) -> String {
    let limit = outcome.config.stopping.max_iterations;
    match outcome.iterations {
        0 => format!("limit {limit}"),
        count => format!("{} each, limit {limit}", seconds(outcome.solve_seconds / count as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::NextStep;
    use crate::outcome::tests::outcome;
    use ziggurat::diagnose;
    use ziggurat::sparse::Csr;

    fn of(outcome: &Outcome, advice: &[Advice]) -> String {
        let html = header("/data/A <b>.mtx.gz", outcome, 2, advice);
        roxmltree::Document::parse(&html).unwrap_or_else(|error| panic!("{error}: {html}"));
        html
    }

    #[test]
    fn names_are_those_of_files() {
        for (name, expected) in [
            ("/data/mesh/bcsstk25.mtx.gz", "bcsstk25"),
            ("C:\\data\\A.mtx", "A"),
            ("poisson3d:50", "poisson3d:50"),
            ("A.csv", "A.csv"),
            (".mtx", ".mtx"),
            ("", ""),
        ] {
            assert_eq!(title(name), expected);
        }
    }

    #[test]
    fn the_header_says_what_where_when_and_how_fast() {
        let html = of(&outcome(true), &[]);
        for part in [
            "<h1>A &lt;b&gt;</h1>",
            "/data/A &lt;b&gt;.mtx.gz · 8,000 rows",
            "1 January 1970, 00:00 UTC",
            "A Processor &lt;5&gt; · cpu (Portable, 1 thread)</p>",
            "converged in 14 iterations, 1.28 s in total",
            "<span>convergence factor</span><b>0.26</b>",
            "setup 31.0 ms + solve 1.25 s",
        ] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
        assert!(!html.contains("next step"));
    }

    #[test]
    fn on_failure_the_gravest_advice_comes_first_and_the_next_step_after_it() {
        // Row 1 is empty, and the rest is a graph of two rows.
        let a = Csr::try_new(3, 3, vec![0, 2, 2, 4], vec![0, 2, 0, 2], vec![2.0, -1.0, -1.0, 2.0]).unwrap();
        let advice = diagnose(a.view()).advice();
        assert_eq!((advice[0].code, advice[0].level), ("empty-rows", AdviceLevel::Warning));
        let next = NextStep { sentence: "Remove it.".into(), command: "ziggurat inspect A.mtx".into() };
        let html = of(&outcome(false).with_next_step(next.clone()), &advice);
        let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part} is not in\n{html}"));
        let order =
            ["The limit of iterations", "1 row has no nonzero entry", "Remove it.", "ziggurat inspect"];
        assert!(order.map(at).is_sorted(), "{html}");
        assert!(!of(&outcome(true).with_next_step(next), &advice).contains("1 row has no"));
    }
}
