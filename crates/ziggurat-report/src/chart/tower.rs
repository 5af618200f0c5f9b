//! The hierarchy as a stepped pyramid: one step per level, the finest at the bottom.
//!
//! The width of a step is log(1 + rows) relative to the finest level, its colour the storage
//! precision of the level. The coarsest level, which is solved directly, has a door.

use plotters::style::RGBColor;

use super::canvas::{escaped, root};
use crate::figures::{bytes, counted, seconds};
use crate::level::Level;
use crate::palette::{BLUE, CLASSES, colour, hex};

/// Width of the chart.
const WIDTH: f64 = 460.0;
/// Horizontal centre of the pyramid, and half the width of its base.
const CENTRE: f64 = 160.0;
const HALF: f64 = 156.0;
/// Left edge of the labels.
const LABELS: f64 = 332.0;
/// Height of a step: as high as this if there are few, and never lower than a line of text.
const HIGHEST: f64 = 60.0;
const LOWEST: f64 = 26.0;
/// Height of all steps, if they are neither highest nor lowest.
const HEIGHT: f64 = 280.0;
/// Horizontal distance between the foot of a wall and its top.
const BATTER: f64 = 4.0;
/// Space above and below the pyramid.
const MARGIN: f64 = 12.0;
/// Space below the ground for the legend.
const LEGEND: f64 = 30.0;

/// Draws the levels as a stepped pyramid, labelled by rows and bytes. Each step has a tooltip with
/// everything that is known about its level.
///
/// ```
/// use ziggurat_report::{Level, chart};
/// let level = |rows, storage: &str| Level { rows, storage: storage.to_owned(), ..Level::default() };
/// let svg = chart::tower(&[level(8000, "f16"), level(800, "f64")]);
/// assert!(svg.contains("8,000 rows") && svg.contains("f16"));
/// ```
pub fn tower(levels: &[Level]) -> String {
    let count = levels.len().max(1) as f64;
    let step = (HEIGHT / count).clamp(LOWEST, HIGHEST).round();
    let ground = MARGIN + step * count;
    let mut drawn = String::new();
    let half =
        |level: &Level| HALF * (1.0 + level.rows as f64).ln() / (1.0 + most_rows(levels)).ln().max(1.0);
    for (k, level) in levels.iter().enumerate() {
        let foot = ground - step * k as f64;
        drawn += &draw_step(level, k, half(level).clamp(24.0, HALF), foot, step);
    }
    if levels.len() > 1 {
        drawn += &stairs(ground, step, levels.len() - 1);
    }
    if let Some(coarsest) = levels.last() {
        drawn += &door(coarsest, ground - step * (count - 1.0), step);
    }
    drawn += &format!(
        "<path d=\"M0 {ground}H{:.0}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" opacity=\"0.55\"/>\n",
        CENTRE + HALF + 4.0
    );
    drawn += &legend(levels, ground + LEGEND / 2.0 + 4.0);
    let size = (WIDTH as u32, (ground + LEGEND).ceil() as u32);
    root(size, "the levels of the hierarchy, the finest at the bottom", &drawn)
}

fn most_rows(levels: &[Level]) -> f64 {
    levels.iter().map(|level| level.rows).max().unwrap_or(0) as f64
}

/// The CSS class of a colour.
fn class(colour: RGBColor) -> &'static str {
    CLASSES.iter().find(|(known, _)| *known == colour).map_or("", |(_, class)| class)
}

