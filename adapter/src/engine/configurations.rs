//! Launch configurations that people have for other debuggers, by their `type`: what each attribute becomes
//! here. The one table of it; docs/launch-configuration.md shows it. Reads no file and knows no engine's own
//! meaning of an attribute.

mod table;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Map, Value, json};

use table::{Attribute, DebuggerFamily, TABLE};

/// The `type` that a configuration had before its editor converted it to Tandem's.
const ORIGINAL: &str = "__configurationType";

/// The translation of an attribute.
#[derive(Debug, Clone, Copy)]
enum AttributeTranslation {
    /// It means the same here, or to the adapter that gets it.
    Same,
    /// Tandem's name for it differs.
    Named(&'static str),
    /// Other attributes express it: a description, and how to translate it.
    Mapped(
        #[allow(dead_code, reason = "the words are for the documentation")] &'static str,
        fn(&mut Map<String, Value>, Value),
    ),
    /// It is left out, with a message to the client that says why.
    Ignored(&'static str),
    /// The launch is refused, unless the value is what holds anyway; with what to do instead.
    Refused(&'static str),
    /// It is for the editor only; no adapter gets it.
    Editor,
}

/// Translates the attributes of another debugger's configuration to Tandem's; returns a sentence for each
/// attribute that is left out. Tandem's own configurations, and those of an unknown `type`, stay unchanged.
///
/// # Errors
/// `UNSUPPORTED` for an attribute without which the program would not run as it is meant to.
pub fn translate_configuration(arguments: &mut Value) -> Result<Vec<String>, Failure> {
    // An editor that gives all of them to us under our own type says what it was.
    let kind = arguments[ORIGINAL].as_str().or_else(|| arguments["type"].as_str());
    let Some(family) = kind.and_then(DebuggerFamily::of) else { return Ok(Vec::new()) };
    let Some(attributes) = arguments.as_object_mut() else { return Ok(Vec::new()) };
    let mut remarks = Vec::new();
    for Attribute { name, meaning, .. } in
        TABLE.iter().filter(|attribute| attribute.families.contains(&family))
    {
        let Some(value) = attributes.get(*name).filter(|value| !value.is_null()).cloned() else { continue };
        match meaning {
            AttributeTranslation::Same | AttributeTranslation::Editor => {}
            AttributeTranslation::Named(ours) => {
                attributes.shift_remove(*name);
                attributes.entry(*ours).or_insert(value);
            }
            AttributeTranslation::Mapped(_, map) => {
                attributes.shift_remove(*name);
                map(attributes, value);
            }
            AttributeTranslation::Ignored(why) => {
                attributes.shift_remove(*name);
                remarks.push(format!("`{name}` of a `{}` configuration is ignored: {why}", family.name()));
            }
            AttributeTranslation::Refused(_) if is_empty(&value) => {
                attributes.shift_remove(*name);
            }
            AttributeTranslation::Refused(instead) => {
                let message = format!("`{name}` of a `{}` configuration is not supported", family.name());
                return Err(Failure::new(ErrorCode::Unsupported, message).hint(*instead));
            }
        }
    }
    // A configuration that names an engine keeps it.
    attributes.entry("engine").or_insert_with(|| json!(family.engine()));
    Ok(remarks)
}

/// A sentence for the size of a terminal in a launch without one; `None` if each attribute has an effect.
pub fn explain_attribute_without_effect(arguments: &Value) -> Option<String> {
    let sized = !arguments["terminalSize"].is_null() && arguments["pty"] != true;
    sized
        .then(|| "`terminalSize` has no effect without `pty`: the program has no terminal of Tandem's".into())
}

/// Whether a value means the same as an absent attribute.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(Value::is_null),
        Value::Object(map) => map.is_empty(),
        Value::Null | Value::Number(_) => false,
    }
}

/// `console` in the words of any of them.
fn console(attributes: &mut Map<String, Value>, value: Value) {
    let ours = match value.as_str() {
        Some("internalConsole" | "console" | "internal") => json!("piped"),
        Some("integrated") => json!("integratedTerminal"),
        Some("external" | "newExternalWindow") => json!("externalTerminal"),
        _ => value,
    };
    attributes.insert("console".into(), ours);
}

fn external_console(attributes: &mut Map<String, Value>, value: Value) {
    if value == true {
        attributes.entry("console").or_insert(json!("externalTerminal"));
    }
}

/// `[{"name": …, "value": …}]`.
fn environment(attributes: &mut Map<String, Value>, value: Value) {
    let mut env = attributes.get("env").and_then(Value::as_object).cloned().unwrap_or_default();
    for pair in value.as_array().into_iter().flatten() {
        if let Some(name) = pair["name"].as_str() {
            env.entry(name).or_insert_with(|| pair["value"].clone());
        }
    }
    attributes.insert("env".into(), Value::Object(env));
}

/// `gdb`, unless the configuration names another.
fn mi_mode(attributes: &mut Map<String, Value>, value: Value) {
    if value == "lldb" {
        attributes.entry("engine").or_insert(json!("lldb"));
    }
}

/// Commands as gdb's or lldb's engine takes them, without those that only its MI knows.
fn setup_commands(attributes: &mut Map<String, Value>, value: Value) {
    let texts = value.as_array().into_iter().flatten().filter_map(|one| one["text"].as_str());
    // `-enable-pretty-printing` and the like: DAP prints prettily by itself.
    let commands: Vec<&str> = texts.filter(|text| !text.starts_with('-')).collect();
    if !commands.is_empty() {
        attributes.entry("initCommands").or_insert(json!(commands));
    }
}

/// `host` and `port` of a debugger that listens.
fn host(attributes: &mut Map<String, Value>, value: Value) {
    attributes.entry("connect").or_insert(json!({}))["host"] = value;
}

fn port(attributes: &mut Map<String, Value>, value: Value) {
    attributes.entry("connect").or_insert(json!({}))["port"] = value;
}

/// `12345` or `host:12345`.
fn debug_port(attributes: &mut Map<String, Value>, value: Value) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (name, number) = text.rsplit_once(':').unwrap_or(("127.0.0.1", &text));
    match number.parse::<u16>() {
        Ok(number) => attributes.entry("connect").or_insert(json!({ "host": name, "port": number })),
        Err(_no_number) => attributes.entry("connect").or_insert(json!({ "socket": text })),
    };
}

/// `auto` is what holds without it.
fn go_mode(attributes: &mut Map<String, Value>, value: Value) {
    if value != "auto" {
        attributes.insert("mode".into(), value);
    }
}

#[cfg(test)]
mod tests;
