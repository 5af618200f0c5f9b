//! HTML fragments for notebooks and for [`page`](crate::page()).
//!
//! All CSS rules are scoped to the class `ziggurat`, so they do not affect the surrounding
//! document. Text and lines inherit the surrounding colour, so dark notebooks need no extra rules.

use crate::chart;
pub(crate) use crate::chart::escaped;
use crate::figures::{bytes, counted, grouped, seconds, size};
use crate::level::Level;
use crate::outcome::Outcome;
use crate::palette::{colour, hex};

/// CSS of the fragments.
pub(crate) const STYLE: &str = "\
.ziggurat table { border-collapse: collapse; font-size: 0.92em; font-variant-numeric: tabular-nums; margin: 0; }
.ziggurat table th, .ziggurat table td { border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.3); padding: 0.3em 0.75em; text-align: right; white-space: nowrap; }
.ziggurat table th { font-weight: 600; vertical-align: bottom; }
.ziggurat table tfoot td { border-bottom: 0; font-weight: 600; }
.ziggurat table .word { text-align: left; }
.ziggurat .scroll { overflow-x: auto; }
.ziggurat .mark { border-radius: 2px; display: inline-block; height: 0.75em; margin-right: 0.45em; width: 0.75em; }
.ziggurat .verdict { font-size: 1.15em; font-weight: 600; margin: 0.2em 0; }
.ziggurat .verdict::before { border-radius: 50%; color: #fff; content: '✓'; display: inline-block; font-size: 0.8em; height: 1.6em; line-height: 1.6em; margin-right: 0.5em; text-align: center; width: 1.6em; background: #00795a; }
.ziggurat .verdict.failed::before { background: #b84e00; content: '✗'; }
.ziggurat .small { font-size: 0.92em; opacity: 0.8; }
.ziggurat .side { align-items: start; display: flex; flex-wrap: wrap; gap: 1em 2em; }
.ziggurat svg { display: block; }
";

/// Formats the levels as an HTML table, with the colours of [`chart::levels`].
///
/// ```
/// use ziggurat_report::{Level, html};
/// let levels = [Level { rows: 8000, nnz: 53_600, format: "csr".to_owned(), ..Level::default() }];
/// assert!(html::hierarchy_table(&levels).contains("<td>53,600</td>"));
/// ```
pub fn hierarchy_table(levels: &[Level]) -> String {
    let setup = levels.iter().any(|level| level.setup_seconds.is_some());
    let cycle = levels.iter().any(|level| level.cycle_seconds.is_some());
    let mut heads = vec!["level", "rows", "entries", "per row", "matrix", "transfer"];
    heads.extend(setup.then_some("setup"));
    heads.extend(cycle.then_some("per cycle"));
    let head: String = heads.iter().map(|head| format!("<th>{head}</th>")).collect();
    let words = ["stored in", "computed in", "format"].map(|head| format!("<th class=\"word\">{head}</th>"));
    let time = |time: Option<f64>| time.map_or("–".to_owned(), seconds);
    let mut body = String::new();
    for (k, level) in levels.iter().enumerate() {
        let mut cells = vec![
            k.to_string(),
            grouped(level.rows),
            grouped(level.nnz),
            format!("{:.1}", level.nnz as f64 / level.rows.max(1) as f64),
            bytes(level.bytes),
            if level.transfer_bytes > 0 { bytes(level.transfer_bytes) } else { "–".to_owned() },
        ];
        cells.extend(setup.then(|| time(level.setup_seconds)));
        cells.extend(cycle.then(|| time(level.cycle_seconds)));
        let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        let colour = hex(colour(&level.storage));
        body += &format!(
            "<tr>{cells}<td class=\"word\"><span class=\"mark\" style=\"background:{colour}\"></span>{}</td>\
             <td class=\"word\">{}</td><td class=\"word\" title=\"{}\">{}</td></tr>\n",
            escaped(&level.storage),
            escaped(&level.working),
            escaped(&level.reason),
            escaped(&level.format),
        );
    }
    let foot = totals(levels, setup, cycle);
    let words = words.concat();
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{head}{words}</tr></thead>\n<tbody>\n{body}</tbody>\n{foot}</table></div>\n"
    )
}

/// The table's footer with the totals over all levels.
fn totals(levels: &[Level], setup: bool, cycle: bool) -> String {
    if levels.len() < 2 {
        return String::new();
    }
    let sum = |of: fn(&Level) -> Option<f64>| seconds(levels.iter().filter_map(of).sum());
    let rows = levels.iter().map(|level| level.rows).sum();
    let nnz: usize = levels.iter().map(|level| level.nnz).sum();
    let mut cells = vec![
        "total".to_owned(),
        grouped(rows),
        grouped(nnz),
        format!("{:.1}", nnz as f64 / rows.max(1) as f64),
        bytes(levels.iter().map(|level| level.bytes).sum()),
        bytes(levels.iter().map(|level| level.transfer_bytes).sum()),
    ];
    cells.extend(setup.then(|| sum(|level| level.setup_seconds)));
    cells.extend(cycle.then(|| sum(|level| level.cycle_seconds)));
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tfoot><tr>{cells}<td></td><td></td><td></td></tr></tfoot>\n")
}

/// Formats the distribution over MPI ranks as an HTML table; empty without ranks.
pub(crate) fn distribution_table(levels: &[Level]) -> String {
    let mut body = String::new();
    for (k, level) in levels.iter().enumerate() {
        if let Some(found) = &level.distribution {
            let counts = [found.ranks, found.rows_most, found.halo_rows_most, found.messages_most];
            let cells: String =
                counts.iter().map(|&count| format!("<td>{}</td>", grouped(count as usize))).collect();
            body += &format!("<tr><td>{k}</td>{cells}<td>{}</td></tr>\n", bytes(found.bytes_most));
        }
    }
    if body.is_empty() {
        return body;
    }
    let heads = ["level", "ranks", "rows/rank", "halo/rank", "messages", "bytes"];
    let head: String = heads.iter().map(|head| format!("<th>{head}</th>")).collect();
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )
}

