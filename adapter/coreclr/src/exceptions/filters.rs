//! Filters of exceptions: DAP's filters with their conditions on types.
//!
//! Not here: the details of an exception ([`super`]).

use serde_json::Value;
use tandem_wire::types::{
    self, Breakpoint, SetExceptionBreakpointsArguments, SetExceptionBreakpointsResponseBody,
};

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
    included: Vec<String>,
    excluded: Vec<String>,
}

impl ExceptionTypeFilter {
    fn parse(text: &str) -> Result<Self, String> {
        let mut types = Self::default();
        let all_but = text.trim_start().starts_with('!');
        for part in text.split([',', ';', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
            let (list, name) = match part.strip_prefix('!') {
                Some(name) => (&mut types.excluded, name.trim()),
                None if all_but => (&mut types.excluded, part),
                None => (&mut types.included, part),
            };
            let sound = |letter: char| letter.is_alphanumeric() || "._*+`<>[]".contains(letter);
            if name.is_empty() || !name.chars().all(sound) {
                return Err(format!(
                    "`{part}` is not a type name; write, for example, `System.IO.*, \
                        !System.OperationCanceledException`"
                ));
            }
            list.push(name.replace('+', "."));
        }
        Ok(types)
    }

    /// `lineage`: full names of the thrown type and of its base types, in that order.
    fn hold(&self, lineage: &[String]) -> bool {
        let matches = |pattern: &String| match pattern.contains('*') {
            // The last base of every exception is `System.Exception`: a pattern means only the type itself.
            true => lineage.first().is_some_and(|name| matches_pattern(name, pattern)),
            false => lineage.iter().any(|name| name == pattern || name.ends_with(&format!(".{pattern}"))),
        };
        (self.included.is_empty() || self.included.iter().any(matches)) && !self.excluded.iter().any(matches)
    }
}

/// Whether a name matches a pattern in which `*` stands for any characters.
fn matches_pattern(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.is_empty()
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
        ] {
            let types = ExceptionTypeFilter::parse(condition).unwrap();
            assert_eq!((types.hold(&file), types.hold(&cancelled)), (on_file, on_cancelled), "{condition}");
        }
        assert!(ExceptionTypeFilter::parse("a b").is_err());
        assert!(ExceptionTypeFilter::parse("!").is_err());
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
