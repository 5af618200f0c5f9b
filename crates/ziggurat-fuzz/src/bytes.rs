//! Reads small numbers and matrices from arbitrary bytes. Where the bytes end, it reads zeros.

use ziggurat_sparse::Csr;

/// The input that has not been read yet.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Bytes(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// Two bytes, little-endian.
    pub(crate) fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let number = if end <= 256 { usize::from(self.byte()) } else { usize::from(self.short()) };
        number % end.max(1)
    }

    /// An integer from -4 to 4. All sums of products of a few hundred of these are exact in single
    /// precision.
    pub(crate) fn small(&mut self) -> f64 {
        f64::from(self.byte() % 9) - 4.0
    }

    /// As many integers from -4 to 4.
    pub(crate) fn smalls(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.small()).collect()
    }

    /// A matrix whose entries are integers from -4 to 4. A row is a band at some distance from the
    /// diagonal, a repetition of the previous row one column to the right, or a list of columns.
    pub(crate) fn matrix(&mut self, rows: usize, cols: usize) -> Csr<f64> {
        let mut row_ptr = vec![0];
        let (mut columns, mut values): (Vec<u32>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut row: Vec<u32> = Vec::new();
        for index in 0..rows {
            match self.byte() % 8 {
                0..4 => row.iter_mut().for_each(|column| *column += 1),
                4 => {
                    let first = (index + self.below(4)).saturating_sub(self.below(64)) as u32;
                    row = (first..first + self.below(24) as u32).collect();
                }
                5 => row = (0..self.below(16)).map(|_| self.below(cols) as u32).collect(),
                6 => row.clear(),
                _ => {
                    let (first, step) = (self.below(cols) as u32, 1 + self.below(300) as u32);
                    row = (0..self.below(40) as u32).map(|k| first + k * step).collect();
                }
            }
            row.retain(|&column| (column as usize) < cols);
            row.sort_unstable();
            row.dedup();
            columns.extend(&row);
            row_ptr.push(columns.len());
        }
        let seed = self.short();
        for k in 0..columns.len() {
            values.push(((k * 7 + usize::from(seed)) % 9) as f64 - 4.0);
        }
        Csr::try_new(rows, cols, row_ptr, columns, values).expect("rows are sorted and distinct")
    }
}
