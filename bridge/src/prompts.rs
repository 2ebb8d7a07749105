//! Prompts for common debugging tasks: a person picks one in the client, and the model gets a sequence of
//! steps. Each names the tools in the order that costs the fewest calls.
//!
//! Runs no tool. Not here: completions of the arguments ([`crate::completion`]).

use serde_json::{Map, Value};
use tandem_wire::Failure;

/// One prompt: an argument replaces `{name}` in the text, and a line with a missing argument is left out.
pub struct Prompt {
    /// Name under which MCP lists the prompt.
    pub name: &'static str,
    /// Purpose of the prompt.
    pub description: &'static str,
    /// Its arguments: name, meaning, whether it must be given.
    pub arguments: &'static [(&'static str, &'static str, bool)],
    text: &'static str,
}

const PROGRAM: (&str, &str, bool) =
    ("program", "what to debug: .dll, .csproj, folder, executable, script", true);

/// All prompts that the bridge offers.
pub const PROMPTS: &[Prompt] = &[
    Prompt {
        name: "hunt_crash",
        description: "Find out why a program crashes",
        arguments: &[PROGRAM, ("input", "what to type into it", false)],
        text: "Find out why {program} crashes.
1. debug_set_exception_breakpoints {\"filters\": [\"unhandled\"]}, then debug_launch {\"program\": \
\"{program}\", \"run\": true}.
2. When it waits for input, write this with process_write_input: {input}
3. At the exception, debug_snapshot shows the exception with its causes, stack and variables. Walk up the \
frames \
(debug_variables with frameId) to where the wrong value came from.
4. Where that is earlier, set a breakpoint by the text of the line (debug_set_breakpoint {\"text\": …}) and \
debug_restart \
{\"run\": true}.
5. If it exits without an exception, look at the exit code and process_read_output {\"stream\": \"stderr\"}.
Say which line is wrong, which values prove it, and what to change. Then debug_disconnect.",
    },
    Prompt {
        name: "hunt_hang",
        description: "Find out why a program hangs or does not end",
        arguments: &[
            ("program", "what to debug, when it does not run yet", false),
            ("processId", "the process that hangs, when it runs already", false),
        ],
        text: "Find out why a program hangs.
1. Start it: debug_launch {\"program\": \"{program}\", \"stopAtEntry\": false}.
1. Attach: debug_attach {\"processId\": {processId}}.
2. debug_wait {\"timeoutMs\": 5000}: if event.type is waitingForInput it only waits for stdin; that is the \
answer.
3. debug_pause, then debug_threads {\"places\": true}: what does each thread wait for? debug_stacktrace \
with threadId \
shows who called it. Two threads that wait for each other's lock are a deadlock.
4. If one thread is busy: debug_step_out {\"count\": 3} and debug_trace at the loop, with the variables of \
its condition.
Say which threads hang where and on what, and why. Then debug_disconnect {\"terminate\": false} if you \
attached.",
    },
    Prompt {
        name: "hunt_wrong_value",
        description: "Find where a value goes wrong",
        arguments: &[
            PROGRAM,
            ("expression", "the value that is wrong", true),
            ("file", "the file where it shows", false),
            ("expected", "what it should be", false),
        ],
        text: "In {program}, `{expression}` has a wrong value. Find the line that makes it so.
- It should be: {expected}
- It is seen in: {file}
1. Read the source, and pick the lines that write it.
2. debug_launch with a breakpoint before the first of them and \"run\": true.
3. debug_trace there with {expression} and what it is computed from, in \"expressions\": one table of all \
rounds, no stops. \
Find the first row that is wrong.
4. Stop in that round (debug_set_breakpoint with a condition, debug_restart {\"run\": true}), \
debug_snapshot, step over, \
and look at `changed` after each step; debug_snapshot_diff compares two stops.
Say which line is wrong, with the values before and after it. Then debug_disconnect.",
    },
    Prompt {
        name: "hunt_flaky_test",
        description: "Find out why a test fails only sometimes",
        arguments: &[
            ("project", "the test project", true),
            ("test", "the name of the test, or a part of it", true),
        ],
        text: "The test {test} of {project} fails only sometimes. Find out why.
1. run_tests on {project} a few times: collect the messages of the failures.
2. debug_launch_test {\"projectPath\": \"{project}\", \"filter\": \"{test}\"} with a breakpoint at the \
assertion that \
fails (by its text, with the failing condition).
3. debug_trace the values it depends on in runs that pass and runs that fail; compare the tables: order, \
time, shared \
state, random numbers, leftovers of another test.
4. debug_timeline shows in which order threads, exceptions and output came; debug_threads {\"places\": \
true} who else runs.
Say what differs between a good and a bad run, and how to make the test certain.",
    },
];

/// The prompt with this name.
pub fn find(name: &str) -> Option<&'static Prompt> {
    PROMPTS.iter().find(|prompt| prompt.name == name)
}

impl Prompt {
    /// Its text with the arguments in it.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when one is missing or no string.
    pub fn fill(&self, given: &Map<String, Value>) -> Result<String, Failure> {
        let mut text = String::new();
        for line in self.text.lines() {
            let mut line = line.to_owned();
            let mut complete = true;
            for (name, _, required) in self.arguments {
                let value = match given.get(*name) {
                    Some(Value::String(value)) if !value.is_empty() => Some(value),
                    None | Some(Value::Null | Value::String(_)) => None,
                    Some(other) => {
                        return Err(Failure::invalid(format!("`{name}` must be a string, not {other}")));
                    }
                };
                let mark = format!("{{{name}}}");
                match value {
                    Some(value) => line = line.replace(&mark, value),
                    None if *required => {
                        return Err(Failure::invalid(format!(
                            "`{name}` is missing: prompt `{}` needs it",
                            self.name
                        )));
                    }
                    None if line.contains(&mark) => complete = false,
                    None => {}
                }
            }
            if complete {
                text.push_str(&line);
                text.push('\n');
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::GROUPS;

    #[test]
    fn a_line_without_its_argument_falls_away() {
        let hang = find("hunt_hang").unwrap();
        let text = hang.fill(json!({ "processId": "77" }).as_object().unwrap()).unwrap();
        assert!(
            text.contains("debug_attach {\"processId\": 77}") && !text.contains("debug_launch"),
            "{text}"
        );
        assert!(!text.contains("{p"), "{text}");
        assert!(find("hunt_crash").unwrap().fill(&Map::new()).is_err());
    }

    #[test]
    fn prompts_name_tools_that_exist() {
        let known: Vec<&str> = GROUPS.iter().flat_map(|group| group.tools).map(|tool| tool.name).collect();
        for prompt in PROMPTS {
            let words = prompt.text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            for word in words.filter(|word| word.starts_with("debug_") || word.starts_with("process_")) {
                assert!(known.contains(&word), "{}: `{word}`", prompt.name);
            }
        }
    }
}
