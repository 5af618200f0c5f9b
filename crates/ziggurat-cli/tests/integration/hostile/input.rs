//! The small language of the column `input` of the table.
//!
//! ```text
//! matrix [> change]… [; b vector [> change]…] [; guess vector [> change]…] [; config TEXT]
//! ```
//!
//! A matrix is a model problem (`poisson2d:9`), `diag 1 2 3`, `random SIZE SEED`, `line SIZE` and
//! `free SIZE` (Laplacians of a line with and without boundary values), `rank-one SIZE`, `markov
//! SIZE SEED` (1 − Pᵀ of a random chain), `expander SIZE`, `raw TEXT` (the file itself, with `\n`
//! for a new line), `missing`, or `none` (no file at all). Changes are listed in [`changed`]. A
//! vector is `ones`, `first` (1, 0, 0, …), `halves` (1 and −1), `waves`, `zero` or `raw TEXT`.
//! `TEXT` of a configuration is TOML.

use std::collections::BTreeMap;
use std::fs;

use ziggurat_sparse::gallery::Problem;

use crate::command::Place;

type Entries = BTreeMap<(usize, usize), f64>;

/// Writes `A.mtx`, `b.mtx`, `g.mtx` and `c.toml` as the input says.
pub(super) fn write(input: &str, place: &Place) {
    let input = match input.split_once(" ; config ") {
        Some((input, config)) => {
            fs::write(place.path("c.toml"), unescaped(config)).unwrap();
            input
        }
        None => input,
    };
    let split = |input, name| match str::split_once(input, name) {
        Some((matrix, vector)) => (matrix, Some(vector)),
        None => (input, None),
    };
    let (input, guess) = split(input, " ; guess ");
    let (matrix, vector) = split(input, " ; b ");
    let mut rows = 0;
    if let Some(text) = matrix.strip_prefix("raw ") {
        fs::write(place.path("A.mtx"), unescaped(text)).unwrap();
    } else if matrix != "none" && matrix != "missing" {
        let (size, entries) = parse_matrix(matrix);
        rows = size;
        let mut text =
            format!("%%MatrixMarket matrix coordinate real general\n{size} {size} {}\n", entries.len());
        for ((i, j), value) in &entries {
            text += &format!("{} {} {value:e}\n", i + 1, j + 1);
        }
        fs::write(place.path("A.mtx"), text).unwrap();
    }
    match vector {
        Some(vector) if let Some(text) = vector.strip_prefix("raw ") => {
            fs::write(place.path("b.mtx"), unescaped(text)).unwrap();
        }
        Some(vector) => {
            write_vector(&parse_vector(vector, rows), place, "b.mtx");
        }
        None => {}
    }
    if let Some(guess) = guess {
        write_vector(&parse_vector(guess, rows), place, "g.mtx");
    }
}

fn write_vector(values: &[f64], place: &Place, name: &str) {
    let mut text = format!("%%MatrixMarket matrix array real general\n{} 1\n", values.len());
    values.iter().for_each(|value| text += &format!("{value:e}\n"));
    fs::write(place.path(name), text).unwrap();
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0")
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("a number: {text}"))
}

