//! Algebraic properties of cycles, on a simple hierarchy: 2D Poisson, where each level merges 2×2
//! cells.

use std::sync::Arc;

use super::*;
use crate::halo::Whole;
use crate::smoother::{ChebyshevBase, FsaiParameters, IlutParameters, Smoother, SpaiParameters};
use crate::{Cycle, Cycling, LevelFormat, LevelSmoothing, Multigrid, SetupError};
use ziggurat_sparse::algebra::{transpose, triple_product};
use ziggurat_sparse::device::{Cpu, Device, DeviceExt, Reference};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::hash::uniform_signed;
use ziggurat_sparse::operator::LinearOperator;
use ziggurat_sparse::{Csr, Kind};

struct Levels {
    a: Vec<Arc<Csr<f64>>>,
    r: Vec<Arc<Csr<f64>>>,
    p: Vec<Arc<Csr<f64>>>,
}

/// Poisson on an n × n grid and its piecewise constant coarsenings down to 4 × 4.
fn levels(mut n: usize) -> Levels {
    let mut a = vec![Arc::new(format!("poisson2d:{n}").parse::<Problem>().unwrap().matrix().unwrap())];
    let (mut r, mut p) = (vec![], vec![]);
    while n > 4 {
        let half = n / 2;
        let cell = |row: usize| (row / n / 2 * half + row % n / 2) as u32;
        let prolongation = Csr::build(
            0..n * n,
            half * half,
            || (),
            |(), _| 1,
            |(), row, columns, values| (columns[0], values[0]) = (cell(row), 1.0),
        )
        .unwrap();
        let restriction = transpose(prolongation.view(), 0..n * n);
        let fine = a.last().unwrap().view();
        let coarse = triple_product(restriction.view(), 0..half * half, fine, prolongation.view()).unwrap();
        a.push(Arc::new(coarse));
        r.push(Arc::new(restriction));
        p.push(Arc::new(prolongation));
        n = half;
    }
    Levels { a, r, p }
}

impl Levels {
    fn sources<'a>(&'a self, device: &'a dyn Device) -> Vec<LevelSource<'a>> {
        let transfer = |k: usize| self.r.get(k).map(|r| (r.into(), (&self.p[k]).into()));
        self.a
            .iter()
            .enumerate()
            .map(|(k, a)| LevelSource {
                device,
                a: a.into(),
                block: 1,
                host: None,
                radius: None,
                points: None,
                smoother: None,
                inverse: None,
                first_row: 0,
                transfer: transfer(k),
            })
            .collect()
    }

    fn multigrid(
        &self,
        device: &dyn Device,
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
    ) -> Result<Multigrid, SetupError> {
        Multigrid::new(&self.sources(device), cycling, precision, Lowering::default())
    }
}

fn vector(n: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|i| uniform_signed(i + seed * 1_000_003)).collect()
}

