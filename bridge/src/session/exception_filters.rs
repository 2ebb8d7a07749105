//! The exceptions at which a launched program stops: those that the agent chose, the engine's usual ones, and
//! those of tests.

use serde_json::{Value, json};
use test_frameworks::host::Stops;

use super::AgentSession;

/// The filter for exceptions that nothing catches, as most adapters call it.
const UNCAUGHT_FILTER: &str = "uncaught";

/// `setExceptionBreakpoints` for the filters that were chosen, or the usual ones, and those of tests.
pub(super) fn exceptions(
    session: &AgentSession,
    chosen: Option<Vec<String>>,
    stops: Option<&Stops>,
) -> Option<Value> {
    let Some(stops) = stops else {
        return chosen.or_else(|| session.usual_filters()).map(|filters| json!({ "filters": filters }));
    };
    let offered = session.capability("exceptionBreakpointFilters");
    let has =
        |name: &str| offered.as_array().is_some_and(|all| all.iter().any(|filter| filter["filter"] == name));
    let mut filters = chosen.unwrap_or_default();
    let mut options = Vec::new();
    for (name, condition) in &stops.filters {
        match condition {
            _ if !has(name) || filters.iter().any(|own| own == name) => {}
            Some(condition) => options.push(json!({ "filterId": name, "condition": condition })),
            None => filters.push((*name).to_owned()),
        }
    }
    let mut arguments = json!({ "filters": filters });
    if !options.is_empty() {
        arguments["filterOptions"] = json!(options);
    }
    Some(arguments)
}

/// The filters of a program that is repeated until it fails, or tried, where the engine recommends none:
/// it stops where it fails.
pub(super) fn uncaught_filters(session: &AgentSession) -> Option<Vec<String>> {
    let repeats = session.with_plan(|plan| (plan.repeat.is_some() || plan.uncaught) && plan.stops.is_none());
    let offered = session.capability("exceptionBreakpointFilters");
    let has = offered.as_array()?.iter().any(|filter| filter["filter"] == UNCAUGHT_FILTER);
    (repeats && has && session.usual_filters().is_none()).then(|| vec![UNCAUGHT_FILTER.to_owned()])
}
