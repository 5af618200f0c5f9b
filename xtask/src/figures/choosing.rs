//! The decision chart of the chapter "Choosing": questions from top to bottom, and what to call.

use std::error::Error;

use super::drawing::{Anchor, Drawing};

/// Questions, each with what to call if the answer is yes. The last line holds otherwise.
const QUESTIONS: [(&[&str], &[&str]); 7] = [
    (&["Fewer than 10,000 rows?"], &["--method direct,", "or your direct solver"]),
    (
        &["Zeros on the diagonal?", "(saddle point, constraints)"],
        &["multigrid for the blocks;", "--method direct for the whole"],
    ),
    (&["Coupled pressure and saturation?"], &["--method direct;", "multigrid for the pressure"]),
    (&["Elasticity, structures?"], &["default, with the coordinates", "of the nodes: --coords"]),
    (&["Neumann problem or graph?", "(rows sum to zero)"], &["default; b sums to zero,", "or --project-rhs"]),
    (&["Not symmetric? (convection)"], &["default: classical, FGMRES;", "--preset robust"]),
    (
        &["Entries of a row differ by orders", "of magnitude? (circuits)"],
        &["compare: --method classical", "and the default"],
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
