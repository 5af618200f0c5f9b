//! Sparsity plot: squares that are darker the more nonzeros they contain.
//!
//! Counts map logarithmically to a few shades ([`SHADES`]). Adjacent squares of one shade are
//! merged into a rectangle, and all rectangles of a shade form one path, so the plot of a banded
//! matrix takes only a few kilobytes.

use std::fmt::Write as _;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use ziggurat::sparse::CsrRef;

use super::canvas::{Area, DrawError, INK, faint_text_style, picture, write};
use crate::density::Density;
use crate::figures::grouped;

/// Opacities of the squares, from few nonzeros to many.
const SHADES: [f64; 5] = [0.3, 0.45, 0.6, 0.8, 1.0];
/// Length of the longer side of the matrix in the plot.
const SIDE: f64 = 360.0;
/// Space left of the matrix for its axis.
const LEFT: i32 = 30;
/// Space above the matrix for its axis.
const TOP: i32 = 28;
/// Space below the matrix for the legend.
const BELOW: i32 = 56;
/// Minimum length of an axis, so that its labels fit.
const AXIS: i32 = 110;
/// Opacity of text.
const TEXT_OPACITY: f64 = 0.8;

/// Draws the sparsity pattern of `a` on at most `pixels` × `pixels` squares.
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
    // A very thin matrix is drawn at least one unit wide.
    let unit = |squares: usize| ((squares as f64 * scale).round() as i32).max(1);
    let (right, bottom) = (LEFT + unit(density.across), TOP + unit(density.down));
    let size = (right.max(LEFT + 300) + 12, bottom.max(TOP + AXIS) + BELOW);
    let most = density.counts.iter().copied().max().unwrap_or(0);
    let svg = picture((size.0 as u32, size.1 as u32), "sparsity pattern of the matrix", |area| {
        area.draw(&Rectangle::new([(LEFT - 1, TOP - 1), (right + 1, bottom + 1)], INK.mix(0.4)))?;
        let style = |at| faint_text_style(at, TEXT_OPACITY);
        let (column, row) = (format!("column {}", grouped(a.cols())), format!("row {}", grouped(a.rows())));
        write(area, "0", &style(HPos::Left), (LEFT, TOP - 13))?;
        write(area, &column, &style(HPos::Right), (right.max(LEFT + AXIS), TOP - 13))?;
        let vertical = |at| style(at).transform(FontTransform::Rotate270);
        write(area, "0", &vertical(HPos::Right), (LEFT - 14, TOP))?;
        write(area, &row, &vertical(HPos::Left), (LEFT - 14, bottom.max(TOP + AXIS)))?;
        draw_legend(area, &density, most, bottom.max(TOP + AXIS) + 18)
    });
    let squares = squares(&density, most);
    let inside = format!(
        "<g fill=\"currentColor\" shape-rendering=\"crispEdges\" \
         transform=\"translate({LEFT} {TOP}) scale({scale:.4})\">\n{squares}</g>\n</svg>"
    );
    svg.replace("</svg>", &inside)
}

/// The shade of a square with `count` nonzeros, where the maximum is `most`.
fn shade(count: u64, most: u64) -> usize {
    let darkest = SHADES.len() - 1;
    if most <= 1 {
        return darkest;
    }
    ((count as f64).ln() / (most as f64).ln() * darkest as f64).round() as usize
}

/// One path for each shade.
fn squares(density: &Density, most: u64) -> String {
    let mut paths = [const { String::new() }; SHADES.len()];
    for (y, line) in density.lines().enumerate() {
        let mut x = 0;
        for run in
            line.chunk_by(|&a, &b| (a == 0) == (b == 0) && (a == 0 || shade(a, most) == shade(b, most)))
        {
            if run[0] > 0 {
                let width = run.len();
                // Writing to a string cannot fail.
                let _ = write!(paths[shade(run[0], most)], "M{x} {y}h{width}v1h-{width}z");
            }
            x += run.len();
        }
    }
    let paths = paths.iter().zip(SHADES).filter(|(path, _)| !path.is_empty());
    paths.map(|(path, opacity)| format!("<path opacity=\"{opacity}\" d=\"{path}\"/>\n")).collect()
}

/// Explains the squares and shades.
fn draw_legend(area: &Area<'_>, density: &Density, most: u64, y: i32) -> Result<(), DrawError> {
    let style = faint_text_style(HPos::Left, TEXT_OPACITY);
    if most == 0 {
        return write(area, "no nonzeros", &style, (LEFT, y));
    }
    if density.side == 1 {
        return write(area, "one square per entry", &style, (LEFT, y));
    }
    let side = grouped(density.side);
    write(area, &format!("nonzeros per {side} × {side} square:"), &style, (LEFT, y))?;
    let y = y + 22;
    write(area, "1", &style, (LEFT, y))?;
    for (k, opacity) in SHADES.iter().enumerate() {
        let x = LEFT + 18 + 24 * k as i32;
        area.draw(&Rectangle::new([(x, y - 6), (x + 24, y + 6)], INK.mix(*opacity).filled()))?;
    }
    write(area, &grouped(most as usize), &style, (LEFT + 26 + 24 * SHADES.len() as i32, y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::{check, words};
    use ziggurat::sparse::gallery::Problem;
    use ziggurat::sparse::{Coo, Csr};

    #[test]
    fn adjacent_entries_share_a_rectangle() {
        let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 1, 2], vec![1.0, 2.0, 3.0]).unwrap();
        let svg = spy(a.view(), 10);
        check(&svg);
        assert!(svg.contains("<path opacity=\"1\" d=\"M0 0h2v1h-2zM2 1h1v1h-1z\"/>"), "{svg}");
        assert!(words(&svg).contains(&"column 3".to_owned()));
    }

    #[test]
    fn plots_of_large_matrices_are_small() {
        let a = "poisson3d:20".parse::<Problem>().unwrap().matrix().unwrap();
        let svg = spy(a.view(), 160);
        check(&svg);
        assert!(svg.len() < 40_000, "{}", svg.len());
        assert!(words(&svg).iter().any(|text| text == "nonzeros per 50 × 50 square:"));
        assert_eq!(svg, spy(a.view(), 160));
    }

    #[test]
    fn any_matrix_shape_is_drawn() {
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
            assert!(words(&svg).contains(&"no nonzeros".to_owned()), "{svg}");
            check(&spy(none.view(), 0));
        }
    }

    #[test]
    fn shades_range_from_one_nonzero_to_the_maximum() {
        assert_eq!([1, 10, 100, 1000, 10_000].map(|count| shade(count, 10_000)), [0, 1, 2, 3, 4]);
        assert_eq!(shade(1, 1), 4);
    }
}
