//! The ranges of parameters. A type with parameters checks them in its `check` method, so a bound
//! is stated once, beside the parameter it belongs to.

use std::fmt;
use std::ops::RangeInclusive;

use thiserror::Error;

/// A parameter that is out of range.
///
/// ```
/// use ziggurat_amg::Pairwise;
/// let error = Pairwise { passes: 0 }.check().unwrap_err();
/// assert_eq!(error.to_string(), "`passes` is 0; it must be from 1 to 32");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{name}` is {value}; it must be {must}")]
pub struct OutOfRange {
    /// The parameter, with the path from the type that was checked: `strength.filter.threshold`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The requirement.
    pub must: String,
}

impl OutOfRange {
    /// Requires that a number lies in a range; NaN does not.
    ///
    /// ```
    /// use ziggurat_amg::OutOfRange;
    /// assert!(OutOfRange::unless_in("degree", 2, 1..=10).is_ok());
    /// let error = OutOfRange::unless_in("damping", f64::NAN, 0.0..=2.0).unwrap_err();
    /// assert_eq!(error.to_string(), "`damping` is NaN; it must be from 0.0 to 2.0");
    /// ```
    ///
    /// # Errors
    /// If it does not.
    pub fn unless_in<T: PartialOrd + Copy + fmt::Debug>(
        name: &str,
        value: T,
        range: RangeInclusive<T>,
    ) -> Result<(), Self> {
        let must = || format!("from {:?} to {:?}", range.start(), range.end());
        if range.contains(&value) { Ok(()) } else { Err(Self::new(name, &value, must())) }
    }

    /// Requires a condition, in words.
    ///
    /// ```
    /// use ziggurat_amg::OutOfRange;
    /// let ratio = 0.5;
    /// let error = OutOfRange::unless("ratio", ratio, ratio > 1.0, "above 1").unwrap_err();
    /// assert_eq!(error.to_string(), "`ratio` is 0.5; it must be above 1");
    /// ```
    ///
    /// # Errors
    /// If the condition does not hold.
    pub fn unless(name: &str, value: impl fmt::Debug, holds: bool, must: &str) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::new(name, &value, must.to_owned())) }
    }

    /// Numbers are written in the shortest form, so that 1e300 does not take 300 digits.
    fn new(name: &str, value: &impl fmt::Debug, must: String) -> Self {
        OutOfRange { name: name.to_owned(), value: format!("{value:?}"), must }
    }

    /// The same for a parameter of a part: `threshold` within `strength` is `strength.threshold`.
    ///
    /// ```
    /// use ziggurat_amg::Pairwise;
    /// let error = Pairwise { passes: 0 }.check().unwrap_err().within("pairwise");
    /// assert_eq!(error.name, "pairwise.passes");
    /// ```
    #[must_use]
    pub fn within(self, part: &str) -> Self {
        OutOfRange { name: format!("{part}.{}", self.name), ..self }
    }
}
