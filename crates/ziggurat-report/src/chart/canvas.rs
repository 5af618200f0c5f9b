//! What all pictures are drawn on: an SVG of plotters, with a head of our own.
//!
//! plotters writes colours as numbers. [`INK`] is one that nobody else uses; it becomes `currentColor`. Widths of words are guessed from the
//! number of letters, because the fonts of whoever looks are not here.

use std::io;

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Lines and letters: stands for the colour of the text around the picture.
pub(super) const INK: RGBColor = RGBColor(1, 2, 3);

pub(super) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(super) const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
pub(super) const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
pub(super) const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
pub(super) const SKY: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
pub(super) const PURPLE: RGBColor = RGBColor(0xcc, 0x79, 0xa7);

/// Height of letters, in units of the picture.
const LETTERS: f64 = 13.0;
/// plotters' sizes are this much larger than those that it writes.
const PLOTTERS: f64 = 1.24;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Strings take everything, so there is none; but plotters' types have it.
pub(super) type Fault = DrawingAreaErrorKind<io::Error>;

/// A picture of this size; `title` is what it is called by programs that read it out.
pub(super) fn picture(
    size: (u32, u32),
    title: &str,
    paint: impl FnOnce(&Area<'_>) -> Result<(), Fault>,
) -> String {
    let mut drawn = String::new();
    let painted = {
        let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        paint(&area).and_then(|()| area.present())
    };
    let inside = drawn.split_once('>').map_or("", |(_, inside)| inside);
    let inside = inside.strip_suffix("</svg>\n").unwrap_or(inside);
    let inside = match painted {
        Ok(()) => inside.replace(r##""#010203""##, "\"currentColor\""),
        Err(error) => format!("<text y=\"20\">{}</text>", escaped(&error.to_string())),
    };
    let inside = inside.replace(" font-family=\"sans-serif\"", "").replace(" opacity=\"1\"", "");
    let (width, height) = size;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"{SANS_SERIF}\" style=\"max-width:100%;height:auto\">\n<title>{}</title>{inside}</svg>\n",
        escaped(title)
    )
}

/// What most systems have, the system's own first.
const SANS_SERIF: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/// Text from outside, fit for HTML and XML: no markup, and none of the characters that XML forbids.
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

/// Letters to the right of a point, to its left or on both sides of it, their middle at its height.
pub(super) fn letters(at: HPos) -> TextStyle<'static> {
    faint_letters(at, 1.0)
}

/// The same, less black.
pub(super) fn faint_letters(at: HPos, opacity: f64) -> TextStyle<'static> {
    let font = ("sans-serif", LETTERS * PLOTTERS).into_font();
    let color = INK.mix(opacity).to_backend_color();
    TextStyle { font, color, pos: Pos::new(at, VPos::Center) }
}

/// How wide a word is, about.
pub(super) fn width(word: &str) -> i32 {
    (word.chars().count() as f64 * 0.56 * LETTERS).ceil() as i32
}

/// Writes words that may come from outside: plotters escapes markup, but not what XML forbids.
pub(super) fn write(
    area: &Area<'_>,
    words: &str,
    style: &TextStyle<'_>,
    at: (i32, i32),
) -> Result<(), Fault> {
    let allowed =
        |c: char| if c.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&c) { '\u{fffd}' } else { c };
    area.draw_text(&words.chars().map(allowed).collect::<String>(), style, at)
}

/// How a thing of the legend looks in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mark {
    Line(RGBColor),
    Rings(RGBColor),
    Dashes,
    Square(RGBColor),
}

/// Height of a line of a legend.
const LEGEND_LINE: i32 = 22;
/// Width of its marks.
const MARK: i32 = 24;

/// Where the parts of a legend go within this width: their corners, and the height of it all.
fn arranged(words: &[(Mark, String)], across: i32) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (0, 0);
    let corners = words.iter().map(|(_, word)| {
        let needs = MARK + 8 + width(word) + 14;
        if x > 0 && x + needs > across {
            (x, y) = (0, y + LEGEND_LINE);
        }
        let corner = (x, y);
        x += needs;
        corner
    });
    let corners = corners.collect();
    (corners, if words.is_empty() { 0 } else { y + LEGEND_LINE })
}

/// The height that [`legend`] takes.
pub(super) fn legend_height(words: &[(Mark, String)], across: i32) -> i32 {
    arranged(words, across).1
}

/// Says what is what, from this corner on.
pub(super) fn legend(
    area: &Area<'_>,
    words: &[(Mark, String)],
    (left, top): (i32, i32),
    across: i32,
) -> Result<(), Fault> {
    for ((mark, word), (x, y)) in words.iter().zip(arranged(words, across).0) {
        let (x, y) = (left + x, top + y + LEGEND_LINE / 2);
        let middle = x + MARK / 2;
        match *mark {
            Mark::Line(colour) => {
                area.draw(&PathElement::new([(x, y), (x + MARK, y)], colour.stroke_width(2)))?;
            }
            Mark::Rings(colour) => {
                area.draw(&Circle::new((middle, y), 4, colour.stroke_width(2)))?;
            }
            Mark::Dashes => dashes(area, (x, x + MARK), y)?,
            Mark::Square(colour) => {
                area.draw(&Rectangle::new([(middle - 2, y - 6), (middle + 10, y + 6)], colour.filled()))?;
            }
        }
        write(area, word, &letters(HPos::Left), (x + MARK + 8, y))?;
    }
    Ok(())
}

/// A dashed line across.
pub(super) fn dashes(area: &Area<'_>, (from, to): (i32, i32), y: i32) -> Result<(), Fault> {
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

    #[test]
    fn hostile_words_stay_words() {
        let hostile = "</text><script>\u{0}\u{1b}\u{ffff}&\"'";
        let svg = picture((100, 50), hostile, |area| write(area, hostile, &letters(HPos::Left), (5, 20)));
        check(&svg);
        assert!(!svg.contains("<script>"));
        assert_eq!(words(&svg), ["</text><script>\u{fffd}\u{fffd}\u{fffd}&\"'"]);
    }

    #[test]
    fn the_ink_is_that_of_the_page() {
        let svg = picture((100, 50), "t", |area| area.draw(&PathElement::new([(1, 1), (9, 9)], INK)));
        assert!(svg.contains("currentColor") && !svg.contains("#010203"), "{svg}");
    }

    #[test]
    fn a_legend_has_as_many_lines_as_it_needs() {
        let words: Vec<_> = (0..6).map(|k| (Mark::Square(BLUE), format!("solve {k}"))).collect();
        assert_eq!(legend_height(&words, 2000), LEGEND_LINE);
        assert_eq!(legend_height(&words, 10), 6 * LEGEND_LINE);
        assert_eq!(legend_height(&[], 10), 0);
    }
}
