//! Commands of lldb that Tandem sends through the debug console of lldb-dap.
//!
//! Not here: commands before the program starts ([`super::init_commands`]).

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::types::{self, DapVariable, StoppedEventBody};

use super::{Lldb, data_names, evaluate_names, init_commands, subscripts};
use crate::profile::ConsoleProfile;

/// What marks a command unless a configuration says otherwise (`commandEscapePrefix`).
const DEFAULT_PREFIX: &str = "`";
/// What marks Tandem's commands for users who want no mark: no user types it. Without one, lldb-dap takes a
/// command for an expression where a variable has the name of its first word.
const UNTYPED_PREFIX: &str = "\u{1}";
/// The ids of data breakpoints follow it: lldb numbers watchpoints for themselves, from 1 as breakpoints.
const FIRST_WATCHPOINT_ID: i64 = 1 << 32;

/// The attributes of a launch or attach that change the console.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ConsoleAttributes {
    #[serde(deserialize_with = "types::optional")]
    command_escape_prefix: Option<String>,
}

/// The arguments of a launch or attach, in which the mark of commands is not empty.
pub(super) fn with_prefix(mut arguments: Value) -> Value {
    if types::read::<ConsoleAttributes>(&arguments).command_escape_prefix.as_deref() == Some("") {
        types::set(&mut arguments, "commandEscapePrefix", UNTYPED_PREFIX);
    }
    arguments
}

impl ConsoleProfile for Lldb {
    fn command_prefix(&self, attributes: &Value) -> String {
        let ConsoleAttributes { command_escape_prefix } = types::read(attributes);
        command_escape_prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned())
    }

    fn instruction_step(&self, command: &str, thread: i64, alone: bool) -> [String; 2] {
        let step = if command == "next" { "step-inst-over" } else { "step-inst" };
        let others = if alone { "this-thread" } else { "while-stepping" };
        [format!("thread select -t {thread}"), format!("thread {step} -m {others}")]
    }

    fn after_breakpoints(&self) -> &'static str {
        init_commands::KEEP_FIRST_LOCATIONS
    }

    /// The first plan of a thread is lldb's own.
    fn discard_of_steps(&self) -> &'static str {
        "thread plan discard 1"
    }

    fn location_query(&self, arguments: &Value) -> Option<String> {
        data_names::location_query(&types::read(arguments))
    }

    fn location_outside_memory<'a>(&self, answer: &'a str) -> Option<&'a str> {
        data_names::location_outside_memory(answer)
    }

    /// Before version 21 it does not number data breakpoints.
    fn list_of_watched(&self) -> &'static str {
        "watchpoint list -b"
    }

    fn watched_id(&self, answer: &str, data_id: &str) -> Option<i64> {
        let (address, size) = data_id.split_once('/')?;
        let address = hexadecimal(address)?;
        let size: u64 = size.parse().ok()?;
        answer.lines().filter_map(Watchpoint::parse).find_map(|watchpoint| {
            (watchpoint.address == address && watchpoint.size == size)
                .then_some(FIRST_WATCHPOINT_ID + watchpoint.number)
        })
    }

    fn meaning_query(&self, expression: &str, is_rust: bool) -> Option<String> {
        subscripts::query(expression, is_rust)
    }

    fn expression_in(&self, answer: &str, expression: &str) -> Result<String, String> {
        subscripts::expression_in(answer, expression)
    }

    fn copy_query(&self, expression: &str) -> String {
        subscripts::copy_query(expression)
    }

    fn is_copy(&self, answer: &str) -> bool {
        answer.contains(subscripts::IS_COPY)
    }

    fn expression_of_row(&self, row: &DapVariable, value: &str, kind: &str) -> Option<String> {
        evaluate_names::of_row(row, value, kind)
    }
}

/// Names the data breakpoint of a stop whose description is lldb's own.
pub(super) fn name_watchpoint(stop: &mut StoppedEventBody) {
    let text = stop.description.as_deref().or(stop.text.as_deref()).unwrap_or_default();
    let number = text.strip_prefix("watchpoint ").and_then(leading_number);
    if let Some(number) = number
        && stop.hit_breakpoint_ids.as_ref().is_none_or(Vec::is_empty)
    {
        stop.hit_breakpoint_ids = Some(vec![FIRST_WATCHPOINT_ID + number]);
    }
}

/// A line such as `Watchpoint 1: addr = 0x00404038 size = 4 state = enabled type = w`.
struct Watchpoint {
    number: i64,
    address: u64,
    size: u64,
}

impl Watchpoint {
    fn parse(line: &str) -> Option<Self> {
        let (number, data) = line.trim_start().strip_prefix("Watchpoint ")?.split_once(": addr = ")?;
        let (address, rest) = data.split_once(" size = ")?;
        let size = leading_number(rest)?.try_into().ok()?;
        Some(Self { number: number.parse().ok()?, address: hexadecimal(address)?, size })
    }
}

fn leading_number(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_prefix_of_commands_is_that_of_the_configuration() {
        for (attributes, prefix) in [
            (json!({}), "`"),
            (json!({ "commandEscapePrefix": ":" }), ":"),
            (json!({ "commandEscapePrefix": "" }), UNTYPED_PREFIX),
            (json!({ "commandEscapePrefix": 7 }), "`"),
        ] {
            let sent = with_prefix(attributes.clone());
            assert_eq!(Lldb.command_prefix(&sent), prefix, "{attributes}");
        }
    }

    #[test]
    fn a_stop_at_a_watchpoint_names_the_data_breakpoint_that_lldb_lists_with_its_number() {
        let list = "(lldb) watchpoint list -b\nNumber of supported hardware watchpoints: 4\n\
            Current watchpoints:\n\
            Watchpoint 2: addr = 0x00404038 size = 4 state = enabled type = w\n\
            Watchpoint 13: addr = 0x7ffe00404038 size = 8 state = enabled type = m\n";
        for (data_id, number) in [
            ("404038/4", Some(2)),
            ("7FFE00404038/8", Some(13)),
            ("404038/8", None),
            ("404039/4", None),
            ("", None),
            ("x/4", None),
        ] {
            let id = Lldb.watched_id(list, data_id);
            assert_eq!(id, number.map(|number| FIRST_WATCHPOINT_ID + number), "{data_id}");
            let Some(number) = number else { continue };
            let stop = json!({ "reason": "breakpoint", "description": format!("watchpoint {number}") });
            let mut stop = types::read(&stop);
            name_watchpoint(&mut stop);
            assert_eq!(stop.hit_breakpoint_ids, id.map(|id| vec![id]));
        }
        assert_eq!(Lldb.watched_id("error: no target", "404038/4"), None);
    }

    #[test]
    fn a_stop_that_names_its_breakpoints_keeps_them() {
        for stop in [
            json!({ "reason": "data breakpoint", "description": "watchpoint 2", "hitBreakpointIds": [2] }),
            json!({ "reason": "breakpoint", "description": "breakpoint 2.1" }),
            json!({ "reason": "breakpoint", "description": "watchpoint x" }),
        ] {
            let (mut named, unchanged) = (types::read(&stop), types::read::<StoppedEventBody>(&stop));
            name_watchpoint(&mut named);
            assert_eq!(named, unchanged);
        }
    }
}
