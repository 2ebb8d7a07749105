//! The user's folders for caches and settings, which adapters write to (XDG Base Directory Specification).
//!
//! Not here: the folders of the files that Tandem keeps.

use std::ffi::OsString;
use std::path::Path;

/// The variables that name these folders.
const VARIABLES: [&str; 4] = ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

/// The changes to an environment in which these variables name relative folders. The specification has a
/// program ignore those; lldb would write below the folder in which it runs.
pub(super) fn without_relative(
    variable: impl Fn(&str) -> Option<OsString>,
) -> impl Iterator<Item = (String, Option<String>)> {
    let is_relative =
        move |name: &&str| variable(name).is_some_and(|folder| !Path::new(&folder).is_absolute());
    VARIABLES.into_iter().filter(is_relative).map(|name| (name.to_owned(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_with_relative_folders_are_unset() {
        let variable = |name: &str| match name {
            "XDG_CACHE_HOME" => Some("cache".into()),
            "XDG_CONFIG_HOME" => Some("/home/ann/.config".into()),
            "XDG_STATE_HOME" => Some("".into()),
            _ => None,
        };
        let changes: Vec<_> = without_relative(variable).collect();
        assert_eq!(changes, [("XDG_CACHE_HOME".to_owned(), None), ("XDG_STATE_HOME".to_owned(), None)]);
    }
}
