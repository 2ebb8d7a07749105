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
const DEEPEST: usize = 10_000;

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
        let name = self.frame_name(&loaded, token);
        let point = loaded.pdb.as_ref().ok().and_then(|pdb| {
            frame
                .il_offset()
                .ok()
                .and_then(|il| pdb.point_at(token, il))
                .map(|point| (pdb.document(point.document), point))
        });
        match point {
            Some((path, point)) => {
                let mut body = json!({ "id": reference, "name": name,
                    "source": { "name": path.rsplit(['/', '\\']).next(), "path": path },
                    "line": point.line, "column": point.column, "endLine": point.end_line,
                    "endColumn": point.end_column, "moduleId": loaded.id });
                if !loaded.is_user_code {
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

    /// `Type.Method(parameters)`; the method people wrote instead of the state machine behind it.
    fn frame_name(&self, loaded: &Loaded, token: u32) -> String {
        let Some(image) = loaded.image() else { return format!("[method 0x{token:08x}]") };
        let written = loaded.pdb.as_ref().ok().and_then(|pdb| pdb.kickoff(token)).unwrap_or(token);
        let metadata = &image.metadata;
        let owner = metadata.type_name(metadata.owner_of(written));
        let owner = super::names::without_arity(&owner);
        format!("{owner}.{}({})", metadata.method_name(written), metadata.parameters(written).join(", "))
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
            let pid = self.child.as_ref().map(crate::io::Child::pid);
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