/// A step with its label and its tooltip.
fn draw_step(level: &Level, index: usize, half: f64, foot: f64, step: f64) -> String {
    let colour = colour(&level.storage);
    let (top, middle) = (foot - step + 1.5, foot - step / 2.0 + 0.5);
    let (left, right) = (CENTRE - half, CENTRE + half);
    let (inner_left, inner_right) = (left + BATTER, right - BATTER);
    let ink = if colour == BLUE { "#ffffff" } else { "#101418" };
    let storage = if level.storage.is_empty() { "?" } else { &level.storage };
    let label_y = middle + 4.5;
    let wide = step >= 40.0;
    // High steps have two lines of text, low ones have one.
    let label = if wide {
        format!(
            "<text fill=\"currentColor\" x=\"{LABELS}\" y=\"{:.1}\" font-size=\"14\" font-weight=\"600\">{}</text>\
             <text fill=\"currentColor\" x=\"{LABELS}\" y=\"{:.1}\" font-size=\"12.5\" opacity=\"0.75\">{}</text>",
            label_y - 8.0,
            counted(level.rows, "row"),
            label_y + 9.0,
            bytes(level.bytes + level.transfer_bytes + level.smoother_bytes),
        )
    } else {
        format!(
            "<text fill=\"currentColor\" x=\"{LABELS}\" y=\"{label_y:.1}\" font-size=\"12.5\">{} · {}</text>",
            counted(level.rows, "row"),
            bytes(level.bytes + level.transfer_bytes + level.smoother_bytes),
        )
    };
    format!(
        "<g><title>{}</title><rect x=\"0\" y=\"{:.1}\" width=\"{WIDTH}\" height=\"{step}\" fill-opacity=\"0\"/>\
         <path class=\"{}\" d=\"M{left:.1} {foot:.1}L{inner_left:.1} {top:.1}H{inner_right:.1}L{right:.1} {foot:.1}Z\" fill=\"{}\"/>\
         <path d=\"M{inner_left:.1} {top:.1}H{inner_right:.1}\" fill=\"none\" stroke=\"#ffffff\" stroke-width=\"3\" opacity=\"0.35\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"12.5\" font-weight=\"600\" fill=\"{ink}\">{}</text>\
         <path d=\"M{:.1} {middle:.1}H{:.1}\" fill=\"none\" stroke=\"currentColor\" stroke-dasharray=\"1 4\" opacity=\"0.45\"/>{label}</g>\n",
        escaped(&tooltip(level, index)),
        foot - step,
        class(colour),
        hex(colour),
        inner_left + 8.0,
        middle + 4.5,
        escaped(storage),
        right + 4.0,
        LABELS - 6.0,
    )
}

/// Everything that is known about a level.
fn tooltip(level: &Level, index: usize) -> String {
    let mut lines = vec![
        format!("level {index}"),
        format!("{}, {}", counted(level.rows, "row"), counted(level.nnz, "entry")),
        match level.smoother_bytes {
            0 => format!("matrix {}, transfer {}", bytes(level.bytes), bytes(level.transfer_bytes)),
            smoother => format!(
                "matrix {}, transfer {}, smoother {}",
                bytes(level.bytes),
                bytes(level.transfer_bytes),
                bytes(smoother)
            ),
        },
        format!("stored in {}, computed in {}, format {}", level.storage, level.working, level.format),
    ];
    lines.extend(level.setup_seconds.map(|time| format!("setup of the next level {}", seconds(time))));
    lines.extend(level.cycle_seconds.map(|time| format!("{} per cycle", seconds(time))));
    lines.join("\n")
}

/// The stairs in the middle, from the ground to the foot of the coarsest level.
fn stairs(ground: f64, step: f64, steps: usize) -> String {
    let top = ground - step * steps as f64;
    let (wide, narrow) = (17.0, 9.0);
    let mut path = String::new();
    let mut y = ground - 4.0;
    while y > top + 1.0 {
        let half = narrow + (wide - narrow) * (y - top) / (ground - top);
        path += &format!("M{:.1} {y:.1}H{:.1}", CENTRE - half, CENTRE + half);
        y -= 4.0;
    }
    format!(
        "<g pointer-events=\"none\"><path d=\"M{:.1} {ground:.1}L{:.1} {top:.1}H{:.1}L{:.1} {ground:.1}Z\" fill=\"#101418\" opacity=\"0.28\"/>\
         <path d=\"{path}\" fill=\"none\" stroke=\"#ffffff\" opacity=\"0.55\"/></g>\n",
        CENTRE - wide,
        CENTRE - narrow,
        CENTRE + narrow,
        CENTRE + wide,
    )
}