/// States in one line whether the solve converged.
pub(crate) fn verdict(outcome: &Outcome) -> String {
    let (class, words) =
        if outcome.converged { ("verdict", "converged") } else { ("verdict failed", "not converged") };
    let iterations = counted(outcome.iterations, "iteration");
    let after = if outcome.converged { "in" } else { "after" };
    format!("<p class=\"{class}\">{words} {after} {iterations}</p>\n")
}

/// HTML fragment for a solver that has not solved yet: a table and a chart of its levels.
///
/// ```
/// use ziggurat_report::{Level, html};
/// let levels = [Level { rows: 8000, nnz: 53_600, format: "csr".to_owned(), ..Level::default() }];
/// assert!(html::levels(&levels).starts_with("<div class=\"ziggurat\">"));
/// ```
pub fn levels(levels: &[Level]) -> String {
    format!(
        "<div class=\"ziggurat\">\n<style>\n{STYLE}</style>\n{}<div>{}</div>\n</div>\n",
        hierarchy_table(levels),
        chart::levels(levels)
    )
}

/// HTML fragment for a solve: verdict, key figures, convergence chart and levels. `name` identifies
/// the problem and may be empty.
///
/// ```
/// use ziggurat::{Solver, sparse::gallery::Problem};
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let solver = Solver::builder().build(&a)?;
/// let outcome = ziggurat_report::Outcome::of(&solver, &solver.solve(&vec![1.0; 512])?, (0.01, 0.002));
/// let html = ziggurat_report::html::fragment("poisson3d:8", &outcome);
/// assert!(html.starts_with("<div class=\"ziggurat\">") && html.contains("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fragment(name: &str, outcome: &Outcome) -> String {
    let name = if name.is_empty() { String::new() } else { format!("<b>{}</b>: ", escaped(name)) };
    let stopped =
        if outcome.converged { String::new() } else { format!("<p>{}</p>\n", escaped(&outcome.stop_text)) };
    format!(
        "<div class=\"ziggurat\">\n<style>\n{STYLE}</style>\n<p class=\"small\">{name}{}; {}, {}, {}; {}</p>\n{}{stopped}\
         <p class=\"small\">true relative residual {:.2e} ({}); setup {}, solve {}</p>\n\
         <div class=\"side\">\n<div>{}</div>\n<div>{}</div>\n</div>\n</div>\n",
        size(outcome.rows, outcome.rows, outcome.nnz),
        escaped(&outcome.method),
        escaped(&outcome.krylov),
        escaped(&outcome.precision),
        escaped(&outcome.device),
        verdict(outcome),
        outcome.relative_residual,
        outcome.tolerance_in_words(),
        seconds(outcome.setup_seconds),
        seconds(outcome.solve_seconds),
        chart::convergence(&outcome.curves(""), Some(outcome.tolerance)),
        hierarchy_table(&outcome.levels),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Distribution;
    use crate::outcome::tests::outcome;

    /// Fragments are also well-formed XML, so parsing them as XML checks that tags match.
    fn parsed(html: &str) -> roxmltree::Document<'_> {
        roxmltree::Document::parse(html).unwrap_or_else(|error| panic!("{error}: {html}"))
    }

    #[test]
    fn a_fragment_is_well_formed_and_its_style_is_scoped() {
        for converged in [true, false] {
            let html = fragment("A <b> & c", &outcome(converged));
            let document = parsed(&html);
            let style = document.descendants().find(|node| node.has_tag_name("style")).unwrap();
            for rule in style.text().unwrap().lines().filter(|line| !line.is_empty()) {
                let (selectors, _) = rule.split_once('{').unwrap();
                assert!(
                    selectors.split(',').all(|selector| selector.trim().starts_with(".ziggurat ")),
                    "{rule}"
                );
            }
            assert_eq!(html.contains("limit of iterations"), !converged);
            assert!(html.contains("<b>A &lt;b&gt; &amp; c</b>"));
        }
    }

    #[test]
    fn the_table_has_totals_and_known_times() {
        let mut levels = outcome(true).levels;
        let table = hierarchy_table(&levels);
        parsed(&table);
        assert!(table.contains("<td>total</td><td>8,800</td><td>65,600</td>"), "{table}");
        assert!(!table.contains("per cycle"));
        levels[0].cycle_seconds = Some(0.002);
        levels[0].reason = "csr \"<0.084 MB>\"".to_owned();
        let table = hierarchy_table(&levels);
        parsed(&table);
        assert!(table.contains("per cycle") && table.contains("<td>2.0 ms</td>"), "{table}");
        parsed(&hierarchy_table(&[]));
    }

    #[test]
    fn ranks_have_a_table() {
        let mut levels = outcome(true).levels;
        assert_eq!(distribution_table(&levels), "");
        levels[0].distribution = Some(Distribution { ranks: 3, rows_most: 2667, ..Distribution::default() });
        let table = distribution_table(&levels);
        parsed(&table);
        assert!(table.contains("<td>3</td><td>2,667</td>"), "{table}");
    }
}
