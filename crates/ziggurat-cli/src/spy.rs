//! A picture of the sparsity pattern in characters.
//!
//! The matrix is divided into a grid of squares. Each Unicode Braille pattern (U+2800 to U+28FF)
//! shows 2 x 4 of them as dots, which are about equally spaced in both directions. A dot is set
//! exactly if its square contains a nonzero entry. Cost: one pass over the columns.

use ziggurat_report::Density;
use ziggurat_sparse::CsrRef;

/// Bits of a Braille pattern, by row and column of the dot.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A picture of a sparsity pattern.
#[derive(Debug)]
pub(crate) struct Spy {
    /// Lines of text, all of the same width.
    pub(crate) lines: Vec<String>,
    /// Number of matrix rows per dot, rounded up.
    pub(crate) rows_per_dot: usize,
}

/// Draws `a` with at most `width` characters and `height` lines. An empty matrix gives no lines.
pub(crate) fn spy(a: CsrRef<'_, f64>, width: usize, height: usize) -> Spy {
    let density = Density::of(a, 2 * width, 4 * height);
    let dots: Vec<&[u64]> = density.lines().collect();
    let character = |lines: &[&[u64]], at: usize| {
        let mut pattern = 0x2800;
        for (line, bits) in lines.iter().zip(DOTS) {
            for (dot, bit) in line[at..].iter().zip(bits) {
                pattern |= if *dot > 0 { bit } else { 0 };
            }
        }
        char::from_u32(pattern).unwrap_or(' ')
    };
    let lines =
        dots.chunks(4).map(|lines| (0..density.across).step_by(2).map(|at| character(lines, at)).collect());
    Spy { lines: lines.collect(), rows_per_dot: density.side }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::{Coo, Csr};

    #[test]
    fn a_small_matrix_has_a_dot_per_entry() {
        let identity = Csr::<f64>::identity(4).unwrap();
        let picture = spy(identity.view(), 10, 10);
        assert_eq!((picture.lines, picture.rows_per_dot), (vec!["⠑⢄".to_owned()], 1));
        let full = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 3.0, 0.0]).unwrap();
        assert_eq!(spy(full.view(), 10, 10).lines, ["⠋"]); // stored zeros are not drawn
    }

    #[test]
    fn a_large_matrix_is_scaled_and_loses_no_entry() {
        let mut coo = Coo::new(1000, 1000).unwrap();
        coo.push(999, 0, 1.0).unwrap();
        let picture = spy(coo.into_csr().view(), 20, 10);
        assert_eq!((picture.rows_per_dot, picture.lines.len()), (25, 10));
        assert!(picture.lines.iter().all(|line| line.chars().count() == 20));
        assert!(picture.lines[9].starts_with('⡀'), "{:?}", picture.lines[9]);
        assert_eq!(picture.lines.concat().chars().filter(|&c| c != '⠀').count(), 1);
    }

    #[test]
    fn every_shape_fits_the_maximum_size() {
        for (rows, cols) in [(1, 5000), (5000, 1), (3, 7), (123, 456), (81, 80)] {
            let mut coo = Coo::new(rows, cols).unwrap();
            coo.push(rows - 1, cols - 1, 1.0).unwrap();
            let picture = spy(coo.into_csr().view(), 36, 18);
            assert!((1..=18).contains(&picture.lines.len()), "{rows} x {cols}");
            assert!(
                picture.lines.iter().all(|line| (1..=36).contains(&line.chars().count())),
                "{rows} x {cols}"
            );
            assert_ne!(picture.lines.last().unwrap().chars().last(), Some('⠀'), "{rows} x {cols}");
        }
        let none = Csr::<f64>::try_new(0, 3, vec![0], vec![], vec![]).unwrap();
        assert!(spy(none.view(), 36, 18).lines.is_empty());
    }
}
