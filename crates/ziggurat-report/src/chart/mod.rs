//! SVG charts, drawn with plotters.
//!
//! Each function returns one chart as a string, with the same bytes for the same input. Charts have
//! a `viewBox`, so they scale to the available space, and a transparent background. Lines and text
//! inherit the surrounding colour (`currentColor`), so charts are legible on dark pages. All other
//! colours are from one colour-blind-safe palette (`palette.rs`). Tooltips are SVG titles.

mod canvas;
mod convergence;
mod decades;
mod levels;
mod spy;
mod stages;
mod tower;

pub(crate) use canvas::escaped;
pub use convergence::{Curve, CurveKind, convergence, convergence_with_marks};
pub use levels::levels;
pub use spy::spy;
pub(crate) use stages::SOLVE;
pub use stages::{bars, stages};
pub use tower::tower;

#[cfg(test)]
pub(crate) mod tests {
    //! Checks that every chart must pass.

    /// Panics if the SVG is not well-formed XML, refers to external resources, or has a coordinate
    /// that is not a number or lies outside the chart.
    pub(crate) fn check(svg: &str) {
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        let root = document.root_element();
        assert_eq!(root.tag_name().name(), "svg");
        assert!(root.attribute("viewBox").is_some_and(|sizes| sizes.split(' ').count() == 4), "{svg}");
        let size = |name| root.attribute(name).unwrap().parse::<f64>().unwrap();
        let (width, height) = (size("width"), size("height"));
        for element in document.descendants().filter(roxmltree::Node::is_element) {
            for attribute in element.attributes() {
                let (name, value) = (attribute.name(), attribute.value());
                assert!(!["href", "src", "style"].contains(&name) || element == root, "{name} in {svg}");
                assert!(!value.contains("NaN") && !value.contains("inf"), "{name}={value} in {svg}");
                let most = match name {
                    "x" | "x1" | "x2" | "cx" => width,
                    "y" | "y1" | "y2" | "cy" => height,
                    "width" | "height" | "r" | "opacity" | "font-size" => f64::INFINITY,
                    _ => continue,
                };
                let number: f64 = value.parse().unwrap_or_else(|_| panic!("{name}={value} in {svg}"));
                assert!((0.0..=most).contains(&number), "{name}={value} of {most} in {svg}");
            }
        }
    }

    /// The text elements of a chart.
    pub(crate) fn words(svg: &str) -> Vec<String> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        texts.map(|node| node.text().unwrap_or("").trim().to_owned()).collect()
    }
}
