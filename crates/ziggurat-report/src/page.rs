//! The report page: one self-contained HTML file without scripts or network access.
//!
//! The header (`verdict.rs`) shows convergence, iterations, times, memory and the next step. The
//! hierarchy and the convergence follow, then details, and the last section shows how to reproduce
//! the solve.

use ziggurat::Stronger;
use ziggurat::config::{Decision, Krylov};
use ziggurat::diagnose::{Advice, AdviceLevel, Diagnosis, diagnose};
use ziggurat::sparse::CsrRef;

use crate::chart;
use crate::facts::facts;
use crate::figures::bytes;
use crate::html::{STYLE, distribution_table, escaped, hierarchy_table};
use crate::outcome::Outcome;
use crate::verdict::{header, title};

/// Maximum number of squares per row of the sparsity plot.
const SPY_SQUARES: usize = 120;
/// Setup time outside of any stage is shown if it exceeds this fraction of setup.
const MIN_UNNAMED_FRACTION: f64 = 0.02;

/// The content of a report page.
///
/// ```
/// use ziggurat::{Solver, sparse::gallery::Problem};
/// use ziggurat_report::{Outcome, Page, page};
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let solver = Solver::builder().build(&a)?;
/// let outcome = Outcome::of(&solver, &solver.solve(&vec![1.0; 512])?, (0.01, 0.002));
/// let command = "ziggurat solve --problem poisson3d:8";
/// let about = Page { name: "poisson3d:8", outcome: &outcome, matrix: Some(a.view()), command, threads: 2 };
/// assert!(page(&about).starts_with("<!DOCTYPE html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The file or model problem that was solved.
    pub name: &'a str,
    /// The outcome of the solve.
    pub outcome: &'a Outcome,
    /// The matrix to diagnose and draw; `None` if it is distributed over ranks.
    pub matrix: Option<CsrRef<'a, f64>>,
    /// The command that reproduces the solve, or an empty string.
    pub command: &'a str,
    /// Threads of the process, or of each rank.
    pub threads: usize,
}

/// CSS of the page, in addition to the CSS of the fragments in [`html`](crate::html).
const PAGE_STYLE: &str = include_str!("page.css");

/// Renders the complete page.
pub fn page(page: &Page<'_>) -> String {
    let outcome = page.outcome;
    let mark = if outcome.converged { "✓" } else { "✗" };
    let diagnosis = page.matrix.map(diagnose);
    let mut advice = diagnosis.as_ref().map_or(Vec::new(), Diagnosis::advice);
    if outcome.has_coordinates {
        // It asks for the coordinates; the facts about the matrix state its blocks.
        advice.retain(|advice| advice.code != "blocks");
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"ziggurat {version}\"/>\n<title>{mark} {title} – ziggurat</title>\n\
         <style>\n{PAGE_STYLE}{STYLE}</style>\n</head>\n<body class=\"ziggurat\">\n<main>\n\
         {header}{hierarchy}{convergence}{levels}{time}{diagnosis}{reproduction}</main>\n</body>\n</html>\n",
        version = outcome.version,
        title = escaped(title(page.name)),
        header = header(page.name, outcome, page.threads, &advice),
        hierarchy = hierarchy(outcome),
        convergence = convergence(outcome),
        levels = levels(outcome),
        time = time(outcome),
        diagnosis = diagnosis_section(page, diagnosis.as_ref(), &advice),
        reproduction = reproduction(page),
    )
}

/// The convergence chart.
fn convergence(outcome: &Outcome) -> String {
    let marks: Vec<_> = outcome
        .promoted_after
        .map(|iteration| match outcome.promoted_to {
            Some(to @ (Stronger::Smoother(_) | Stronger::Factors)) => (iteration, format!("changed to {to}")),
            _ => (iteration, format!("raised to {}", outcome.precision)),
        })
        .into_iter()
        .collect();
    let tolerance = Some(outcome.tolerance);
    let chart = chart::convergence_with_marks(&outcome.curves(""), tolerance, &marks);
    let known = match outcome.config.krylov {
        Krylov::Gmres | Krylov::Fgmres => {
            " This method forms x only at restarts, so the true residual is known only there."
        }
        _ if outcome.config.stopping.verify_every == 0 => "",
        _ => {
            " Computing it for this chart took one product with the matrix each time; a solve without it is faster."
        }
    };
    format!(
        "<section>\n<h2>Convergence</h2>\n<figure>{chart}<figcaption>The solver tracks an updated residual; the true \
         residual is b − A x, recomputed.{known}</figcaption></figure>\n</section>\n"
    )
}

