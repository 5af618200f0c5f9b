//! Advice is followed: systems that fail, or that change their method on the way, are solved once
//! more as the report says. Advice that does not help is a failure of the test.
//!
//! The systems are small and of the kinds with which people meet such reports: Stokes flow, Darcy
//! flow, constraints, curl-curl, Helmholtz, plates, graphs, convection. `cargo xtask bench advice`
//! does the same with the collection of real matrices.

use std::fmt::Write as _;

use serde_json::Value;

use crate::command::Place;

/// A square matrix by entries; a position that is added twice is the sum.
#[derive(Default)]
struct Entries {
    rows: usize,
    all: Vec<(usize, usize, f64)>,
}

impl Entries {
    fn add(&mut self, row: usize, column: usize, value: f64) {
        self.all.push((row, column, value));
    }

    fn add_both(&mut self, row: usize, column: usize, value: f64) {
        self.add(row, column, value);
        self.add(column, row, value);
    }

    /// The Laplacian of a grid of `n` by `m` points with zero values around, at `first`.
    fn add_laplacian(&mut self, first: usize, [n, m]: [usize; 2], scale: f64) {
        for point in 0..n * m {
            self.add(first + point, first + point, 4.0 * scale);
            if point % n + 1 < n {
                self.add_both(first + point, first + point + 1, -scale);
            }
            if point + n < n * m {
                self.add_both(first + point, first + point + n, -scale);
            }
        }
    }

    fn text(&self) -> String {
        let (rows, count) = (self.rows, self.all.len());
        let mut text = format!("%%MatrixMarket matrix coordinate real general\n{rows} {rows} {count}\n");
        for (row, column, value) in &self.all {
            let _ = writeln!(text, "{} {} {value}", row + 1, column + 1); // to a string
        }
        text
    }
}

/// The velocities on the inner faces of n × n cells, in x and then in y, the pressures of all cells
/// but the last, and the divergence between them. `velocities` adds the block of the velocities.
fn flow(n: usize, velocities: impl FnOnce(&mut Entries, usize)) -> Entries {
    let faces = (n - 1) * n;
    let mut a = Entries { rows: 2 * faces + n * n - 1, ..Entries::default() };
    velocities(&mut a, faces);
    for cell in 0..n * n - 1 {
        let (x, y, pressure) = (cell % n, cell / n, 2 * faces + cell);
        for (is_inside, face, sign) in [
            (x + 1 < n, y * (n - 1) + x, 1.0),
            (x > 0, (y * (n - 1) + x).wrapping_sub(1), -1.0),
            (y + 1 < n, faces + y * n + x, 1.0),
            (y > 0, (faces + y * n + x).wrapping_sub(n), -1.0),
        ] {
            if is_inside {
                a.add_both(pressure, face, sign);
            }
        }
    }
    a
}

/// Stokes flow in a box, by markers and cells, with one pressure pinned.
fn stokes(n: usize) -> Entries {
    flow(n, |a, faces| {
        a.add_laplacian(0, [n - 1, n], 1.0);
        a.add_laplacian(faces, [n, n - 1], 1.0);
    })
}

/// Flow through a porous medium, with velocities and pressures.
fn darcy(n: usize) -> Entries {
    flow(n, |a, faces| (0..2 * faces).for_each(|face| a.add(face, face, 1.0 + (face % 7) as f64)))
}

/// The Laplacian of an n × n grid, with one of twenty points tied to another by a multiplier.
fn constraints(n: usize) -> Entries {
    let (points, ties) = (n * n, n * n / 20);
    let mut a = Entries { rows: points + ties, ..Entries::default() };
    a.add_laplacian(0, [n, n], 1.0);
    for tie in 0..ties {
        a.add_both(points + tie, 20 * tie, 1.0);
        a.add_both(points + tie, 20 * tie + 7, -1.0);
    }
    a
}

/// curl curl + `mass` on the edges of an n × n grid: its near-kernel are all gradients.
fn curl_curl(n: usize, mass: f64) -> Entries {
    let across = n * (n + 1);
    let mut a = Entries { rows: 2 * across, ..Entries::default() };
    (0..a.rows).for_each(|edge| a.add(edge, edge, mass));
    for cell in 0..n * n {
        let (x, y) = (cell % n, cell / n);
        let around = [
            (y * n + x, 1.0),
            ((y + 1) * n + x, -1.0),
            (across + y * (n + 1) + x, -1.0),
            (across + y * (n + 1) + x + 1, 1.0),
        ];
        for (row, sign) in around {
            for (column, other) in around {
                a.add(row, column, sign * other);
            }
        }
    }
    a
}

