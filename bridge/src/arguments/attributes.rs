//! Attributes of DAP's `launch` and `attach` that agents may set and tools pass on unchanged: the adapter
//! knows what they mean. Their names are in tables here; MCP lists none of them.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use tandem_wire::types;

/// Attributes that launching and attaching share.
const COMMON: [&str; 18] = [
    "justMyCode",
    "sourceFileMap",
    "symbolPaths",
    "pathMappings",
    "agentAccess",
    "expressionCompiler",
    "expressionEvaluationOptions",
    "enableStepFiltering",
    "initCommands",
    "outputBufferBytes",
    // The .NET engine's.
    "sourceLinkOptions",
    "symbolOptions",
    "decompiler",
    "requireExactSource",
    "suppressJITOptimizations",
    "logging",
    "targetArchitecture",
    "pipeTransport",
];

const LAUNCH: [&str; 25] = [
    "console",
    "pty",
    "__ptyEcho",
    "terminalSize",
    "stdio",
    "noDebug",
    "pythonArgs",
    "subProcess",
    "runtimeExecutable",
    "runtimeArgs",
    "outFiles",
    "cargo",
    "mode",
    "buildFlags",
    "dlvFlags",
    "terminateTimeout",
    "envFile",
    "launchSettingsProfile",
    "launchProfile",
    "runtimeIdentifier",
    "configuration",
    "framework",
    "noBuild",
    "buildArguments",
    "code",
];

const ATTACH: [&str; 5] = ["python", "localRoot", "remoteRoot", "target", "attachCommands"];

const TEST: [&str; 7] =
    ["engine", "enginePath", "engineOptions", "dlvFlags", "justMyCode", "symbolPaths", "sourceFileMap"];

/// Attributes that are true or false, which models also write as 1, 0 or text.
const FLAGS: [&str; 9] = [
    "justMyCode",
    "pty",
    "__ptyEcho",
    "noDebug",
    "subProcess",
    "enableStepFiltering",
    "noBuild",
    "requireExactSource",
    "suppressJITOptimizations",
];

/// Attributes that are objects of options, each with its options.
const OPTIONS: [(&str, &[&str]); 1] = [("expressionEvaluationOptions", &["allowToString"])];

/// The names of attributes that a tool passes on.
pub(crate) trait AttributeNames {
    /// Tables that together list all names.
    const TABLES: &'static [&'static [&'static str]];

    /// Whether an attribute of this name is passed on.
    fn has(name: &str) -> bool {
        Self::TABLES.iter().any(|table| table.contains(&name))
    }
}

/// The attributes of `debug_launch`.
#[derive(Debug, Clone)]
pub(crate) struct LaunchNames;

impl AttributeNames for LaunchNames {
    const TABLES: &'static [&'static [&'static str]] = &[&COMMON, &LAUNCH];
}

/// The attributes of `debug_attach`.
#[derive(Debug, Clone)]
pub(crate) struct AttachNames;

impl AttributeNames for AttachNames {
    const TABLES: &'static [&'static [&'static str]] = &[&COMMON, &ATTACH];
}

/// The attributes of `debug_launch_test`.
#[derive(Debug, Clone)]
pub(crate) struct TestNames;

impl AttributeNames for TestNames {
    const TABLES: &'static [&'static [&'static str]] = &[&TEST];
}

/// Attributes of a call that are passed on unchanged.
#[derive(Debug, Clone)]
pub(crate) struct PassedAttributes<N>(Map<String, Value>, PhantomData<N>);

impl<N> PassedAttributes<N> {
    /// The attributes, as an object.
    pub(crate) fn to_object(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Whether the call has an attribute.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }
}

impl<'de, N: AttributeNames> Deserialize<'de> for PassedAttributes<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Map::deserialize(deserializer)?;
        given.retain(|name, _| N::has(name));
        Ok(Self(given, PhantomData))
    }
}

impl<N: AttributeNames> JsonSchema for PassedAttributes<N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PassedAttributes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        for name in N::TABLES.iter().copied().flatten() {
            let mut property = json!({ "x-unlisted": true });
            if FLAGS.contains(name) {
                property["type"] = json!("boolean");
            }
            if let Some((_, options)) = OPTIONS.iter().find(|(owner, _)| owner == name) {
                let options = options.iter().map(|option| ((*option).to_owned(), json!(true)));
                property["properties"] = Value::Object(options.collect());
            }
            properties.insert((*name).to_owned(), property);
        }
        schemars::json_schema!({ "type": "object", "properties": properties })
    }
}

/// Attributes of a launch that tools read and set themselves. Those without a value stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LaunchFlags {
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) stop_on_entry: Option<bool>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) no_debug: Option<bool>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) no_build: Option<bool>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) follow_children: Option<bool>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) sub_process: Option<bool>,
}

impl LaunchFlags {
    /// The flag that decides whether the program stops at its entry.
    pub(crate) fn stopping_on_entry(stop_on_entry: bool) -> Self {
        Self { stop_on_entry: Some(stop_on_entry), ..Self::default() }
    }

    /// The flags of attributes.
    pub(crate) fn of(attributes: &Value) -> Self {
        types::read(attributes)
    }

    /// Sets these flags in attributes.
    pub(crate) fn set_in(&self, attributes: &mut Value) {
        add(attributes, self);
    }
}

/// Adds the fields of a struct to an object of attributes.
pub(crate) fn add(attributes: &mut Value, more: &impl Serialize) {
    if let (Some(attributes), Ok(Value::Object(more))) =
        (attributes.as_object_mut(), serde_json::to_value(more))
    {
        attributes.extend(more);
    }
}
