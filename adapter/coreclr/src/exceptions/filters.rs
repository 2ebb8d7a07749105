//! Filters of exceptions: DAP's filters with their conditions on types.
//!
//! Not here: the details of an exception ([`super`]), and names of types ([`super::type_pattern`]).

use serde_json::Value;
use tandem_wire::types::{
    self, Breakpoint, SetExceptionBreakpointsArguments, SetExceptionBreakpointsResponseBody,
};

use super::type_pattern::{TypePattern, split_list};

/// The point of an exception's life at which it may stop the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExceptionStage {
    /// As soon as it is thrown in user code, or passes it (anywhere without just-my-code).
    Thrown,
    /// When library code catches an exception that passed user code.
    UserUnhandled,
    /// When nothing catches it.
    Unhandled,
}

/// The filters of DAP's `exceptionBreakpointFilters`.
const FILTERS: [(&str, ExceptionStage); 3] = [
    ("all", ExceptionStage::Thrown),
    ("userUnhandled", ExceptionStage::UserUnhandled),
    ("unhandled", ExceptionStage::Unhandled),
];

/// Other debuggers' names of filters.
const ALIASES: [(&str, &str); 1] = [("user-unhandled", "userUnhandled")];

/// `System.IO.*, !System.OperationCanceledException`: some types, or all but some. A list that begins with
/// `!` only excludes types, as in VS Code's C# extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ExceptionTypeFilter {
    included: Vec<TypePattern>,
    excluded: Vec<TypePattern>,
}

impl ExceptionTypeFilter {
    fn parse(text: &str) -> Result<Self, String> {
        let mut types = Self::default();
        let all_but = text.trim_start().starts_with('!');
        for part in split_list(text) {
            let (list, name) = match part.strip_prefix('!') {
                Some(name) => (&mut types.excluded, name),
                None if all_but => (&mut types.excluded, part),
                None => (&mut types.included, part),
            };
            let name = TypePattern::parse(name).ok_or_else(|| {
                format!(
                    "`{part}` is not a type name; write, for example, `System.IO.*, \
                        !System.OperationCanceledException`"
                )
            })?;
            list.push(name);
        }
        Ok(types)
    }

    /// `lineage`: full names, as C# spells them, of the thrown type and of its base types, in that order.
    fn hold(&self, lineage: &[String]) -> bool {
        let matches = |pattern: &TypePattern| pattern.matches(lineage);
        (self.included.is_empty() || self.included.iter().any(matches)) && !self.excluded.iter().any(matches)
    }
}

/// The answer to a filter that is not set, with the reason.
fn unverified(message: String) -> Breakpoint {
    Breakpoint { message: Some(message), ..Breakpoint::default() }
}

/// The rules for stopping the program: one that matches is sufficient.
#[derive(Debug)]
pub(crate) struct Filters(Vec<(ExceptionStage, ExceptionTypeFilter)>);

impl Default for Filters {
    fn default() -> Self {
        Self(vec![(ExceptionStage::Unhandled, ExceptionTypeFilter::default())])
    }
}

impl Filters {
    /// `setExceptionBreakpoints`: replaces all; returns one entry for each filter, then
    /// for each filter option.
    pub(crate) fn set(&mut self, arguments: &Value) -> SetExceptionBreakpointsResponseBody {
        let arguments: SetExceptionBreakpointsArguments = types::read(arguments);
        let plain = arguments.filters.iter().map(|name| (name, ""));
        let options = arguments.filter_options.iter().flatten();
        let options =
            options.map(|option| (&option.filter_id, option.condition.as_deref().unwrap_or_default()));
        self.0.clear();
        let mut breakpoints = Vec::new();
        for (name, condition) in plain.chain(options) {
            let alias = ALIASES.iter().find(|(alias, _)| name == alias).map(|(_, own)| *own);
            let known = FILTERS.iter().find(|(known, _)| name == known || alias == Some(known));
            breakpoints.push(match (known, ExceptionTypeFilter::parse(condition)) {
                (Some((_, when)), Ok(types)) => {
                    self.0.push((*when, types));
                    Breakpoint { verified: true, ..Breakpoint::default() }
                }
                (None, _) => unverified(format!(
                    "there is no exception filter {name:?}; there are all, userUnhandled, unhandled"
                )),
                (_, Err(reason)) => unverified(reason),
            });
        }
        let breakpoints = Some(breakpoints);
        SetExceptionBreakpointsResponseBody { breakpoints, ..SetExceptionBreakpointsResponseBody::default() }
    }

