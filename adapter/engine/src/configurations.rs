//! Launch configurations that people have for other debuggers, by their `type`: what each attribute becomes
//! here. The one table of it; docs/launch-configuration.md shows it. Reads no file and knows no engine's own
//! meaning of an attribute.

mod interpreters;
mod table;

use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure, types};

use super::shell_words;
pub use interpreters::is_python;
use table::{Attribute, DebuggerFamily, TABLE};

/// The `type` that a configuration had before its editor converted it to Tandem's.
const ORIGINAL: &str = "__configurationType";

/// The launch profile of a .NET project; an empty name is none.
const PROFILE: &str = "launchSettingsProfile";

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
    /// As [`Self::Refused`], and these values hold anyway.
    RefusedUnless(&'static [&'static str], &'static str),
    /// It is for the editor only; no adapter gets it.
    Editor,
}

/// Translates the attributes of another debugger's configuration to Tandem's, and a launch of an interpreter
/// to one of its script. Returns a sentence for each attribute that is left out, and for that script.
///
/// # Errors
/// `UNSUPPORTED` for an attribute without which the program would not run as it is meant to.
pub fn translate_configuration(arguments: &mut Value) -> Result<Vec<String>, Failure> {
    let mut remarks = translate_attributes(arguments)?;
    if let Some(attributes) = arguments.as_object_mut() {
        remarks.extend(interpreters::launch_script(attributes)?);
    }
    Ok(remarks)
}

/// Tandem's own configurations, and those of an unknown `type`, stay unchanged.
fn translate_attributes(arguments: &mut Value) -> Result<Vec<String>, Failure> {
    // An editor that gives all of them to us under our own type says what it was.
    let kind = arguments[ORIGINAL].as_str().or_else(|| arguments["type"].as_str());
    let Some(family) = kind.and_then(DebuggerFamily::of) else { return Ok(Vec::new()) };
    let Some(attributes) = arguments.as_object_mut() else { return Ok(Vec::new()) };
    let mut remarks = Vec::new();
    // `null` and an absent attribute differ for this one alone.
    if family.reads_profiles() && attributes.get(PROFILE).is_some_and(Value::is_null) {
        attributes.insert(PROFILE.into(), "".into());
    }
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
            AttributeTranslation::RefusedUnless(values, _)
                if is_empty(&value) || value.as_str().is_some_and(|value| values.contains(&value)) =>
            {
                attributes.shift_remove(*name);
            }
            AttributeTranslation::Refused(instead) | AttributeTranslation::RefusedUnless(_, instead) => {
                let message = format!("`{name}` of a `{}` configuration is not supported", family.name());
                return Err(Failure::new(ErrorCode::Unsupported, message).hint(*instead));
            }
        }
    }
    // A configuration that names an engine keeps it.
    attributes.entry("engine").or_insert_with(|| family.engine().into());
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
        Some("internalConsole" | "console" | "internal") => "piped".into(),
        Some("integrated") => "integratedTerminal".into(),
        Some("external" | "newExternalWindow") => "externalTerminal".into(),
        _ => value,
    };
    attributes.insert("console".into(), ours);
}

fn external_console(attributes: &mut Map<String, Value>, value: Value) {
    if value == true {
        attributes.entry("console").or_insert("externalTerminal".into());
    }
}

/// A variable of the attribute `environment`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EnvironmentVariable {
    #[serde(deserialize_with = "types::optional")]
    name: Option<String>,
    value: Value,
}

/// `[{"name": …, "value": …}]`.
fn environment(attributes: &mut Map<String, Value>, value: Value) {
    let mut env = attributes.get("env").and_then(Value::as_object).cloned().unwrap_or_default();
    for pair in value.as_array().into_iter().flatten() {
        if let EnvironmentVariable { name: Some(name), value } = types::read(pair) {
            env.entry(name).or_insert(value);
        }
    }
    attributes.insert("env".into(), Value::Object(env));
}

/// Arguments in one string.
fn arguments(attributes: &mut Map<String, Value>, value: Value) {
    let list = value.as_str().map(shell_words::split);
    attributes.insert("args".into(), list.map_or(value, Value::from));
}

/// `["NAME=value"]`, as lldb-dap accepts it beside an object.
fn env_list(attributes: &mut Map<String, Value>, value: Value) {
    let Value::Array(list) = value else {
        attributes.insert("env".into(), value);
        return;
    };
    let pairs = list.iter().filter_map(Value::as_str);
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let env = pairs.map(|(name, value)| (name.to_owned(), value.into())).collect();
    attributes.insert("env".into(), Value::Object(env));
}

/// One file for all streams, or a list whose last file is for the other streams, too.
fn stdio(attributes: &mut Map<String, Value>, value: Value) {
    let mut list = match value {
        Value::Array(list) => list,
        Value::String(_) => vec![value],
        other => {
            attributes.insert("stdio".into(), other);
            return;
        }
    };
    if let Some(last) = list.last().cloned() {
        list.resize(list.len().max(3), last);
    }
    attributes.insert("stdio".into(), Value::Array(list));
}

