//! A matrix diagnosis in words, as printed by `ziggurat inspect` and shown on report pages.

use ziggurat::diagnose::{Diagnosis, DiagonalSign, Fit};

use crate::figures::{bytes, counted, grouped, percent, share, value};

/// Describes the matrix as pairs of a label and a value. `memory` is the size of the matrix in
/// bytes.
///
/// ```
/// use ziggurat::sparse::gallery::Problem;
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let facts = ziggurat_report::facts(&ziggurat::diagnose(a.view()), a.bytes() as u64);
/// assert!(facts.contains(&("symmetry", "exactly symmetric".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn facts(d: &Diagnosis, memory: u64) -> Vec<(&'static str, String)> {
    let square = d.rows == d.cols;
    let mut facts = vec![
        (
            "size",
            format!(
                "{} x {}, {}, {}",
                grouped(d.rows),
                grouped(d.cols),
                counted(d.nnz, "entry"),
                bytes(memory)
            ),
        ),
        ("row lengths", row_lengths(d)),
    ];
    if square {
        facts.push(("symmetry", symmetry(d)));
    }
    facts.push(("diagonal", diagonal(d)));
    facts.push(("off-diagonal", off_diagonal(d)));
    if d.rows > 0 {
        facts.push(("rows", rows(d)));
    }
    facts.push(("values", values(d)));
    facts.push((
        "blocks",
        match d.graph.block_size {
            1 if d.graph.fields > 1 => {
                format!("none: {} fields, numbered one after the other", d.graph.fields)
            }
            1 => "none: one unknown per node".to_owned(),
            block => format!("{block} x {block}"),
        },
    ));
    if let (Some(parts), Some(isolated)) = (d.graph.components, d.graph.isolated_rows) {
        let joined = match (parts - isolated, isolated) {
            (0, 0) => "none".to_owned(),
            (parts, 0) => grouped(parts),
            (parts, isolated) => format!("{} and {}", grouped(parts), counted(isolated, "isolated row")),
        };
        facts.push(("components", joined));
    }
    if let Some(grid) = &d.graph.grid {
        facts.push(("structured grid", grid.clone()));
    }
    facts.push(("bandwidth", grouped(d.graph.bandwidth)));
    facts
}

fn row_lengths(d: &Diagnosis) -> String {
    let entries = &d.entries;
    let mut text = match (entries.per_row_min, entries.per_row_max) {
        (min, max) if min == max => format!("{min} in every row"),
        (min, max) => {
            format!("{} to {}, average {:.1}", grouped(min), grouped(max), entries.per_row_average)
        }
    };
    if entries.empty_rows > 0 {
        text += &format!("; {} empty", counted(entries.empty_rows, "row"));
    }
    if entries.explicit_zeros > 0 {
        let zeros = counted(entries.explicit_zeros, "stored zero");
        text += &format!("; {zeros} ({})", share(entries.explicit_zeros, d.nnz));
    }
    text
}

fn symmetry(d: &Diagnosis) -> String {
    let Some(symmetry) = &d.symmetry else { return String::new() };
    if symmetry.exact && symmetry.structure {
        return "exactly symmetric".to_owned();
    }
    let structure = if symmetry.structure { "structurally symmetric" } else { "structurally unsymmetric" };
    if symmetry.exact {
        format!("values exactly symmetric; {structure} (stored zeros)")
    } else if symmetry.to_rounding {
        format!("symmetric up to rounding ({:.0e}); {structure}", symmetry.largest_difference)
    } else {
        format!("not symmetric, skew part {}; {structure}", percent(symmetry.skew))
    }
}

/// Formats a range of values: "6" or "1e-3 to 7".
fn range(smallest: Option<f64>, largest: Option<f64>) -> String {
    match (smallest, largest) {
        (Some(smallest), Some(largest)) if smallest == largest => value(smallest),
        (Some(smallest), Some(largest)) => format!("{} to {}", value(smallest), value(largest)),
        _ => "none".to_owned(),
    }
}

