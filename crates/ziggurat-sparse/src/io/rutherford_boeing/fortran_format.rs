//! Fortran formats of numbers in columns of fixed width, such as `(10I8)` and `(1P,4E20.12)`.
//!
//! A format has one kind of field, which may be repeated, and a scale factor before it:
//! `(kP,rIw)`, `(kP,rFw.d)`, `(kP,rEw.dEe)`; `D` and `G` are read as `E`. Blanks, the comma after
//! the scale factor and inner parentheses are optional. In a field (Fortran 2018, 13.7.2),
//!
//! - the exponent may begin with `E`, `D`, `Q` or its sign alone: `1.5E+2`, `1.5D2`, `1.5+102`;
//! - without a decimal point, the last `d` digits are decimal places;
//! - without an exponent, the value is divided by ten to the scale factor.
//!
//! A line whose numbers do not lie in the columns of the format, but are separated by blanks, is
//! read word by word. `scipy.io.hb_write` writes such lines: its numbers are narrower than its
//! format says.

use crate::io::fault::{Fault, shown};

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FortranFormat {
    /// Fields per line.
    pub(super) repeat: usize,
    /// Columns of a field.
    pub(super) width: usize,
    /// Whether the fields are integers.
    pub(super) integer: bool,
    decimals: i32,
    scale: i32,
}

/// The widest field and the most fields per line that are accepted.
const MOST: usize = 10_000;

impl FortranFormat {
    /// Parses a format, with its parentheses.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        let text = text.to_ascii_uppercase();
        let mut rest = text.strip_prefix('(')?.strip_suffix(')')?;
        let mut scale = 0;
        if let Some((before, after)) = rest.split_once('P')
            && let Ok(factor) = before.parse()
        {
            scale = factor;
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        // `(4E20.12)` inside of the format, possibly with a count before it.
        let mut repeat = count(&mut rest);
        if let Some(inner) = rest.strip_prefix('(') {
            rest = inner.strip_suffix(')')?;
            repeat = Some(repeat.unwrap_or(1).checked_mul(count(&mut rest).unwrap_or(1))?);
        }
        let kind = rest.chars().next()?;
        rest = &rest[kind.len_utf8()..];
        let width = count(&mut rest)?;
        let decimals = match rest.strip_prefix('.') {
            Some(after) => {
                rest = after;
                count(&mut rest)?
            }
            None => 0,
        };
        if let Some(exponent) = rest.strip_prefix('E') {
            rest = exponent;
            count(&mut rest)?;
        }
        let integer = kind == 'I';
        let known = integer || matches!(kind, 'E' | 'D' | 'F' | 'G');
        let repeat = repeat.unwrap_or(1);
        let sane = [repeat, width].iter().all(|number| (1..=MOST).contains(number)) && decimals <= MOST;
        let scale: i32 = scale;
        if !known || !rest.is_empty() || !sane || scale.unsigned_abs() as usize > MOST {
            return None;
        }
        Some(FortranFormat { repeat, width, integer, decimals: decimals as i32, scale })
    }

    /// The fields of a line that are not beyond its end, at most `repeat` of them.
    pub(super) fn fields<'l>(&self, line: &'l [u8]) -> Vec<&'l [u8]> {
        let fields = line.chunks(self.width).take(self.repeat).map(<[u8]>::trim_ascii);
        let mut fields: Vec<&[u8]> = fields.collect();
        // A number that is cut by the end of a field follows a blank in that field.
        if fields.iter().any(|field| field.iter().any(u8::is_ascii_whitespace)) {
            let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            fields = words.take(self.repeat).collect();
        }
        fields
    }

    /// The value of a field.
    pub(super) fn real(&self, field: &[u8]) -> Result<f64, Fault> {
        let fault = || Fault::NotANumber { found: shown(field) };
        let text = str::from_utf8(field).map_err(|_| fault())?;
        let finite = |value: f64| {
            if value.is_finite() { Ok(value) } else { Err(Fault::NotFinite { found: shown(field) }) }
        };
        let is_exponent = |letter: char| matches!(letter, 'E' | 'e' | 'D' | 'd' | 'Q' | 'q');
        let split =
            text.char_indices().skip(1).find(|&(_, letter)| is_exponent(letter) || "+-".contains(letter));
        let (mantissa, exponent) = match split {
            Some((at, letter)) => (&text[..at], Some(&text[at + usize::from(is_exponent(letter))..])),
            None => (text, None),
        };
        let digits = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte));
        if !digits(mantissa) || !plain(mantissa) {
            return match mantissa.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
                "inf" | "infinity" | "nan" => Err(Fault::NotFinite { found: shown(field) }),
                _ => Err(fault()),
            };
        }
        let mut power: i32 = match exponent {
            Some(exponent) => exponent.parse().map_err(|_| fault())?,
            None => -self.scale,
        };
        if !mantissa.contains('.') && !self.integer {
            power = power.saturating_sub(self.decimals);
        }
        let value = if power == 0 { mantissa.parse() } else { format!("{mantissa}e{power}").parse() };
        value.map_err(|_| fault()).and_then(finite)
    }
}