fn apply(device: &dyn Device, m: &Multigrid, x: &[f64]) -> Vec<f64> {
    let mut y = device.adopt(vec![f64::NAN; x.len()]).unwrap();
    let mut work = m.workspace(device, Kind::F64).unwrap();
    m.apply(device, &device.upload(x).unwrap(), &mut y, &mut work);
    device.to_host(y).unwrap()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

const FSAI: FsaiParameters = FsaiParameters { steps: 2, columns_per_step: 1, tolerance: 0.0 };

fn full(_: usize) -> LevelPrecision {
    LevelPrecision::default()
}

const ILUT: IlutParameters = IlutParameters { entries: 6, tolerance: 1e-2 };

const SMOOTHERS: [Smoother; 11] = [
    Smoother::Ilut { block: 100, parameters: ILUT, omega: None },
    Smoother::Fsai { parameters: FSAI, omega: None },
    Smoother::Ilu0 { block: 100, node_rows: 1, omega: None },
    Smoother::Ilu0 { block: 100, node_rows: 4, omega: None },
    Smoother::BlockJacobi { rows: 5, omega: None },
    Smoother::Jacobi { omega: None },
    Smoother::L1Jacobi,
    Smoother::Spai0,
    Smoother::Chebyshev { degree: 3, base: ChebyshevBase::Jacobi, ratio: 10.0 },
    Smoother::GaussSeidel { block: 100 },
    Smoother::Spai { parameters: SpaiParameters { entries: 4 }, omega: None },
];

#[test]
fn v_and_w_cycles_are_symmetric_and_positive() {
    let levels = levels(32);
    // The rows of SPAI are independent.
    for smoother in SMOOTHERS.into_iter().filter(|smoother| !matches!(smoother, Smoother::Spai { .. })) {
        for cycle in [Cycle::V, Cycle::W] {
            for sweeps in [1, 2] {
                let cycling = Cycling {
                    cycle,
                    pre_sweeps: sweeps,
                    post_sweeps: sweeps,
                    smoother,
                    ..Cycling::default()
                };
                let m = levels.multigrid(&Cpu::new(), &cycling, full).unwrap();
                let (x, y) = (vector(1024, 1), vector(1024, 2));
                let (mx, my) = (apply(&Cpu::new(), &m, &x), apply(&Cpu::new(), &m, &y));
                let (left, right) = (dot(&y, &mx), dot(&x, &my));
                let scale = (dot(&x, &mx) * dot(&y, &my)).sqrt();
                assert!(
                    (left - right).abs() < 1e-12 * scale,
                    "{smoother:?} {cycle:?} {sweeps}: {left} {right}"
                );
                assert!(dot(&x, &mx) > 0.0, "{smoother:?} {cycle:?} {sweeps}");
            }
        }
    }
}

/// Residual reduction per cycle of x ← x + M(b − A x), over ten cycles after the first five.
fn convergence_factor(levels: &Levels, m: &Multigrid) -> f64 {
    let cpu = Cpu::new();
    let a = cpu.upload_matrix(levels.a[0].clone()).unwrap();
    let (b, mut x) = (cpu.adopt(vec![0.0; 1024]).unwrap(), cpu.adopt(vector(1024, 3)).unwrap());
    let [mut r, mut z] = [(); 2].map(|()| cpu.zeros(Kind::F64, 1024).unwrap());
    let mut work = m.workspace(&cpu, Kind::F64).unwrap();
    let mut norms = vec![];
    for _ in 0..15 {
        cpu.residual(&a, &x, &b, &mut r);
        norms.push(cpu.norm(&r));
        m.apply(&cpu, &r, &mut z, &mut work);
        cpu.axpby(1.0, &z, 1.0, &mut x);
    }
    (norms[14] / norms[4]).powf(0.1)
}

#[test]
fn stronger_cycles_converge_faster() {
    let levels = levels(32);
    let factor = |cycle, smoother| {
        let cycling = Cycling { cycle, smoother, ..Cycling::default() };
        convergence_factor(&levels, &levels.multigrid(&Cpu::new(), &cycling, full).unwrap())
    };
    let gauss_seidel = Smoother::GaussSeidel { block: 4096 };
    let [v, w, f, k, k_gcr] = Cycle::ALL.map(|cycle| factor(cycle, gauss_seidel));
    assert!(v < 0.80 && w < 0.55 && k < 0.55 && k_gcr < 0.55, "V {v} W {w} K {k} {k_gcr}");
    assert!(w <= f + 1e-3 && f < v, "W {w} F {f} V {v}");
    assert!(v < factor(Cycle::V, Smoother::L1Jacobi), "Gauss–Seidel against ℓ1-Jacobi");
}

#[test]
fn stronger_smoothers_converge_faster_than_jacobi() {
    let levels = levels(32);
    let factor = |smoother| {
        let cycling = Cycling { smoother, ..Cycling::default() };
        convergence_factor(&levels, &levels.multigrid(&Cpu::new(), &cycling, full).unwrap())
    };
    let jacobi = factor(Smoother::default());
    for smoother in &SMOOTHERS[..2] {
        let found = factor(*smoother);
        assert!(found < jacobi, "{smoother:?}: {found}, Jacobi {jacobi}");
    }
}

#[test]
fn stronger_smoothers_in_sixteen_bits_do_not_depend_on_units() {
    let narrow = |_: usize| LevelPrecision { working: Kind::F32, storage: Kind::F16 };
    for factor in [1.0, 1e8, 1e-200] {
        let mut levels = levels(32);
        for a in &mut levels.a {
            Arc::make_mut(a).values_mut().iter_mut().for_each(|value| *value *= factor);
        }
        for smoother in &SMOOTHERS[..4] {
            let cycling = Cycling { smoother: *smoother, ..Cycling::default() };
            let [wide, narrow] = [
                levels.multigrid(&Cpu::new(), &cycling, full).unwrap(),
                levels.multigrid(&Cpu::new(), &cycling, narrow).unwrap(),
            ]
            .map(|multigrid| apply(&Cpu::new(), &multigrid, &vector(1024, 6)));
            let size = wide.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
            let worst = wide.iter().zip(&narrow).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(worst <= 5e-3 * size, "{smoother:?} times {factor}: {}", worst / size);
        }
    }
}

#[test]
fn levels_may_be_smoothed_in_their_own_way() {
    let (levels, b) = (levels(32), vector(1024, 11));
    let cycle =
        |cycling: &Cycling| apply(&Cpu::new(), &levels.multigrid(&Cpu::new(), cycling, full).unwrap(), &b);
    let of = |smoother| LevelSmoothing { pre_sweeps: 1, post_sweeps: 1, smoother };
    let l1 = Cycling { smoother: Smoother::L1Jacobi, ..Cycling::default() };
    // The same smoothers, given in another way.
    let from = |level, smoothing| Cycling { from_level: vec![(level, smoothing)], ..l1.clone() };
    assert_eq!(
        cycle(&from(0, of(Smoother::Spai0))),
        cycle(&Cycling { smoother: Smoother::Spai0, ..l1.clone() })
    );
    assert_eq!(cycle(&from(9, of(Smoother::Spai0))), cycle(&l1));
    let mixed = from(1, LevelSmoothing { pre_sweeps: 3, post_sweeps: 3, smoother: SMOOTHERS[0] });
    assert!(cycle(&mixed) != cycle(&l1));
    let factor =
        |cycling| convergence_factor(&levels, &levels.multigrid(&Cpu::new(), cycling, full).unwrap());
    assert!(factor(&mixed) < factor(&l1));
    assert!(
        mixed.is_balanced() && !from(1, LevelSmoothing { pre_sweeps: 2, ..of(SMOOTHERS[1]) }).is_balanced()
    );
}

#[test]
fn without_coarse_levels_the_smoother_is_the_preconditioner() {
    let levels = levels(32);
    let cpu = Cpu::new();
    let lowering = Lowering { coarsest: Coarsest::Smoothed, ..Lowering::default() };
    let finest = LevelSource { transfer: None, ..levels.sources(&cpu)[0] };
    let b = vector(1024, 9);
    let alone = |smoother, precision: fn(usize) -> LevelPrecision| {
        let cycling = Cycling { smoother, ..Cycling::default() };
        let multigrid = Multigrid::new(&[finest], &cycling, precision, lowering).unwrap();
        assert_eq!(multigrid.stored().len(), 1);
        apply(&cpu, &multigrid, &b)
    };
    let jacobi = alone(Smoother::Jacobi { omega: Some(1.0) }, full);
    assert!(jacobi.iter().zip(&b).all(|(x, b)| *x == 0.25 * b));
    // Symmetric Gauss–Seidel: a forward and a backward sweep.
    let (one, other) = (alone(Smoother::GaussSeidel { block: 4096 }, full), vector(1024, 10));
    let cycling = Cycling { smoother: Smoother::GaussSeidel { block: 4096 }, ..Cycling::default() };
    let multigrid = Multigrid::new(&[finest], &cycling, full, lowering).unwrap();
    let (left, right) = (dot(&one, &other), dot(&b, &apply(&cpu, &multigrid, &other)));
    assert!((left - right).abs() < 1e-12 * left.abs().max(1.0), "{left} {right}");
    let narrow: fn(usize) -> LevelPrecision = |_| LevelPrecision { working: Kind::F32, storage: Kind::F16 };
    let smoother = Smoother::Fsai { parameters: FSAI, omega: Some(1.0) };
    let (wide, narrow) = (alone(smoother, full), alone(smoother, narrow));
    assert!(wide.iter().zip(&narrow).all(|(x, y)| (x - y).abs() < 2e-3), "FSAI in 16 bits");
}

#[test]
fn the_coarsest_level_is_solved_as_it_was_chosen() {
    let levels = levels(32);
    let cpu = Cpu::new();
    let b = vector(1024, 9);
    let cycle = |coarsest| {
        let lowering = Lowering { coarsest, ..Lowering::default() };
        let multigrid = Multigrid::new(&levels.sources(&cpu), &Cycling::default(), full, lowering)?;
        let format = multigrid.stored().last().unwrap().format.format();
        Ok::<_, SetupError>((format, apply(&cpu, &multigrid, &b)))
    };
    let [auto, dense, smoothed] =
        [Coarsest::Auto, Coarsest::Dense, Coarsest::Smoothed].map(|coarsest| cycle(coarsest).unwrap());
    let sparse = cycle(Coarsest::Sparse);
    if cfg!(not(feature = "direct")) {
        assert!(sparse.unwrap_err().to_string().contains("enable the feature `direct`"));
        return;
    }
    let sparse = sparse.unwrap();
    assert_eq!(auto, dense, "a small level is inverted");
    assert_eq!((dense.0, sparse.0), (LevelFormat::Inverse, LevelFormat::Factors));
    assert!(![LevelFormat::Inverse, LevelFormat::Factors].contains(&smoothed.0));
    let difference =
        |other: &[f64]| dense.1.iter().zip(other).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(difference(&sparse.1) < 1e-12 && difference(&smoothed.1) > 1e-3);
}

#[test]
fn without_factors_a_large_matrix_is_smoothed() {
    let stored = |coarsest, rows: usize| {
        let cpu = Cpu::new();
        let levels = levels(rows);
        let finest = LevelSource { transfer: None, ..levels.sources(&cpu)[0] };
        let lowering = Lowering { coarsest, ..Lowering::default() };
        let multigrid = Multigrid::new(&[finest], &Cycling::default(), full, lowering)?;
        Ok::<_, SetupError>(multigrid.stored()[0].format.format())
    };
    // 1024 rows are more than are inverted.
    let [auto, direct] = [Coarsest::Auto, Coarsest::Direct].map(|coarsest| stored(coarsest, 32));
    if can_be_direct(1024) {
        assert_eq!((auto, direct), (Ok(LevelFormat::Factors), Ok(LevelFormat::Factors)));
    } else {
        assert!(![LevelFormat::Inverse, LevelFormat::Factors].contains(&auto.unwrap()));
        assert!(matches!(direct.unwrap_err().cause(), SetupError::CoarseSolve { rows: 1024, .. }));
    }
    assert_eq!(stored(Coarsest::Direct, 16), Ok(LevelFormat::Inverse));
}

#[test]
fn all_devices_give_the_same_cycle() {
    let levels = levels(16);
    let x = vector(256, 4);
    for smoother in SMOOTHERS {
        for cycle in Cycle::ALL {
            let cycling = Cycling { cycle, smoother, ..Cycling::default() };
            let cpu = apply(&Cpu::new(), &levels.multigrid(&Cpu::new(), &cycling, full).unwrap(), &x);
            let reference = apply(&Reference, &levels.multigrid(&Reference, &cycling, full).unwrap(), &x);
            let worst = cpu.iter().zip(&reference).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-12, "{smoother:?} {cycle:?}: {worst}");
        }
    }
}