/// The picture of the levels, and how they were made.
fn hierarchy(outcome: &Outcome) -> String {
    let list = [
        ("method", outcome.method.clone()),
        ("Krylov method", outcome.krylov.clone()),
        ("precision", outcome.precision.clone()),
        ("levels made on the", outcome.setup_on.clone()),
        ("operator complexity", format!("{:.2}", outcome.operator_complexity)),
        ("grid complexity", format!("{:.2}", outcome.grid_complexity)),
    ];
    format!(
        "<section>\n<h2>Hierarchy</h2>\n<figure class=\"tower\">{}</figure>\n{}{}</section>\n",
        chart::tower(&outcome.levels),
        description_list(&list),
        decisions(outcome),
    )
}

/// The automatic choices with their reasons.
fn decisions(outcome: &Outcome) -> String {
    if outcome.decisions.is_empty() {
        return String::new();
    }
    let list: Vec<(&str, String)> = (outcome.decisions.iter())
        .map(|Decision { key, value, reason }| (*key, format!("{value}: {reason}")))
        .collect();
    format!("<h3>Automatic choices</h3>\n{}", description_list(&list))
}

/// The table of the levels.
fn levels(outcome: &Outcome) -> String {
    let ranks = match distribution_table(&outcome.levels) {
        table if table.is_empty() => table,
        table => format!("<h3>Distribution over ranks</h3>\n{table}"),
    };
    format!(
        "<section class=\"wide\">\n<h2>Levels</h2>\n{}{ranks}</section>\n",
        hierarchy_table(&outcome.levels)
    )
}

/// The charts of times: setup stages and solve, and the levels in a cycle.
fn time(outcome: &Outcome) -> String {
    let mut stages = outcome.stages.clone();
    let named: f64 = stages.iter().map(|stage| stage.1).sum();
    for (name, _) in stages.iter_mut().filter(|stage| stage.0 == "conversion") {
        *name = format!("conversion to {}", outcome.config.precision);
    }
    if outcome.setup_seconds - named > MIN_UNNAMED_FRACTION * outcome.setup_seconds {
        let name = if stages.is_empty() { "setup" } else { "other setup" };
        stages.push((name.to_owned(), outcome.setup_seconds - named));
    }
    stages.push((chart::SOLVE.to_owned(), outcome.solve_seconds));
    let by_stage = format!(
        "<section>\n<h2>Time by stage</h2>\n<figure>{}</figure>\n</section>\n",
        chart::stages(&stages)
    );
    let cycles: Vec<_> = outcome
        .levels
        .iter()
        .enumerate()
        .filter_map(|(k, level)| Some((format!("level {k}"), level.cycle_seconds?, level.storage.clone())))
        .collect();
    if cycles.is_empty() {
        return by_stage;
    }
    let chart = chart::bars("time of each level in a cycle", &cycles);
    by_stage
        + &format!(
            "<section>\n<h2>Time by level</h2>\n<figure>{chart}<figcaption>In one multigrid cycle, measured after the \
             solve.</figcaption></figure>\n</section>\n"
        )
}

/// The matrix diagnosis and the sparsity plot.
fn diagnosis_section(page: &Page<'_>, diagnosis: Option<&Diagnosis>, advice: &[Advice]) -> String {
    let (Some(a), Some(diagnosis)) = (page.matrix, diagnosis) else {
        return "<section class=\"wide\">\n<h2>Matrix</h2>\n<p>The matrix is distributed over several ranks, so it is neither \
                diagnosed nor drawn here. <code>ziggurat inspect</code> does both in one process.</p>\n</section>\n"
            .to_owned();
    };
    let memory = size_of_val(a.row_ptr()) + size_of_val(a.columns()) + size_of_val(a.values());
    let advice = advice.iter().map(|advice| {
        let level = match advice.level {
            AdviceLevel::Note => "note",
            AdviceLevel::Warning => "warning",
            AdviceLevel::Problem => "problem",
        };
        format!("<li class=\"{level}\"><b>{level}</b> {}</li>\n", escaped(&advice.text))
    });
    let advice: String = advice.collect();
    let advice = if advice.is_empty() { advice } else { format!("<ul class=\"advice\">\n{advice}</ul>\n") };
    format!(
        "<section class=\"wide\">\n<h2>Matrix</h2>\n<div class=\"pair\">\n<figure>{}</figure>\n<div>\n{}{advice}</div>\n</div>\n</section>\n",
        chart::spy(a, SPY_SQUARES),
        description_list(&facts(diagnosis, memory as u64)),
    )
}

