//! The engine of the hub's tests and of its simulation, by what the hub knows of it. Does nothing: each test
//! has its own replies.

use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::{LookOnlyRequests, StartedEngine};

/// Facts about an engine of which nothing is known but whether it takes several breakpoints on one line.
pub(crate) fn scripted_engine(several_per_line: bool) -> StartedEngine {
    StartedEngine {
        name: "scripted".into(),
        several_per_line,
        look_only: LookOnlyRequests::Unknown,
        conditions: ConditionLanguage::OTHER,
        results: ResultNames::new([ResultName::After(" returned")]),
        fetches_sources: false,
    }
}
