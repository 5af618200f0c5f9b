//! The colours of charts, pages and of Python's plots: the palette of Okabe and Ito (2008), which
//! remains distinguishable with colour blindness.
//!
//! A colour never carries a meaning alone: the same thing is also said by a label, a shape or a
//! position.

use plotters::style::RGBColor;

pub(crate) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(crate) const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
pub(crate) const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
pub(crate) const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
pub(crate) const SKY: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
pub(crate) const PURPLE: RGBColor = RGBColor(0xcc, 0x79, 0xa7);

/// The colours with the names of their CSS classes, by which pages adapt them to a dark background.
pub(crate) const CLASSES: [(RGBColor, &str); 6] = [
    (BLUE, "blue"),
    (VERMILLION, "vermillion"),
    (GREEN, "green"),
    (ORANGE, "orange"),
    (SKY, "sky"),
    (PURPLE, "purple"),
];

/// The meaning of each colour: a number format of a level, a stage of a solve, or a residual.
const MEANINGS: [(&str, RGBColor); 9] = [
    ("f64", BLUE),
    ("f32", SKY),
    ("f16", ORANGE),
    ("bf16", GREEN),
    ("other", PURPLE),
    ("setup", GREEN),
    ("solve", BLUE),
    ("updated residual", BLUE),
    ("true residual", VERMILLION),
];

/// The colour of a meaning: a number format (`f64`, `f32`, `f16`, `bf16`), `setup`, `solve`,
/// `updated residual` or `true residual`; the colour of `other` for anything else.
pub(crate) fn colour(meaning: &str) -> RGBColor {
    MEANINGS.iter().find(|(name, _)| *name == meaning).map_or(PURPLE, |(_, colour)| *colour)
}

/// `#0072B2`
pub(crate) fn hex(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// The meanings of colours as JSON, for plots in other languages.
///
/// ```
/// let palette: serde_json::Value = serde_json::from_str(&ziggurat_report::palette_json())?;
/// assert_eq!(palette["f16"], "#E69F00");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn palette_json() -> String {
    let pairs = MEANINGS.map(|(name, colour)| format!("\"{name}\": \"{}\"", hex(colour)));
    format!("{{{}}}", pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_colours_of_their_own() {
        let formats = ["f64", "f32", "f16", "bf16", "f8"].map(colour);
        for (k, one) in formats.iter().enumerate() {
            assert!(formats[..k].iter().all(|other| other != one), "{k}");
        }
        assert!(MEANINGS.iter().all(|(_, colour)| CLASSES.iter().any(|(class, _)| class == colour)));
    }
}