/// The door of the coarsest level.
fn door(coarsest: &Level, foot: f64, step: f64) -> String {
    let top = foot - step * 0.62;
    let what = format!("the coarsest level: {}, {}", counted(coarsest.rows, "row"), coarsest.format);
    format!(
        "<path d=\"M{:.1} {foot:.1}V{:.1}A7 7 0 0 1 {:.1} {:.1}V{foot:.1}Z\" fill=\"#101418\" opacity=\"0.6\"><title>{}</title></path>\n",
        CENTRE - 7.0,
        top + 7.0,
        CENTRE + 7.0,
        top + 7.0,
        escaped(&what),
    )
}

/// The storage precisions with their colours, and what the width means.
fn legend(levels: &[Level], y: f64) -> String {
    let mut x = 4.0;
    let mut drawn = String::new();
    let mut known: Vec<&str> = Vec::new();
    for level in levels {
        let name = level.storage.as_str();
        if known.contains(&name) {
            continue;
        }
        known.push(name);
        let colour = colour(name);
        drawn += &format!(
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"11\" height=\"11\" rx=\"2\" fill=\"{}\"/>\
             <text fill=\"currentColor\" x=\"{:.1}\" y=\"{y:.1}\" font-size=\"12.5\">stored in {}</text>\n",
            class(colour),
            y - 10.0,
            hex(colour),
            x + 17.0,
            escaped(name),
        );
        x += 40.0 + 6.6 * (10 + name.chars().count()) as f64;
        if x > LABELS - 100.0 {
            break; // more precisions than fit: the steps are labelled anyway
        }
    }
    drawn
        + &format!(
            "<text fill=\"currentColor\" x=\"{LABELS}\" y=\"{y:.1}\" font-size=\"12.5\" opacity=\"0.75\">width: log of rows</text>\n"
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::{check, words};

    fn level(rows: usize, storage: &str) -> Level {
        let (nnz, bytes, storage) = (7 * rows, 84 * rows as u64, storage.to_owned());
        Level { rows, nnz, bytes, storage, ..Level::default() }
    }

    /// The widths of the steps, the finest first.
    fn widths(svg: &str) -> Vec<f64> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let steps = document.descendants().filter(|node| node.has_tag_name("g"));
        let paths = steps.filter_map(|step| step.children().find(|child| child.attribute("class").is_some()));
        let width = |path: roxmltree::Node<'_, '_>| {
            let shape = path.attribute("d").unwrap().to_owned();
            let left: f64 = shape[1..].split(' ').next().unwrap().parse().unwrap();
            2.0 * (CENTRE - left)
        };
        paths.map(width).collect()
    }

    #[test]
    fn steps_are_as_wide_as_the_logarithm_of_their_rows() {
        let svg = tower(&[level(999_999, "f16"), level(9_999, "f16"), level(99, "f64")]);
        check(&svg);
        let widths = widths(&svg);
        assert!((widths[0] - 2.0 * HALF).abs() < 0.2, "{widths:?}");
        assert!((widths[1] / widths[0] - 4.0 / 6.0).abs() < 0.01, "{widths:?}");
        assert!((widths[2] / widths[0] - 2.0 / 6.0).abs() < 0.01, "{widths:?}");
        assert_eq!(svg.matches("#E69F00").count(), 3, "two steps and the legend");
        assert!(svg.contains("<title>level 1\n9,999 rows, 69,993 entries\n"), "{svg}");
        let words = words(&svg);
        for word in ["999,999 rows", "80.1 MiB", "stored in f64", "f16"] {
            assert!(words.iter().any(|found| found == word), "{word} in {words:?}");
        }
    }

    #[test]
    fn any_number_of_levels_is_drawn() {
        check(&tower(&[]));
        check(&tower(&[level(0, "")]));
        check(&tower(&[level(1, "f8 & <more>"), level(usize::MAX / 100, "f64")]));
        let many: Vec<Level> = (0..100).map(|k| level(1 << (40 - k.min(39)), "f32")).collect();
        check(&tower(&many));
    }
}
