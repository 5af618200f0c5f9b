//! Residuals over the iterations, on a logarithmic axis.
//!
//! The updated residual comes from the recurrence of the Krylov method and is drawn as a line; the
//! true residual b − A x is drawn as rings. They diverge where rounding errors dominate or the
//! preconditioner changes from step to step. Values without a logarithm (zero, NaN, infinity) leave
//! a gap.

use plotters::chart::ChartBuilder;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::canvas::{
    DrawError, INK, Mark, Tooltip, dashed_line, faint_text_style, legend, legend_height, picture, text_style,
    text_width, vertical_dashes, with_tooltips, write,
};
use super::decades::Decades;
use crate::palette::{BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION};

/// Width and height of the chart without its legend.
const SIZE: (u32, u32) = (490, 300);
/// Colours of the solves.
const COLOURS: [RGBColor; 6] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY];
/// Maximum number of points of a line; more than the pixels of the chart add no detail.
const MAX_POINTS: usize = 1000;
/// Maximum number of rings; more would overlap.
const MAX_RINGS: usize = 40;
/// Maximum number of tooltips; more would be too narrow to point at.
const MAX_TOOLTIPS: usize = 160;

/// Which residual a curve shows.
///
/// ```
/// use ziggurat_report::chart::CurveKind;
/// assert_ne!(CurveKind::Recurrence, CurveKind::True);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveKind {
    /// The residual that the method updates by its recurrence.
    Recurrence,
    /// The true residual b − A x.
    True,
}

/// The residuals of a solve, relative to ‖b‖.
///
/// ```
/// use ziggurat_report::chart::{Curve, CurveKind};
/// let curve = Curve { label: "cg".into(), points: vec![(0, 1.0), (1, 1e-2)], kind: CurveKind::True };
/// assert_eq!(curve.points.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name of the solve. Curves with the same label have the same colour.
    pub label: String,
    /// Iteration numbers and the residuals after them, in increasing order.
    pub points: Vec<(usize, f64)>,
    /// The kind of residual.
    pub kind: CurveKind,
}

/// Draws the residuals of one or several solves, and the `tolerance` (also relative to ‖b‖) as a
/// dashed line.
///
/// ```
/// use ziggurat_report::chart::{Curve, CurveKind, convergence};
/// let points = (0..9).map(|k| (k, 0.1_f64.powi(k as i32))).collect();
/// let svg = convergence(&[Curve { label: String::new(), points, kind: CurveKind::Recurrence }], Some(1e-8));
/// assert!(svg.starts_with("<svg") && svg.contains("iteration"));
/// ```
pub fn convergence(curves: &[Curve], tolerance: Option<f64>) -> String {
    convergence_with_marks(curves, tolerance, &[])
}

