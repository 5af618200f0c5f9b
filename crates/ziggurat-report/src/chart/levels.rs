//! The levels: how many rows, entries and bytes each has, and how long it takes in a cycle.
//!
//! A line for each level, finest first, and a column of bars for each quantity. Levels become smaller by factors, so counts are on a
//! logarithmic scale; times add up, so they are not. Colours tell the number that a level is stored in.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::canvas::{
    Area, BLUE, Fault, GREEN, INK, Mark, ORANGE, PURPLE, SKY, faint_letters, legend, legend_height, letters,
    picture, write,
};
use crate::figures::{bytes, grouped, seconds};
use crate::level::Level;

/// The width of the picture.
const WIDTH: i32 = 640;
/// The height of a level.
const LINE: i32 = 24;
/// The height of the words above columns.
const HEAD: i32 = 28;
/// Left of the columns, for the numbers of levels.
const LEFT: i32 = 28;
/// Right of the longest bar, for its number.
const BEHIND: i32 = 72;

/// The colour of levels that are stored in this number.
pub(crate) fn precision_colour(storage: &str) -> RGBColor {
    match storage {
        "f64" => BLUE,
        "f32" => SKY,
        "f16" => ORANGE,
        "bf16" => GREEN,
        _ => PURPLE,
    }
}

/// What levels are stored in, each once, in the order of levels.
fn precisions(levels: &[Level]) -> Vec<&str> {
    levels.iter().fold(Vec::new(), |mut found, level| {
        if !found.contains(&level.storage.as_str()) {
            found.push(&level.storage);
        }
        found
    })
}

/// A quantity that every level has.
struct Column {
    name: &'static str,
    values: Vec<f64>,
    words: Vec<String>,
    logarithmic: bool,
}

/// Draws rows, entries and bytes of levels, and the time of each in a cycle where it is known.
///
/// ```
/// use ziggurat_report::{Level, chart};
/// let level = |rows, storage: &str| Level { rows, storage: storage.to_owned(), ..Level::default() };
/// let svg = chart::levels(&[level(8000, "f64"), level(800, "f16")]);
/// assert!(svg.contains("8,000") && svg.contains("f16"));
/// ```
pub fn levels(levels: &[Level]) -> String {
    let words: Vec<_> = precisions(levels)
        .into_iter()
        .map(|name| (Mark::Square(precision_colour(name)), format!("stored in {name}")))
        .collect();
    let above = legend_height(&words, WIDTH - LEFT);
    let height = above + HEAD + levels.len() as i32 * LINE + 8;
    picture((WIDTH as u32, height as u32), "size of each level", |area| {
        legend(area, &words, (LEFT - 10, 0), WIDTH - LEFT)?;
        let top = above + HEAD;
        for k in 0..levels.len() {
            write(area, &k.to_string(), &letters(HPos::Right), (LEFT - 8, middle(top, k)))?;
        }
        let columns = columns(levels);
        let wide = (WIDTH - LEFT) / columns.len() as i32;
        for (k, found) in columns.iter().enumerate() {
            let left = LEFT + wide * k as i32;
            write(area, found.name, &letters(HPos::Left), (left, above + HEAD / 2))?;
            column(area, found, levels, (left, top), wide - BEHIND)?;
        }
        Ok(())
    })
}

/// The middle of a level's line.
fn middle(top: i32, level: usize) -> i32 {
    top + LINE * level as i32 + LINE / 2
}

fn columns(levels: &[Level]) -> Vec<Column> {
    let of = |name, of: fn(&Level) -> f64, words: fn(&Level) -> String| Column {
        name,
        values: levels.iter().map(of).collect(),
        words: levels.iter().map(words).collect(),
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
            name: "time in a cycle",
            values: levels.iter().map(|level| time(level).unwrap_or(0.0)).collect(),
            words: levels.iter().map(|level| time(level).map_or("–".to_owned(), seconds)).collect(),
            logarithmic: false,
        });
    }
    columns
}

/// Draws the bars of a quantity; the longest is `longest` units.
fn column(
    area: &Area<'_>,
    column: &Column,
    levels: &[Level],
    (left, top): (i32, i32),
    longest: i32,
) -> Result<(), Fault> {
    let most = column.values.iter().copied().fold(0.0, f64::max);
    let least = column.values.iter().copied().filter(|&value| value > 0.0).fold(most, f64::min);
    // A whole power of ten below the least: the shortest bar is still seen as one.
    let base = (least.max(1.0).log10() - 0.2).floor();
    let length = |value: f64| match column.logarithmic {
        _ if value <= 0.0 || most <= 0.0 => 0,
        true => ((value.log10() - base) / (most.log10() - base) * f64::from(longest)).round() as i32,
        false => (value / most * f64::from(longest)).round() as i32,
    };
    let bottom = top + LINE * column.values.len() as i32;
    for (k, (value, words)) in column.values.iter().zip(&column.words).enumerate() {
        let (y, end) = (middle(top, k), left + length(*value).clamp(0, longest).max(1));
        let colour = precision_colour(&levels[k].storage);
        area.draw(&Rectangle::new([(left, y - 8), (end, y + 8)], colour.filled()))?;
        write(area, words, &faint_letters(HPos::Left, 0.85), (end + 5, y))?;
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
    fn every_level_has_its_numbers_and_its_colour() {
        let found = [level(8_000_000, "f64", None), level(1000, "f16", None), level(10, "bf16", None)];
        let svg = levels(&found);
        check(&svg);
        let words = words(&svg);
        for word in ["8,000,000", "stored in bf16", "641 MiB", "entries", "2"] {
            assert!(words.iter().any(|found| found == word), "{word} in {words:?}");
        }
        assert!(!words.contains(&"time in a cycle".to_owned()));
        for colour in ["#0072B2", "#E69F00", "#009E73"] {
            assert_eq!(svg.matches(colour).count(), 4, "{colour}"); // three bars and the legend
        }
        assert_eq!(svg, levels(&found));
    }

    #[test]
    fn times_are_shown_where_they_are_known() {
        let svg = levels(&[level(4000, "f32", Some(2e-3)), level(500, "f32", None)]);
        check(&svg);
        let words = words(&svg);
        assert!(words.contains(&"2.0 ms".to_owned()) && words.contains(&"–".to_owned()), "{words:?}");
    }

    #[test]
    fn odd_levels_break_nothing() {
        check(&levels(&[]));
        check(&levels(&[level(0, "", Some(f64::NAN))]));
        check(&levels(&[level(1, "f8 & <more>", Some(0.0)), level(usize::MAX / 100, "f64", Some(1e9))]));
    }
}
