//! Small matrices, their solutions by elimination, and helpers that solve on any device.

use ziggurat_krylov::{KrylovReport, LinearProblem, Method, Observer, Stopping, System, Work, solve};
use ziggurat_sparse::device::{Device, DeviceExt, Vector};
use ziggurat_sparse::hash::hash_id;
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
use ziggurat_sparse::{Csr, Kind};

/// A pseudorandom number between -1 and 1.
pub(crate) fn random(seed: u64, index: usize) -> f64 {
    (hash_id(index as u64 ^ hash_id(seed)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

pub(crate) fn random_vector(n: usize, seed: u64) -> Vec<f64> {
    (0..n).map(|i| random(seed, i)).collect()
}

/// A matrix from a formula; zeros are not stored.
pub(crate) fn from_formula(n: usize, entry: impl Fn(usize, usize) -> f64) -> Csr<f64> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        for column in 0..n {
            let value = entry(row, column);
            if value != 0.0 {
                columns.push(column as u32);
                values.push(value);
            }
        }
        row_ptr.push(columns.len());
    }
    Csr::try_new(n, n, row_ptr, columns, values).unwrap()
}

pub(crate) fn diagonal(entries: &[f64]) -> Csr<f64> {
    from_formula(entries.len(), |i, j| if i == j { entries[i] } else { 0.0 })
}

pub(crate) fn laplace1d(n: usize) -> Csr<f64> {
    from_formula(n, |i, j| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    })
}

/// The five-point Laplacian on a square of `m` by `m` points, plus convection along the rows.
pub(crate) fn convection2d(m: usize, convection: f64) -> Csr<f64> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..m * m {
        let (i, j) = (row / m, row % m);
        let mut entry = |present: bool, column: usize, value: f64| {
            if present {
                columns.push(column as u32);
                values.push(value);
            }
        };
        entry(i > 0, row.wrapping_sub(m), -1.0);
        entry(j > 0, row.wrapping_sub(1), -1.0 - convection);
        entry(true, row, 4.0);
        entry(j + 1 < m, row + 1, -1.0 + convection);
        entry(i + 1 < m, row + m, -1.0);
        row_ptr.push(columns.len());
    }
    Csr::try_new(m * m, m * m, row_ptr, columns, values).unwrap()
}

pub(crate) fn laplace2d(m: usize) -> Csr<f64> {
    convection2d(m, 0.0)
}

/// A sparse, well-conditioned matrix with a dominant diagonal and rows of different lengths.
pub(crate) fn random_matrix(n: usize, symmetric: bool, seed: u64) -> Csr<f64> {
    let off_diagonal = |i: usize, j: usize| {
        let (i, j) = if symmetric { (i.min(j), i.max(j)) } else { (i, j) };
        let value = random(seed, i * n + j);
        if value.abs() > 0.6 { value } else { 0.0 }
    };
    from_formula(n, |i, j| {
        if i == j {
            let sum: f64 = (0..n).filter(|&k| k != i).map(|k| off_diagonal(i, k).abs()).sum();
            1.1 * sum + 1.0 + random(seed ^ 1, i).abs()
        } else {
            off_diagonal(i, j)
        }
    })
}

/// 1/diag(A), as a matrix.
pub(crate) fn jacobi(a: &Csr<f64>) -> Csr<f64> {
    let inverse: Vec<f64> = a.view().diagonal(a.all_rows()).iter().map(|d| 1.0 / d).collect();
    let n = a.rows();
    Csr::try_new(n, n, (0..=n).collect(), (0..n as u32).collect(), inverse).unwrap()
}

pub(crate) fn product(a: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    (0..a.rows())
        .map(|row| {
            let (columns, values) = a.row(row);
            columns.iter().zip(values).map(|(&column, value)| value * x[column as usize]).sum()
        })
        .collect()
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// ‖b − A x‖, on the host.
pub(crate) fn residual_norm(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    norm(&product(a, x).iter().zip(b).map(|(ax, b)| b - ax).collect::<Vec<_>>())
}

/// The solution by Gaussian elimination with pivoting.
pub(crate) fn dense_solution(a: &Csr<f64>, b: &[f64]) -> Vec<f64> {
    let n = a.rows();
    let mut rows: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| a.get(i, j).unwrap_or(0.0)).chain([b[i]]).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap();
        rows.swap(k, pivot);
        let (above, below) = rows.split_at_mut(k + 1);
        for row in below {
            let factor = row[k] / above[k][k];
            for (entry, pivot) in row.iter_mut().zip(&above[k]).skip(k) {
                *entry -= factor * pivot;
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * x[j]).sum();
        x[i] = (rows[i][n] - known) / rows[i][i];
    }
    x
}

