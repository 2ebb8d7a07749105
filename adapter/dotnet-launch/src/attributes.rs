//! Attributes of `launch` and `attach` as values of Rust, each checked where it is read.
//!
//! Not here: which attributes there are.

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::environment::{self, Variables};

/// Documented launch attributes, checked one by one so that each error names its attribute.
pub struct Attributes<'a>(pub &'a Value);

impl Attributes<'_> {
    /// A string; `None` if it is absent or empty.
    pub fn text(&self, key: &str) -> Result<Option<&str>, Failure> {
        match &self.0[key] {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            Value::String(text) => Ok(Some(text)),
            other => Err(Failure::invalid(format!("`{key}` must be a string, not {other}"))),
        }
    }

    /// A Boolean; `default` if it is absent.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, Failure> {
        match &self.0[key] {
            Value::Null => Ok(default),
            Value::Bool(value) => Ok(*value),
            other => Err(Failure::invalid(format!("`{key}` must be true or false, not {other}"))),
        }
    }

    /// An array of strings; empty if it is absent.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, Failure> {
        let wrong = || Failure::invalid(format!("`{key}` must be an array of strings, not {}", self.0[key]));
        match &self.0[key] {
            Value::Null => Ok(Vec::new()),
            Value::Array(list) => {
                list.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            _ => Err(wrong()),
        }
    }

    pub(super) fn env(&self) -> Result<Variables, Failure> {
        environment::read("env", &self.0["env"])
    }

    /// A variable as the program will see it.
    pub fn variable(&self, name: &str) -> Option<String> {
        match &self.0["env"][name] {
            Value::Null if self.0["env"].get(name).is_some() => None,
            Value::String(text) => Some(text.clone()),
            value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
            _ => std::env::var(name).ok(),
        }
    }
}