/// The Laplacian of an n × n grid minus `shift`.
fn helmholtz(n: usize, shift: f64) -> Entries {
    let mut a = Entries { rows: n * n, ..Entries::default() };
    a.add_laplacian(0, [n, n], 1.0);
    (0..n * n).for_each(|point| a.add(point, point, -shift));
    a
}

/// A plate: the square of the Laplacian of an n × n grid.
fn plate(n: usize) -> Entries {
    let mut laplacian = Entries { rows: n * n, ..Entries::default() };
    laplacian.add_laplacian(0, [n, n], 1.0);
    let mut a = Entries { rows: n * n, ..Entries::default() };
    for &(row, middle, value) in &laplacian.all {
        for &(_, column, other) in laplacian.all.iter().filter(|entry| entry.0 == middle) {
            a.add(row, column, value * other);
        }
    }
    a
}

/// The Laplacian of a graph in which new nodes join old ones, grounded at the first, with weights
/// of several orders of magnitude.
fn graph(nodes: usize) -> Entries {
    let mut a = Entries { rows: nodes, ..Entries::default() };
    a.add(0, 0, 1.0);
    for node in 1..nodes {
        for link in 1..=3_usize {
            let other = (node * 7919 * link + 104_729 * link * link) % node;
            let weight = 10_f64.powi((node * link % 7) as i32 - 3);
            a.add_both(node, other, -weight);
            a.add(node, node, weight);
            a.add(other, other, weight);
        }
    }
    a
}

/// A run of `ziggurat solve` with a report.
fn solve(place: &Place, words: &[String]) -> Value {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--json", "-"]).collect();
    let said = place.run(&words);
    serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{words:?}: {} {}", said.out, said.err))
}

/// The words of a command that a report names, without the options of these tests.
fn words_of(command: &str) -> Vec<String> {
    // No name here contains a space.
    let words = command.split_whitespace().skip_while(|word| !["solve", "compare", "inspect"].contains(word));
    words.filter(|word| !["--json", "-"].contains(word)).map(str::to_owned).collect()
}

/// Solves and follows what the report says, and returns what happened in words.
fn followed(place: &Place, system: &[&str], options: &[&str]) -> String {
    let typed: Vec<String> =
        ["solve"].iter().chain(system).chain(options).map(|&word| word.to_owned()).collect();
    let mut report = solve(place, &typed);
    let mut story = format!("{}: {}", typed.join(" "), report["stop_reason"]);
    let mut last = typed;
    // A limit may be raised once, and what needs the strongest method gets there in two steps.
    for _ in 0..3 {
        let command = report["next_step"]["command"].as_str().unwrap().to_owned();
        let next = words_of(&command);
        if report["converged"] == true && next[0] != "solve" {
            return story;
        }
        match next[0].as_str() {
            "solve" => {
                assert_ne!(next, last, "{story}: the advice is what was done");
                let then = solve(place, &next);
                let _ = write!(story, " -> {}: {}", next.join(" "), then["stop_reason"]);
                assert_eq!(then["converged"], true, "{story}\n{}", then["next_step"]);
                if report["converged"] == true {
                    let count = |report: &Value| report["iterations"].as_u64().unwrap();
                    assert!(4 * count(&then) <= 5 * count(&report), "{story}: more iterations");
                    return story;
                }
                (report, last) = (then, next);
            }
            "compare" => {
                let words: Vec<&str> = next.iter().map(String::as_str).chain(["--json", "-"]).collect();
                let table: Value = serde_json::from_str(&place.run(&words).out).unwrap();
                let mut runs = table["runs"].as_array().unwrap().iter();
                assert!(runs.any(|run| run["converged"] == true), "{story}: no method solves it\n{table}");
                let _ = write!(story, " -> compare");
                return story;
            }
            _ => panic!("{story}: {command}"),
        }
    }
    story
}

#[test]
fn advice_helps() {
    let place = Place::new("advice_helps");
    let systems = [
        ("stokes", stokes(16)),
        ("darcy", darcy(16)),
        ("constraints", constraints(24)),
        ("curl", curl_curl(16, 1e-2)),
        ("helmholtz", helmholtz(32, 0.3)),
        ("waves", helmholtz(32, 4.3)),
        ("plate", plate(24)),
        ("graph", graph(3000)),
    ];
    for (name, a) in &systems {
        place.write(&format!("{name}.mtx"), &a.text());
        for options in [
            "",
            "--no-fallback",
            "--max-iterations 12",
            "--max-iterations 40 --no-fallback",
            "--krylov minres --no-fallback",
            "--krylov cg --no-fallback",
            "--method none",
            "--method none --no-fallback",
            "--precision f16",
        ] {
            let options: Vec<&str> = options.split_whitespace().collect();
            println!("{}", followed(&place, &[&format!("{name}.mtx")], &options));
        }
    }
}
