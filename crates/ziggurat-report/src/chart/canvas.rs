//! The drawing area of all charts: an SVG written by plotters, with its own root element.
//!
//! plotters writes colours as RGB values. [`INK`] is a reserved value that is replaced by
//! `currentColor`. The other colours get a class, by which pages adapt them to a dark background.
//! Text widths are estimated from the number of characters, because the viewer's fonts are unknown.

use std::io;

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::palette::{CLASSES, hex};

/// Placeholder for the colour of the surrounding text, used for lines and text.
pub(super) const INK: RGBColor = RGBColor(1, 2, 3);

/// Font size, in units of the chart.
const FONT_SIZE: f64 = 13.0;
/// Ratio of the font size given to plotters to the one it writes.
const PLOTTERS_FONT_SCALE: f64 = 1.24;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// plotters' error type. It does not occur here, because writing to a string cannot fail.
pub(super) type DrawError = DrawingAreaErrorKind<io::Error>;

/// Draws an SVG of the given size. Screen readers announce `title`.
pub(super) fn picture(
    size: (u32, u32),
    title: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> String {
    let mut drawn = String::new();
    let result = {
        let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        draw(&area).and_then(|()| area.present())
    };
    let inside = drawn.split_once('>').map_or("", |(_, inside)| inside);
    let inside = inside.strip_suffix("</svg>\n").unwrap_or(inside);
    let inside = match result {
        Ok(()) => inside.replace(r##""#010203""##, "\"currentColor\""),
        Err(error) => format!("<text y=\"20\">{}</text>", escaped(&error.to_string())),
    };
    let mut inside = inside.replace(" font-family=\"sans-serif\"", "").replace(" opacity=\"1\"", "");
    for (colour, class) in CLASSES {
        let hex = hex(colour);
        inside = inside.replace(&format!("fill=\"{hex}\""), &format!("class=\"{class}\" fill=\"{hex}\""));
        let line = format!("class=\"{class}-line\" stroke=\"{hex}\"");
        inside = inside.replace(&format!("stroke=\"{hex}\""), &line);
    }
    root(size, title, &inside)
}

/// An SVG with this content. Screen readers announce `title`.
pub(super) fn root((width, height): (u32, u32), title: &str, inside: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"{SANS_SERIF}\" style=\"max-width:100%;height:auto\">\n<title>{}</title>{inside}</svg>\n",
        escaped(title)
    )
}

/// Common fonts, with the system's own first.
const SANS_SERIF: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/// Escapes untrusted text for HTML and XML and replaces characters that XML forbids.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            character if character.is_control() => safe.push('\u{fffd}'),
            character => safe.push(character),
        }
    }
    safe
}

/// Text style with the given horizontal anchor, vertically centred.
pub(super) fn text_style(at: HPos) -> TextStyle<'static> {
    faint_text_style(at, 1.0)
}

/// The same, with an opacity.
pub(super) fn faint_text_style(at: HPos, opacity: f64) -> TextStyle<'static> {
    let font = ("sans-serif", FONT_SIZE * PLOTTERS_FONT_SCALE).into_font();
    let color = INK.mix(opacity).to_backend_color();
    TextStyle { font, color, pos: Pos::new(at, VPos::Center) }
}

/// Estimates the width of a text.
pub(super) fn text_width(text: &str) -> i32 {
    (text.chars().count() as f64 * 0.56 * FONT_SIZE).ceil() as i32
}

/// Draws text that may be untrusted. plotters escapes markup, but not characters that XML forbids.
pub(super) fn write(
    area: &Area<'_>,
    text: &str,
    style: &TextStyle<'_>,
    at: (i32, i32),
) -> Result<(), DrawError> {
    let allowed =
        |c: char| if c.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&c) { '\u{fffd}' } else { c };
    area.draw_text(&text.chars().map(allowed).collect::<String>(), style, at)
}

/// An invisible area of a chart that shows a text when pointed at. It is added to a finished SVG,
/// because plotters has no tooltips.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tooltip {
    /// Left edge, top edge, width and height.
    pub(super) area: (i32, i32, i32, i32),
    pub(super) text: String,
}

/// Adds tooltips to an SVG.
pub(super) fn with_tooltips(svg: &str, tooltips: &[Tooltip]) -> String {
    let areas = tooltips.iter().map(|Tooltip { area: (x, y, width, height), text }| {
        format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill-opacity=\"0\"><title>{}</title></rect>\n",
            escaped(text)
        )
    });
    svg.replace("</svg>", &(areas.collect::<String>() + "</svg>"))
}

