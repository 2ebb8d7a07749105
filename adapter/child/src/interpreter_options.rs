//! Options of the interpreter that runs a program, from the launch or the first line of the program.
//! Not here: their meaning.

use std::path::Path;

use serde::Deserialize;
use tandem_wire::Failure;

use super::find;
use super::target::Target;

/// The options in an attribute of the launch; `None` without the attribute.
///
/// # Errors
/// `INVALID_PARAMETER` for anything but a list of strings.
pub(super) fn of_launch(target: &Target, attribute: &str) -> Result<Option<Vec<String>>, Failure> {
    let given = target.attribute(attribute);
    Option::deserialize(given)
        .map_err(|_| Failure::invalid(format!("`{attribute}` must be a list of strings, not {given}")))
}

/// The options in the first line of a script for an interpreter with one of these names.
pub(super) fn of_first_line(script: &Path, interpreters: &[&str]) -> Vec<String> {
    let mut words = find::script_words(script).unwrap_or_default().into_iter();
    let mut command = words.next().unwrap_or_default();
    if command.rsplit('/').next() == Some("env") {
        command = words.find(|word| word != "-S").unwrap_or_default();
    }
    let is_named = command.rsplit('/').next().is_some_and(|name| interpreters.contains(&name));
    if is_named { words.collect() } else { Vec::new() }
}
