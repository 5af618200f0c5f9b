//! The decision chart of the chapter "Choosing": questions from top to bottom, and what to call.
//!
//! It says what the table below it says. What it says of `auto` is what `auto` chooses, which a
//! test asks [`SolverConfig`](ziggurat::SolverConfig).

use std::error::Error;

use super::drawing::{Anchor, Drawing};

/// Questions, each with what to call if the answer is yes. The last line holds otherwise.
const QUESTIONS: [(&[&str], &[&str]); 7] = [
    (&["Fewer than 10,000 rows?"], &["--method direct,", "or your direct solver"]),
    (
        &["Zeros on the diagonal?", "(saddle point, constraints)"],
        &["default: direct if factors fit,", "else minres, or blocks"],
    ),
    (
        &["Coupled pressure and saturation?", "(reservoir)"],
        &["default: cpr;", "number the unknowns cell by cell"],
    ),
    (&["Elasticity, structures?"], &["default, with the coordinates", "of the nodes: --coords"]),
    (&["Neumann problem or graph?", "(rows sum to zero)"], &["default; b sums to zero,", "or --project-rhs"]),
    (
        &["Not symmetric?", "(convection, transport)"],
        &["default: classical or air, fgmres;", "if it stagnates, --preset robust"],
    ),
    (
        &["Entries of a row differ by orders", "of magnitude? (circuits)"],
        &["default: classical,", "without any option"],
    ),
];

pub(crate) fn svg() -> Result<String, Box<dyn Error>> {
    let (left, right) = ((20.0, 260.0), (370.0, 250.0));
    let mut drawing = Drawing::new(640, 70 * (QUESTIONS.len() as u32 + 1));
    let arrow = "stroke=\"#555\" stroke-width=\"1.5\" marker-end=\"url(#arrow)\"";
    drawing.add(
        "<marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker>",
    );
    for (number, (question, call)) in QUESTIONS.iter().enumerate() {
        let y = 10.0 + 70.0 * number as f64;
        drawing.text_box((left.0, y), (left.1, 48.0), "#e8f1fb", question);
        drawing.text_box((right.0, y), (right.1, 48.0), "#e6f5ec", call);
        drawing.line((left.0 + left.1, y + 24.0), (right.0, y + 24.0), arrow);
        drawing.text(0.5 * (left.0 + left.1 + right.0), y + 18.0, Anchor::Middle, "yes");
        let middle = left.0 + 0.5 * left.1;
        drawing.line((middle, y + 48.0), (middle, y + 70.0), arrow);
        drawing.text(middle + 8.0, y + 64.0, Anchor::Start, "no");
    }
    let y = 10.0 + 70.0 * QUESTIONS.len() as f64;
    drawing.text_box((left.0, y), (left.1, 48.0), "#e6f5ec", &["the default, without any option"]);
    Ok(drawing.svg())
}

#[cfg(test)]
mod tests {
    use ziggurat::SolverConfig;
    use ziggurat::amg::Cells;
    use ziggurat::config::{Krylov, MatrixFacts, Method};
    use ziggurat::diagnose::MatrixKind;
    use ziggurat::sparse::device::Cpu;
    use ziggurat::sparse::gallery::Problem;

    use super::*;

    /// The chart's advice if the answer to the question that contains this is yes.
    fn answer(question: &str) -> String {
        let found = QUESTIONS.iter().find(|(lines, _)| lines.join(" ").contains(question));
        found.unwrap().1.join(" ")
    }

    fn facts(problem: &str) -> MatrixFacts {
        let a = problem.parse::<Problem>().unwrap().matrix().unwrap();
        MatrixKind::of_whole(&a.into()).unwrap().facts(&Cpu::new())
    }

    #[test]
    fn the_methods_of_the_chart_are_those_of_auto() {
        let (flow, symmetric) = (facts("convection3d:8"), facts("poisson3d:8"));
        let convection = MatrixFacts { one_way: false, ..flow };
        let cells = Some(Cells { unknowns: 3, pressure: 0 });
        for (question, facts, method) in [
            ("reservoir", MatrixFacts { cells, ..convection }, Method::Cpr),
            ("convection", convection, Method::Classical),
            ("transport", MatrixFacts { one_way: true, ..flow }, Method::Air),
            ("circuits", MatrixFacts { heterogeneous: true, ..symmetric }, Method::Classical),
        ] {
            let chosen = SolverConfig::default().resolve(facts);
            assert_eq!(chosen.method, method, "{question}");
            let answer = answer(question);
            assert!(answer.contains("default") && answer.contains(method.name()), "{question}: {answer}");
            assert!(facts.symmetric || chosen.krylov == Krylov::Fgmres, "{question}");
        }
    }
}
