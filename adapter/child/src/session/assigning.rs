//! Assigning to variables. The value may be any expression, also one that calls the program. Some adapters
//! answer with success, and the old value, when it cannot be evaluated, and others take only literals: there
//! it is evaluated first, once, and the result is assigned.

use std::sync::Arc;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::translate;
use super::AdapterSession;

impl AdapterSession {
    /// Answers `setVariable` and `setExpression`.
    ///
    /// # Errors
    /// The adapter's own; `EVALUATION_FAILED` with the reason why the value cannot be evaluated.
    pub(super) async fn assign(
        self: &Arc<Self>,
        command: &str,
        mut arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let kept = arguments["value"].as_str().and_then(|value| self.profile.kept_value(value));
        let frame = Some(&arguments["frameId"]).filter(|frame| frame.is_number()).cloned();
        let frame = frame
            .or_else(|| self.with_knowledge(|known| known.scopes.frame_of(&arguments["variablesReference"])));
        let expression = arguments["value"].as_str().filter(|value| self.profile.assigns_value_of(value));
        if let Some(expression) = expression {
            let Some(frame) = &frame else { return Err(only_literals(expression)) };
            let evaluation = json!({ "expression": expression, "frameId": frame, "context": "watch" });
            arguments["value"] = self.ask("evaluate", evaluation, cancel).await?["result"].clone();
        } else if let (Some((keep, kept)), Some(frame)) = (kept, frame) {
            let evaluation = json!({ "expression": keep, "frameId": frame, "context": "watch" });
            self.ask("evaluate", evaluation, cancel).await?;
            arguments["value"] = json!(kept);
        }
        Ok(translate::as_set_variable_answer(self.ask(command, arguments, cancel).await?))
    }
}

/// The refusal of an expression for a member of an object, whose frame is not known.
fn only_literals(expression: &str) -> Failure {
    let message = format!("cannot assign `{expression}` to this row: the debug adapter takes only literals");
    Failure::new(ErrorCode::EvaluationFailed, message)
        .hint("evaluate an assignment instead, such as `object.member = value`")
}
