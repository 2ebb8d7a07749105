//! Stacks and scopes.

use cordebug::frame::Frame;
use cordebug::thread::Thread;
use dap_wire::Failure;
use serde_json::{Value, json};

use super::cor;
use super::modules::Loaded;
use super::session::Session;
use super::values::Node;

/// Deepest stack that is walked.
pub(super) const DEEPEST: usize = 10_000;

impl Session {
    pub(super) fn stack_trace(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let id = self.thread_of(arguments)?;
        let number =
            |key: &str| arguments[key].as_u64().map_or(0, |number| usize::try_from(number).unwrap_or(0));
        let (start, levels) = (number("startFrame"), number("levels"));
        let frames = self.frames(id)?;
        let wanted = if levels == 0 { frames.len() } else { levels };
        let mut list = Vec::new();
        for (index, frame) in frames.iter().enumerate().skip(start).take(wanted) {
            let reference = self.references.frame(id, index);
            list.push(self.frame_body(frame, reference));
        }
        Ok(json!({ "stackFrames": list, "totalFrames": frames.len() }))
    }

    /// All managed frames of a thread, top first.
    pub(super) fn frames(&self, thread: u32) -> Result<Vec<Frame>, Failure> {
        let frames = self.thread(thread)?.frames(DEEPEST).map_err(cor("walk the stack"))?;
        Ok(self.without_left(thread, frames))
    }

    fn frame_body(&self, frame: &Frame, reference: i64) -> Value {
        let external = |name: String| {
            json!({ "id": reference, "name": name, "line": 0, "column": 0,
            "presentationHint": "subtle" })
        };
        let Ok(function) = frame.function() else { return external("[Native code]".into()) };
        let (Ok(token), Ok(module)) = (function.token(), function.module()) else {
            return external("[Unknown code]".into());
        };
        let Some(loaded) = self.modules.of(&module) else { return external("[Unknown module]".into()) };
        let name = self.frame_name(frame, &loaded, token);
        let point = loaded.pdb.as_ref().ok().and_then(|pdb| pdb.point_at(token, frame.il_offset().ok()?));
        match point {
            Some(point) => {
                let mut body = json!({ "id": reference, "name": name,
                    "source": self.source_body(&loaded, point.document),
                    "line": point.line, "column": point.column, "endLine": point.end_line,
                    "endColumn": point.end_column, "moduleId": loaded.id });
                if !self.is_users(&loaded, token) {
                    body["presentationHint"] = json!("subtle");
                }
                body
            }
            None => {
                let mut body = external(name);
                body["moduleId"] = json!(loaded.id);
                body
            }
        }
    }

    /// Whether a method is the user's own code.
    pub(super) fn is_users(&self, loaded: &Loaded, method: u32) -> bool {
        loaded.is_user_code && !loaded.hidden().contains(&method)
    }

    /// Whether a frame is in the user's own code; none when that cannot be known.
    pub(super) fn is_user_frame(&self, frame: &Frame) -> Option<bool> {
        let function = frame.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        Some(self.is_users(&loaded, function.token().ok()?))
    }

    /// The method of a frame with the generic arguments it has.
    fn frame_name(&self, frame: &Frame, loaded: &Loaded, token: u32) -> String {
        let actual = frame.type_parameters().unwrap_or_default();
        let spelled: Vec<String> = actual.iter().map(|kind| self.csharp(&self.ty_of_runtime(kind))).collect();
        // One body serves all reference types; which one it was is not kept.
        let known = spelled.iter().all(|name| !name.contains("__Canon"));
        self.method_display_with(loaded, token, if known { &spelled } else { &[] })
    }

    pub(super) fn has_user_code(&self, thread: &Thread) -> bool {
        thread.frames(64).unwrap_or_default().iter().any(|frame| {
            let module = frame.function().and_then(|function| function.module());
            module.ok().and_then(|module| self.modules.of(&module)).is_some_and(|loaded| loaded.is_user_code)
        })
    }

    pub(super) fn thread_name(&self, thread: &Thread) -> String {
        let id = thread.id().unwrap_or(0);
        let named = thread.object().ok().and_then(|object| self.text_field(&object, "_name"));
        named.filter(|name| !name.is_empty()).unwrap_or_else(|| {
            // The operating system's name, where the runtime gave it one.
            let pid = self.pid;
            let comm =
                pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/task/{id}/comm")).ok());
            match comm.as_deref().map(str::trim) {
                _ if pid == Some(id) => "Main Thread".into(),
                Some(name) if name.starts_with(".NET") => name.to_owned(),
                _ => format!("Thread {id}"),
            }
        })
    }

    pub(super) fn scopes(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let frame = arguments["frameId"].as_i64().and_then(|id| self.references.frame_of(id));
        let Some((thread, index)) = frame else {
            return Err(Failure::invalid(format!("there is no frame {}", arguments["frameId"])));
        };
        let reference = self.references.add(Node::Locals { thread, index });
        Ok(
            json!({ "scopes": [{ "name": "Locals", "presentationHint": "locals", "variablesReference": reference,
            "expensive": false }] }),
        )
    }
}