#[test]
fn levels_of_different_precision_form_one_cycle() {
    let levels = levels(32);
    let ladder = |level: usize| match level {
        0 => LevelPrecision { working: Kind::F64, storage: Kind::F16 },
        1 => LevelPrecision { working: Kind::F32, storage: Kind::Bf16 },
        _ => LevelPrecision { working: Kind::F32, storage: Kind::F32 },
    };
    let narrow = |_| LevelPrecision { working: Kind::F32, storage: Kind::F16 };
    let exact = levels.multigrid(&Cpu::new(), &Cycling::default(), full).unwrap();
    let expected = convergence_factor(&levels, &exact);
    for multigrid in [
        levels.multigrid(&Cpu::new(), &Cycling::default(), ladder).unwrap(),
        levels.multigrid(&Cpu::new(), &Cycling::default(), narrow).unwrap(),
    ] {
        // These stencils are exact in 16 bits, so only the arithmetic differs.
        let found = convergence_factor(&levels, &multigrid);
        assert!((found - expected).abs() < 0.01, "{found}, in double precision {expected}");
        // The caller may also be in single precision.
        let x: Vec<f32> = vector(1024, 5).iter().map(|&x| x as f32).collect();
        let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        let (cpu, mut y) = (Cpu::new(), vec![f32::NAN; 1024].into());
        multigrid.apply(&cpu, &x.into(), &mut y, &mut multigrid.workspace(&cpu, Kind::F32).unwrap());
        let (y, wide) = (cpu.to_host::<f32>(y).unwrap(), apply(&cpu, &exact, &wide));
        let worst = y.iter().zip(&wide).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-3, "{worst}");
    }
}

