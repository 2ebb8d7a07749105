//! Arguments and bodies as structs, for code that builds or reads them. Bodies that only pass through stay
//! JSON values.
//!
//! Types that are complete in the `dap` crate come from there. The others are generated from the schema
//! (`generate.py`), because the crate's structs lack fields, write absent ones as `null` and drop unknown
//! ones. A test compares both with the schema. Reading is lenient: a field with another type than in the
//! schema counts as absent, because a mistake of a debug adapter must not make the whole message invalid.
//! Callers that want to refuse such a field check it first.

mod breakpoints;
mod debuggee;
mod events;
mod generated;
mod session_control;
mod tandem;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tandem_error::Failure;

pub use breakpoints::*;
pub use dap::events::{ExitedEventBody, MemoryEventBody};
pub use debuggee::*;
pub use events::*;
pub use generated::*;
pub use session_control::*;
pub use tandem::*;

/// Reads a request's arguments. Absent, `null` and `{}` are the same.
///
/// # Errors
/// `INVALID_PARAMETER`, with the command and the invalid argument.
pub fn arguments<T: DeserializeOwned>(command: &str, arguments: &Value) -> Result<T, Failure> {
    let empty = Value::Object(serde_json::Map::new());
    let value = if arguments.is_null() { &empty } else { arguments };
    T::deserialize(value)
        .map_err(|error| Failure::invalid(format!("the arguments of `{command}` do not fit: {error}")))
}

/// Reads a required argument, which [`read`] would replace by its default when it is absent.
///
/// # Errors
/// `INVALID_PARAMETER` when it is absent or has another type.
pub fn require<T: DeserializeOwned>(arguments: &Value, name: &str) -> Result<T, Failure> {
    let value = &arguments[name];
    T::deserialize(value).map_err(|error| match value {
        Value::Null => Failure::invalid(format!("`{name}` is missing")),
        _ => Failure::invalid(format!("`{name}` is {value}: {error}")),
    })
}

/// Reads a foreign body; a value that is not an object counts as an empty one.
pub fn read<T: DeserializeOwned + Default>(body: &Value) -> T {
    // Serde would read the items of an array as the fields of a struct, in their order.
    if body.is_object() { T::deserialize(body).unwrap_or_default() } else { T::default() }
}

impl Breakpoint {
    /// The answer to a breakpoint that cannot be set, with the reason for the user.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), reason: Some("failed".into()), ..Self::default() }
    }

    /// Whether the engine has said something about it.
    pub fn is_explained(&self) -> bool {
        self.message.as_deref().is_some_and(|message| !matches!(message, "" | UNBOUND))
    }
}

/// The body of an event, which determines the event's name.
pub trait EventBody: Serialize {
    /// The name of the event.
    const EVENT: &'static str;
}

/// Declares which event each body belongs to.
macro_rules! event_bodies {
    ($($body:ty => $event:literal,)*) => {
        $(impl EventBody for $body {
            const EVENT: &'static str = $event;
        })*
    };
}

event_bodies! {
    BreakpointEventBody => "breakpoint",
    ContinuedEventBody => "continued",
    ExitedEventBody => "exited",
    InvalidatedEventBody => "invalidated",
    LoadedSourceEventBody => "loadedSource",
    MemoryEventBody => "memory",
    ModuleEventBody => "module",
    OutputEventBody => "output",
    ProcessEventBody => "process",
    ProgressEndEventBody => "progressEnd",
    ProgressStartEventBody => "progressStart",
    ProgressUpdateEventBody => "progressUpdate",
    StoppedEventBody => "stopped",
    ThreadEventBody => "thread",
}

impl StoppedEventBody {
    /// A stop with a reason, such as `step`.
    pub fn because(reason: &str) -> Self {
        Self { reason: reason.to_owned(), ..Self::default() }
    }
}

impl OutputEventBody {
    /// A line that the debugger writes to the debug console.
    pub fn console_line(line: impl std::fmt::Display) -> Self {
        Self { category: Some("console".into()), output: format!("{line}\n"), ..Self::default() }
    }

    /// The same line, with the writer that it comes from, such as `program` or `logMessage`.
    pub fn from_writer(mut self, writer: &str) -> Self {
        self.rest.insert("from".into(), writer.into());
        self
    }
}