/// The command, environment and configuration that reproduce the solve.
fn reproduction(page: &Page<'_>) -> String {
    let outcome = page.outcome;
    let mut list = vec![("device", outcome.device.clone()), ("threads", page.threads.to_string())];
    if let Some(ranks) = &outcome.ranks {
        list.push(("ranks", ranks.count.to_string()));
        list.extend(ranks.peak_bytes_total.map(|total| ("peak memory, all ranks", bytes(total))));
    }
    if let Some(traffic) = &outcome.traffic {
        list.push(("traffic", traffic.sentence()));
    }
    list.push(("version", format!("ziggurat {}", outcome.version)));
    let command = match page.command {
        "" => String::new(),
        command => format!("<pre class=\"command\"><code>{}</code></pre>\n", escaped(command)),
    };
    let config = outcome.config.to_toml().unwrap_or_else(|error| format!("# {error}"));
    format!(
        "<section class=\"wide\">\n<h2>Reproduce</h2>\n{command}{}<details>\n<summary>Configuration used (TOML)</summary>\n\
         <p class=\"small\">Save it as <code>solver.toml</code> and pass <code>--config solver.toml</code>. All automatic choices are resolved in it.</p>\n\
         <pre><code>{}</code></pre>\n</details>\n</section>\n",
        description_list(&list),
        escaped(config.trim_end()),
    )
}

/// Renders names and values as a description list.
fn description_list(list: &[(&str, String)]) -> String {
    let items =
        list.iter().map(|(name, what)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(what)));
    format!("<dl>\n{}</dl>\n", items.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::outcome;
    use crate::ranks::Ranks;
    use crate::traffic::Traffic;
    use ziggurat::sparse::gallery::Problem;

    const HOSTILE: &str = "</title><script>alert('x')</script>\u{0}&\".mtx";

    fn of(outcome: &Outcome, matrix: Option<CsrRef<'_, f64>>) -> String {
        let html = page(&Page { name: HOSTILE, outcome, matrix, command: HOSTILE, threads: 2 });
        // The page is also well-formed XML, so parsing it as XML checks that tags match.
        let xml = html.strip_prefix("<!DOCTYPE html>\n").unwrap();
        roxmltree::Document::parse(xml).unwrap_or_else(|error| panic!("{error}: {html}"));
        assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="), "{html}");
        assert_eq!(
            html.matches("http").count(),
            html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
        );
        html
    }

    #[test]
    fn a_page_has_every_section_and_is_self_contained() {
        let a = "elasticity3d:3".parse::<Problem>().unwrap().matrix().unwrap();
        let html = of(&outcome(true), Some(a.view()));
        for part in ["Hierarchy", "Convergence", "Levels", "Time by stage", "Matrix", "Reproduce"] {
            assert!(html.contains(&format!("<h2>{part}</h2>")), "{part}");
        }
        assert_eq!(html.matches("<svg").count(), 5); // with the icon
        assert!(html.contains("converged in 14 iterations") && html.contains("6.25e-9"));
        assert!(html.contains("3 x 3") && html.contains("class=\"note\""), "the diagnosis and advice");
        assert!(html.contains("\n[stopping]\n"), "the configuration");
        assert_eq!(html, of(&outcome(true), Some(a.view())));
        assert!(html.contains("the coordinates of the nodes"));
        let given = of(&Outcome { has_coordinates: true, ..outcome(true) }, Some(a.view()));
        assert!(!given.contains("the coordinates of the nodes"), "they were given");
    }

    #[test]
    fn a_failed_solve_is_explained() {
        let html = of(&outcome(false), None);
        assert!(html.contains("not converged after 14 iterations"));
        assert!(html.contains("<p>The limit of iterations was reached"), "{html}");
        assert!(html.contains("distributed over several ranks"));
    }

    #[test]
    fn ranks_traffic_and_odd_numbers_are_shown() {
        let ranks = Some(Ranks { count: 3, threads: 1, crowded: None, peak_bytes_total: Some(1 << 30) });
        let traffic = Some(Traffic {
            kernels: 1500,
            by_matrix_units: 0,
            uploads: 1,
            uploaded_bytes: 8000,
            downloads: 31,
            downloaded_bytes: 0,
        });
        let odd = Outcome {
            ranks,
            traffic,
            relative_residual: f64::NAN,
            residuals: vec![f64::NAN, f64::INFINITY, 0.0],
            true_residuals: Vec::new(),
            levels: Vec::new(),
            stages: Vec::new(),
            promotion: Some("<raised>".into()),
            promoted_after: Some(2),
            iterations: 0,
            ..outcome(false)
        };
        let html = of(&odd, None);
        assert!(html.contains("1,500 kernels, 1 upload (7.8 KiB), 31 downloads (0 B)"), "{html}");
        assert!(html.contains("1.0 GiB") && html.contains("&lt;raised&gt;"));
        assert!(html.contains("raised to f64"), "the mark in the chart");
    }
}
