//! The results of the race as text: a table per system, geometric means, and our setup by stages.

use std::collections::BTreeMap;

use tasks::table::Table;

use super::{Kind, Measured, Run};

/// Prints a table of all contestants on one system.
pub(super) fn table(measured: &Measured) {
    let heading = format!("{}, {} rows", measured.system, measured.rows);
    let columns = ["iterations", "setup s", "solve s", "total s", "peak MB", "our speed-up", "setting"];
    let mut table = Table::new(std::iter::once(heading.as_str()).chain(columns));
    let ours = measured.ours().map_or(f64::NAN, Run::total);
    for entry in &measured.contestants {
        let modes = if entry.modes { " (rigid-body modes)" } else { "" };
        let label = format!("{}{modes}", entry.label);
        let Some(run) = &entry.best else {
            let mut reasons: Vec<String> =
                entry.tried.iter().filter_map(|(_, result)| result.clone().err()).collect();
            reasons.dedup();
            table.row([format!("{label}: failed: {}", reasons.join("; "))]);
            continue;
        };
        table.row([
            label,
            run.iterations.to_string(),
            format!("{:.3}", run.setup_seconds),
            format!("{:.3}", run.solve_seconds),
            format!("{:.3}", run.total()),
            format!("{:.0}", run.peak_mb),
            if entry.ours { String::new() } else { format!("{:.2}", run.total() / ours) },
            run.setting.clone(),
        ]);
    }
    println!("{table}");
}

/// The geometric mean, for each kind of system, of the fastest peer's total time over ours.
pub(super) fn means(measured: &[Measured]) -> BTreeMap<&'static str, f64> {
    let mean = |kind: Kind| {
        let of_kind = measured.iter().filter(|one| one.kind == kind);
        let logarithms: Vec<f64> = of_kind.filter_map(Measured::speed_up).map(f64::ln).collect();
        let count = logarithms.len() as f64;
        (count > 0.0).then(|| (kind.name(), (logarithms.iter().sum::<f64>() / count).exp()))
    };
    Kind::ALL.into_iter().filter_map(mean).collect()
}

/// Prints the means and our setup by stages.
pub(super) fn summary(measured: &[Measured]) {
    for (kind, mean) in means(measured) {
        println!("{mean:.2}x faster than the fastest peer (geometric mean, {kind})");
    }
    println!("\nour setup by stages, in SpMVs:");
    for one in measured {
        let Some((run, spmv)) = one.ours().and_then(|run| Some((run, run.spmv_seconds?))) else { continue };
        let stages = run.stages.iter().map(|(stage, seconds)| format!("{stage} {:.1}", seconds / spmv));
        let iteration = run.solve_seconds / spmv / run.iterations.max(1) as f64;
        println!(
            "  {}: {:.0} in all: {}; iteration {iteration:.1}",
            one.system,
            run.setup_seconds / spmv,
            stages.collect::<Vec<_>>().join(", ")
        );
    }
}