#[test]
fn levels_in_reduced_precision_do_not_depend_on_units() {
    // Neither 1e-300 nor 1e-100 can be represented in single precision.
    let narrow = |storage| move |_: usize| LevelPrecision { working: Kind::F32, storage };
    for (factor, unit) in [(1.0, 1.0), (1e8, 1.0), (1e-8, 1e60), (1e300, 1e-100), (1e-300, 1e-100)] {
        let mut levels = levels(32);
        for a in &mut levels.a {
            Arc::make_mut(a).values_mut().iter_mut().for_each(|value| *value *= factor);
        }
        let b: Vec<f64> = vector(1024, 6).iter().map(|x| x * unit).collect();
        for cycle in [Cycle::V, Cycle::K] {
            let cycling = Cycling { cycle, ..Cycling::default() };
            let exact = apply(&Cpu::new(), &levels.multigrid(&Cpu::new(), &cycling, full).unwrap(), &b);
            let size = exact.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
            for (storage, most) in [(Kind::F32, 1e-6), (Kind::F16, 3e-3), (Kind::Bf16, 3e-2)] {
                let m = levels.multigrid(&Cpu::new(), &cycling, narrow(storage)).unwrap();
                let found = apply(&Cpu::new(), &m, &b);
                let worst = exact.iter().zip(&found).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
                assert!(worst <= most * size, "{factor} {unit} {cycle:?} {storage:?}: {}", worst / size);
            }
        }
    }
}

