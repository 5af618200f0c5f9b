//! Sums of doubles that do not depend on the order of addition: Kulisch's long accumulator (U.
//! Kulisch & W. Miranker, 1981).
//!
//! ```text
//! Σ x_k = 2^-1074 Σ_i d_i 2^(32 i)        d_i: integers of 64 bits
//! ```
//!
//! Every finite double is an integer multiple of 2^-1074, so a sum is an integer of about two
//! thousand bits. It is held in digits that overlap by 31 bits, so 2^31 numbers can be added before
//! a carry is lost. Digits of several accumulators may be added in any order, by threads or by an
//! all-reduce of integers; rounding happens once, at the end. The sum of distributed numbers
//! therefore has the same bits for any distribution.
//!
//! Cost: three integer additions per number, and 552 bytes per accumulator. It is meant for sums of
//! blocks, not of elements.

/// Number of digits: 2098 bits for the numbers, plus room for carries.
const DIGITS: usize = 68;

/// A sum without rounding errors.
///
/// ```
/// use ziggurat_sparse::ExactSum;
/// let numbers = [1e300, 3.0, -1e300, 1e-300];
/// let forth: ExactSum = numbers.into_iter().collect();
/// let back: ExactSum = numbers.into_iter().rev().collect();
/// assert_eq!((forth.rounded(), back.rounded()), (3.0, 3.0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactSum {
    /// The digits, least significant first, followed by the count of numbers that were not finite.
    digits: [i64; DIGITS + 1],
}

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum { digits: [0; DIGITS + 1] }
    }
}

impl ExactSum {
    /// Adds a number.
    pub fn add(&mut self, x: f64) {
        if !x.is_finite() {
            self.digits[DIGITS] += 1;
            return;
        }
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as usize, bits & ((1 << 52) - 1));
        // Subnormal numbers have the exponent of the smallest normal number, without the leading
        // one.
        let (place, mantissa) =
            if exponent == 0 { (0, fraction) } else { (exponent - 1, fraction | 1 << 52) };
        let shifted = u128::from(mantissa) << (place % 32);
        for (digit, shift) in self.digits[place / 32..].iter_mut().zip([0, 32, 64]) {
            let part = (shifted >> shift) as u32;
            *digit += if x < 0.0 { -i64::from(part) } else { i64::from(part) };
        }
    }

    /// The digits, for adding to the digits of other accumulators element by element.
    ///
    /// ```
    /// use ziggurat_sparse::ExactSum;
    /// let mut one: ExactSum = [0.1].into_iter().collect();
    /// let mut two: ExactSum = [0.2].into_iter().collect();
    /// for (digit, other) in one.digits_mut().iter_mut().zip(two.digits_mut()) {
    ///     *digit += *other;
    /// }
    /// assert_eq!(one.rounded(), 0.1 + 0.2);
    /// ```
    pub fn digits_mut(&mut self) -> &mut [i64] {
        &mut self.digits
    }

    /// The sum, rounded once; NaN if any number was not finite.
    pub fn rounded(&self) -> f64 {
        if self.digits[DIGITS] != 0 {
            return f64::NAN;
        }
        let mut digits = self.digits;
        carry(&mut digits[..DIGITS]);
        let negative = digits[DIGITS - 1] < 0;
        if negative {
            digits.iter_mut().for_each(|digit| *digit = -*digit);
            carry(&mut digits[..DIGITS]);
        }
        let Some(top) = digits[..DIGITS].iter().rposition(|&digit| digit != 0) else { return 0.0 };
        let low = top.saturating_sub(2);
        let leading = digits[low..=top].iter().rev().fold(0u128, |sum, &digit| sum << 32 | digit as u128);
        // The lower digits are less than a rounding error of the 65 or more bits above them, but
        // they decide ties.
        let rest = u128::from(digits[..low].iter().any(|&digit| digit != 0));
        let size = (leading | rest) as f64;
        // In two steps, because the power alone may underflow.
        let size = size * 2f64.powi(16 * low as i32 - 537) * 2f64.powi(16 * low as i32 - 537);
        if negative { -size } else { size }
    }
}

/// Propagates carries until every digit but the last lies in 0..2³².
fn carry(digits: &mut [i64]) {
    let mut carried = 0;
    let last = digits.len() - 1;
    for digit in &mut digits[..last] {
        let whole = *digit + carried;
        (carried, *digit) = (whole >> 32, whole & 0xffff_ffff);
    }
    digits[last] += carried;
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        let mut sum = ExactSum::default();
        numbers.into_iter().for_each(|x| sum.add(x));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(numbers: &[f64]) -> f64 {
        numbers.iter().copied().collect::<ExactSum>().rounded()
    }

    #[test]
    fn one_number_is_itself() {
        let (tiny, huge) = (f64::from_bits(1), f64::MAX);
        for x in [0.0, 1.0, -1.5, 0.1, huge, -huge, f64::MIN_POSITIVE, tiny, -3.0 * tiny, 1e-310, 1e-295] {
            assert_eq!(sum(&[x]).to_bits(), x.to_bits(), "{x:e}");
        }
        assert!(sum(&[1.0, f64::NAN]).is_nan() && sum(&[f64::INFINITY]).is_nan());
        assert_eq!(sum(&[]), 0.0);
    }

    #[test]
    fn ties_are_rounded_as_they_should_be() {
        let ulp = f64::EPSILON;
        assert_eq!(sum(&[1.0, ulp / 2.0]), 1.0);
        assert_eq!(sum(&[1.0, ulp / 2.0, 1e-200]), 1.0 + ulp);
        assert_eq!(sum(&[1.0 + ulp, ulp / 2.0]), 1.0 + 2.0 * ulp);
        assert_eq!(sum(&[huge(), -huge(), 1e-300]), 1e-300);
    }

    fn huge() -> f64 {
        f64::MAX
    }

    proptest! {
        #[test]
        fn two_numbers_are_added_as_the_processor_adds_them(x in -1e10..1e10f64, y in -1e-3..1e-3f64) {
            prop_assert_eq!(sum(&[x, y]), x + y);
        }

        #[test]
        fn order_does_not_matter(mut numbers in prop::collection::vec(any::<f64>().prop_filter("finite", |x| x.abs() < 1e300), 0..40)) {
            let forth = sum(&numbers);
            numbers.reverse();
            prop_assert_eq!(forth.to_bits(), sum(&numbers).to_bits());
            let half = numbers.len() / 2;
            let mut left: ExactSum = numbers[..half].iter().copied().collect();
            let mut right: ExactSum = numbers[half..].iter().copied().collect();
            left.digits_mut().iter_mut().zip(right.digits_mut()).for_each(|(left, right)| *left += *right);
            prop_assert_eq!(forth.to_bits(), left.rounded().to_bits());
        }
    }
}
