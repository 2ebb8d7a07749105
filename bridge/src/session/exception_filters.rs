//! The exceptions at which a launched program stops: those that the agent chose, the engine's usual ones, and
//! those of tests.

use serde::Deserialize;
use tandem_testing::host::Stops;
use tandem_wire::types::{ExceptionFilterOptions, SetExceptionBreakpointsArguments};

use super::AgentSession;

/// The filter for exceptions that nothing catches, as most adapters call it.
const UNCAUGHT_FILTER: &str = "uncaught";

/// An exception filter that an engine offers: what the bridge reads of DAP's `ExceptionBreakpointsFilter`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct OfferedFilter {
    /// The id by which clients choose it.
    pub filter: String,
    /// Whether the engine recommends it.
    pub default: bool,
}

/// `setExceptionBreakpoints` for the filters that were chosen, or the usual ones, and those of tests.
pub(super) fn exceptions(
    session: &AgentSession,
    chosen: Option<Vec<String>>,
    stops: Option<&Stops>,
) -> Option<SetExceptionBreakpointsArguments> {
    let Some(stops) = stops else {
        let filters = chosen.or_else(|| session.usual_filters())?;
        return Some(SetExceptionBreakpointsArguments { filters, ..Default::default() });
    };
    let offered = session.offered_filters();
    let has = |name: &str| offered.iter().any(|filter| filter.filter == name);
    let mut filters = chosen.unwrap_or_default();
    let mut options = Vec::new();
    for (name, condition) in &stops.filters {
        match condition {
            _ if !has(name) || filters.iter().any(|own| own == name) => {}
            Some(condition) => options.push(ExceptionFilterOptions {
                filter_id: (*name).to_owned(),
                condition: Some((*condition).to_owned()),
                ..ExceptionFilterOptions::default()
            }),
            None => filters.push((*name).to_owned()),
        }
    }
    let filter_options = Some(options).filter(|options| !options.is_empty());
    Some(SetExceptionBreakpointsArguments { filters, filter_options, ..Default::default() })
}

/// The filters of a program that is repeated until it fails, or tried, where the engine recommends none:
/// it stops where it fails.
pub(super) fn uncaught_filters(session: &AgentSession) -> Option<Vec<String>> {
    let repeats = session.with_plan(|plan| (plan.repeat.is_some() || plan.uncaught) && plan.stops.is_none());
    let has = session.offered_filters().iter().any(|filter| filter.filter == UNCAUGHT_FILTER);
    (repeats && has && session.usual_filters().is_none()).then(|| vec![UNCAUGHT_FILTER.to_owned()])
}
