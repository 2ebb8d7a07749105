//! `debug_attach`: to a process by its number, to a debugger that listens somewhere, to a core file. Each adapter takes these in
//! its own words (docs/engines.md, "Attaching"); here they are told from what an agent says in one way for all.

use std::path::Path;
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::launch::{add_breakpoints, drop_null, pass_on};
use super::stops;
use crate::arguments::Arguments;
use crate::call::Call;
use crate::observer::State;
use crate::server::Early;
use crate::session::{Plan, Session};
use crate::source::absolute;

/// How long a .NET process that runs already may take to tell what it has loaded, and how often that is asked.
const LOADING: Duration = Duration::from_secs(3);
const ASK: Duration = Duration::from_millis(25);

/// Attach attributes that go on to the session as they are.
const PASSED_ON: [&str; 17] = [
    "engine",
    "enginePath",
    "engineOptions",
    "python",
    "justMyCode",
    "sourceFileMap",
    "symbolPaths",
    "pathMappings",
    "localRoot",
    "remoteRoot",
    "agentAccess",
    "expressionEvaluationOptions",
    "enableStepFiltering",
    "target",
    "attachCommands",
    "initCommands",
    "outputBufferBytes",
];

/// Ways to attach that only one adapter has, which the other arguments say.
const OWN_WAYS: [&str; 2] = ["target", "attachCommands"];

pub(super) async fn attach(call: &Call) -> Result<Value, Failure> {
    let attributes = attributes(&call.arguments)?;
    attach_with(call, attributes).await
}

/// What the arguments of `debug_attach` mean.
fn attributes(arguments: &Arguments) -> Result<Value, Failure> {
    let mut attributes = json!({});
    pass_on(arguments, &PASSED_ON, &mut attributes);
    for key in ["program", "cwd"] {
        if let Some(path) = arguments.text(key)? {
            attributes[key] = json!(absolute(&path));
        }
    }
    let options = &attributes["engineOptions"];
    let own = OWN_WAYS.iter().any(|key| !attributes[*key].is_null() || !options[*key].is_null())
        || ["gdb-remote-port", "websocketAddress", "coreFile"].iter().any(|key| !options[*key].is_null());
    let (pid, core, place) = (arguments.number("processId")?, arguments.text("coreFile")?, place(arguments)?);
    match (pid, core, place) {
        (Some(pid), None, None) => attributes["processId"] = json!(pid),
        (None, Some(core), None) => by_core(&absolute(&core), &mut attributes)?,
        (None, None, Some(place)) => by_place(&place, &mut attributes)?,
        (None, None, None) if own && !attributes["engine"].is_null() => {}
        (None, None, None) => {
            return Err(Failure::invalid("`processId` is missing: what shall be attached to?").hint(
                "give `processId`; or `connect` {host, port} where a debugger listens (debugpy --listen, node --inspect, rdbg \
                 --open, dlv --headless, gdbserver), with its `engine`; or `coreFile` with `program`",
            ));
        }
        _ => {
            return Err(Failure::invalid(
                "give one of `processId`, `coreFile` and `connect` (or `host` and `port`), not several",
            ));
        }
    }
    Ok(attributes)
}

/// `connect`, or `host` and `port`, or `port` alone, as `{host, port}` or `{socket}`.
fn place(arguments: &Arguments) -> Result<Option<Value>, Failure> {
    let connect = arguments.parsed("connect");
    let (host, port) = (arguments.text("host")?, arguments.number("port")?);
    match (&connect, port) {
        (Value::Null, None) => Ok(None),
        (Value::Null, Some(port)) => {
            Ok(Some(json!({ "host": host.as_deref().unwrap_or("127.0.0.1"), "port": port })))
        }
        (Value::Object(_), _) => Ok(Some(connect)),
        // `127.0.0.1:5678`, or a port alone.
        (Value::Number(_), _) => Ok(Some(json!({ "host": "127.0.0.1", "port": connect }))),
        (Value::String(text), _) => {
            let (host, port) = text.rsplit_once(':').unwrap_or(("127.0.0.1", text));
            let port = port.parse::<u16>().map_err(|_| {
                Failure::invalid(format!(
                    "`connect` must be {{host, port}}, {{socket}} or `host:port`, not `{text}`"
                ))
            })?;
            Ok(Some(json!({ "host": if host.is_empty() { "127.0.0.1" } else { host }, "port": port })))
        }
        (other, _) => {
            Err(Failure::invalid(format!("`connect` must be {{host, port}} or {{socket}}, not {other}")))
        }
    }
}

/// Where a debugger listens, in the words of the adapter that is asked. Python's is the one that is meant without a name.
fn by_place(place: &Value, attributes: &mut Value) -> Result<(), Failure> {
    let host = place["host"].as_str().unwrap_or("127.0.0.1").to_owned();
    let port = place["port"].clone();
    match attributes["engine"].as_str() {
        Some("js") => {
            attributes["port"] = port;
            attributes["address"] = json!(host);
        }
        Some("gdb") => attributes["target"] = json!(format!("{host}:{}", plain(&port))),
        Some("lldb") => {
            attributes["gdb-remote-port"] = port;
            attributes["gdb-remote-hostname"] = json!(host);
        }
        Some(engine @ ("coreclr" | "bash" | "netcoredbg")) => {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                format!("the engine `{engine}` attaches to no debugger that listens"),
            )
            .hint("give `processId`, or start the program with debug_launch"));
        }
        _ => attributes["connect"] = place.clone(),
    }
    Ok(())
}

