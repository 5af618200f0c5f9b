//! The results of the race as a picture: a column per kind of system, a group of bars per system, a
//! bar per contestant with its setup and its solve. Bars are comparable within a group.

use std::fmt::Write;

use super::{Entry, Kind, Measured};

/// Width of a column.
const COLUMN: f64 = 400.0;
/// Left of the bars, for names; right of them, for times.
const MARGINS: [f64; 2] = [100.0, 70.0];
/// Height of a bar with the space below it.
const BAR: f64 = 18.0;
/// Height of the heading and of a group's title.
const HEADING: f64 = 56.0;
const TITLE: f64 = 30.0;
/// Colours of setup and solve, distinguishable without colour vision.
const COLOURS: [&str; 2] = ["#0072B2", "#E69F00"];

/// Draws the best runs as SVG.
pub(super) fn picture(measured: &[Measured]) -> String {
    let mut svg = String::new();
    let (mut column, mut height) = (0, 0.0_f64);
    for kind in Kind::ALL {
        let of_kind: Vec<&Measured> = measured.iter().filter(|one| one.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let left = f64::from(column) * COLUMN;
        text(&mut svg, [left + 8.0, 44.0], "font-weight=\"bold\"", kind.name());
        let mut top = HEADING;
        for one in of_kind {
            group(&mut svg, left, top, one);
            top += TITLE + BAR * one.contestants.len() as f64;
        }
        column += 1;
        height = height.max(top);
    }
    let mut legend = String::new();
    for (index, (name, colour)) in ["setup", "solve"].iter().zip(COLOURS).enumerate() {
        let left = 8.0 + 80.0 * index as f64;
        rectangle(&mut legend, [left, 8.0], [12.0, 12.0], colour);
        text(&mut legend, [left + 18.0, 18.0], "", name);
    }
    text(&mut legend, [176.0, 18.0], "", "seconds; bars are scaled per system");
    let (width, height) = (f64::from(column.max(1)) * COLUMN, height.max(HEADING) + 12.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Setup and solve times</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{legend}{svg}</svg>\n"
    )
}

/// The bars of one system.
fn group(svg: &mut String, left: f64, top: f64, measured: &Measured) {
    let total = |entry: &Entry| entry.best.as_ref().map_or(0.0, super::Run::total);
    let longest = measured.contestants.iter().map(total).fold(0.0, f64::max);
    let scale = (COLUMN - MARGINS[0] - MARGINS[1]) / if longest > 0.0 { longest } else { 1.0 };
    text(svg, [left + MARGINS[0], top + 20.0], "font-style=\"italic\"", &measured.system);
    for (index, entry) in measured.contestants.iter().enumerate() {
        let y = top + TITLE - 4.0 + BAR * index as f64;
        let weight = if entry.ours { "font-weight=\"bold\" " } else { "" };
        let at_end = format!("{weight}text-anchor=\"end\"");
        text(svg, [left + MARGINS[0] - 6.0, y + 11.0], &at_end, entry.name);
        let start = left + MARGINS[0];
        let Some(run) = &entry.best else {
            text(svg, [start + 4.0, y + 11.0], "", "not solved");
            continue;
        };
        let (setup, solve) = (run.setup_seconds * scale, run.solve_seconds * scale);
        rectangle(svg, [start, y], [setup, BAR - 4.0], COLOURS[0]);
        rectangle(svg, [start + setup, y], [solve, BAR - 4.0], COLOURS[1]);
        text(svg, [start + setup + solve + 5.0, y + 11.0], weight, &format!("{:.2}", run.total()));
    }
}

// Writing to a string does not fail.

fn rectangle(svg: &mut String, [x, y]: [f64; 2], [width, height]: [f64; 2], colour: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

fn text(svg: &mut String, [x, y]: [f64; 2], attributes: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::super::Run;
    use super::*;

    fn entry(name: &'static str, times: Option<[f64; 2]>) -> Entry {
        let best = times.map(|[setup_seconds, solve_seconds]| Run {
            setting: String::new(),
            setup_seconds,
            solve_seconds,
            iterations: 10,
            peak_mb: 1.0,
            relative_residual: 1e-9,
            spmv_seconds: None,
            stages: Vec::new(),
        });
        let ours = name == "ziggurat";
        Entry { name, label: name.to_owned(), ours, modes: false, best, tried: Vec::new() }
    }

    #[test]
    fn bars_are_proportional_to_times() {
        let contestants =
            vec![entry("slow", Some([2.0, 2.0])), entry("none", None), entry("ziggurat", Some([1.0, 0.5]))];
        let (system, kind) = ("a<b".to_owned(), Kind::Real);
        let svg = picture(&[Measured { system, kind, rows: 1, entries: 1, contestants }]);
        assert_eq!(svg.matches("width=\"115.0\"").count(), 2, "{svg}");
        assert!(svg.contains("width=\"57.5\"") && svg.contains("width=\"28.8\""), "{svg}");
        assert!(svg.contains("a&lt;b") && svg.contains("not solved") && svg.contains(">1.50<"));
    }
}
