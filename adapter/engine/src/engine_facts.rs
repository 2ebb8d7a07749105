//! Facts about an engine that the hub acts on: in place of names, so that the hub knows no adapter.
//!
//! Supported features are not here: DAP `Capabilities` report them.

use super::condition_language::ConditionLanguage;
use super::result_names::ResultNames;

/// Facts about a created engine for the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedEngine {
    /// Its name, as in the launch attribute `engine`.
    pub name: String,
    /// It takes several breakpoints on one line (or function), each with its own condition, and evaluates
    /// each condition. Most child adapters keep one: then the hub merges them and evaluates.
    pub several_per_line: bool,
    /// Requests that run no code of the program.
    pub look_only: LookOnlyRequests,
    /// The language of conditions.
    pub conditions: ConditionLanguage,
    /// The names by which it shows what calls have returned.
    pub results: ResultNames,
    /// Its `source` may have to fetch or decompile the text first, which takes minutes.
    pub fetches_sources: bool,
}

/// Requests that an engine carries out without running code of the program, among those of which the command
/// table says that the engine's profile decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookOnlyRequests {
    /// It is not known what the engine does.
    Unknown,
    /// [`LOCATION_REQUESTS`] and these.
    Known(&'static [&'static str]),
}

/// Where the program is stopped and what it is made of: every engine of ours reads that from the program's
/// memory or has it from its events.
const LOCATION_REQUESTS: [&str; 6] =
    ["threads", "stackTrace", "scopes", "modules", "loadedSources", "breakpointLocations"];

impl LookOnlyRequests {
    /// Whether this request runs no code of the program.
    pub fn include(self, command: &str) -> bool {
        match self {
            Self::Unknown => false,
            Self::Known(more) => LOCATION_REQUESTS.contains(&command) || more.contains(&command),
        }
    }
}
