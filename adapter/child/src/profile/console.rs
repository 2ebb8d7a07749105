//! The part of an adapter's profile that is about commands of its console, for what Tandem finds no request
//! for. [`crate::session`] sends them. Not here: commands that users type.

use serde_json::Value;
use tandem_wire::types::DapVariable;

/// The commands of an adapter's console that Tandem sends, without what marks a command there.
pub(crate) trait ConsoleProfile: Send + Sync {
    /// The text that marks an expression as a command in a session with these attributes.
    fn command_prefix(&self, attributes: &Value) -> String;

    /// The commands that select a thread and step it, `alone` or with others, by one instruction.
    fn instruction_step(&self, command: &str, thread: i64, alone: bool) -> [String; 2];

    /// The command that follows each request for breakpoints: they are to stop once in a line.
    fn after_breakpoints(&self) -> &'static str;

    /// The command by which it forgets the steps of a thread that stops have interrupted. It would complete
    /// them: after a `continue` the program would stop where the step ends.
    fn discard_of_steps(&self) -> &'static str;

    /// The command that shows where the data is that a `dataBreakpointInfo` names: the adapter answers with
    /// the address of a copy if a register holds the data.
    fn location_query(&self, arguments: &Value) -> Option<String>;

    /// The register in the answer to that command.
    fn location_outside_memory<'a>(&self, answer: &'a str) -> Option<&'a str>;

    /// The command that lists the data that is watched: some versions do not number data breakpoints.
    fn list_of_watched(&self) -> &'static str;

    /// The id of the data breakpoint with this `dataId` in the answer to that command. A stop there has the
    /// same id, which no breakpoint of another kind has.
    fn watched_id(&self, answer: &str, data_id: &str) -> Option<i64>;

    /// The command that finds what an expression means, in a program that rustc compiled or in another one;
    /// `None` for one that the adapter understands.
    fn meaning_query(&self, expression: &str, is_rust: bool) -> Option<String>;

    /// The expression that the adapter evaluates as the language means this one, by the answer to that
    /// command.
    ///
    /// # Errors
    /// The reason why there is no such element.
    fn expression_in(&self, answer: &str, expression: &str) -> Result<String, String>;

    /// The command that finds whether the adapter has only a copy of what a row shows, by the row's
    /// expression.
    fn copy_query(&self, expression: &str) -> String;

    /// Whether it has, by the answer to that command.
    fn is_copy(&self, answer: &str) -> bool;

    /// The expression for a row of a value, by the value's expression and type; `None` if there is none.
    fn expression_of_row(&self, row: &DapVariable, value: &str, kind: &str) -> Option<String>;
}