/// A reproducible number between −1 and 1.
fn hash(seed: usize, index: usize) -> f64 {
    let mut x = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (index as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 29)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn parse_matrix(text: &str) -> (usize, Entries) {
    let mut steps = text.split(" > ");
    let mut matrix = base(steps.next().unwrap());
    for step in steps {
        matrix = changed(matrix, step);
    }
    matrix
}

fn base(text: &str) -> (usize, Entries) {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["diag", ref values @ ..] => {
            (values.len(), values.iter().enumerate().map(|(i, value)| ((i, i), number(value))).collect())
        }
        ["random", size, seed] => {
            let (size, seed) = (number(size) as usize, number(seed) as usize);
            let entry = |k: usize| {
                let at = |salt: usize| ((hash(seed + salt, k) + 1.0) / 2.0 * size as f64) as usize % size;
                ((at(1), at(2)), hash(seed + 3, k))
            };
            let mut entries: Entries = (0..5 * size).map(entry).collect();
            entries.extend((0..size).map(|i| ((i, i), 4.0 + hash(seed, i))));
            (size, entries)
        }
        ["line", size] => {
            let size = number(size) as usize;
            let near = |i: usize| (i.saturating_sub(1)..(i + 2).min(size)).map(move |j| (i, j));
            let entry = |(i, j)| ((i, j), if i == j { 2.0 } else { -1.0 });
            (size, (0..size).flat_map(near).map(entry).collect())
        }
        ["free", size] => {
            let (size, mut entries) = base(&format!("line {size}"));
            entries.extend([((0, 0), 1.0), ((size - 1, size - 1), 1.0)]);
            (size, entries)
        }
        ["rank-one", size] => {
            let size = number(size) as usize;
            let entry = |k: usize| ((k / size, k % size), hash(1, k / size) * hash(2, k % size));
            (size, (0..size * size).map(entry).collect())
        }
        ["markov", size, seed] => {
            let (size, seed) = (number(size) as usize, number(seed) as usize);
            let mut entries: Entries = (0..size).map(|i| ((i, i), 1.0)).collect();
            for (i, k) in (0..size).flat_map(|i| (0..4).map(move |k| (i, k))) {
                let to = ((hash(seed + k, i) + 1.0) / 2.0 * size as f64) as usize % size;
                *entries.entry((if k == 0 { (i + 1) % size } else { to }, i)).or_insert(0.0) -= 0.25;
            }
            (size, entries)
        }
        // Every node is joined with the next one and with a far one: large separators, no diagonal.
        ["expander", size] => {
            let size = number(size) as usize;
            let far = |i: usize| ((hash(11, i) + 1.0) / 2.0 * size as f64) as usize % size;
            let edges = (0..size).flat_map(|i| [(i, (i + 1) % size), (i, far(i))]);
            let both = edges.filter(|(i, j)| i != j).flat_map(|(i, j)| [((i, j), 1.0), ((j, i), 1.0)]);
            (size, both.collect())
        }
        [problem] => {
            let a = problem.parse::<Problem>().unwrap().matrix().unwrap();
            let mut entries = Entries::new();
            for row in a.all_rows() {
                let (columns, values) = a.row(row);
                entries.extend(
                    columns.iter().zip(values).map(|(&column, &value)| ((row, column as usize), value)),
                );
            }
            (a.rows(), entries)
        }
        _ => panic!("unknown matrix: {text}"),
    }
}

