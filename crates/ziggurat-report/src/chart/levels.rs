//! The levels: rows, entries, bytes and the time in a cycle.
//!
//! There is one line per level, finest first, and a column of bars per quantity. Level sizes shrink
//! geometrically, so they are on a logarithmic scale; times add up, so they are on a linear one.
//! Colours show the storage precision of a level.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::canvas::{
    Area, DrawError, INK, Mark, faint_text_style, legend, legend_height, picture, text_style, write,
};
use crate::figures::{bytes, grouped, seconds};
use crate::level::Level;
use crate::palette::colour;

/// Width of the chart.
const WIDTH: i32 = 640;
/// Height of a level.
const LINE: i32 = 24;
/// Height of the column headings.
const HEAD: i32 = 28;
/// Space left of the columns for the level numbers.
const LEFT: i32 = 28;
/// Space right of the longest bar for its value.
const VALUE_WIDTH: i32 = 72;

/// The distinct storage precisions, in the order of the levels.
fn precisions(levels: &[Level]) -> Vec<&str> {
    levels.iter().fold(Vec::new(), |mut found, level| {
        if !found.contains(&level.storage.as_str()) {
            found.push(&level.storage);
        }
        found
    })
}

/// A quantity with a value for each level.
struct Column {
    name: &'static str,
    values: Vec<f64>,
    texts: Vec<String>,
    logarithmic: bool,
}

/// Draws the rows, entries and bytes of the levels, and their times in a cycle where known.
///
/// ```
/// use ziggurat_report::{Level, chart};
/// let level = |rows, storage: &str| Level { rows, storage: storage.to_owned(), ..Level::default() };
/// let svg = chart::levels(&[level(8000, "f64"), level(800, "f16")]);
/// assert!(svg.contains("8,000") && svg.contains("f16"));
/// ```
pub fn levels(levels: &[Level]) -> String {
    let entries: Vec<_> = precisions(levels)
        .into_iter()
        .map(|name| (Mark::Square(colour(name)), format!("stored in {name}")))
        .collect();
    let above = legend_height(&entries, WIDTH - LEFT);
    let height = above + HEAD + levels.len() as i32 * LINE + 8;
    picture((WIDTH as u32, height as u32), "size of each level", |area| {
        legend(area, &entries, (LEFT - 10, 0), WIDTH - LEFT)?;
        let top = above + HEAD;
        for k in 0..levels.len() {
            write(area, &k.to_string(), &text_style(HPos::Right), (LEFT - 8, middle(top, k)))?;
        }
        let columns = columns(levels);
        let column_width = (WIDTH - LEFT) / columns.len() as i32;
        for (k, column) in columns.iter().enumerate() {
            let left = LEFT + column_width * k as i32;
            write(area, column.name, &text_style(HPos::Left), (left, above + HEAD / 2))?;
            draw_column(area, column, levels, (left, top), column_width - VALUE_WIDTH)?;
        }
        Ok(())
    })
}

/// The vertical centre of a level's line.
fn middle(top: i32, level: usize) -> i32 {
    top + LINE * level as i32 + LINE / 2
}

fn columns(levels: &[Level]) -> Vec<Column> {
    let of = |name, value: fn(&Level) -> f64, text: fn(&Level) -> String| Column {
        name,
        values: levels.iter().map(value).collect(),
        texts: levels.iter().map(text).collect(),
        logarithmic: true,
    };
    let mut columns = vec![
        of("rows", |level| level.rows as f64, |level| grouped(level.rows)),
        of("entries", |level| level.nnz as f64, |level| grouped(level.nnz)),
        of("memory", |level| level.bytes as f64, |level| bytes(level.bytes)),
    ];
    let time = |level: &Level| level.cycle_seconds.filter(|time| time.is_finite() && *time >= 0.0);
    if levels.iter().any(|level| time(level).is_some()) {
        columns.push(Column {
            name: "time per cycle",
            values: levels.iter().map(|level| time(level).unwrap_or(0.0)).collect(),
            texts: levels.iter().map(|level| time(level).map_or("–".to_owned(), seconds)).collect(),
            logarithmic: false,
        });
    }
    columns
}

/// Draws the bars of a quantity; the longest is `longest` units long.
fn draw_column(
    area: &Area<'_>,
    column: &Column,
    levels: &[Level],
    (left, top): (i32, i32),
    longest: i32,
) -> Result<(), DrawError> {
    let most = column.values.iter().copied().fold(0.0, f64::max);
    let least = column.values.iter().copied().filter(|&value| value > 0.0).fold(most, f64::min);
    // Start at a power of ten below the least value, so that the shortest bar is visible.
    let base = (least.max(1.0).log10() - 0.2).floor();
    let length = |value: f64| match column.logarithmic {
        _ if value <= 0.0 || most <= 0.0 => 0,
        true => ((value.log10() - base) / (most.log10() - base) * f64::from(longest)).round() as i32,
        false => (value / most * f64::from(longest)).round() as i32,
    };
    let bottom = top + LINE * column.values.len() as i32;
    for (k, (value, text)) in column.values.iter().zip(&column.texts).enumerate() {
        let (y, end) = (middle(top, k), left + length(*value).clamp(0, longest).max(1));
        let colour = colour(&levels[k].storage);
        area.draw(&Rectangle::new([(left, y - 8), (end, y + 8)], colour.filled()))?;
        write(area, text, &faint_text_style(HPos::Left, 0.85), (end + 5, y))?;
    }
    area.draw(&PathElement::new([(left, top), (left, bottom)], INK.mix(0.5)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::{check, words};

    fn level(rows: usize, storage: &str, cycle_seconds: Option<f64>) -> Level {
        let (nnz, bytes, storage) = (7 * rows, 84 * rows as u64, storage.to_owned());
        Level { rows, nnz, bytes, storage, cycle_seconds, ..Level::default() }
    }

    #[test]
    fn every_level_has_its_values_and_its_colour() {
        let found = [level(8_000_000, "f64", None), level(1000, "f16", None), level(10, "bf16", None)];
        let svg = levels(&found);
        check(&svg);
        let words = words(&svg);
        for word in ["8,000,000", "stored in bf16", "641 MiB", "entries", "2"] {
            assert!(words.iter().any(|found| found == word), "{word} in {words:?}");
        }
        assert!(!words.contains(&"time per cycle".to_owned()));
        for colour in ["#0072B2", "#E69F00", "#009E73"] {
            assert_eq!(svg.matches(colour).count(), 4, "{colour}"); // three bars and the legend
        }
        assert_eq!(svg, levels(&found));
    }

    #[test]
    fn known_times_are_shown() {
        let svg = levels(&[level(4000, "f32", Some(2e-3)), level(500, "f32", None)]);
        check(&svg);
        let words = words(&svg);
        assert!(words.contains(&"2.0 ms".to_owned()) && words.contains(&"–".to_owned()), "{words:?}");
    }

    #[test]
    fn degenerate_levels_are_drawn() {
        check(&levels(&[]));
        check(&levels(&[level(0, "", Some(f64::NAN))]));
        check(&levels(&[level(1, "f8 & <more>", Some(0.0)), level(usize::MAX / 100, "f64", Some(1e9))]));
    }
}