/// The digits at the start of a text, as a number.
fn count(rest: &mut &str) -> Option<usize> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at(digits);
    *rest = after;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_real_files() {
        for (text, repeat, width, integer) in [
            ("(10I8)", 10, 8, true),
            ("(26I3)", 26, 3, true),
            ("(I14)", 1, 14, true),
            ("(4E20.12)", 4, 20, false),
            ("(1P,4D20.12)", 4, 20, false),
            ("(1P4E20.12)", 4, 20, false),
            ("(1p, 5e16.8e3)", 5, 16, false),
            ("( 3(1P,E25.16) )", 0, 0, false),
            ("(1P,(3E26.18))", 3, 26, false),
            ("(20F4.1)", 20, 4, false),
            ("(3G25.16)", 3, 25, false),
        ] {
            let found =
                FortranFormat::parse(text).map(|format| (format.repeat, format.width, format.integer));
            assert_eq!(found, (repeat > 0).then_some((repeat, width, integer)), "{text}");
        }
        for text in [
            "",
            "10I8",
            "(10I8",
            "(I)",
            "(0I8)",
            "(10A8)",
            "(10I0)",
            "(E20.)",
            "(10I8,2X)",
            "(99999999999I8)",
            "(é1)",
        ] {
            assert_eq!(FortranFormat::parse(text), None, "{text}");
        }
    }

    #[test]
    fn fields_by_columns_or_by_blanks() {
        let format = FortranFormat::parse("(3E8.1)").unwrap();
        let fields = |line: &'static str| {
            let fields = format.fields(line.as_bytes());
            fields.into_iter().map(|field| str::from_utf8(field).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(fields(" 1.0E+00-2.0E+00 3.0E+00 ignored"), ["1.0E+00", "-2.0E+00", "3.0E+00"]);
        assert_eq!(fields("-1.0E+00-2.0"), ["-1.0E+00", "-2.0"]);
        assert_eq!(fields("1.0E+0 2.0E+0 -3.0E+0 4"), ["1.0E+0", "2.0E+0", "-3.0E+0"]);
        assert_eq!(fields(" 1.0E+00         3.0E+00"), ["1.0E+00", "", "3.0E+00"]);
    }

    #[test]
    fn numbers_as_fortran_writes_them() {
        let real = |format: &str, field: &str| {
            FortranFormat::parse(format).unwrap().real(field.as_bytes()).map_err(|fault| fault.to_string())
        };
        for (format, field, value) in [
            ("(4E20.12)", "1.5E+02", 150.0),
            ("(4E20.12)", "-.25D0", -0.25),
            ("(4E20.12)", "1.5-102", 1.5e-102),
            ("(4E20.12)", "-1.5+102", -1.5e102),
            ("(4E20.12)", "+7.", 7.0),
            ("(1P,4E20.12)", "1.5E+02", 150.0), // the scale factor is for output, or without exponent
            ("(1P,4F20.12)", "1.5", 0.15),
            ("(F8.3)", "1234567", 1234.567),
            ("(F8.3)", "1234.5", 1234.5),
            ("(4I8)", "-12", -12.0),
        ] {
            assert_eq!(real(format, field), Ok(value), "{format} {field}");
        }
        for field in ["", "x", "1.5E", "1.5E+", "--1", "1.2.3", "1e5e5", "-", "+", "1.5EE5", "é"] {
            assert!(real("(4E20.12)", field).is_err(), "{field}");
        }
        assert_eq!(
            real("(4E20.12)", "NaN"),
            Err("the value `NaN` is not finite in double precision".to_owned())
        );
        assert!(real("(4E20.12)", "1E999").unwrap_err().contains("not finite"));
    }
}
