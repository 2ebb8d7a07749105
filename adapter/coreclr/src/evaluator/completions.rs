//! `completions`: continuations of an expression. Runs nothing.

use serde_json::Value;
use tandem_csharp::bind::{Effects, complete};
use tandem_wire::Failure;
use tandem_wire::types::{self, CompletionItem, CompletionsResponseBody};

use super::evaluation::ExpressionEvaluation;
use crate::func_eval::{CALL_TIMEOUT, EvalContext};
use crate::session::ClrSession;

/// Most suggestions of one answer.
const MAX_SUGGESTIONS: usize = 200;

impl ClrSession {
    pub(crate) fn completions(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let text: String = types::require(arguments, "text")?;
        let column: i64 = types::require(arguments, "column")?;
        let column = types::unsigned(Some(column)).unwrap_or(1).saturating_sub(1);
        // Columns count UTF-16 units.
        let mut units = 0;
        let end = text.char_indices().find(|(_, letter)| {
            let here = units >= column;
            units += letter.len_utf16();
            here
        });
        let cursor = end.map_or(text.len(), |(at, _)| at);
        let (thread, frame) = self.at_stop().requested_frame(arguments)?;
        let site = EvalContext { thread, frame, runs: false, limit: CALL_TIMEOUT };
        // All names in scope are needed.
        let sight = self.at_stop().scope_at(&site, "")?;
        let evaluation = ExpressionEvaluation::new(self, &site, &sight, Effects::None, None);
        let (found, span) = complete(&text, cursor, &sight.scope, &evaluation);
        let units =
            |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().encode_utf16().count();
        let (start, length) = (units(0..span.start), units(span.start..span.end));
        let one = |one: tandem_csharp::bind::Completion| CompletionItem {
            label: one.label,
            kind: Some(one.kind.into()),
            start: Some(types::integer(start)),
            length: Some(types::integer(length)),
            ..CompletionItem::default()
        };
        let targets = found.into_iter().take(MAX_SUGGESTIONS).map(one).collect();
        Ok(types::body(&CompletionsResponseBody { targets, ..CompletionsResponseBody::default() }))
    }
}