#[test]
fn a_process_may_hold_no_rows_of_a_level() {
    let empty = |rows: usize, cols: usize| {
        Arc::new(Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap())
    };
    let narrow = |_| LevelPrecision { working: Kind::F32, storage: Kind::F16 };
    for smoother in SMOOTHERS {
        for cycle in Cycle::ALL {
            let cycling = Cycling { cycle, smoother, ..Cycling::default() };
            // No rows from level 1 on, and no rows on any level.
            let mut some = levels(16);
            some.a.splice(1.., [empty(0, 0), empty(0, 0), empty(0, 0)]);
            some.r = vec![empty(0, 256), empty(0, 0), empty(0, 0)];
            some.p = vec![empty(256, 0), empty(0, 0), empty(0, 0)];
            let none = Levels { a: some.a[1..].to_vec(), r: some.r[1..].to_vec(), p: some.p[1..].to_vec() };
            for (levels, rows) in [(some, 256), (none, 0)] {
                let b = vector(rows, 7);
                let wide = apply(&Cpu::new(), &levels.multigrid(&Cpu::new(), &cycling, full).unwrap(), &b);
                let m = levels.multigrid(&Cpu::new(), &cycling, narrow).unwrap();
                // The stencils are exact in 16 bits, the entries of these smoothers are not.
                let inexact = SMOOTHERS[..5].contains(&smoother) || matches!(smoother, Smoother::Spai { .. });
                let most = if inexact { 1e-3 } else { 1e-5 };
                for (x, y) in wide.iter().zip(&apply(&Cpu::new(), &m, &b)) {
                    assert!((x - y).abs() < most, "{smoother:?} {cycle:?}: {x} {y}");
                }
                assert_eq!(wide.iter().all(|x| *x == 0.0), rows == 0);
                assert_eq!(m.stored().len(), levels.a.len());
            }
        }
    }
}

