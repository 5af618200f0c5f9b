//! Bytes per entry of the finest matrix, by format and precision, as the solver stores it.

use std::error::Error;

use ziggurat::Solver;
use ziggurat::config::{Format, Method, Precision};
use ziggurat::sparse::Csr;
use ziggurat::sparse::gallery::{Problem, shuffle};

use super::drawing::{Anchor, Drawing, PALETTE};

/// The formats and precisions shown for each problem.
const STORED: [(&str, Format, Precision); 4] = [
    ("64 bits, csr", Format::Csr, Precision::F64),
    ("16 bits, csr", Format::Csr, Precision::F16),
    ("64 bits, smallest", Format::Auto, Precision::F64),
    ("16 bits, smallest", Format::Auto, Precision::F16),
];

/// The problems, with the windows in which rows are shuffled.
const PROBLEMS: [(&str, usize, &str); 3] = [
    ("poisson3d:24", 1, "7-point grid"),
    ("poisson3d:24", 64, "the same, shuffled by 64"),
    ("elasticity3d:10", 1, "elasticity, blocks of 3"),
];

/// Bytes per entry, and the format.
fn stored(a: &Csr<f64>, format: Format, precision: Precision) -> Result<(f64, String), Box<dyn Error>> {
    // Grids have a format of their own, so this is not the method that `auto` would take for them.
    let builder = Solver::builder().method(Method::Sa).precision(precision);
    let solver = builder.with(|config| config.format = format).build(a)?;
    let levels = ziggurat_report::levels(&solver);
    let finest = levels.first().ok_or("a solver has a level")?;
    Ok((finest.bytes as f64 / finest.nnz as f64, finest.format.clone()))
}

pub(crate) fn svg() -> Result<String, Box<dyn Error>> {
    let mut drawing = Drawing::new(640, 400);
    drawing.text(20.0, 26.0, Anchor::Start, "bytes per entry of the finest matrix: values, columns, rows");
    let mut y = 50.0;
    for (name, window, title) in PROBLEMS {
        drawing.text(20.0, y + 10.0, Anchor::Start, title);
        y += 20.0;
        let problem = name.parse::<Problem>()?;
        // A window of one node changes nothing.
        let (a, _) = shuffle(problem.matrix()?.view(), problem.block_size(), window.try_into()?)?;
        for (label, format, precision) in STORED {
            let (bytes, format) = stored(&a, format, precision)?;
            let colour = if label.starts_with("16") { PALETTE[5] } else { PALETTE[4] };
            drawing.text(150.0, y + 14.0, Anchor::End, label);
            drawing.bar((160.0, y), (28.0 * bytes, 18.0), colour);
            drawing.text(168.0 + 28.0 * bytes, y + 14.0, Anchor::Start, &format!("{bytes:.1}  {format}"));
            y += 22.0;
        }
        y += 10.0;
    }
    Ok(drawing.svg())
}