fn diagonal(d: &Diagnosis) -> String {
    let diagonal = &d.diagonal;
    let places = d.rows.min(d.cols);
    let sizes = range(diagonal.smallest, diagonal.largest);
    match diagonal.sign {
        _ if places == 0 => "none".to_owned(),
        DiagonalSign::Positive => format!("all positive, {sizes}"),
        DiagonalSign::Negative => format!("all negative, {sizes} in absolute value"),
        DiagonalSign::Mixed | DiagonalSign::SomeZero => {
            let absent = places - diagonal.stored;
            let mut kinds = Vec::new();
            for (count, kind) in [
                (diagonal.positive, "positive"),
                (diagonal.negative, "negative"),
                (diagonal.zero - absent.min(diagonal.zero), "zero"),
                (absent, "absent"),
            ] {
                if count > 0 {
                    kinds.push(format!("{} {kind}", grouped(count)));
                }
            }
            let sizes = if diagonal.smallest.is_some() {
                format!("; {sizes} in absolute value")
            } else {
                String::new()
            };
            kinds.join(", ") + &sizes
        }
    }
}

fn off_diagonal(d: &Diagnosis) -> String {
    let signs = &d.off_diagonal;
    match (signs.negative, signs.positive) {
        (0, 0) => "none".to_owned(),
        (_, 0) => "all negative".to_owned(),
        (0, _) => "all positive".to_owned(),
        (negative, positive) => format!(
            "{} negative, {} positive ({})",
            grouped(negative),
            grouped(positive),
            share(positive, negative + positive)
        ),
    }
}

fn rows(d: &Diagnosis) -> String {
    let special = &d.special_rows;
    let mut text = format!(
        "diagonally dominant: {}; sum to zero: {}",
        share(special.dominant, d.rows),
        share(special.zero_sum, d.rows)
    );
    if special.dirichlet > 0 {
        text += &format!("; {} with only a diagonal entry", grouped(special.dirichlet));
    }
    text
}

fn values(d: &Diagnosis) -> String {
    let values = &d.values;
    if values.smallest.is_none() {
        return "no nonzeros".to_owned();
    }
    let sizes = range(values.smallest, values.largest);
    let numbers = [("f32", values.f32), ("f16", values.f16), ("bf16", values.bf16)];
    let named = |fit: Fit| {
        let names: Vec<&str> =
            numbers.iter().filter(|number| number.1 == fit).map(|number| number.0).collect();
        names.join(", ")
    };
    let mut text = format!("{sizes} in absolute value");
    for (fit, words) in
        [(Fit::Fits, "fits"), (Fit::Underflows, "underflows in"), (Fit::Overflows, "overflows in")]
    {
        let names = named(fit);
        if !names.is_empty() {
            text += &format!("; {words} {names}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat::diagnose;
    use ziggurat::sparse::Csr;
    use ziggurat::sparse::gallery::Problem;

    fn fact(a: &Csr<f64>, subject: &str) -> Option<String> {
        let facts = facts(&diagnose(a.view()), a.bytes() as u64);
        facts.into_iter().find(|fact| fact.0 == subject).map(|fact| fact.1)
    }

    #[test]
    fn a_model_problem_is_described() {
        let a = "convection3d:6".parse::<Problem>().unwrap().matrix().unwrap();
        let symmetry = fact(&a, "symmetry").unwrap();
        assert!(symmetry.starts_with("not symmetric, skew part "), "{symmetry}");
        assert_eq!(fact(&a, "blocks").unwrap(), "none: one unknown per node");
        assert!(fact(&a, "diagonal").unwrap().starts_with("all positive, "));
    }

    #[test]
    fn empty_and_rectangular_matrices_are_described() {
        for (rows, cols) in [(0, 0), (0, 3), (3, 0), (2, 2)] {
            let a = Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
            assert_eq!(fact(&a, "values").unwrap(), "no nonzeros");
            assert_eq!(fact(&a, "symmetry").is_some(), rows == cols);
        }
    }
}
