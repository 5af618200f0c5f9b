//! Performance profiles: for each solver, the share of systems that it solves within a factor τ of
//! the time of the fastest solver of that system (E. D. Dolan & J. J. Moré, *Benchmarking
//! optimization software with performance profiles*, 2002).

use std::fmt::Write;

/// The factors of the table.
pub(super) const FACTORS: [f64; 6] = [1.0, 1.5, 2.0, 5.0, 10.0, 100.0];

/// Size of the picture, and the margins left, top, right and bottom of the curves.
const SIZE: [f64; 2] = [560.0, 340.0];
const MARGINS: [f64; 4] = [56.0, 34.0, 16.0, 46.0];

/// The largest factor of the picture.
const LARGEST: f64 = 1000.0;

/// Colours that differ also without colour vision.
const COLOURS: [&str; 4] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"];

/// The seconds of one solver on all systems; `None` where it failed.
pub(super) struct Solver<'a> {
    pub(super) name: &'a str,
    pub(super) seconds: Vec<Option<f64>>,
}

/// For each solver, the factors over the fastest of each system that it solves, sorted.
pub(super) fn factors(solvers: &[Solver<'_>]) -> Vec<Vec<f64>> {
    let systems = solvers.first().map_or(0, |solver| solver.seconds.len());
    let fastest: Vec<f64> = (0..systems)
        .map(|system| {
            solvers.iter().filter_map(|solver| solver.seconds[system]).fold(f64::INFINITY, f64::min)
        })
        .collect();
    let of = |solver: &Solver<'_>| {
        let solved = solver.seconds.iter().zip(&fastest);
        let mut factors: Vec<f64> = solved.filter_map(|(seconds, best)| Some((*seconds)? / best)).collect();
        factors.sort_by(f64::total_cmp);
        factors
    };
    solvers.iter().map(of).collect()
}

/// The share of all systems with at most this factor.
pub(super) fn share(factors: &[f64], factor: f64, systems: usize) -> f64 {
    factors.partition_point(|&found| found <= factor) as f64 / systems.max(1) as f64
}

/// The profiles as SVG, over a logarithmic axis of factors.
pub(super) fn picture(solvers: &[Solver<'_>]) -> String {
    let ([width, height], [left, top, right, bottom]) = (SIZE, MARGINS);
    let systems = solvers.first().map_or(0, |solver| solver.seconds.len());
    let x = |factor: f64| left + (width - left - right) * factor.min(LARGEST).log10() / LARGEST.log10();
    let y = |share: f64| top + (height - top - bottom) * (1.0 - share);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Share of real systems solved within a factor of the fastest</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    // Writing to a string does not fail.
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (at, percent) = (y(share), 100.0 * share);
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{percent} %</text>",
            width - right,
            left - 6.0,
            at + 4.0
        );
    }
    for factor in [1.0, 10.0, 100.0, 1000.0] {
        let (at, below) = (x(factor), height - bottom + 16.0);
        let _ = writeln!(svg, "<text x=\"{at}\" y=\"{below}\" text-anchor=\"middle\">{factor}</text>");
    }
    let middle = (left + width - right) / 2.0;
    let _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">time, relative to the fastest solver of each \
         system</text>",
        height - 10.0
    );
    for (index, ((solver, factors), colour)) in solvers.iter().zip(factors(solvers)).zip(COLOURS).enumerate()
    {
        let mut path = format!("M{:.1} {:.1}", x(1.0), y(share(&factors, 1.0, systems)));
        for &factor in factors.iter().filter(|&&factor| factor > 1.0 && factor <= LARGEST) {
            let _ = write!(path, "H{:.1}V{:.1}", x(factor), y(share(&factors, factor, systems)));
        }
        let _ = write!(path, "H{:.1}", x(LARGEST));
        let legend = left + 140.0 * index as f64;
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <rect x=\"{legend}\" y=\"10\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"20\">{}</text>",
            legend + 18.0,
            solver.name
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_count_as_systems_but_not_as_solved() {
        let solvers = [
            Solver { name: "one", seconds: vec![Some(1.0), Some(4.0), None] },
            Solver { name: "other", seconds: vec![Some(2.0), Some(1.0), Some(3.0)] },
        ];
        let found = factors(&solvers);
        assert_eq!(found, [vec![1.0, 4.0], vec![1.0, 1.0, 2.0]]);
        assert_eq!(share(&found[0], 1.5, 3), 1.0 / 3.0);
        assert_eq!(share(&found[1], 2.0, 3), 1.0);
        assert!(picture(&solvers).contains(">other</text>"));
    }
}
