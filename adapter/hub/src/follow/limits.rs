//! The arguments of `followCall` that limit what is followed. Their effect is in [`super::Follow`].

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::Failure;

/// Default and maximum number of statements.
const STEP_LIMITS: (usize, usize) = (200, 5000);
/// Default and maximum time limit, milliseconds.
const TIMEOUT_LIMITS_MS: (u64, u64) = (10_000, 60_000);
/// Deepest calls that are followed statement by statement.
const MAX_DEPTH: usize = 5;

/// Arguments of `followCall`, as a client sends them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Arguments {
    thread_id: Option<i64>,
    depth: Option<u64>,
    max_steps: Option<u64>,
    timeout_ms: Option<u64>,
    enter_calls: Option<bool>,
}

/// The limits of one `followCall`.
#[derive(Debug)]
pub(super) struct FollowLimits {
    /// How many levels of calls are recorded statement by statement, below the call itself.
    pub depth: usize,
    pub max_steps: usize,
    pub enter_calls: bool,
    pub timeout_ms: u64,
}

impl FollowLimits {
    /// Reads the limits, and the thread if the client names one.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when an argument has the wrong type or is out of range.
    pub(super) fn parse(arguments: &Value) -> Result<(Option<i64>, Self), Failure> {
        let read: Arguments = serde_json::from_value(arguments.clone()).map_err(|error| {
            Failure::invalid(format!("the arguments of `followCall` do not fit: {error}"))
        })?;
        let depth = usize::try_from(read.depth.unwrap_or(0)).unwrap_or(usize::MAX);
        if depth > MAX_DEPTH {
            return Err(Failure::invalid(format!("`depth` is {depth}; it must be 0 to {MAX_DEPTH}")));
        }
        let max_steps =
            read.max_steps.map_or(STEP_LIMITS.0, |steps| usize::try_from(steps).unwrap_or(usize::MAX));
        if max_steps == 0 || max_steps > STEP_LIMITS.1 {
            return Err(Failure::invalid(format!(
                "`maxSteps` is {max_steps}; it must be 1 to {}",
                STEP_LIMITS.1
            )));
        }
        let limits = Self {
            depth,
            max_steps,
            enter_calls: read.enter_calls.unwrap_or(true),
            timeout_ms: read.timeout_ms.unwrap_or(TIMEOUT_LIMITS_MS.0).clamp(1, TIMEOUT_LIMITS_MS.1),
        };
        Ok((read.thread_id, limits))
    }
}