/// As [`convergence`], with vertical lines at some iterations: what happened after each.
///
/// ```
/// use ziggurat_report::chart::{Curve, CurveKind, convergence_with_marks};
/// let points = (0..9).map(|k| (k, 0.1_f64.powi(k as i32))).collect();
/// let curves = [Curve { label: String::new(), points, kind: CurveKind::Recurrence }];
/// let svg = convergence_with_marks(&curves, None, &[(4, "precision raised".to_owned())]);
/// assert!(svg.contains("precision raised"));
/// ```
pub fn convergence_with_marks(curves: &[Curve], tolerance: Option<f64>, marks: &[(usize, String)]) -> String {
    let tolerance = tolerance.filter(|tolerance| shown(*tolerance));
    let solves = labels(curves);
    let mut entries: Vec<_> =
        curves.iter().map(|curve| (mark(&solves, curve), name(&solves, curve))).collect();
    entries.extend(tolerance.map(|_| (Mark::Dashes, "tolerance".to_owned())));
    let across = SIZE.0 as i32 - 70;
    let above = legend_height(&entries, across);
    let mut tooltips = Vec::new();
    let svg = picture((SIZE.0, SIZE.1 + above as u32), "residuals over iterations", |area| {
        legend(area, &entries, (62, 2), across)?;
        let values = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
        let values = values.filter(|&value| shown(value));
        // Extend the axis below the tolerance, so that the dashed line does not coincide with it.
        let values = values.chain(tolerance.map(|tolerance| 0.5 * tolerance));
        let last = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).max();
        let mut chart = ChartBuilder::on(area)
            .margin_top(above + 10)
            .margin_right(16)
            .margin_left(4)
            .margin_bottom(4)
            .x_label_area_size(44)
            .y_label_area_size(62)
            .build_cartesian_2d(0..last.unwrap_or(1).max(1), Decades::around(values))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.13))
            .axis_style(INK.mix(0.5))
            .label_style(faint_text_style(HPos::Center, 0.8))
            .axis_desc_style(text_style(HPos::Center))
            .x_desc("iteration")
            .y_desc("residual / ‖b‖")
            .x_labels(9)
            .y_labels(12)
            .y_label_formatter(&Decades::format)
            .draw()?;
        if let Some(tolerance) = tolerance {
            let inside = chart.plotting_area();
            let across = inside.get_x_axis_pixel_range();
            dashed_line(area, (across.start, across.end), inside.map_coordinate(&(0, tolerance.log10())).1)?;
        }
        for curve in curves {
            let colour = colour(&solves, curve);
            let at = |&(k, value): &(usize, f64)| (k, value.log10());
            match curve.kind {
                CurveKind::Recurrence => {
                    for run in curve.points.split(|point| !shown(point.1)) {
                        let line = thinned(run, MAX_POINTS).map(at);
                        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
                    }
                }
                // No line, because the values in between are unknown.
                CurveKind::True => {
                    let known: Vec<_> = curve.points.iter().filter(|point| shown(point.1)).collect();
                    let ring = |point: &&(usize, f64)| Circle::new(at(point), 4, colour.stroke_width(2));
                    chart.draw_series(thinned(&known, MAX_RINGS).map(ring))?;
                }
            }
        }
        let inside = chart.plotting_area();
        let (across, down) = (inside.get_x_axis_pixel_range(), inside.get_y_axis_pixel_range());
        let x_of = |iteration: usize| inside.map_coordinate(&(iteration, 0.0)).0;
        for (iteration, what) in marks.iter().filter(|mark| Some(mark.0) <= last) {
            let x = x_of(*iteration);
            vertical_dashes(area, x, (down.start, down.end))?;
            let fits = x + 6 + text_width(what) < across.end;
            let (at, x) = if fits { (HPos::Left, x + 6) } else { (HPos::Right, x - 6) };
            write(area, what, &text_style(at), (x, down.start + 10))?;
        }
        tooltips = iteration_tooltips(&solves, curves, x_of, (down.start, down.end));
        Ok::<(), DrawError>(())
    });
    with_tooltips(&svg, &tooltips)
}

/// The residuals after each iteration, as tooltips over the width of the iteration.
fn iteration_tooltips(
    solves: &[&str],
    curves: &[Curve],
    x_of: impl Fn(usize) -> i32,
    (top, bottom): (i32, i32),
) -> Vec<Tooltip> {
    let mut iterations: Vec<usize> =
        curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    iterations.sort_unstable();
    iterations.dedup();
    let chosen: Vec<usize> = thinned(&iterations, MAX_TOOLTIPS).copied().collect();
    let middle = |k: usize, other: usize| (x_of(chosen[k]) + x_of(chosen[other])) / 2;
    let tooltip = |(k, &iteration): (usize, &usize)| {
        let left = if k == 0 { x_of(iteration) } else { middle(k - 1, k) };
        let right = if k + 1 < chosen.len() { middle(k, k + 1) } else { x_of(iteration) + 4 };
        let values = curves.iter().filter_map(|curve| {
            let at = curve.points.binary_search_by_key(&iteration, |point| point.0).ok()?;
            Some(format!("\n{}: {:.2e}", name(solves, curve), curve.points[at].1))
        });
        let text = format!("iteration {iteration}{}", values.collect::<String>());
        Tooltip { area: (left, top, (right - left).max(1), bottom - top), text }
    };
    chosen.iter().enumerate().map(tooltip).collect()
}

