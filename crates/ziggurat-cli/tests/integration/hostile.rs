//! Hostile inputs: each row of `hostile/table.md` is one run of the command, with its exit code and
//! what the user reads.
//!
//! Every run must end within a minute, without a panic. If it exits with 0, the residual of the
//! written solution, computed here and not by the library, must be within the tolerance, or the
//! report must state what was left out.
//!
//! `ZIGGURAT_BLESS=1 cargo nextest run -p ziggurat-cli hostile` writes the codes and sentences that
//! it finds into the table. Read the difference before you commit it.

mod input;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ziggurat_sparse::io::{read_matrix, read_vector};
use ziggurat_sparse::{Csr, ExactSum};

use crate::command::Place;

const TABLE: &str = "tests/integration/hostile/table.md";

/// The longest time for a run. Most take some milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

/// A row of the table.
struct Row {
    input: String,
    options: String,
    code: String,
    says: String,
}

impl Row {
    /// Reads a line; `None` if it is not a row.
    fn read(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [input, options, code, says] = cells[..] else { panic!("four cells: {line}") };
        if input == "input" {
            return None;
        }
        let plain = |cell: &str| cell.trim().replace("\\|", "|");
        let quoted = |cell: &str| {
            let inside = cell.trim().strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
            plain(inside.unwrap_or_default())
        };
        Some(Row { input: quoted(input), options: quoted(options), code: plain(code), says: plain(says) })
    }

    fn write(&self) -> String {
        let [input, options] = [&self.input, &self.options].map(|cell| format!("`{cell}`"));
        let cells = [&input, &options, &self.code, &self.says].map(|cell| cell.replace('|', "\\|"));
        format!("| {} |", cells.join(" | "))
    }

    /// Runs the command; returns its exit code and what the user reads.
    fn run(&self, index: usize) -> (String, String) {
        let place = Place::new(&format!("hostile-{index}"));
        input::write(&self.input, &place);
        let mut arguments: Vec<&str> = vec!["solve"];
        if place.path("A.mtx").exists() {
            arguments.push("A.mtx");
        }
        if place.path("b.mtx").exists() {
            arguments.extend(["--rhs", "b.mtx"]);
        }
        if place.path("g.mtx").exists() {
            arguments.extend(["--guess", "g.mtx"]);
        }
        if place.path("c.toml").exists() {
            arguments.extend(["--config", "c.toml"]);
        }
        for (option, file) in [("--output", "x.mtx"), ("--json", "report.json")] {
            if !self.options.contains(option) {
                arguments.extend([option, file]);
            }
        }
        arguments.extend(self.options.split_whitespace());
        let said = run_within(&place, &arguments);
        assert!(!said.err.contains("panicked"), "{}: {}", self.input, said.err);
        let Some(code) = said.code else { return (said.err, String::new()) };
        let says = match code {
            1 => said.err.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
            _ => verdict(&place, code),
        };
        if code == 0 && place.path("A.mtx").exists() {
            check_solution(self, &place);
        }
        let _ = fs::remove_dir_all(place.path(""));
        (code.to_string(), says)
    }
}

/// The output of the command, or that it did not end.
fn run_within(place: &Place, arguments: &[&str]) -> crate::command::Said {
    let mut command = place.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            let _ = child.wait();
            return crate::command::Said { out: String::new(), err: "no end".into(), code: None };
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    crate::command::Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// The stop reason, and what was left out of the right-hand side.
fn verdict(place: &Place, code: i32) -> String {
    let text = fs::read_to_string(place.path("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let reason = report["stop_reason"].as_str().unwrap().to_owned();
    assert_eq!(code == 0, report["converged"] == true);
    let rtol = report["config"]["stopping"]["rtol"].as_f64().unwrap();
    let left_out = report["left_out"].as_f64().unwrap() > rtol;
    if left_out { format!("{reason}, some left out") } else { reason }
}

/// Computes the residual of the written solution, in units in which nothing overflows.
fn check_solution(row: &Row, place: &Place) {
    let text = fs::read_to_string(place.path("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stopping = &report["config"]["stopping"];
    let [rtol, atol, reduction] = ["rtol", "atol", "reduction"].map(|key| stopping[key].as_f64().unwrap());
    // The initial guess is zero in all rows that set it.
    let rtol = if stopping["combine"] == "any" { rtol.max(reduction) } else { rtol };
    let a: Csr<f64> = read_matrix(place.path("A.mtx")).unwrap();
    let x = read_vector(place.path("x.mtx")).unwrap();
    if report["config"]["stopping"]["project_rhs"] == true {
        return;
    }
    let n = a.rows();
    let candidates = match place.path("b.mtx") {
        path if path.exists() => vec![read_vector(path).unwrap()],
        // The default right-hand side, for a regular and for a singular matrix: zero in empty rows,
        // which do not count.
        _ => {
            let is_empty = |i: &usize| a.row(*i).1.iter().all(|&value| value == 0.0);
            let rows: Vec<usize> = (0..n).filter(|i| !is_empty(i)).collect();
            let mut candidates = vec![vec![0.0; n]; 2];
            for (k, &i) in rows.iter().enumerate() {
                candidates[0][i] = 1.0;
                candidates[1][i] = (rows.len() as f64 - 1.0 - 2.0 * k as f64).signum();
            }
            candidates
        }
    };
    let good = candidates.iter().any(|b| is_within(&a, &x, b, rtol, atol));
    assert!(good, "{} {}: false convergence", row.input, row.options);
}

/// ‖b − A x‖ ≤ max(rtol ‖b‖, atol), with rows summed without rounding errors.
fn is_within(a: &Csr<f64>, x: &[f64], b: &[f64], rtol: f64, atol: f64) -> bool {
    if b.iter().all(|&b| b == 0.0) {
        return x.iter().all(|&x| x == 0.0);
    }
    let unit = b.iter().fold(0.0_f64, |most, b| most.max(b.abs())).log2().floor().exp2();
    let (mut residual, mut size) = (0.0, 0.0);
    for i in a.all_rows() {
        let (columns, values) = a.row(i);
        let terms = columns.iter().zip(values).flat_map(|(&j, &value)| {
            let x = -(x[j as usize] / unit);
            [value * x, value.mul_add(x, -(value * x))]
        });
        residual += terms.chain([b[i] / unit]).collect::<ExactSum>().rounded().powi(2);
        size += (b[i] / unit).powi(2);
    }
    residual.sqrt() <= (1.0 + 1e-9) * (rtol * size.sqrt()).max(atol / unit)
}

#[test]
fn every_row_of_the_table_ends_as_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let text = fs::read_to_string(&path).unwrap();
    let rows: Vec<(usize, Row)> =
        text.lines().enumerate().filter_map(|(number, line)| Some((number, Row::read(line)?))).collect();
    assert!(rows.len() >= 250, "{} rows", rows.len());
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((number, row)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = row.run(*number);
                    found.lock().unwrap().insert(*number, result);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut differences = Vec::new();
    for (number, row) in rows {
        let (code, says) = &found[&number];
        if (code, says) != (&row.code, &row.says) {
            let Row { input, options, code: expected, says: sentence } = &row;
            differences.push(format!("{input} {options}: {code} {says}\n    expected {expected} {sentence}"));
        }
        lines[number] = Row { code: code.clone(), says: says.clone(), ..row }.write();
    }
    if std::env::var_os("ZIGGURAT_BLESS").is_some() {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        return;
    }
    assert!(differences.is_empty(), "{} rows differ:\n{}", differences.len(), differences.join("\n"));
}