/// One change of a matrix.
fn changed((size, mut a): (usize, Entries), step: &str) -> (usize, Entries) {
    let words: Vec<&str> = step.split_whitespace().collect();
    match words[..] {
        // Every entry times a number.
        ["times", factor] => a.values_mut().for_each(|value| *value *= number(factor)),
        // Plus a multiple of the identity.
        ["shift", by] => (0..size).for_each(|i| *a.entry((i, i)).or_insert(0.0) += number(by)),
        // Plus a number in the first diagonal entry.
        ["ground", by] => *a.entry((0, 0)).or_insert(0.0) += number(by),
        // Every fifth diagonal entry is replaced.
        ["penalty", by] => a.extend((0..size).step_by(5).map(|i| ((i, i), number(by)))),
        // Rows i times base^(i mod 3 − 1).
        ["rows", base] => a.iter_mut().for_each(|((i, _), value)| *value *= power(base, *i)),
        // Rows and columns likewise, which keeps symmetry.
        ["units", base] => {
            a.iter_mut().for_each(|((i, j), value)| *value *= power(base, *i) * power(base, *j));
        }
        // A second, decoupled matrix behind it.
        ["beside", ref other @ ..] => {
            let (more, entries) = base_or_scaled(other);
            a.extend(entries.into_iter().map(|((i, j), value)| ((i + size, j + size), value)));
            return (size + more, a);
        }
        // Times itself.
        ["square"] => {
            let mut product = Entries::new();
            for (&(i, k), left) in &a {
                for (&(_, j), right) in a.range((k, 0)..(k + 1, 0)) {
                    *product.entry((i, j)).or_insert(0.0) += left * right;
                }
            }
            a = product;
        }
        // Plus transport from row to row, without an inflow.
        ["transport", by] => (1..size).for_each(|i| {
            *a.entry((i, i)).or_insert(0.0) += number(by);
            *a.entry((i, i - 1)).or_insert(0.0) -= number(by);
        }),
        // One entry is replaced.
        ["set", i, j, value] => a.extend([((number(i) as usize, number(j) as usize), number(value))]),
        // A row loses its entries.
        ["empty", row] => a.retain(|&(i, _), _| i != number(row) as usize),
        // So does a column as well: an isolated node.
        ["isolate", node] => {
            let node = number(node) as usize;
            a.retain(|&(i, j), _| i != node && j != node);
        }
        // A row becomes full.
        ["full", row, value] => (0..size).for_each(|j| {
            a.entry((number(row) as usize, j)).or_insert(number(value));
        }),
        // Upper entries change sign: skew plus a diagonal.
        ["skew"] => a.iter_mut().filter(|((i, j), _)| i < j).for_each(|(_, value)| *value = -*value),
        // Only the lower triangle.
        ["lower"] => a.retain(|&(i, j), _| i >= j),
        // The diagonal loses its entries.
        ["hollow"] => a.retain(|&(i, j), _| i != j),
        // Unknowns in reverse order.
        ["reverse"] => a = a.into_iter().map(|((i, j), v)| ((size - 1 - i, size - 1 - j), v)).collect(),
        // Pseudorandom relative perturbation of every entry.
        ["noise", by] => a.iter_mut().for_each(|((i, j), value)| {
            *value *= 1.0 + number(by) * hash(7, i.min(j) * size + i.max(j));
        }),
        // A saddle point: one constraint, the mean value of all unknowns.
        ["constrained"] => {
            a.extend((0..size).flat_map(|i| [((size, i), 1.0), ((i, size), 1.0)]));
            return (size + 1, a);
        }
        _ => panic!("unknown change: {step}"),
    }
    (size, a)
}

fn power(base: &str, row: usize) -> f64 {
    number(base).powi((row % 3) as i32 - 1)
}

/// `poisson2d:5` or `poisson2d:5 1e-14`.
fn base_or_scaled(words: &[&str]) -> (usize, Entries) {
    match words {
        [problem, factor] if problem.contains(':') => changed(base(problem), &format!("times {factor}")),
        _ => base(&words.join(" ")),
    }
}

fn parse_vector(text: &str, rows: usize) -> Vec<f64> {
    let mut steps = text.split(" > ");
    let mut vector: Vec<f64> = match steps.next().unwrap() {
        "ones" => vec![1.0; rows],
        "zero" => vec![0.0; rows],
        "first" => (0..rows).map(|i| f64::from(u8::from(i == 0))).collect(),
        "halves" => (0..rows).map(|i| if 2 * i < rows { 1.0 } else { -1.0 }).collect(),
        "waves" => (0..rows).map(|i| hash(11, i)).collect(),
        other => panic!("unknown vector: {other}"),
    };
    for step in steps {
        let words: Vec<&str> = step.split_whitespace().collect();
        match words[..] {
            ["times", factor] => vector.iter_mut().for_each(|value| *value *= number(factor)),
            ["set", i, value] => vector[number(i) as usize] = number(value),
            ["length", length] => vector.resize(number(length) as usize, 1.0),
            ["units", base] => vector.iter_mut().enumerate().for_each(|(i, value)| *value *= power(base, i)),
            ["penalty", by] => vector.iter_mut().step_by(5).for_each(|value| *value *= number(by)),
            _ => panic!("unknown change: {step}"),
        }
    }
    vector
}