/// A file for stdout and stderr.
fn output_log(attributes: &mut Map<String, Value>, value: Value) {
    let owned = matches!(attributes.get("console").and_then(Value::as_str), None | Some("piped"));
    let is_file = value.as_str().is_some_and(|path| !path.is_empty());
    if owned && is_file && !attributes.contains_key("stdio") {
        set_field(attributes, "stdio", "stdout", value.clone());
        set_field(attributes, "stdio", "stderr", value);
    }
}

/// Sets a field of an attribute that is an object. An attribute of another type stays: it is refused where
/// it is read.
fn set_field(attributes: &mut Map<String, Value>, attribute: &str, field: &str, value: Value) {
    let object = attributes.entry(attribute).or_insert(Value::Null);
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if let Some(object) = object.as_object_mut() {
        object.insert(field.into(), value);
    }
}

fn stdin_file(attributes: &mut Map<String, Value>, value: Value) {
    set_field(attributes, "stdio", "stdin", value);
}

fn stdout_file(attributes: &mut Map<String, Value>, value: Value) {
    set_field(attributes, "stdio", "stdout", value);
}

fn stderr_file(attributes: &mut Map<String, Value>, value: Value) {
    set_field(attributes, "stdio", "stderr", value);
}

/// `TargetFramework=net10.0;PROFILE`; either part may be missing.
fn launch_configuration_id(attributes: &mut Map<String, Value>, value: Value) {
    for part in value.as_str().unwrap_or_default().split(';').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("TargetFramework", "")) => {}
            Some(("TargetFramework", framework)) => {
                attributes.entry("framework").or_insert(framework.into());
            }
            _ => drop(attributes.entry(PROFILE).or_insert(part.into())),
        }
    }
}

/// `true` shows the code of libraries.
fn debug_libraries(attributes: &mut Map<String, Value>, value: Value) {
    if value == true {
        attributes.entry("justMyCode").or_insert(false.into());
    }
}

/// lldb-dap's former word for a terminal of the client.
fn run_in_terminal(attributes: &mut Map<String, Value>, value: Value) {
    if value == true {
        attributes.entry("console").or_insert("integratedTerminal".into());
    }
}

/// `gdb`, unless the configuration names another.
fn mi_mode(attributes: &mut Map<String, Value>, value: Value) {
    if value == "lldb" {
        attributes.entry("engine").or_insert("lldb".into());
    }
}

/// A command of the attribute `setupCommands`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SetupCommand {
    #[serde(deserialize_with = "types::optional")]
    text: Option<String>,
}

/// Commands as gdb's or lldb's engine takes them, without those that only its MI knows.
fn setup_commands(attributes: &mut Map<String, Value>, value: Value) {
    let all = value.as_array().into_iter().flatten();
    let texts = all.filter_map(|one| types::read::<SetupCommand>(one).text);
    // `-enable-pretty-printing` and the like: DAP prints prettily by itself.
    let commands: Vec<String> = texts.filter(|text| !text.starts_with('-')).collect();
    if !commands.is_empty() {
        attributes.entry("initCommands").or_insert(commands.into());
    }
}

/// `host` and `port` of a debugger that listens.
fn host(attributes: &mut Map<String, Value>, value: Value) {
    set_field(attributes, "connect", "host", value);
}

fn port(attributes: &mut Map<String, Value>, value: Value) {
    set_field(attributes, "connect", "port", value);
}

/// `12345` or `host:12345`.
fn debug_port(attributes: &mut Map<String, Value>, value: Value) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (name, number) = text.rsplit_once(':').unwrap_or(("127.0.0.1", &text));
    let connect = match number.parse::<u16>() {
        Ok(number) => vec![("host", Value::from(name)), ("port", number.into())],
        Err(_no_number) => vec![("socket", text.into())],
    };
    let connect = connect.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
    attributes.entry("connect").or_insert(Value::Object(connect));
}

/// Without a `program` the runtime is the program: `npm run start`.
fn runtime(attributes: &mut Map<String, Value>, value: Value) {
    if !attributes.get("program").is_none_or(Value::is_null) {
        attributes.insert("runtimeExecutable".into(), value);
        return;
    }
    attributes.insert("program".into(), value);
    let mut words = Vec::new();
    for list in ["runtimeArgs", "args"] {
        if let Some(Value::Array(list)) = attributes.get_mut(list).map(Value::take) {
            words.extend(list);
        }
    }
    attributes.shift_remove("runtimeArgs");
    attributes.insert("args".into(), words.into());
}

/// `auto` is what holds without it.
fn go_mode(attributes: &mut Map<String, Value>, value: Value) {
    if value != "auto" {
        attributes.insert("mode".into(), value);
    }
}

#[cfg(test)]
mod tests;