/// Whether a value can be shown on a logarithmic axis.
fn shown(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// The distinct labels, in order of appearance.
fn labels(curves: &[Curve]) -> Vec<&str> {
    curves.iter().fold(Vec::new(), |mut labels, curve| {
        if !labels.contains(&curve.label.as_str()) {
            labels.push(&curve.label);
        }
        labels
    })
}

/// The colour of a curve: one per solve, except that a single solve uses two for its two residuals.
fn colour(solves: &[&str], curve: &Curve) -> RGBColor {
    let solve = solves.iter().position(|label| *label == curve.label).unwrap_or(0);
    let second = solves.len() == 1 && curve.kind == CurveKind::True;
    COLOURS[(solve + usize::from(second)) % COLOURS.len()]
}

fn mark(solves: &[&str], curve: &Curve) -> Mark {
    match curve.kind {
        CurveKind::Recurrence => Mark::Line(colour(solves, curve)),
        CurveKind::True => Mark::Rings(colour(solves, curve)),
    }
}

fn name(solves: &[&str], curve: &Curve) -> String {
    let kind = match curve.kind {
        CurveKind::Recurrence => "updated",
        CurveKind::True => "true",
    };
    match (solves, curve.label.as_str()) {
        ([_], "") => format!("{kind} residual"),
        (_, label) => format!("{label}, {kind}"),
    }
}

/// An evenly spaced selection of at most `max + 1` points, which includes the last.
fn thinned<T>(points: &[T], max: usize) -> impl Iterator<Item = &T> {
    let step = points.len().div_ceil(max).max(1);
    let rest = points.last().filter(|_| points.len() % step != 1 && step > 1);
    points.iter().step_by(step).chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::{check, words};

    fn curve(label: &str, kind: CurveKind, values: &[f64]) -> Curve {
        Curve { label: label.to_owned(), points: values.iter().copied().enumerate().collect(), kind }
    }

    #[test]
    fn two_residuals_and_the_tolerance_are_distinguishable() {
        let values = [1.0, 1e-3, 1e-6, 1e-9];
        let curves = [CurveKind::Recurrence, CurveKind::True].map(|kind| curve("", kind, &values));
        let svg = convergence(&curves, Some(1e-8));
        check(&svg);
        let words = words(&svg);
        for word in ["updated residual", "true residual", "tolerance", "10⁻⁹", "iteration"] {
            assert!(words.iter().any(|text| text == word), "{word} in {words:?}");
        }
        assert_eq!(svg.matches("<circle").count(), 5); // one in the legend
        assert!(svg.contains("#0072B2") && svg.contains("#D55E00"));
        assert_eq!(svg, convergence(&curves, Some(1e-8)));
        let tooltip = "<title>iteration 2\nupdated residual: 1.00e-6\ntrue residual: 1.00e-6</title>";
        assert!(svg.contains(tooltip), "{svg}");
    }

    #[test]
    fn marks_stand_at_their_iteration_and_stay_inside() {
        let values: Vec<f64> = (0..21).map(|k| 0.5_f64.powi(k)).collect();
        let curves = [curve("", CurveKind::Recurrence, &values)];
        for iteration in [0, 10, 20, 99] {
            let svg = convergence_with_marks(&curves, None, &[(iteration, "precision raised".to_owned())]);
            check(&svg);
            assert_eq!(words(&svg).contains(&"precision raised".to_owned()), iteration <= 20);
        }
        let marks = |iteration| {
            let svg = convergence_with_marks(&curves, None, &[(iteration, "here".to_owned())]);
            let document = roxmltree::Document::parse(&svg).unwrap();
            let text =
                document.descendants().find(|node| node.text().is_some_and(|text| text.trim() == "here"));
            text.unwrap().attribute("x").unwrap().parse::<i32>().unwrap()
        };
        assert!(marks(5) < marks(10), "later iterations are further right");
    }

    #[test]
    fn values_without_a_logarithm_leave_a_gap() {
        let odd = [1.0, 0.5, 0.0, f64::NAN, 0.1, f64::INFINITY, -1.0, 1e-310, 1e300];
        check(&convergence(&[curve("a", CurveKind::Recurrence, &odd)], Some(f64::NAN)));
        check(&convergence(&[curve("a", CurveKind::True, &[0.0, f64::NAN])], Some(0.0)));
        check(&convergence(&[], None));
        check(&convergence(&[curve("a", CurveKind::True, &[])], Some(1e-8)));
        check(&convergence(&[curve("a", CurveKind::True, &[1.0])], None));
    }

    #[test]
    fn each_solve_has_its_own_colour() {
        let names = ["cg", "fcg", "gmres & <b>", "4", "5", "6", "7"];
        let curves: Vec<Curve> = names
            .iter()
            .flat_map(|name| {
                [CurveKind::Recurrence, CurveKind::True].map(|kind| curve(name, kind, &[1.0, 1e-4]))
            })
            .collect();
        let svg = convergence(&curves, Some(1e-8));
        check(&svg);
        assert!(words(&svg).contains(&"gmres & <b>, true".to_owned()));
        assert!(COLOURS.iter().all(|c| svg.contains(&format!("#{:02X}{:02X}{:02X}", c.0, c.1, c.2))));
    }

    #[test]
    fn long_histories_are_thinned_and_keep_their_last_point() {
        let values: Vec<f64> = (0..100_000).map(|k| 0.9998_f64.powi(k)).collect();
        let svg = convergence(&[curve("", CurveKind::True, &values)], None);
        check(&svg);
        assert!(svg.len() < 60_000, "{}", svg.len());
        for (length, max) in [(0, 5), (1, 5), (5, 5), (6, 5), (11, 5), (100, 7)] {
            let all: Vec<usize> = (0..length).collect();
            let some: Vec<usize> = thinned(&all, max).copied().collect();
            assert!(some.len() <= max + 1 && some.last() == all.last(), "{some:?}");
            assert!(some.is_sorted_by(|a, b| a < b), "{some:?}");
        }
    }
}
