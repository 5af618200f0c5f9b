//! Where and when a solve ran: the name of the processor, and the date.

use std::time::{SystemTime, UNIX_EPOCH};

/// The processor's name; `None` where the system does not report it in `/proc`.
pub(crate) fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// A time as a date of the Gregorian calendar: `16 November 2026, 12:30 UTC`.
///
/// Days are counted from 1 March of year 0, so that leap days end a year (Howard Hinnant,
/// `civil_from_days`).
pub(crate) fn date(time: SystemTime) -> String {
    const MONTHS: [&str; 12] = [
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "January",
        "February",
    ];
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, minutes) = (seconds / 86_400 + 719_468, seconds % 86_400 / 60);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era + u64::from(month >= 10);
    let name = MONTHS[month as usize % 12];
    format!("{day} {name} {year}, {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1 January 1970, 00:00 UTC"),
            (951_782_399, "28 February 2000, 23:59 UTC"),
            (951_782_400, "29 February 2000, 00:00 UTC"),
            (1_709_251_199, "29 February 2024, 23:59 UTC"),
            (1_767_225_600, "1 January 2026, 00:00 UTC"),
            (4_107_542_400, "1 March 2100, 00:00 UTC"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
