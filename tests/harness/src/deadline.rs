//! Deadlines of tests: longest waits for events that must happen. They grow with `TANDEM_TEST_SLOWNESS`, a
//! number from 1.
//!
//! A duration that a test is about is not a deadline: a program's own sleep, a limit of the product, a time
//! in which nothing may happen.

use std::sync::LazyLock;
use std::time::Duration;

static SLOWNESS: LazyLock<f64> = LazyLock::new(|| {
    let value = std::env::var("TANDEM_TEST_SLOWNESS").unwrap_or_default();
    parse(&value).unwrap_or_else(|error| panic!("{error}"))
});

/// The factor that the value of `TANDEM_TEST_SLOWNESS` stands for.
///
/// # Errors
/// When it is not a number from 1 to 100.
pub fn parse(value: &str) -> Result<f64, String> {
    if value.is_empty() {
        return Ok(1.0);
    }
    let factor = value.parse().ok().filter(|factor| (1.0..=100.0).contains(factor));
    factor.ok_or_else(|| format!("TANDEM_TEST_SLOWNESS: `{value}` is not a number from 1 to 100"))
}

/// A deadline that is `seconds` on a fast machine.
pub fn deadline(seconds: u64) -> Duration {
    scaled(Duration::from_secs(seconds))
}

/// As [`deadline`], in milliseconds, for `timeoutMs`.
pub fn deadline_ms(seconds: u64) -> u64 {
    u64::try_from(deadline(seconds).as_millis()).unwrap_or(u64::MAX)
}

/// A deadline from a duration on a fast machine.
pub fn scaled(duration: Duration) -> Duration {
    duration.mul_f64(*SLOWNESS)
}
