//! A logarithmic axis. Coordinates are exponents (log₁₀ of the value) with ticks at whole ones.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// The range of an axis, between two powers of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decades {
    lowest: i32,
    highest: i32,
}

impl Decades {
    /// The powers of ten that enclose the values, which must be positive and finite; one decade if
    /// there are none.
    pub(super) fn around(values: impl IntoIterator<Item = f64>) -> Self {
        let exponents: Vec<f64> = values.into_iter().map(f64::log10).filter(|e| e.is_finite()).collect();
        let lowest = exponents.iter().copied().reduce(f64::min).unwrap_or(0.0).floor() as i32;
        let highest = exponents.iter().copied().reduce(f64::max).unwrap_or(1.0).ceil() as i32;
        Decades { lowest, highest: highest.max(lowest + 1) }
    }
}

impl Ranged for Decades {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, exponent: &f64, (from, to): (i32, i32)) -> i32 {
        let part = (exponent - f64::from(self.lowest)) / f64::from(self.highest - self.lowest);
        from + (part.clamp(0.0, 1.0) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let most = hint.max_num_points().max(2) as u32;
        let step = (self.highest - self.lowest).unsigned_abs().div_ceil(most - 1) as i32;
        // Ticks are multiples of the step, so that 1 is a tick on every axis that contains it.
        let first = self.lowest.div_euclid(step) * step;
        let ticks = (first..=self.highest).step_by(step as usize).filter(|&tick| tick >= self.lowest);
        ticks.map(f64::from).collect()
    }

    fn range(&self) -> Range<f64> {
        f64::from(self.lowest)..f64::from(self.highest)
    }
}

impl ValueFormatter<f64> for Decades {
    fn format(exponent: &f64) -> String {
        if *exponent == 0.0 { "1".to_owned() } else { format!("10{}", superscript(*exponent as i32)) }
    }
}

/// An exponent in superscript digits: `⁻⁸`.
fn superscript(exponent: i32) -> String {
    let digit = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The others are in one block of Unicode.
        digit => digit.to_digit(10).and_then(|digit| char::from_u32(0x2070 + digit)).unwrap_or(digit),
    };
    exponent.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_whole_powers_and_few() {
        let axis = Decades::around([3e-9, 1.0, 0.2]);
        assert_eq!((axis.range(), axis.key_points(10).len()), (-9.0..0.0, 10));
        let wide = Decades::around([1e-300, 1e10]).key_points(8);
        assert!((4..=9).contains(&wide.len()) && wide.contains(&0.0), "{wide:?}");
        assert_eq!(Decades::around([]).range(), 0.0..1.0);
        assert_eq!(Decades::around([1.0, 1.0]).range(), 0.0..1.0);
        assert_eq!((Decades::format(&-8.0), Decades::format(&0.0)), ("10⁻⁸".to_owned(), "1".to_owned()));
        assert_eq!(Decades::format(&-1230.0), "10⁻¹²³⁰");
    }

    #[test]
    fn values_outside_the_range_are_clamped() {
        let axis = Decades::around([1e-2, 1.0]);
        assert_eq!([-1.0, 5.0, -9.0].map(|e| axis.map(&e, (100, 0))), [50, 0, 100]);
    }
}