/// A core file, which lldb reads unless gdb is asked to.
fn by_core(core: &str, attributes: &mut Value) -> Result<(), Failure> {
    if !Path::new(core).is_file() {
        return Err(Failure::invalid(format!("there is no core file `{core}`"))
            .hint("`coreFile` is its path; `program` is the executable that crashed"));
    }
    match attributes["engine"].as_str() {
        None | Some("auto") => attributes["engine"] = json!("lldb"),
        Some("lldb" | "gdb") => {}
        Some(engine) => {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                format!("the engine `{engine}` reads no core file"),
            )
            .hint("`lldb` and `gdb` do"));
        }
    }
    attributes["coreFile"] = json!(core);
    Ok(())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Attaches by these attributes and answers as `debug_attach` does.
pub(super) async fn attach_with(call: &Call, attributes: Value) -> Result<Value, Failure> {
    let Early { mut wishes, filters } = call.bridge.kept();
    add_breakpoints(call, &mut wishes, Vec::new())?;
    let (pid, core) = (attributes["processId"].as_u64(), attributes["coreFile"].is_string());
    let plan = Plan { attach: true, attributes, wishes, filters };
    let bridge = &call.bridge;
    let session =
        Session::start(&bridge.options.adapter, &bridge.client(), plan, &call.cancel, &call.progress).await?;
    let session = bridge.add(session);
    bridge.with_early(std::mem::take);
    let program = pid.and_then(program_of);
    let version = loaded(&session, program.as_deref()).await;
    // A program that crashed stands, and so does one that a debugger holds.
    if core {
        stops::settled(&session, super::launch::ENTRY).await;
    }
    let process = session.snapshot().process;
    let told = process["systemProcessId"].as_u64();
    let name = program.or_else(|| process["name"].as_str().map(str::to_owned));
    let name = name.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
    let mut answer = json!({ "state": session.snapshot().state.as_str(), "session": session.id,
        "pid": pid.or(told), "processName": name, "runtimeVersion": version });
    if session.snapshot().state == State::Stopped {
        answer["event"] = stops::report(&session).await["event"].clone();
    }
    let set = session.with_wishes(|wishes| wishes.bodies());
    if !set.is_empty() {
        answer["breakpoints"] = json!(set);
    }
    for key in ["pid", "processName", "runtimeVersion"] {
        drop_null(&mut answer, key);
    }
    Ok(answer)
}

/// What a process runs, where its executable does not say: the assembly behind `dotnet`.
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

/// Waits until a .NET process that ran already has told what it has loaded, so that a breakpoint set now binds at once; gives
/// the version of its runtime, from where its core library lies (`…/Microsoft.NETCore.App/9.0.1/…`). Others tell by themselves.
async fn loaded(session: &Session, program: Option<&str>) -> Value {
    let until = Instant::now() + if session.engine == "coreclr" { LOADING } else { Duration::ZERO };
    let assembly = program.and_then(|program| program.rsplit('/').next());
    loop {
        let modules = session.ask("modules", json!({})).await.unwrap_or_default();
        let list = modules["modules"].as_array().map(Vec::as_slice).unwrap_or_default();
        let version = runtime_version(list);
        let has_program = assembly.is_none_or(|wanted| list.iter().any(|module| module["name"] == wanted));
        let over = session.snapshot().state == State::Exited || Instant::now() >= until;
        if over || version.is_some() && has_program {
            return json!(version);
        }
        tokio::time::sleep(ASK).await;
    }
}

fn runtime_version(modules: &[Value]) -> Option<String> {
    modules.iter().filter_map(|module| module["path"].as_str()).find_map(|path| {
        let folder = path.strip_suffix("/System.Private.CoreLib.dll")?;
        let version = folder.rsplit('/').next()?;
        version.starts_with(|first: char| first.is_ascii_digit()).then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(given: Value) -> Result<Value, Failure> {
        attributes(&Arguments::new(given.as_object().cloned()))
    }

    #[test]
    fn a_place_is_told_in_the_words_of_each_adapter() {
        let at = json!({ "host": "127.0.0.1", "port": 5678 });
        for (given, wanted) in [
            (json!({ "port": 5678 }), json!({ "connect": at })),
            (json!({ "connect": "5678", "engine": "rdbg" }), json!({ "engine": "rdbg", "connect": at })),
            (
                json!({ "connect": { "socket": "/s" }, "engine": "rdbg" }),
                json!({ "engine": "rdbg", "connect": { "socket": "/s" } }),
            ),
            (
                json!({ "engine": "js", "host": "localhost", "port": 5678 }),
                json!({ "engine": "js", "port": 5678, "address": "localhost" }),
            ),
            (
                json!({ "engine": "gdb", "connect": { "port": 5678 } }),
                json!({ "engine": "gdb", "target": "127.0.0.1:5678" }),
            ),
            (
                json!({ "engine": "lldb", "connect": "host:5678" }),
                json!({ "engine": "lldb", "gdb-remote-port": 5678, "gdb-remote-hostname": "host" }),
            ),
            (json!({ "pid": 7, "engine_path": "/x" }), json!({ "enginePath": "/x", "processId": 7 })),
        ] {
            assert_eq!(meant(given.clone()).unwrap(), wanted, "{given}");
        }
    }

    #[test]
    fn what_to_attach_to_is_said_once() {
        for (given, part) in [
            (json!({}), "`processId` is missing"),
            (json!({ "processId": 3, "port": 4 }), "not several"),
            (json!({ "connect": "here" }), "`connect` must be"),
            (json!({ "coreFile": "/no/core" }), "no core file"),
            (json!({ "engine": "coreclr", "port": 3 }), "listens"),
        ] {
            let failure = meant(given.clone()).unwrap_err();
            assert!(failure.message.contains(part), "{given}: {failure}");
        }
    }
}
