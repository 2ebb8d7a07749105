//! Every tool at a glance: its name, when to use it, what it takes. The text here is what a model reads; it is paid for
//! in tokens at the start of each conversation.

use rmcp::model::Tool;
use serde_json::{Value, json};

/// What a tool does to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Looks,
    /// It changes or runs something.
    Acts,
    /// It may end or lose something.
    Destroys,
}

/// One tool.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Part of `--tools core`.
    pub core: bool,
    effect: Effect,
    description: &'static str,
    /// `name:type` with `!` when required, `name:type=meaning`; types s, i, b, a (array), o (object).
    parameters: &'static [&'static str],
}

const WAIT: &str = "Waits (30 s) for the next stop, exit or request for input; `pending: true` means still running: call \
debug_wait.";

macro_rules! tools {
    ($($name:literal $core:literal $effect:ident [$($parameter:literal),*] $description:expr;)*) => {
        /// All tools, in the order they are listed.
        pub const TOOLS: &[Entry] = &[$(Entry {
            name: $name, core: $core, effect: Effect::$effect, description: $description,
            parameters: &[$($parameter),*],
        },)*];
    };
}

tools! {
    "debug_launch" true Acts ["program:s=.dll, executable, .csproj or folder", "projectPath:s=built first", "appDllPath:s=built program",
        "args:a", "cwd:s", "env:o", "stopAtEntry:b=default true: held at entry until debug_continue", "breakpoints:a=[{sourceFile, line, condition?}]", "engine:s"]
        "Start a program under the debugger (building a project first). Returns session, pid and state.";
    "debug_attach" true Acts ["processId:i!"] "Attach to a running .NET process. Its stdin and stdout are not ours.";
    "debug_set_breakpoint" true Acts ["sourceFile:s!", "line:i!=1-based", "condition:s", "hitCondition:s=like > 5 or % 10", "logMessage:s=logs {expressions} instead of stopping", "dllPath:s"]
        "Set a breakpoint, also before launch. Returns its id and where it bound.";
    "debug_remove_breakpoint" true Acts ["breakpointId:i!"] "Remove one of your breakpoints.";
    "debug_continue" true Acts ["threadId:i", "timeoutMs:i"] "Resume the program. Waits (30 s) for the next stop, exit or request for input; `pending: true` means still running: call debug_wait.";
    "debug_step_over" true Acts ["threadId:i", "timeoutMs:i"] "Run the current line, not entering calls. Returns where it stands then.";
    "debug_step_into" true Acts ["threadId:i", "timeoutMs:i"] "Step into the call on the current line.";
    "debug_step_out" true Acts ["threadId:i", "timeoutMs:i"] "Run until the current function returns.";
    "debug_pause" true Acts ["threadId:i", "timeoutMs:i"] "Stop a running program where it is.";
    "debug_wait" true Looks ["timeoutMs:i"] WAIT;
    "debug_variables" true Looks ["frameId:i", "path:s=expression whose members to list", "depth:i=1", "start:i", "count:i=100"]
        "Arguments and locals of a frame (the top one by default), or the members of one value.";
    "debug_stacktrace" true Looks ["threadId:i", "start:i", "count:i=20"] "The call stack: frames with id, function, file, line.";
    "debug_evaluate" true Acts ["expression:s!", "frameId:i"] "Evaluate a C# expression at the stop: names, members, indexers, calls, operators.";
    "debug_snapshot" true Looks ["depth:i=1"] "Everything at this stop in one call: place with source lines, stack, variables, exception, new output.";
    "debug_status" true Looks [] "Where the program stands: idle, running, stopped (place, reason) or exited (code); who else is in the session.";
    "debug_disconnect" true Destroys ["terminate:b=default true for what you launched"] "End the session you launched, or leave one you joined.";
    "debug_sessions" true Looks ["select:s=id of a session to join and use from now on"] "List live sessions, also those an editor started, and join one.";
    "process_write_input" true Acts ["data:s!=end lines with \\n", "closeAfter:b=then send EOF"] "Write to the program's stdin.";
    "process_read_output" true Looks ["stream:s=stdout, stderr or both", "clear:b=start behind this next time", "since:s=cursor", "waitFor:s=regular expression", "timeoutMs:i", "maxBytes:i"]
        "Read what the program printed, also after its end; wait for a text with waitFor.";
    "debug_threads" false Looks [] "The program's threads.";
    "debug_list_breakpoints" false Looks [] "Your breakpoints and those of the other clients.";
    "debug_set_exception_breakpoints" false Acts ["filters:a!=all, unhandled"] "Choose which exceptions stop the program.";
    "debug_exception_info" false Looks ["threadId:i"] "Type, message and inner exceptions of the exception it stopped at.";
    "debug_set_variable" false Acts ["name:s!=variable of the frame", "value:s!=C# literal or expression", "frameId:i"] "Change a variable at the stop.";
    "debug_modules" false Looks [] "Loaded modules and whether their symbols were found.";
}

impl Entry {
    /// Whether `--read-only` offers it.
    pub fn only_looks(&self) -> bool {
        self.effect == Effect::Looks
    }

    /// As MCP lists it.
    pub fn tool(&self) -> Option<Tool> {
        let mut properties = json!({});
        let mut required = Vec::new();
        for parameter in self.parameters.iter().chain(&["session:s"]) {
            let (name, rest) = parameter.split_once(':')?;
            let (kind, meaning) = rest.split_once('=').unwrap_or((rest, ""));
            if kind.ends_with('!') {
                required.push(name);
            }
            let kind = match kind.trim_end_matches('!') {
                "i" => "integer",
                "b" => "boolean",
                "a" => "array",
                "o" => "object",
                _ => "string",
            };
            properties[name] = json!({ "type": kind });
            if !meaning.is_empty() {
                properties[name]["description"] = json!(meaning);
            }
        }
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        let tool = json!({ "name": self.name, "description": self.description, "inputSchema": schema,
            "outputSchema": { "type": "object", "properties": { "success": { "type": "boolean" } },
                "required": ["success"] },
            "annotations": { "readOnlyHint": self.effect == Effect::Looks,
                "destructiveHint": self.effect == Effect::Destroys, "openWorldHint": false } });
        serde_json::from_value(tool).ok()
    }
}

/// The list as one text, to measure and to keep an eye on.
pub fn listing(core: bool) -> Value {
    let entries = TOOLS.iter().filter(|entry| entry.core || !core);
    json!(entries.filter_map(Entry::tool).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_stays_affordable() {
        // Four characters are about one token.
        let tokens = |core| listing(core).to_string().len() / 4;
        assert!(tokens(true) <= 2500, "core: {}", tokens(true));
        assert!(tokens(false) <= 6000, "all: {}", tokens(false));
        assert!(TOOLS.iter().all(|entry| entry.tool().is_some()));
    }

    #[test]
    fn names_and_parameters_change_only_on_purpose() {
        let lines: Vec<String> =
            TOOLS.iter().map(|entry| format!("{} {}", entry.name, entry.parameters.join(" | "))).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