    /// Whether any rule is about this point of an exception's life; saves reading its type.
    pub(crate) fn has_filter_for(&self, at: ExceptionStage) -> bool {
        self.0.iter().any(|(when, _)| stage_matches(*when, at))
    }

    /// Whether an exception stops the program.
    pub(crate) fn stop(&self, at: ExceptionStage, lineage: &[String]) -> bool {
        self.0.iter().any(|(when, types)| stage_matches(*when, at) && types.hold(lineage))
    }
}

/// An unhandled exception is not handled by user code either.
fn stage_matches(when: ExceptionStage, at: ExceptionStage) -> bool {
    when == at || (when == ExceptionStage::UserUnhandled && at == ExceptionStage::Unhandled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lineage(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn condition_includes_and_excludes_types() {
        let file = lineage(&[
            "System.IO.FileNotFoundException",
            "System.IO.IOException",
            "System.SystemException",
            "System.Exception",
            "System.Object",
        ]);
        let cancelled = lineage(&[
            "System.Threading.Tasks.TaskCanceledException",
            "System.OperationCanceledException",
            "System.Exception",
        ]);
        for (condition, on_file, on_cancelled) in [
            ("", true, true),
            ("System.IO.*", true, false),
            ("System.IO.IOException", true, false),
            ("FileNotFoundException", true, false),
            ("NotFoundException", false, false),
            ("!System.OperationCanceledException", true, false),
            ("System.*, !System.OperationCanceledException", true, false),
            ("System.*Exception", true, true),
            ("*.IO.*", true, false),
            ("!System.*", false, false),
            ("!System.OperationCanceledException, System.IO.IOException", false, false),
            (" !NoSuchException, FileNotFoundException", false, true),
            ("System.Exception", true, true),
            ("Failure<int, string>, FileNotFoundException", true, false),
        ] {
            let types = ExceptionTypeFilter::parse(condition).unwrap();
            assert_eq!((types.hold(&file), types.hold(&cancelled)), (on_file, on_cancelled), "{condition}");
        }
        assert!(ExceptionTypeFilter::parse("a b").is_err());
        assert!(ExceptionTypeFilter::parse("!").is_err());
        assert!(ExceptionTypeFilter::parse("Failure<int, System.IO.*").is_err());
    }

    fn verified(response: SetExceptionBreakpointsResponseBody) -> Vec<bool> {
        response.breakpoints.into_iter().flatten().map(|breakpoint| breakpoint.verified).collect()
    }

    #[test]
    fn filter_accepts_the_name_used_by_other_debuggers() {
        let mut filters = Filters::default();
        let response = filters.set(&json!({ "filters": ["user-unhandled"] }));
        assert_eq!(verified(response), [true]);
        assert!(filters.has_filter_for(ExceptionStage::UserUnhandled));
    }

    #[test]
    fn unhandled_exception_matches_user_unhandled_and_unknown_filters_are_reported() {
        let mut filters = Filters::default();
        assert!(
            filters.has_filter_for(ExceptionStage::Unhandled)
                && !filters.has_filter_for(ExceptionStage::Thrown)
        );
        let response = filters.set(&json!({ "filters": ["userUnhandled", "nope"],
            "filterOptions": [{ "filterId": "all", "condition": "a b" }] }));
        assert_eq!(verified(response), [true, false, false]);
        assert!(
            filters.has_filter_for(ExceptionStage::Unhandled)
                && filters.has_filter_for(ExceptionStage::UserUnhandled)
                && !filters.has_filter_for(ExceptionStage::Thrown)
        );
    }
}