/// A count or an index as DAP's integer.
pub fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// An argument that must not be negative, such as a count; another value counts as absent.
pub fn unsigned(argument: Option<i64>) -> Option<usize> {
    usize::try_from(argument?).ok()
}

/// Converts a body to JSON.
pub fn body<T: Serialize>(body: &T) -> Value {
    // The structs contain only values that JSON can express.
    serde_json::to_value(body).unwrap_or_default()
}

/// The arguments of `stackTrace` for the frames on top of a stack. A thread that is not known is 0, which no
/// adapter uses.
pub fn top_frames(thread: Option<i64>, levels: usize) -> Value {
    body(&StackTraceArguments {
        thread_id: thread.unwrap_or_default(),
        start_frame: Some(0),
        levels: i64::try_from(levels).ok(),
        ..StackTraceArguments::default()
    })
}

/// The arguments of `evaluate` for an expression that Tandem evaluates itself.
pub fn watch(expression: &str, frame_id: Option<i64>) -> Value {
    body(&EvaluateArguments {
        expression: expression.to_owned(),
        frame_id,
        context: Some("watch".into()),
        ..EvaluateArguments::default()
    })
}

/// The list of this name in a foreign body, to change it. Indexing would panic for a body that is not an
/// object.
pub fn list_mut<'body>(body: &'body mut Value, name: &str) -> Option<&'body mut Vec<Value>> {
    body.get_mut(name)?.as_array_mut()
}

/// Sets a field of a foreign body. A body that is not an object is left unchanged.
pub fn set(body: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(body) = body.as_object_mut() {
        body.insert(name.to_owned(), value.into());
    }
}

/// An object without fields: arguments or a body that say nothing.
pub fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

/// The path of the source that a request names, such as `setBreakpoints`.
pub fn source_path(arguments: &Value) -> Option<String> {
    source(arguments)?.path
}

/// The source that a request names.
pub fn source(arguments: &Value) -> Option<Source> {
    read::<SourceField>(arguments).source
}

/// How many breakpoints a request sets.
pub fn breakpoint_count(arguments: &Value) -> usize {
    arguments.get("breakpoints").and_then(Value::as_array).map_or(0, Vec::len)
}

/// The field of the arguments that name a source.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SourceField {
    #[serde(deserialize_with = "optional")]
    source: Option<Source>,
}

/// The arguments of requests that name only a thread, such as `continue` and `pause`.
pub fn of_thread(thread_id: Option<i64>) -> Value {
    body(&ThreadRequestArguments { thread_id })
}

/// Arguments that name only a thread; `null` for one that is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ThreadRequestArguments {
    /// The thread of the request.
    #[serde(deserialize_with = "optional")]
    pub thread_id: Option<i64>,
}

/// The arguments of `variables` for the first children of a value.
pub fn first_children(variables_reference: i64, count: usize) -> Value {
    body(&VariablesArguments {
        variables_reference,
        start: Some(0),
        count: i64::try_from(count).ok(),
        ..VariablesArguments::default()
    })
}

/// Changes a foreign body through its type; unknown fields stay. A value that is not an object is left
/// unchanged.
pub fn edit<T: Serialize + DeserializeOwned + Default>(body: &mut Value, change: impl FnOnce(&mut T)) {
    if body.is_object() {
        let mut typed: T = read(body);
        change(&mut typed);
        *body = self::body(&typed);
    }
}

/// The fields of a struct, to add to a body that has further ones in `rest`.
pub fn fields<T: Serialize>(fields: &T) -> serde_json::Map<String, Value> {
    match body(fields) {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    }
}

/// Adds the fields of a struct to an object, such as the attributes of a launch.
pub fn extend<T: Serialize>(object: &mut Value, fields: &T) {
    if let Some(object) = object.as_object_mut() {
        object.extend(self::fields(fields));
    }
}

/// Reads an optional field; an invalid one counts as absent. For `deserialize_with`.
///
/// # Errors
/// When the text is not JSON.
pub fn optional<'de, D: Deserializer<'de>, T: DeserializeOwned>(field: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(field)?;
    Ok(T::deserialize(&value).ok())
}

/// Reads a required field; an absent or invalid one has the default value. For `deserialize_with`.
///
/// # Errors
/// When the text is not JSON.
pub fn required<'de, D, T>(field: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(field).map_err(D::Error::custom)?;
    Ok(T::deserialize(&value).unwrap_or_default())
}

