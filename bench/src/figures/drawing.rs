//! A drawing: SVG elements with the same fonts and colours for all figures.
//!
//! Figures have a light ground of their own, because a page that shows an SVG file as an image does
//! not pass its colours on.

use std::fmt::Write as _;

/// The palette of Okabe and Ito (2008), which people with any colour vision can tell apart, without
/// black.
pub(crate) const PALETTE: [&str; 7] =
    ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"];

/// An SVG file in the making.
#[derive(Debug)]
pub(crate) struct Drawing {
    width: u32,
    height: u32,
    body: String,
}

/// Where a text is relative to its point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Drawing { width, height, body: String::new() }
    }

    /// Adds an element. Writing to a string does not fail.
    pub(crate) fn add(&mut self, element: &str) {
        let _ = writeln!(self.body, "{element}");
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.add(&format!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(&format!("<path d=\"M{x1:.0} {y1:.0}L{x2:.0} {y2:.0}\" {style}/>"));
    }

    /// A line through points.
    pub(crate) fn curve(&mut self, points: &[(f64, f64)], colour: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let path = points.join("L");
        self.add(&format!("<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"));
    }

    pub(crate) fn bar(&mut self, place: (f64, f64), size: (f64, f64), colour: &str) {
        let ((x, y), (width, height)) = (place, size);
        self.add(&format!(
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{height:.0}\" fill=\"{colour}\"/>"
        ));
    }

    /// A box with lines of text in its middle.
    pub(crate) fn text_box(&mut self, place: (f64, f64), size: (f64, f64), colour: &str, lines: &[&str]) {
        let ((x, y), (width, height)) = (place, size);
        self.add(&format!(
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\" fill=\"{colour}\" \
             stroke=\"#555\"/>"
        ));
        let middle = y + height / 2.0 + 5.0 - 9.0 * (lines.len() as f64 - 1.0);
        for (number, line) in lines.iter().enumerate() {
            self.text(x + width / 2.0, middle + 18.0 * number as f64, Anchor::Middle, line);
        }
    }

    /// The file.
    pub(crate) fn svg(&self) -> String {
        let Drawing { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"#222\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{body}</svg>\n"
        )
    }
}
