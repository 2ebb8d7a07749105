//! Assigning to variables. Some adapters answer with success, and the old value, when the new one cannot be
//! evaluated: there it is evaluated first, once, and what came of it is assigned.

use std::sync::Arc;

use dap_wire::Failure;
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
        if let (Some((keep, kept)), Some(frame)) = (kept, frame) {
            let evaluation = json!({ "expression": keep, "frameId": frame, "context": "watch" });
            self.ask("evaluate", evaluation, cancel).await?;
            arguments["value"] = json!(kept);
        }
        Ok(translate::as_set_variable_answer(self.ask(command, arguments, cancel).await?))
    }
}
