//! Isotton's comparisons for Chronos: the interpolation and the smoother of classical coarsening,
//! structures whose near-kernel is not known, and elasticity with its rigid-body modes.

use ziggurat::SolverConfig;
use ziggurat::amg::Interpolation;
use ziggurat::amg::halo::Whole;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::config::{Effort, Method, SmootherKind};
use ziggurat::diagnose::unknowns_per_node;

use super::super::pool::Pool;
use super::super::systems::ModelSystem;
use super::super::{BenchError, Setting};
use super::{Measured, best_of, table_of};

/// Isotton's comparisons: the smoother, and the interpolation of classical coarsening.
pub(super) fn interpolations(setting: &Setting, pool: &Pool) -> Result<Vec<Measured>, BenchError> {
    let names: &[&str] = match setting.quick {
        true => &["jump3d:10"],
        false => &["poisson3d:80", "jump3d:80", "crank_heat3d", "norne_pressure", "G2_circuit"],
    };
    let mut all = Vec::new();
    for name in names {
        let Some(system) = ModelSystem::named(name)? else { continue };
        let mut variants = Vec::new();
        for (interpolation, called) in [
            (Interpolation::ClassicalModified, "classical"),
            (Interpolation::Hybrid, "hybrid"),
            (Interpolation::ExtendedI, "extended+i"),
        ] {
            for smoother in [SmootherKind::Jacobi, SmootherKind::Fsai] {
                let mut config =
                    SolverConfig { method: Method::Classical, fallback: false, ..SolverConfig::default() };
                config.classical.interpolation = interpolation;
                config.classical.aggressive_levels = 0;
                config.smoother.kind = smoother;
                variants.push((format!("{called}, {smoother}"), config));
            }
        }
        all.extend(best_of(&system, "classical coarsening", &variants, setting.rounds, pool)?);
    }
    println!("Isotton: interpolation and smoother, relative residual 1e-8\n\n{}", table_of(&all));
    Ok(all)
}

/// Isotton's comparison for structures, whose near-kernel is not given: smoothed aggregation of
/// constants, also with the energy of its interpolation minimised, against least-squares
/// interpolation, plain (BAMG), smoothed (SBAMG) and filtered (FBAMG).
pub(super) fn structures(setting: &Setting, pool: &Pool) -> Result<Vec<Measured>, BenchError> {
    let names: &[&str] = match setting.quick {
        true => &["elasticity3d:4"],
        false => &[
            "elasticity3d:16",
            "hypre_beam_tet",
            "bcsstk14",
            "bcsstk15",
            "bcsstk18",
            "bcsstk27",
            "bcsstk28",
            "gyro_m",
            "crank_elas3d",
        ],
    };
    let of = |method: Method, steps: usize, damping: f64, keep: f64| {
        let mut config = SolverConfig { method, fallback: false, ..SolverConfig::default() };
        config.smoother.kind = SmootherKind::Fsai;
        (config.bamg.damping, config.bamg.keep) = (damping, keep);
        (config.sa.energy_steps, config.sa.test_vectors) = (Some(steps), Some(0));
        config
    };
    let smoothing = SolverConfig::default().bamg;
    let variants = [
        ("sa".to_owned(), of(Method::Sa, 0, 0.0, 1.0)),
        ("sa, least energy".to_owned(), of(Method::Sa, 2, 0.0, 1.0)),
        ("BAMG".to_owned(), of(Method::Bamg, 0, 0.0, 1.0)),
        ("SBAMG".to_owned(), of(Method::Bamg, 0, smoothing.damping, 1.0)),
        ("FBAMG".to_owned(), of(Method::Bamg, 0, smoothing.damping, smoothing.keep)),
    ];
    let mut all = Vec::new();
    for name in names {
        let Some(mut system) = ModelSystem::named(name)? else { continue };
        let constants = NearKernel::constants(
            system.a.rows(),
            unknowns_per_node(system.a.view(), &Whole::new(system.a.rows())),
        );
        system.near_kernel =
            constants.map_err(|error| BenchError::Solve(system.name.clone(), error.to_string()))?;
        all.extend(best_of(&system, "structures", &variants, setting.rounds, pool)?);
    }
    println!("Isotton: structures without coordinates, adaptive FSAI, relative residual 1e-8\n");
    println!("{}", table_of(&all));
    Ok(all)
}

/// The next step that the thesis names: smoothed aggregation of rigid-body modes, with and
/// without minimising the energy of its interpolation, for few solves (the finest level is plain)
/// and for many (it is not).
pub(super) fn elasticity(setting: &Setting, pool: &Pool) -> Result<Vec<Measured>, BenchError> {
    let names: &[&str] = match setting.quick {
        true => &["elasticity3d:4"],
        false => &["elasticity3d:30", "hypre_beam_tet", "crank_elas3d"],
    };
    let mut variants = Vec::new();
    for (effort, steps) in [(Effort::FewSolves, &[0, 1, 2, 4][..]), (Effort::ManySolves, &[0, 2, 4])] {
        for &count in steps {
            let mut config =
                SolverConfig { method: Method::Sa, effort, fallback: false, ..SolverConfig::default() };
            config.sa.energy_steps = Some(count);
            variants.push((format!("{effort}, {count} steps"), config));
        }
    }
    let mut all = Vec::new();
    for name in names {
        let Some(system) = ModelSystem::with_modes(name)? else { continue };
        all.extend(best_of(&system, "elasticity", &variants, setting.rounds, pool)?);
    }
    println!(
        "Isotton: elasticity, steps of energy minimisation, relative residual 1e-8\n\n{}",
        table_of(&all)
    );
    Ok(all)
}