/// All methods except Richardson's iteration, which diverges for most matrices without a
/// preconditioner.
pub(crate) fn krylov_methods() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|&method| method != Method::Richardson)
}

/// Krylov methods that do not require a symmetric matrix.
pub(crate) fn general_methods() -> Vec<Method> {
    krylov_methods().filter(|method| !method.needs_symmetric()).collect()
}

/// A linear system in host memory.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) a: &'a Csr<f64>,
    pub(crate) m: Option<&'a Csr<f64>>,
    pub(crate) kernel: &'a [Vec<f64>],
    pub(crate) b: &'a [f64],
    pub(crate) guess: &'a [f64],
    /// The number type of the iteration.
    pub(crate) number: Kind,
}

impl<'a> Case<'a> {
    /// In `f64`, without preconditioner and kernel. An empty guess means zero.
    pub(crate) fn new(a: &'a Csr<f64>, b: &'a [f64]) -> Self {
        Case { a, m: None, kernel: &[], b, guess: &[], number: Kind::F64 }
    }

    pub(crate) fn preconditioned(self, m: &'a Csr<f64>) -> Self {
        Case { m: Some(m), ..self }
    }

    pub(crate) fn in_number(self, number: Kind) -> Self {
        Case { number, ..self }
    }
}

/// A vector in this number type.
pub(crate) fn uploaded(device: &dyn Device, number: Kind, host: &[f64]) -> Vector {
    match number {
        Kind::F64 => device.upload(host).unwrap(),
        _ => device.upload(&host.iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap(),
    }
}

/// The elements of a vector in any number type.
pub(crate) fn downloaded(device: &dyn Device, x: Vector) -> Vec<f64> {
    match x.kind() {
        Kind::F64 => device.to_host(x).unwrap(),
        _ => device.to_host::<f32>(x).unwrap().into_iter().map(f64::from).collect(),
    }
}

/// A matrix in this number type.
pub(crate) fn operator(device: &dyn Device, number: Kind, a: &Csr<f64>) -> MatrixOperator {
    match number {
        Kind::F64 => MatrixOperator::new(device, a.clone()).unwrap(),
        _ => MatrixOperator::new(device, a.view().stored_as::<f32>()).unwrap(),
    }
}

/// The solution from a zero guess, and the report.
pub(crate) fn solved(method: Method, problem: LinearProblem<'_>) -> (Vec<f64>, KrylovReport) {
    let device = problem.device;
    let mut work = Work::new(method, device, problem.system).unwrap();
    let mut x = device.zeros(Kind::F64, problem.b.len()).unwrap();
    let report = solve(problem, &mut x, &mut work).unwrap();
    (downloaded(device, x), report)
}

/// The solution in double precision, and the report. Also checks that the reported residual is the
/// true one.
pub(crate) fn solve_case(
    device: &dyn Device,
    method: Method,
    case: Case<'_>,
    stopping: &Stopping,
    observer: Option<&mut Observer<'_>>,
) -> (Vec<f64>, KrylovReport) {
    let upload = |host: &[f64]| uploaded(device, case.number, host);
    let operator = |a| operator(device, case.number, a);
    let (a, m) = (operator(case.a), case.m.map(operator));
    let kernel: Vec<Vector> = case.kernel.iter().map(|v| upload(v)).collect();
    let mut system = System::new(&a).kernel(&kernel).in_number(case.number);
    if let Some(m) = &m {
        system = system.preconditioner(m);
    }
    let mut work = Work::new(method, device, &system).unwrap();
    let b = upload(case.b);
    let zero = vec![0.0; case.b.len()];
    let mut x = upload(if case.guess.is_empty() { &zero } else { case.guess });
    let mut problem = LinearProblem::new(device, &system, &b).stopping(*stopping);
    if let Some(observer) = observer {
        problem = problem.observer(observer);
    }
    let report = solve(problem, &mut x, &mut work).unwrap();

    let mut r = device.zeros(case.number, case.b.len()).unwrap();
    a.residual(device, &x, &b, &mut r, &mut Workspace::none());
    let residual = device.norm(&r);
    let same = residual == report.residual || residual.is_nan() && report.residual.is_nan();
    assert!(same, "{method}: {residual} is not the reported residual, {report}");
    let b_norm = device.norm(&b);
    if b_norm > 0.0 && b_norm.is_finite() && residual.is_finite() {
        assert_eq!(report.relative_residual, residual / b_norm);
    }
    if report.reason.is_converged() && !stopping.project_rhs {
        assert!(
            residual <= stopping.target(b_norm, report.initial_residual),
            "{method}: converged above the tolerance"
        );
    }
    assert_eq!(report.history.len(), report.iterations);
    (downloaded(device, x), report)
}
