//! `debug_attach`: attaches to a process by its id, to a debugger that listens, or to a core file. It
//! converts the arguments to the attach attributes of docs/engines.md, "Attaching"; the adapter decides which
//! engine can do it.
//!
//! Declares no tool: [`super::launch`] does. Not here: attributes that pass unchanged
//! ([`crate::arguments::attributes`]).

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::types::{DapModule, DapModulesArguments};
use tokio::time::Instant;

use super::answer;
use super::launch_breakpoints::add_breakpoints;
use super::run_answer::RunEvent;
use super::stops;
use super::waiting::ENTRY_STOP_TIMEOUT;
use crate::arguments::attributes::{self, AttachNames, PassedAttributes};
use crate::arguments::schema::{ObjectOrText, TextOrObject};
use crate::breakpoint_body::BreakpointBody;
use crate::breakpoint_requests::EarlyRequests;
use crate::call::ToolCall;
use crate::session::{AgentSession, SessionPlan};
use crate::snapshot::ProgramState;
use crate::source::absolute;

/// Time limit for a running .NET process to report its modules, and the interval of the checks.
const MODULES_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The host of a port without one.
const LOCALHOST: &str = "127.0.0.1";
/// Ways to attach that only one adapter has, which the other arguments say.
const ADAPTER_ATTRIBUTES: [&str; 2] = ["target", "attachCommands"];

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["host", "port", "cwd", "breakpoints"]))]
pub(super) struct AttachArguments {
    process_id: Option<u64>,
    #[schemars(description = "{host, port}")]
    connect: Option<ObjectOrText>,
    core_file: Option<String>,
    #[schemars(description = "of the core")]
    program: Option<String>,
    #[schemars(description = "of connect: debugpy, lldb, gdb, delve, js, rdbg")]
    engine: Option<TextOrObject>,
    engine_path: Option<String>,
    engine_options: Option<Map<String, Value>>,
    host: Option<String>,
    port: Option<u64>,
    cwd: Option<String>,
    #[serde(default)]
    breakpoints: Vec<Value>,
    #[serde(flatten)]
    passed: PassedAttributes<AttachNames>,
}

/// Arguments that become attributes under the same names.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttachAttributes<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_options: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    core_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect: Option<ConnectTarget<'a>>,
}

/// Where a debugger listens.
#[derive(Serialize)]
#[serde(untagged)]
enum ConnectTarget<'a> {
    Address {
        host: &'a str,
        port: u64,
    },
    /// As the call has it, such as `{socket}`.
    Given(&'a Value),
}

pub(super) async fn attach(call: &ToolCall, arguments: AttachArguments) -> Result<Value, Failure> {
    let attributes = attributes(&arguments)?;
    attach_with(call, attributes, &arguments).await
}

/// Converts the arguments of `debug_attach` to attach attributes.
fn attributes(arguments: &AttachArguments) -> Result<Value, Failure> {
    let AttachArguments { passed, engine, engine_options: options, .. } = arguments;
    let (pid, core, place) = (arguments.process_id, arguments.core_file.as_deref(), place(arguments)?);
    let has_option = |name: &&str| {
        options.as_ref().and_then(|options| options.get(*name)).is_some_and(|value| !value.is_null())
    };
    let own = ADAPTER_ATTRIBUTES.iter().any(|name| passed.has(name) || has_option(name))
        || ["gdb-remote-port", "websocketAddress", "coreFile"].iter().any(has_option);
    match (pid, core, &place) {
        (Some(_), None, None) | (None, Some(_), None) | (None, None, Some(_)) => {}
        (None, None, None) if own && engine.is_some() => {}
        (None, None, None) => {
            return Err(Failure::invalid("`processId`, `connect` or `coreFile` is missing").hint(
                "give `processId`; or `connect` {host, port} where a debugger listens (debugpy --listen, \
                    node --inspect, rdbg \
                 --open, dlv --headless, gdbserver), with its `engine`; or `coreFile` with `program`",
            ));
        }
        _ => {
            return Err(Failure::invalid(
                "give one of `processId`, `coreFile` and `connect` (or `host` and `port`), not several",
            ));
        }
    }
    let mut attributes = passed.to_object();
    let own = AttachAttributes {
        program: arguments.program.as_deref().map(absolute),
        cwd: arguments.cwd.as_deref().map(absolute),
        engine: engine.as_ref().map(|engine| &engine.0),
        engine_path: arguments.engine_path.as_deref(),
        engine_options: options.as_ref(),
        process_id: pid,
        core_file: core.map(|core| existing_core(absolute(core))).transpose()?,
        connect: place,
    };
    attributes::add(&mut attributes, &own);
    Ok(attributes)
}

/// `connect`, or `host` and `port`, or `port` alone, as `{host, port}` or `{socket}`.
fn place(arguments: &AttachArguments) -> Result<Option<ConnectTarget<'_>>, Failure> {
    let host = arguments.host.as_deref().unwrap_or(LOCALHOST);
    match (arguments.connect.as_ref().map(|connect| &connect.0), arguments.port) {
        (None, None) => Ok(None),
        (None, Some(port)) => Ok(Some(ConnectTarget::Address { host, port })),
        // `127.0.0.1:5678`, or a port alone.
        (Some(Value::String(text)), _) => {
            let (host, port) = text.rsplit_once(':').unwrap_or((LOCALHOST, text));
            let port = port.parse::<u16>().map_err(|_| {
                Failure::invalid(format!(
                    "`connect` must be {{host, port}}, {{socket}} or `host:port`, not `{text}`"
                ))
            })?;
            let host = if host.is_empty() { LOCALHOST } else { host };
            Ok(Some(ConnectTarget::Address { host, port: port.into() }))
        }
        (Some(object), _) => Ok(Some(ConnectTarget::Given(object))),
    }
}

