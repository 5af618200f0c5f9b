//! Tables for the terminal, in Markdown syntax.

use std::fmt;

/// A table. The first column is left-aligned, the others are right-aligned.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings and no rows yet.
    pub fn new<H: Into<String>>(headings: impl IntoIterator<Item = H>) -> Self {
        Table { rows: vec![headings.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row. Missing cells are empty; there must not be more cells than headings.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        debug_assert!(cells.len() <= self.rows[0].len(), "more cells than headings");
        cells.resize(self.rows[0].len(), String::new());
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> =
            (0..self.rows[0].len()).map(|column| width(column).unwrap_or(0).max(3)).collect();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 {
                    write!(f, "| {cell:<width$} |")?;
                } else {
                    write!(f, " {cell:>width$} |")?;
                }
            }
            writeln!(f)?;
            if index == 0 {
                for (column, &width) in widths.iter().enumerate() {
                    if column == 0 {
                        write!(f, "|{:-<1$}|", "", width + 2)?;
                    } else {
                        write!(f, "{:-<1$}:|", "", width + 1)?;
                    }
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["matrix", "ms"]);
        table.row(["27-point 120³", "12.5"]);
        table.row(["tiny"]);
        let expected = "\
| matrix        |   ms |
|---------------|-----:|
| 27-point 120³ | 12.5 |
| tiny          |      |
";
        assert_eq!(table.to_string(), expected);
    }
}
