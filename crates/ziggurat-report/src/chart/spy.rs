//! Where the entries of a matrix are: squares, the darker the more entries lie in them.
//!
//! Counts are told apart on a logarithmic scale, in a few shades ([`SHADES`]); squares of a shade that lie side by side are one rectangle, and
//! all of a shade are one path. So the picture of a banded matrix has some kilobytes.

use std::fmt::Write as _;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use ziggurat::sparse::CsrRef;

use super::canvas::{Area, Fault, INK, faint_letters, picture, write};
use crate::density::Density;
use crate::figures::grouped;

/// How opaque squares are, from few entries to many.
const SHADES: [f64; 5] = [0.3, 0.45, 0.6, 0.8, 1.0];
/// The longer side of the matrix in the picture.
const SIDE: f64 = 360.0;
/// Left of the matrix, for its axis.
const LEFT: i32 = 30;
/// Above the matrix, for its axis.
const TOP: i32 = 28;
/// Below the matrix, for the shades.
const BELOW: i32 = 56;
/// The least size of an axis: its words need the room.
const AXIS: i32 = 110;
/// How opaque words are.
const WORDS: f64 = 0.8;

/// Draws where `a` has entries, in at most `pixels` × `pixels` squares.
///
/// ```
/// use ziggurat::sparse::gallery::Problem;
/// let a = "poisson2d:20".parse::<Problem>()?.matrix()?;
/// let svg = ziggurat_report::chart::spy(a.view(), 100);
/// assert!(svg.starts_with("<svg") && svg.len() < 20_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn spy(a: CsrRef<'_, f64>, pixels: usize) -> String {
    let density = Density::of(a, pixels, pixels);
    let scale = SIDE / density.across.max(density.down).max(1) as f64;
    // A thin matrix may have no whole unit of the picture; it has a line.
    let unit = |squares: usize| ((squares as f64 * scale).round() as i32).max(1);
    let (right, bottom) = (LEFT + unit(density.across), TOP + unit(density.down));
    let size = (right.max(LEFT + 300) + 12, bottom.max(TOP + AXIS) + BELOW);
    let most = density.counts.iter().copied().max().unwrap_or(0);
    let svg = picture((size.0 as u32, size.1 as u32), "where the matrix has entries", |area| {
        area.draw(&Rectangle::new([(LEFT - 1, TOP - 1), (right + 1, bottom + 1)], INK.mix(0.4)))?;
        let words = |at| faint_letters(at, WORDS);
        let (column, row) = (format!("column {}", grouped(a.cols())), format!("row {}", grouped(a.rows())));
        write(area, "0", &words(HPos::Left), (LEFT, TOP - 13))?;
        write(area, &column, &words(HPos::Right), (right.max(LEFT + AXIS), TOP - 13))?;
        let upright = |at| words(at).transform(FontTransform::Rotate270);
        write(area, "0", &upright(HPos::Right), (LEFT - 14, TOP))?;
        write(area, &row, &upright(HPos::Left), (LEFT - 14, bottom.max(TOP + AXIS)))?;
        explain(area, &density, most, bottom.max(TOP + AXIS) + 18)
    });
    let squares = squares(&density, most);
    let inside = format!(
        "<g fill=\"currentColor\" shape-rendering=\"crispEdges\" \
         transform=\"translate({LEFT} {TOP}) scale({scale:.4})\">\n{squares}</g>\n</svg>"
    );
    svg.replace("</svg>", &inside)
}

/// The shade of a square with so many entries, where the fullest has `most`.
fn shade(count: u64, most: u64) -> usize {
    let darkest = SHADES.len() - 1;
    if most <= 1 {
        return darkest;
    }
    ((count as f64).ln() / (most as f64).ln() * darkest as f64).round() as usize
}

/// A path for each shade.
fn squares(density: &Density, most: u64) -> String {
    let mut paths = [const { String::new() }; SHADES.len()];
    for (y, line) in density.lines().enumerate() {
        let mut x = 0;
        for run in
            line.chunk_by(|&a, &b| (a == 0) == (b == 0) && (a == 0 || shade(a, most) == shade(b, most)))
        {
            if run[0] > 0 {
                let wide = run.len();
                let _ = write!(paths[shade(run[0], most)], "M{x} {y}h{wide}v1h-{wide}z"); // a string takes it all
            }
            x += run.len();
        }
    }
    let paths = paths.iter().zip(SHADES).filter(|(path, _)| !path.is_empty());
    paths.map(|(path, opacity)| format!("<path opacity=\"{opacity}\" d=\"{path}\"/>\n")).collect()
}

/// Says what squares and shades mean.
fn explain(area: &Area<'_>, density: &Density, most: u64, y: i32) -> Result<(), Fault> {
    let words = faint_letters(HPos::Left, WORDS);
    if most == 0 {
        return write(area, "no entry but zeros", &words, (LEFT, y));
    }
    if density.side == 1 {
        return write(area, "a square is an entry", &words, (LEFT, y));
    }
    let side = grouped(density.side);
    write(area, &format!("a square is {side} × {side} places; entries in it:"), &words, (LEFT, y))?;
    let y = y + 22;
    write(area, "1", &words, (LEFT, y))?;
    for (k, opacity) in SHADES.iter().enumerate() {
        let x = LEFT + 18 + 24 * k as i32;
        area.draw(&Rectangle::new([(x, y - 6), (x + 24, y + 6)], INK.mix(*opacity).filled()))?;
    }
    write(area, &grouped(most as usize), &words, (LEFT + 26 + 24 * SHADES.len() as i32, y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::{check, words};
    use ziggurat::sparse::gallery::Problem;
    use ziggurat::sparse::{Coo, Csr};

    #[test]
    fn a_small_matrix_has_a_square_per_run_of_entries() {
        let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 1, 2], vec![1.0, 2.0, 3.0]).unwrap();
        let svg = spy(a.view(), 10);
        check(&svg);
        assert!(svg.contains("<path opacity=\"1\" d=\"M0 0h2v1h-2zM2 1h1v1h-1z\"/>"), "{svg}");
        assert!(words(&svg).contains(&"column 3".to_owned()));
    }

    #[test]
    fn large_matrices_stay_small_pictures() {
        let a = "poisson3d:20".parse::<Problem>().unwrap().matrix().unwrap();
        let svg = spy(a.view(), 160);
        check(&svg);
        assert!(svg.len() < 40_000, "{}", svg.len());
        assert!(words(&svg).iter().any(|word| word.starts_with("a square is 50 × 50 places")));
        assert_eq!(svg, spy(a.view(), 160));
    }

    #[test]
    fn any_shape_is_drawn() {
        for (rows, cols) in [(1, 5000), (5000, 1), (1, 1), (123, 456)] {
            let mut coo = Coo::new(rows, cols).unwrap();
            coo.push(rows - 1, cols - 1, 1.0).unwrap();
            let svg = spy(coo.into_csr().view(), 100);
            check(&svg);
            assert_eq!(svg.matches("<path").count(), 1, "{svg}");
        }
        for (rows, cols) in [(0, 0), (0, 5), (5, 0), (5, 5)] {
            let none = Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
            let svg = spy(none.view(), 100);
            check(&svg);
            assert!(words(&svg).contains(&"no entry but zeros".to_owned()), "{svg}");
            check(&spy(none.view(), 0));
        }
    }

    #[test]
    fn shades_run_from_one_entry_to_the_most() {
        assert_eq!([1, 10, 100, 1000, 10_000].map(|count| shade(count, 10_000)), [0, 1, 2, 3, 4]);
        assert_eq!(shade(1, 1), 4);
    }
}