/// The path of an existing core file. The adapter decides which engine reads it.
fn existing_core(core: String) -> Result<String, Failure> {
    if !Path::new(&core).is_file() {
        return Err(Failure::invalid(format!("there is no core file `{core}`"))
            .hint("`coreFile` is its path; `program` is the executable that crashed"));
    }
    Ok(core)
}

/// Attaches by the attributes of these arguments and answers as `debug_attach` does.
async fn attach_with(
    call: &ToolCall,
    attributes: Value,
    arguments: &AttachArguments,
) -> Result<Value, Failure> {
    let EarlyRequests { mut requested, filters } = call.bridge.early_requests();
    add_breakpoints(call, &arguments.breakpoints, &mut requested, Vec::new())?;
    let (pid, core) = (arguments.process_id, arguments.core_file.is_some());
    let plan = SessionPlan { attach: true, attributes, requested, filters, ..SessionPlan::default() };
    let session = call.start_session(plan).await?;
    let program = pid.and_then(program_of);
    let version = wait_for_modules(&session, program.as_deref()).await;
    // A program that crashed is stopped, and so is one that a debugger holds.
    if core {
        stops::wait_until_settled(&session, ENTRY_STOP_TIMEOUT).await;
    }
    let process = session.snapshot().process.unwrap_or_default();
    let pid = pid.or(process.system_process_id.and_then(|pid| u64::try_from(pid).ok()));
    let name = program.or(Some(process.name).filter(|name| !name.is_empty()));
    let name = name.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
    let state = session.snapshot().state;
    let event = match state {
        ProgramState::Stopped => stops::report(&session).await.event,
        _ => None,
    };
    answer(&AttachAnswer {
        state: state.as_str(),
        session: session.id.clone(),
        pid,
        process_name: name,
        runtime_version: version,
        event,
        breakpoints: session.with_requested(|requested| requested.bodies()),
    })
}

/// The answer of `debug_attach`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttachAnswer {
    state: &'static str,
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<RunEvent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    breakpoints: Vec<BreakpointBody>,
}

/// The program that a process runs, where its executable does not say: the assembly after `dotnet`.
fn program_of(pid: u64) -> Option<String> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words =
        words.split(|byte| *byte == 0).map(String::from_utf8_lossy).map(std::borrow::Cow::into_owned);
    let first = words.next()?;
    if first.rsplit('/').next() != Some("dotnet") {
        return None;
    }
    words.find(|word| word.ends_with(".dll"))
}

/// Waits until a running .NET process has reported its modules, so that a breakpoint set now binds at once;
/// returns the version of its runtime, from the path of its core library (`…/Microsoft.NETCore.App/9.0.1/…`).
/// Other engines report it themselves.
async fn wait_for_modules(session: &AgentSession, program: Option<&str>) -> Option<String> {
    let until = Instant::now() + if session.engine == "coreclr" { MODULES_TIMEOUT } else { Duration::ZERO };
    let assembly = program.and_then(|program| program.rsplit('/').next());
    loop {
        let list = session.send(&DapModulesArguments::default()).await.unwrap_or_default().modules;
        let version = runtime_version(&list);
        let has_program = assembly.is_none_or(|name| list.iter().any(|module| module.name == name));
        let over = session.snapshot().state == ProgramState::Exited || Instant::now() >= until;
        if over || version.is_some() && has_program {
            return version;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn runtime_version(modules: &[DapModule]) -> Option<String> {
    modules.iter().filter_map(|module| module.path.as_deref()).find_map(|path| {
        let folder = path.strip_suffix("/System.Private.CoreLib.dll")?;
        let version = folder.rsplit('/').next()?;
        version.starts_with(|first: char| first.is_ascii_digit()).then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::arguments::schema;

    fn read_attributes(given: Value) -> Result<Value, Failure> {
        attributes(&schema::read(given.as_object().cloned().unwrap())?)
    }

    #[test]
    fn a_place_is_accepted_in_several_forms() {
        let at = json!({ "host": "127.0.0.1", "port": 5678 });
        for (given, expected) in [
            (json!({ "port": 5678 }), json!({ "connect": at })),
            (json!({ "connect": "5678", "engine": "rdbg" }), json!({ "engine": "rdbg", "connect": at })),
            (json!({ "connect": { "socket": "/s" } }), json!({ "connect": { "socket": "/s" } })),
            (
                json!({ "engine": "lldb", "connect": "host:5678" }),
                json!({ "engine": "lldb", "connect": { "host": "host", "port": 5678 } }),
            ),
            (json!({ "pid": 7, "engine_path": "/x" }), json!({ "enginePath": "/x", "processId": 7 })),
        ] {
            assert_eq!(read_attributes(given.clone()).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn exactly_one_target_is_required_to_attach() {
        for (given, part) in [
            (json!({}), "`processId`, `connect` or `coreFile` is missing"),
            (json!({ "processId": 3, "port": 4 }), "not several"),
            (json!({ "connect": "here" }), "`connect` must be"),
            (json!({ "coreFile": "/no/core" }), "no core file"),
        ] {
            let failure = read_attributes(given.clone()).unwrap_err();
            assert!(failure.message.contains(part), "{given}: {failure}");
        }
    }
}
