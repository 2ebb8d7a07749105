//! Commands that prepare lldb for a session. Those of the user come after them.
//!
//! Not here: the text of summaries ([`crate::summaries`]), and where Rust's formatters are ([`crate::rust`]).

use std::path::Path;

use serde_json::Value;

use super::super::super::target::Target;
use super::super::super::{rust, signals, summaries};

/// All of them, in order. `panics`: for a program compiled by rustc.
pub(super) fn list(target: &Target, panics: bool) -> Vec<String> {
    let mut commands = vec![NOT_INTO_LIBC.to_owned()];
    commands.extend(INDEX_CACHE.map(str::to_owned));
    commands.extend(signals::for_lldb());
    if panics && let Some(folder) = rust::formatters(target) {
        commands.extend(formatters(&folder));
    }
    commands.push(summaries::for_lldb(panics));
    commands.push(locations());
    commands
}

/// The command that disables further locations of breakpoints in a line; [`locations`] defines it.
pub(super) const KEEP_FIRST_LOCATIONS: &str = "script tandem_locations.keep_first(lldb.debugger)";

/// Defines the Python of that command, in a module that lldb's console can reach.
fn locations() -> String {
    format!(
        "?script import types; tandem_locations = types.ModuleType('tandem_locations'); \
         exec({}, tandem_locations.__dict__)",
        Value::from(include_str!("locations.py"))
    )
}

/// A step into a call of the C library would stop at its first instruction where its symbols are installed,
/// and the caller is missing on the stack there.
const NOT_INTO_LIBC: &str = "?settings append target.process.thread.step-avoid-libraries libc.so.6";

/// Without them, lldb indexes the debug information of each library in each session. It keeps the indexes in
/// the user's cache folder (size in bytes) and removes those that were not used for a week.
const INDEX_CACHE: [&str; 2] = [
    "?settings set symbols.lldb-index-cache-max-byte-size 2147483648",
    "?settings set symbols.enable-lldb-index-cache true",
];

/// Commands that have lldb show Rust's own types. `?` keeps them out of the console unless they fail.
fn formatters(folder: &Path) -> [String; 3] {
    let folder = folder.display();
    [
        format!("?command script import \"{folder}/lldb_lookup.py\""),
        format!("?command source -s 1 \"{folder}/lldb_commands\""),
        // To lldb a Rust `char` is C++'s `char32_t`, which it shows as a number.
        "?type summary add char32_t --python-script \"n = valobj.GetValueAsUnsigned(); \
         return repr(chr(n)) if n < 0x110000 else None\""
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_without_backquotes() {
        let command = locations();
        assert!(command.is_ascii() && !command.contains(['\n', '`']), "{command}");
    }
}