#[test]
fn given_smoother_data_are_used() {
    let (levels, cpu, b) = (levels(32), Cpu::new(), vector(1024, 8));
    let narrow = |_| LevelPrecision { working: Kind::F32, storage: Kind::F16 };
    let data: Vec<_> = levels
        .a
        .iter()
        .map(|a| Smoother::default().data(a.view(), &Whole::new(a.rows()), None).unwrap())
        .collect();
    let mut sources = levels.sources(&cpu);
    let computed = Multigrid::new(&sources, &Cycling::default(), narrow, Lowering::default()).unwrap();
    sources.iter_mut().zip(&data).for_each(|(source, data)| source.smoother = Some(data));
    // The smoother of the cycle is then ignored.
    let other = Cycling { smoother: Smoother::L1Jacobi, ..Cycling::default() };
    let given = Multigrid::new(&sources, &other, narrow, Lowering::default()).unwrap();
    assert_eq!(apply(&cpu, &given, &b), apply(&cpu, &computed, &b));
    sources[1].smoother = Some(&data[0]);
    let error = Multigrid::new(&sources, &other, narrow, Lowering::default()).unwrap_err();
    assert!(error.to_string().starts_with("level 1, lowering: "), "{error}");
}

#[test]
fn errors_name_the_level() {
    let mut levels = levels(16);
    // Every row has an entry, but not on the diagonal.
    let columns = (0..64).map(|row| (row + 1) % 64).collect();
    levels.a[1] = Arc::new(Csr::try_new(64, 64, (0..65).collect(), columns, vec![1.0; 64]).unwrap());
    let error = levels.multigrid(&Cpu::new(), &Cycling::default(), full).unwrap_err();
    assert_eq!(
        error.to_string(),
        "level 1, smoother: row 0: the diagonal entry is 0, but it must be finite and nonzero"
    );
    assert!(Multigrid::new(&[], &Cycling::default(), full, Lowering::default()).is_err());
}

/// Without a bound on the visits this takes 2⁴⁸ visits of the coarsest level.
#[test]
fn a_cycle_over_many_similar_levels_ends() {
    let rows = |level: usize| 50 - level;
    let first_of = |from: usize, to: usize| {
        let row_ptr = (0..=from).map(|row| row.min(to)).collect();
        let (columns, values) = ((0..from.min(to) as u32).collect(), vec![1.0; from.min(to)]);
        Arc::new(Csr::try_new(from, to, row_ptr, columns, values).unwrap())
    };
    let levels = Levels {
        a: (0..50).map(|level| first_of(rows(level), rows(level))).collect(),
        r: (0..49).map(|level| first_of(rows(level + 1), rows(level))).collect(),
        p: (0..49).map(|level| first_of(rows(level), rows(level + 1))).collect(),
    };
    for cycle in [Cycle::W, Cycle::F, Cycle::K] {
        let cycling = Cycling { cycle, smoother: Smoother::L1Jacobi, ..Cycling::default() };
        let m = levels.multigrid(&Cpu::new(), &cycling, full).unwrap();
        let x = vector(50, 1);
        assert_eq!(apply(&Cpu::new(), &m, &x), x, "{cycle:?}"); // smoothing alone is exact
    }
}
