//! Bars of times, one below the other, each with its duration and its percentage of the total.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::canvas::{
    DrawError, INK, Tooltip, faint_text_style, picture, text_style, text_width, with_tooltips, write,
};
use crate::figures::{percent, seconds};
use crate::palette::colour;

/// Width of the chart.
const WIDTH: i32 = 480;
/// Height of a line.
const LINE: i32 = 26;
/// Space right of the longest bar for its value.
const VALUE_WIDTH: i32 = 128;
/// Name of the solve stage, which is not part of setup.
pub(crate) const SOLVE: &str = "solve";

/// Draws the times of stages, from top to bottom. A stage named `solve` has a different colour than
/// the stages of setup.
///
/// ```
/// let stages = [("strength", 0.02), ("solve", 0.31)].map(|(name, seconds)| (name.to_owned(), seconds));
/// let svg = ziggurat_report::chart::stages(&stages);
/// assert!(svg.contains("strength") && svg.contains("0.31 s"));
/// ```
pub fn stages(stages: &[(String, f64)]) -> String {
    let meaning = |name: &String| if name == SOLVE { SOLVE } else { "setup" };
    let bars_of = stages.iter().map(|(name, seconds)| (name.clone(), *seconds, meaning(name).to_owned()));
    bars("time of each stage", &bars_of.collect::<Vec<_>>())
}

/// Draws bars: names, times in seconds, and what their colours mean in the
/// [palette](crate::palette_json).
///
/// ```
/// let levels = [("level 0".to_owned(), 0.002, "f16".to_owned()), ("level 1".to_owned(), 0.0004, "f64".to_owned())];
/// let svg = ziggurat_report::chart::bars("time of each level", &levels);
/// assert!(svg.contains("level 1") && svg.contains("2.0 ms") && svg.contains("#E69F00"));
/// ```
pub fn bars(title: &str, bars: &[(String, f64, String)]) -> String {
    let time = |seconds: f64| if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    let longest = bars.iter().map(|bar| time(bar.1)).fold(0.0, f64::max);
    let whole: f64 = bars.iter().map(|bar| time(bar.1)).sum();
    let names = bars.iter().map(|bar| text_width(&bar.0)).max().unwrap_or(0).clamp(40, WIDTH / 3) + 12;
    let height = (bars.len().max(1) as i32 * LINE + 8) as u32;
    let percent = |taken: f64| if whole > 0.0 { percent(taken / whole) } else { "none".to_owned() };
    let top = |k: usize| 4 + LINE * k as i32;
    let svg = picture((WIDTH as u32, height), title, |area| {
        if bars.is_empty() {
            write(area, "no times recorded", &text_style(HPos::Left), (8, height as i32 / 2))?;
        }
        for (k, (name, taken, meaning)) in bars.iter().enumerate() {
            let (y, taken) = (top(k) + LINE / 2, time(*taken));
            write(area, name, &text_style(HPos::Right), (names - 6, y))?;
            let part = if longest > 0.0 { taken / longest } else { 0.0 };
            let end = names + (part * f64::from(WIDTH - names - VALUE_WIDTH)).round() as i32;
            let bar = [(names, y - 8), (end.max(names + 1), y + 8)];
            area.draw(&Rectangle::new(bar, colour(meaning).filled()))?;
            let text = format!("{}  ({})", seconds(taken), percent(taken));
            write(area, &text, &faint_text_style(HPos::Left, 0.85), (end.max(names) + 7, y))?;
        }
        let axis = [(names, 2), (names, height as i32 - 2)];
        area.draw(&PathElement::new(axis, INK.mix(0.5)))?;
        Ok::<(), DrawError>(())
    });
    let tooltips = bars.iter().enumerate().map(|(k, (name, taken, _))| Tooltip {
        area: (0, top(k), WIDTH, LINE),
        text: format!("{name}: {}, {} of the total", seconds(time(*taken)), percent(time(*taken))),
    });
    with_tooltips(&svg, &tooltips.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use crate::chart::tests::{check, words};

    #[test]
    fn bar_lengths_are_proportional_to_times() {
        let names = [("diagnosis", 0.01), ("galerkin", 0.04), ("solve", 0.05)];
        let stages: Vec<_> = names.map(|(name, seconds)| (name.to_owned(), seconds)).into();
        let svg = super::stages(&stages);
        check(&svg);
        assert!(words(&svg).contains(&"40.0 ms  (40 %)".to_owned()), "{:?}", words(&svg));
        let document = roxmltree::Document::parse(&svg).unwrap();
        let bars =
            document.descendants().filter(|node| node.has_tag_name("rect") && node.has_attribute("class"));
        let widths: Vec<f64> = bars.map(|bar| bar.attribute("width").unwrap().parse().unwrap()).collect();
        assert!(widths.len() == 3 && (widths[1] / widths[2] - 0.8).abs() < 0.01, "{widths:?}");
        assert!(svg.contains("#009E73") && svg.contains("#0072B2"));
        assert!(svg.contains("<title>galerkin: 40.0 ms, 40 % of the total</title>"), "{svg}");
    }

    #[test]
    fn odd_times_are_drawn() {
        let odd = [0.0, f64::NAN, f64::INFINITY, -1.0, 1e9];
        let stages: Vec<_> =
            odd.iter().map(|&seconds| ("a & b, a very long name of a stage ".repeat(3), seconds)).collect();
        check(&super::stages(&stages));
        check(&super::stages(&stages[..2]));
        check(&super::stages(&[]));
    }
}
