//! Reports as data: they can be serialised, and an unconverged solve can be an error.

use serde_json::{json, to_value};
use ziggurat::config::Precision;
use ziggurat::krylov::StopReason;
use ziggurat::sparse::Kind;
use ziggurat::sparse::gallery::Problem;
use ziggurat::{Fault, Promotion, SolveError, Solver, Stronger};

#[test]
fn every_stop_reason_is_serialised_by_its_name() {
    for reason in StopReason::ALL {
        assert_eq!(to_value(reason).unwrap(), reason.name());
    }
}

#[test]
fn a_solution_is_serialised_with_its_report() {
    let a = "poisson3d:8".parse::<Problem>().unwrap().matrix().unwrap();
    let solution = Solver::builder().build(&a).unwrap().solve(&vec![1.0; a.rows()]).unwrap();
    let value = to_value(&solution).unwrap();
    let mut keys: Vec<&str> = value["report"].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut expected = [
        "reason",
        "iterations",
        "residual",
        "relative_residual",
        "left_out",
        "initial_residual",
        "target",
        "b_norm",
        "history",
        "verified",
        "seconds",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(value["report"]["history"].as_array().unwrap().len(), solution.report.iterations);
    assert_eq!((&value["x"][0], &value["promotion"]), (&json!(solution.x[0]), &json!(null)));
}

#[test]
fn a_promotion_is_serialised_with_its_causes() {
    let earlier = Promotion {
        from: Precision::F16,
        to: Stronger::Levels(Kind::F32),
        after: 16,
        why: Fault::RoundingSlows(0.85),
        earlier: None,
    };
    let promotion = Promotion {
        from: Precision::F32,
        to: Stronger::Factors,
        after: 40,
        why: Fault::Failed(StopReason::Breakdown),
        earlier: Some(Box::new(earlier)),
    };
    let expected = json!({
        "from": "f32",
        "to": "sparse factors",
        "after": 40,
        "why": {"failed": "breakdown"},
        "earlier": {
            "from": "f16",
            "to": "f32",
            "after": 16,
            "why": {"rounding_slows": 0.85},
            "earlier": null,
        },
    });
    assert_eq!(to_value(promotion).unwrap(), expected);
}

#[test]
fn an_unconverged_solve_is_an_error_for_those_who_ask() {
    let a = "poisson3d:8".parse::<Problem>().unwrap().matrix().unwrap();
    let solver = Solver::builder().max_iterations(1).build(&a).unwrap();
    let solution = solver.solve(&vec![1.0; a.rows()]).unwrap();
    let report = solution.report.clone();
    match solution.into_result() {
        Err(SolveError::NotConverged(found)) => assert_eq!(*found, report),
        other => panic!("{other:?}"),
    }
}
