//! Tests of the configuration: round trips, error messages, and the resolution of `auto`.

use super::*;

#[test]
fn k_cycles_minimise_the_residual_unless_the_matrix_is_positive() {
    let facts = |symmetric, positive_diagonal| MatrixFacts {
        symmetric,
        positive_diagonal,
        negated: false,
        block: 1,
        grid: false,
        heterogeneous: false,
        positive_couplings: false,
        one_way: false,
        saddle_point: false,
        factors: true,
        scattered: false,
        cells: None,
        nnz: 1000,
        f64: true,
        gpu: false,
    };
    let pairwise = SolverConfig { method: Method::Pairwise, ..SolverConfig::default() };
    let kind = |symmetric, positive| pairwise.resolve(facts(symmetric, positive)).cycle.kind;
    assert_eq!(kind(true, true), CycleKind::K);
    assert_eq!(kind(true, false), CycleKind::KGcr);
    assert_eq!(kind(false, true), CycleKind::KGcr);
}

#[test]
fn every_preset_round_trips_through_toml_and_json() {
    for (name, _) in SolverConfig::PRESETS {
        let mut config = SolverConfig::preset(name).unwrap();
        // The default is a number, and TOML has no null.
        config.classical.strength.max_row_sum = None;
        config.stopping.max_seconds = Some(2.5);
        let smoother = Some(config.smoother);
        config.levels =
            vec![LevelSettings { from: 2, smoother, post_sweeps: Some(3), ..LevelSettings::default() }];
        let toml = config.to_toml().unwrap();
        assert_eq!(SolverConfig::from_toml(&toml).unwrap(), config, "{name}:\n{toml}");
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(SolverConfig::from_json(&json).unwrap(), config, "{name}");
    }
}

#[test]
fn keys_that_are_not_given_keep_the_defaults_of_their_method() {
    let config = SolverConfig::from_toml("sa.strength.filter = { average_connections = 6 }").unwrap();
    let mut expected = SolverConfig::default();
    expected.sa.strength.filter = ziggurat_amg::strength::Filter::AverageConnections(6.0);
    assert_eq!(config, expected);
}

#[test]
fn errors_name_the_path_of_the_key() {
    for (text, parts) in [
        ("zzz = 1", &["unknown key `zzz` (known keys: air, bamg, basis, classical, cpr, cycle,"][..]),
        ("metod = 'sa'", &["`metod`; did you mean `method`?"]),
        (
            "sa.strength.treshold = 0.1",
            &["`sa.strength.treshold`", "known keys: filter, max_row_sum, measure"],
        ),
        ("sa.strength.filter.treshold = 0.1", &["did you mean `sa.strength.filter.threshold`?"]),
        (
            "threshold = 0.1",
            &["did you mean `air.threshold` or `classical.strength.filter.threshold` or `sa.strength"],
        ),
        ("method = 'clasical'", &["`method`: unknown method `clasical`; did you mean `classical`?"]),
        ("classical.interpolation = 'x'", &["`classical.interpolation`: unknown variant `x`", "extended-i"]),
        ("smoother.degree = -1", &["`smoother.degree` is -1; it must be an integer from 0"]),
        ("smoother.degree = 0.5", &["`smoother.degree` is 0.5; it must be an integer from 0"]),
        ("levels = [{ from = 1, smother = {} }]", &["`levels`: unknown field `smother`", "`smoother`"]),
        ("levels = [{ from = 1, pre_sweeps = 5000 }]", &["`cycle.pre_sweeps` is 5000"]),
        ("levels = [{ from = 1, smoother.degree = 0 }]", &["`levels.smoother.degree` is 0"]),
        ("smoother.omega = nan", &["`smoother.omega` is NaN; it must be finite"]),
        ("stopping.max_seconds = inf", &["`stopping.max_seconds` is inf; it must be finite"]),
        ("stopping.rtol = 'small'", &["`stopping.rtol`: invalid type", "small"]),
        ("smoother = 'jacobi'", &["`smoother`: expected a table with keys such as `smoother.block`"]),
        ("stopping.rtol = -1.0", &["stopping: `rtol` is -1"]),
        ("restart = 0", &["`restart` is 0; it must be from 1 to 5000"]),
        ("method = 'sa'\nx = = 1", &["invalid TOML: line 2: "]),
    ] {
        let error = SolverConfig::from_toml(text).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{text}: `{part}` is not in\n{error}");
        }
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let error = SolverConfig::from_json("{ \"method\": ").unwrap_err().to_string();
    assert!(error.contains("invalid JSON") && error.contains("line 1"), "{error}");
    assert!(SolverConfig::from_json("3").unwrap_err().to_string().contains("expected a table"));
}