/// Reads a list; an element of another type is skipped, and anything but a list counts as empty. For
/// `deserialize_with`, where no number refers to a place in the list.
///
/// # Errors
/// When the text is not JSON.
pub fn list<'de, D, T>(field: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Value::Array(elements) = Value::deserialize(field).map_err(D::Error::custom)? else {
        return Ok(Vec::new());
    };
    Ok(elements.iter().filter_map(|element| T::deserialize(element).ok()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_element_of_another_type_costs_only_itself() {
        #[derive(Debug, Default, Deserialize, PartialEq)]
        #[serde(default)]
        struct Report {
            #[serde(deserialize_with = "list")]
            names: Vec<String>,
        }
        let names = |names: Value| read::<Report>(&json!({ "names": names })).names;
        assert_eq!(names(json!(["a", 5, null, "b"])), ["a", "b"]);
        for no_list in [json!("a"), Value::Null, json!({ "a": 1 })] {
            assert_eq!(names(no_list), [""; 0]);
        }
    }

    #[test]
    fn unknown_fields_survive_and_slips_cost_only_themselves() {
        let whole =
            json!({ "reason": "step", "threadId": 1, "core": { "id": [2] }, "hitBreakpointIds": [3] });
        assert_eq!(body(&read::<StoppedEventBody>(&whole)), whole);
        let slips = json!({ "reason": 5, "threadId": "1", "text": "kept", "hitBreakpointIds": ["x"] });
        assert_eq!(body(&read::<StoppedEventBody>(&slips)), json!({ "reason": "", "text": "kept" }));
        assert_eq!(read::<StoppedEventBody>(&Value::Null), StoppedEventBody::default());
    }

    #[test]
    fn a_subscription_is_read_as_it_was_written() {
        let arguments = SessionInfoArguments { subscribe: Some(true), notices_children: Some(false) };
        let written = body(&arguments);
        assert_eq!(written, json!({ "subscribe": true, "noticesChildren": false }));
        assert_eq!(read::<SessionInfoArguments>(&written), arguments);
        let mut more = json!({ "a": 1 });
        extend(&mut more, &arguments);
        assert_eq!(more, json!({ "a": 1, "subscribe": true, "noticesChildren": false }));
        let invalid = json!({ "subscribe": "yes" });
        assert_eq!(read::<SessionInfoArguments>(&invalid), SessionInfoArguments::default());
        assert_eq!(read::<SessionInfoArguments>(&json!([true, false])), SessionInfoArguments::default());
    }

    #[test]
    fn only_an_object_is_changed() {
        for other in [Value::Null, json!("x"), json!([1]), json!(5)] {
            let mut body = other.clone();
            set(&mut body, "a", 1);
            assert_eq!(list_mut(&mut body, "a"), None);
            assert_eq!(body, other);
        }
        let mut body = json!({ "list": [1], "other": 2 });
        set(&mut body, "a", "x");
        list_mut(&mut body, "list").unwrap().push(json!(3));
        assert_eq!(list_mut(&mut body, "other"), None);
        assert_eq!(list_mut(&mut body, "absent"), None);
        assert_eq!(body, json!({ "list": [1, 3], "other": 2, "a": "x" }));
    }

    #[test]
    fn arguments_name_what_they_are_about() {
        assert_eq!(of_thread(Some(3)), json!({ "threadId": 3 }));
        assert_eq!(of_thread(None), json!({ "threadId": null }));
        assert_eq!(watch("a", None), json!({ "expression": "a", "context": "watch" }));
        let place = json!({ "source": { "path": "/a" }, "breakpoints": [{}, {}] });
        assert_eq!((source_path(&place).as_deref(), breakpoint_count(&place)), (Some("/a"), 2));
        for other in [Value::Null, json!({}), json!({ "source": 5, "breakpoints": 5 })] {
            assert_eq!((source_path(&other), breakpoint_count(&other)), (None, 0), "{other}");
        }
    }

    #[test]
    fn absent_arguments_are_empty_ones() {
        for absent in [Value::Null, json!({})] {
            assert_eq!(arguments::<CancelArguments>("cancel", &absent), Ok(CancelArguments::default()));
        }
        assert!(arguments::<CancelArguments>("cancel", &json!([1])).is_err());
    }
}
