//! Values of a profile that say how its adapter differs from DAP. Profiles return them, and sessions act
//! on them. Not here: the profile itself ([`super::profile`]).

/// Result of a `pause` while the program runs none of its own code: it waits in a call, or for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdlePause {
    /// The program stops anyway.
    Stops,
    /// No thread runs the program's own code, and stacks are known; the adapter just never reports the stop.
    StopsUnreported,
    /// It stops when the program's own code runs again; the reason why it does not stop now.
    Deferred(&'static str),
}

/// The way to assign to an expression with an adapter that has no `setExpression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpressionAssignment {
    /// Evaluating an assignment.
    Evaluated,
    /// Setting the row of the scope or value that has it. `setVariable` of such an adapter looks for the
    /// variable in the top frame of the thread that stopped, whatever frame it was read in, and its answer
    /// repeats the text of the new value.
    RowOfTopFrame,
}

/// A value to assign, for an adapter that does not report why a value cannot be evaluated: it evaluates the
/// value first and keeps the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptValue {
    /// Evaluates the value and keeps the result.
    pub(super) keep: String,
    /// The expression for the kept result.
    pub(super) expression: &'static str,
    /// The question whether a variable, with its name in place of `NAME`, has the kept result, and the result
    /// that says yes.
    pub(super) question: (&'static str, &'static str),
}

impl KeptValue {
    /// The question whether a variable has the kept result, and the result that says yes.
    pub(super) fn is_assigned_to(&self, name: &str) -> (String, &'static str) {
        let (question, yes) = self.question;
        (question.replace("NAME", name), yes)
    }
}

/// How the debugger in a program that is attached to is corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttachCorrection {
    /// Evaluated in a frame of the program; its value is the debugger's version.
    pub(super) expression: &'static str,
    /// The message of a breakpoint that is refused because the correction could not be made yet. `None` if
    /// the correction is only about resuming the program: it is made before that.
    pub(super) refusal: Option<&'static str>,
}