/// Symbol of a legend entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mark {
    Line(RGBColor),
    Rings(RGBColor),
    Dashes,
    Square(RGBColor),
}

/// Height of a legend line.
const LEGEND_LINE: i32 = 22;
/// Width of a legend symbol.
const MARK: i32 = 24;

/// Lays out legend entries within a width: the corner of each entry, and the total height.
fn legend_layout(entries: &[(Mark, String)], across: i32) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (0, 0);
    let corners = entries.iter().map(|(_, label)| {
        let needed = MARK + 8 + text_width(label) + 14;
        if x > 0 && x + needed > across {
            (x, y) = (0, y + LEGEND_LINE);
        }
        let corner = (x, y);
        x += needed;
        corner
    });
    let corners = corners.collect();
    (corners, if entries.is_empty() { 0 } else { y + LEGEND_LINE })
}

/// The height of the [`legend`].
pub(super) fn legend_height(entries: &[(Mark, String)], across: i32) -> i32 {
    legend_layout(entries, across).1
}

/// Draws the legend with its top left corner at the given point.
pub(super) fn legend(
    area: &Area<'_>,
    entries: &[(Mark, String)],
    (left, top): (i32, i32),
    across: i32,
) -> Result<(), DrawError> {
    for ((mark, label), (x, y)) in entries.iter().zip(legend_layout(entries, across).0) {
        let (x, y) = (left + x, top + y + LEGEND_LINE / 2);
        let middle = x + MARK / 2;
        match *mark {
            Mark::Line(colour) => {
                area.draw(&PathElement::new([(x, y), (x + MARK, y)], colour.stroke_width(2)))?;
            }
            Mark::Rings(colour) => {
                area.draw(&Circle::new((middle, y), 4, colour.stroke_width(2)))?;
            }
            Mark::Dashes => dashed_line(area, (x, x + MARK), y)?,
            Mark::Square(colour) => {
                area.draw(&Rectangle::new([(middle - 2, y - 6), (middle + 10, y + 6)], colour.filled()))?;
            }
        }
        write(area, label, &text_style(HPos::Left), (x + MARK + 8, y))?;
    }
    Ok(())
}

/// Draws a vertical dashed line.
pub(super) fn vertical_dashes(area: &Area<'_>, x: i32, (from, to): (i32, i32)) -> Result<(), DrawError> {
    for y in (from..to).step_by(9) {
        let dash = [(x, y), (x, (y + 5).min(to))];
        area.draw(&PathElement::new(dash, INK.mix(0.7).stroke_width(1)))?;
    }
    Ok(())
}

/// Draws a horizontal dashed line.
pub(super) fn dashed_line(area: &Area<'_>, (from, to): (i32, i32), y: i32) -> Result<(), DrawError> {
    for x in (from..to).step_by(9) {
        let dash = [(x, y), ((x + 5).min(to), y)];
        area.draw(&PathElement::new(dash, INK.mix(0.7).stroke_width(1)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::{check, words};
    use crate::palette::BLUE;

    #[test]
    fn untrusted_text_is_escaped() {
        let hostile = "</text><script>\u{0}\u{1b}\u{ffff}&\"'";
        let svg = picture((100, 50), hostile, |area| write(area, hostile, &text_style(HPos::Left), (5, 20)));
        check(&svg);
        assert!(!svg.contains("<script>"));
        assert_eq!(words(&svg), ["</text><script>\u{fffd}\u{fffd}\u{fffd}&\"'"]);
    }

    #[test]
    fn ink_becomes_the_current_colour() {
        let svg = picture((100, 50), "t", |area| area.draw(&PathElement::new([(1, 1), (9, 9)], INK)));
        assert!(svg.contains("currentColor") && !svg.contains("#010203"), "{svg}");
    }

    #[test]
    fn a_legend_wraps_to_its_width() {
        let entries: Vec<_> = (0..6).map(|k| (Mark::Square(BLUE), format!("solve {k}"))).collect();
        assert_eq!(legend_height(&entries, 2000), LEGEND_LINE);
        assert_eq!(legend_height(&entries, 10), 6 * LEGEND_LINE);
        assert_eq!(legend_height(&[], 10), 0);
    }
}