#[test]
fn auto_depends_on_the_matrix_and_given_values_are_kept() {
    let facts = |symmetric, block| MatrixFacts {
        symmetric,
        positive_diagonal: true,
        negated: false,
        block,
        grid: false,
        heterogeneous: false,
        positive_couplings: false,
        one_way: false,
        saddle_point: false,
        factors: true,
        scattered: false,
        cells: None,
        nnz: 1000,
        f64: true,
        gpu: false,
    };
    let names = |config: &SolverConfig, facts| {
        let resolved = config.resolve(facts);
        let SolverConfig { method, krylov, precision, cycle, smoother, .. } = &resolved;
        [method.name(), smoother.kind.name(), cycle.kind.name(), krylov.name(), &precision.to_string()]
            .join(" ")
    };
    let default = SolverConfig::default();
    assert_eq!(names(&default, facts(true, 1)), "sa jacobi v cg f64");
    assert_eq!(names(&default, facts(true, 3)), "sa chebyshev v cg f64");
    assert_eq!(names(&default, facts(false, 1)), "classical gauss-seidel v fgmres f64");
    let on_gpu = MatrixFacts { gpu: true, ..facts(false, 1) };
    assert_eq!(names(&default, on_gpu), "classical l1-jacobi v fgmres f64");
    let indefinite = MatrixFacts { positive_diagonal: false, ..facts(true, 1) };
    assert_eq!(names(&default, indefinite), "sa jacobi v fgmres f64");
    let of = |method| SolverConfig { method, ..SolverConfig::default() };
    assert_eq!(names(&of(Method::Classical), facts(true, 1)), "classical l1-chebyshev v cg f64");
    assert_eq!(names(&of(Method::Pairwise), facts(true, 1)), "pairwise jacobi k fcg f64");
    let large = |facts| MatrixFacts { nnz: 1_000_000, ..facts };
    assert_eq!(names(&default, large(facts(true, 1))), "sa jacobi v cg f16");
    assert_eq!(names(&default, large(facts(true, 3))), "sa l1-chebyshev v cg f16");
    // Plain levels leave more to the smoother, unless its degree or ratio is set.
    let chebyshev = |config: &SolverConfig| {
        let smoother = config.resolve(large(facts(true, 3))).smoother;
        (smoother.degree, smoother.ratio)
    };
    assert_eq!(chebyshev(&default), (3, 12.0));
    assert_eq!(chebyshev(&SolverConfig::from_toml("smoother.degree = 4").unwrap()), (4, 4.0));
    assert_eq!(chebyshev(&SolverConfig::from_toml("effort = 'many-solves'").unwrap()), (2, 4.0));
    let many = SolverConfig { effort: Effort::ManySolves, ..SolverConfig::default() };
    assert_eq!(names(&many, large(facts(true, 3))), "sa chebyshev v cg f16");
    let plain = |config: &SolverConfig, facts| config.resolve(facts).sa.plain_levels;
    assert_eq!(plain(&default, large(facts(true, 1))), Some(1));
    for none in [facts(true, 1), large(facts(false, 1))] {
        assert_eq!(plain(&default, none), Some(0));
    }
    assert_eq!(plain(&many, large(facts(true, 1))), Some(0));
    let given = SolverConfig::from_toml("sa.plain_levels = 2").unwrap();
    assert_eq!(plain(&given, facts(false, 1)), Some(2));
    assert_eq!(names(&default, large(facts(false, 1))), "classical gauss-seidel v fgmres f64");
    let one_way = |facts| MatrixFacts { one_way: true, ..facts };
    assert_eq!(names(&default, one_way(facts(false, 1))), "air fc-jacobi v fgmres f64");
    assert_eq!(names(&default, large(one_way(facts(false, 1)))), "air fc-jacobi v fgmres f16");
    assert_eq!(names(&default, one_way(facts(false, 2))), "classical gauss-seidel v fgmres f64");
    assert_eq!(names(&of(Method::Air), facts(true, 1)), "air fc-jacobi v fgmres f64");
    assert_eq!(names(&default, large(indefinite)), "sa jacobi v fgmres f64");
    assert_eq!(names(&of(Method::Classical), large(facts(true, 1))), "classical l1-chebyshev v cg f16");
    assert_eq!(names(&of(Method::None), facts(true, 1)), "none fsai v cg f64");
    assert_eq!(names(&of(Method::Bamg), facts(true, 3)), "bamg fsai v cg f64");
    let positive = |facts| MatrixFacts { positive_couplings: true, ..facts };
    assert_eq!(names(&default, positive(facts(true, 1))), "sa fsai v cg f64");
    let vectors = |config: &SolverConfig, facts| config.resolve(facts).sa.test_vectors;
    assert_eq!(vectors(&default, positive(facts(true, 1))), Some(2));
    let on_device = SolverConfig { setup: SetupPlace::Device, ..SolverConfig::default() };
    assert_eq!(vectors(&on_device, positive(facts(true, 1))), Some(0));
    assert_eq!(vectors(&default, facts(true, 1)), Some(0));
    let given = SolverConfig::from_toml("sa.test_vectors = 5").unwrap();
    assert_eq!(vectors(&given, facts(true, 1)), Some(5));
    let coarse_rows = |config: &SolverConfig, facts| config.resolve(facts).hierarchy.coarse_rows;
    assert_eq!(coarse_rows(&default, large(facts(true, 3))), Some(1000));
    assert_eq!(coarse_rows(&default, facts(true, 3)), Some(300));
    assert_eq!(coarse_rows(&default, large(facts(true, 1))), Some(300));
    let given = SolverConfig::from_toml("hierarchy.coarse_rows = 64").unwrap();
    assert_eq!(coarse_rows(&given, large(facts(true, 3))), Some(64));
    let energy = |config: &SolverConfig, facts| config.resolve(facts).sa.energy_steps;
    assert_eq!(energy(&default, facts(true, 3)), Some(2));
    assert_eq!(energy(&default, facts(true, 1)), Some(0));
    assert_eq!(energy(&of(Method::Sa), facts(false, 3)), Some(0));
    assert_eq!(energy(&of(Method::Bamg), facts(true, 3)), Some(0));
    let given = SolverConfig::from_toml("method = \"sa\"\nsa.energy_steps = 1").unwrap();
    assert_eq!(energy(&given, facts(true, 3)), Some(1));
    let error = given.check_for(facts(false, 3)).unwrap_err().to_string();
    assert!(error.contains("sa.energy_steps") && error.contains("symmetric"), "{error}");
    assert_eq!(names(&of(Method::None), facts(false, 1)), "none ilu0 v fgmres f64");
    let mut one_sided = SolverConfig::default();
    one_sided.cycle.post_sweeps = 0;
    assert_eq!(names(&one_sided, facts(true, 1)), "sa jacobi v fcg f64");
    let given = SolverConfig { krylov: Krylov::Bicgstab, precision: Precision::F32, ..one_sided };
    assert_eq!(names(&given, facts(true, 1)), "sa jacobi v bicgstab f32");
    let without = |facts| MatrixFacts { f64: false, ..facts };
    assert_eq!(names(&default, without(facts(true, 1))), "sa jacobi v cg f32");
    assert_eq!(names(&default, without(large(facts(true, 1)))), "sa jacobi v cg f16");
}
