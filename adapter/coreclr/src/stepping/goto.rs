//! `gotoTargets` and `goto`: setting the next statement. The code in between does not run.

use clr_metadata::pdb::Location;
use serde_json::Value;
use tandem_wire::types::{self, GotoTarget, GotoTargetsArguments, GotoTargetsResponseBody, StoppedEventBody};
use tandem_wire::{ErrorCode, Failure};

use crate::active_step::{ExecutionTarget, Stepping};
use crate::debuggee::ClrDebuggee;
use crate::debuggee::RunState;
use crate::session::ClrSession;
use crate::sources::SourceLocator;
use crate::types::ClrTypeSystem;

impl ClrSession {
    /// `goto`: sets the next statement of a stopped thread, and reports a stop there.
    pub(crate) fn goto(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let id = self.program.debuggee.thread_of(arguments)?;
        let il = match self.stepping.target(arguments)? {
            Some(ExecutionTarget::Statement { thread, il }) if thread == id => il,
            Some(_) => {
                return Err(Failure::invalid("`targetId` is not a location that this thread can go to"));
            }
            None => return Err(Failure::invalid("`targetId` is missing; `gotoTargets` returns it")),
        };
        let frame = self.at_stop().frame_at(id, 0)?;
        let went = frame.can_set_il_offset(il).and_then(|()| frame.set_il_offset(il));
        went.map_err(|error| {
            Failure::new(ErrorCode::Unsupported, format!("the runtime refuses to go there: {error}")).hint(
                "the runtime cannot jump into or out of `catch` and `finally`, or anywhere while an \
                    exception is thrown",
            )
        })?;
        // Frames and values from before are stale, as if the program had run.
        self.forget_stop();
        self.program.values.stack.take();
        self.report_stop(id, StoppedEventBody::because("goto"));
        Ok(Value::Null)
    }
}

impl Stepping {
    /// `gotoTargets`: statements of a line that the thread of the stop may go to, which are those
    /// of its current method.
    pub(crate) fn goto_targets(
        &mut self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        let line: u32 = types::require(arguments, "line")?;
        let arguments: GotoTargetsArguments = types::read(arguments);
        let path = arguments.source.path.ok_or_else(|| Failure::invalid("`source.path` is missing"))?;
        let column = arguments.column.and_then(|column| u32::try_from(column).ok());
        let mut body = GotoTargetsResponseBody::default();
        let RunState::Stopped { thread } = debuggee.run else { return Ok(types::body(&body)) };
        if let Some(position) = types.modules.position(&debuggee.thread(thread)?)
            && let Ok(pdb) = &position.loaded.pdb
            && let Some(document) = sources.find(pdb, &path)
        {
            let covers = |at: &Location, column: u32| {
                at.point.column <= column && (column < at.point.end_column || at.point.end_line > line)
            };
            let mut own = pdb.statements(document, line..=line);
            own.retain(|at| at.method == position.method);
            own.retain(|at| column.is_none_or(|column| covers(at, column)));
            for at in own {
                let id = self.add_target(ExecutionTarget::Statement { thread, il: at.point.il });
                body.targets.push(GotoTarget {
                    id: types::integer(id),
                    label: format!("line {}, column {}", at.point.line, at.point.column),
                    line: at.point.line.into(),
                    column: Some(at.point.column.into()),
                    end_line: Some(at.point.end_line.into()),
                    end_column: Some(at.point.end_column.into()),
                    ..GotoTarget::default()
                });
            }
        }
        Ok(types::body(&body))
    }
}
