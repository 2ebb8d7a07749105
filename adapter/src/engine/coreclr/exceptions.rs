//! Exceptions: which stop the program, and what is known of the one that did.

use cordebug::thread::Thread;
use cordebug::value::Value as ClrValue;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::cor;
use super::session::Session;

/// How far a chain of inner exceptions is followed.
const DEEPEST: usize = 10;

/// Which exceptions stop the program.
pub(super) struct Filters {
    /// Any that is thrown in, or passes, user code (any at all without just-my-code).
    pub(super) all: bool,
    /// Those nothing catches.
    pub(super) unhandled: bool,
}

impl Default for Filters {
    fn default() -> Self {
        Self { all: false, unhandled: true }
    }
}

impl Filters {
    pub(super) fn set(&mut self, arguments: &Value) -> Value {
        let names: Vec<&str> =
            arguments["filters"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let options = arguments["filterOptions"].as_array().into_iter().flatten();
        let named: Vec<&str> =
            names.into_iter().chain(options.filter_map(|option| option["filterId"].as_str())).collect();
        self.all = named.contains(&"all");
        self.unhandled = named.contains(&"unhandled");
        let answer: Vec<Value> = named
            .iter()
            .map(|name| match *name {
                "all" | "unhandled" => json!({ "verified": true }),
                other => {
                    json!({ "verified": false, "message": format!("there is no exception filter `{other}`") })
                }
            })
            .collect();
        json!({ "breakpoints": answer })
    }
}

impl Session {
    /// Type and message of the exception a thread throws.
    pub(super) fn exception_summary(&self, thread: &Thread) -> (String, Option<String>) {
        let Ok(thrown) = thread.current_exception() else { return ("an exception".into(), None) };
        (self.type_of(&thrown), self.text_field(&thrown, "_message"))
    }

    pub(super) fn exception_info(&self, arguments: &Value) -> Result<Value, Failure> {
        let id = self.thread_of(arguments)?;
        let Some((_, unhandled)) = self.throwing.filter(|(thread, _)| *thread == id) else {
            return Err(Failure::new(
                ErrorCode::InvalidParameter,
                format!("thread {id} did not stop at an exception"),
            )
            .quiet());
        };
        let thrown = self.thread(id)?.current_exception().map_err(cor("read the exception"))?;
        let details = self.details(&thrown, DEEPEST);
        Ok(json!({ "exceptionId": details["fullTypeName"], "description": details["message"],
            "breakMode": if unhandled { "unhandled" } else { "always" }, "details": details }))
    }

    fn details(&self, thrown: &ClrValue, deeper: usize) -> Value {
        let full = self.type_of(thrown);
        let mut details = json!({ "typeName": full.rsplit('.').next(), "fullTypeName": full });
        if let Some(message) = self.text_field(thrown, "_message") {
            details["message"] = json!(message);
        }
        if let Some(stack) = self.text_field(thrown, "_stackTraceString") {
            details["stackTrace"] = json!(stack);
        }
        let inner = self.field_named(thrown, "_innerException").filter(|inner| !self.is_null(inner));
        if let Some(inner) = inner.filter(|_| deeper > 0) {
            details["innerException"] = json!([self.details(&inner, deeper - 1)]);
        }
        details
    }
}
