//! Selection of a session's engine, by the attributes of its launch or attach.
//!
//! Not here: the recognition of a program ([`super::detect`]).

use std::sync::Arc;

use serde_json::Value;
use tandem_wire::{Failure, types};
use tokio::sync::mpsc;

use super::{catalog, detect};
use tandem_child::ChildEngine;
use tandem_coreclr::CoreClr;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::process_name::{self, ProcessAttributes};
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::{Engine, EngineEvent, LookOnlyRequests, StartedEngine};
use tandem_process::Broker;

/// Makes the engine the attributes ask for. It starts nothing yet; the `launch` or `attach` request does.
///
/// # Errors
/// `INVALID_PARAMETER` for an unknown `engine`, and those of [`engine_for`].
pub fn start(
    arguments: &Value,
    broker: Broker,
    events: mpsc::UnboundedSender<EngineEvent>,
) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
    let engine = engine_for(arguments)?;
    if engine == tandem_coreclr::DESCRIPTION.name {
        return Ok((built_in(), Arc::new(CoreClr::start(broker, events)?)));
    }
    match ChildEngine::start(&engine, broker, events)? {
        Some((started, child)) => Ok((started, Arc::new(child))),
        None => {
            let names: Vec<&str> = catalog::engines().map(|description| description.name).collect();
            let hint = format!("use `auto` to choose by the program, or one of {}", names.join(", "));
            Err(Failure::invalid(format!("there is no engine {engine}")).hint(hint))
        }
    }
}

/// The built-in engine. It shows values without running getters, displays and `ToString` for a client that
/// may only look, and evaluates for it what calls nothing.
fn built_in() -> StartedEngine {
    StartedEngine {
        name: tandem_coreclr::DESCRIPTION.name.into(),
        several_per_line: true,
        look_only: LookOnlyRequests::Known(&[
            "variables",
            "source",
            "exceptionInfo",
            "readMemory",
            "disassemble",
            "completions",
            "locations",
            "evaluate",
        ]),
        conditions: ConditionLanguage::OTHER,
        results: ResultNames::new([ResultName::After(" returned")]),
        fetches_sources: true,
    }
}

/// The engine that launch or attach attributes choose: its name, or how to start another
/// adapter. It need not exist.
///
/// # Errors
/// `INVALID_PARAMETER` for an `engine` that is neither; `LAUNCH_FAILED` for a folder without a project.
pub fn engine_for(arguments: &Value) -> Result<Value, Failure> {
    let engine = match &arguments["engine"] {
        Value::Null => "auto".into(),
        named @ (Value::String(_) | Value::Object(_)) => named.clone(),
        other => {
            return Err(Failure::invalid(format!(
                "`engine` must be a name or {{command, args}}, not {other}"
            )));
        }
    };
    let named = process_name::process_of(arguments)?;
    let pid = types::read::<ProcessAttributes>(arguments).pid();
    if let Some(pid) = named.filter(|_| engine == "auto") {
        let found = detect::engine_for_process(pid);
        if found == tandem_coreclr::DESCRIPTION.name {
            return Ok(found.into());
        }
        let message = format!("`processName` means process {pid}, which is not a .NET program");
        return Err(Failure::invalid(message).hint(format!("name it by `processId: {pid}`, for `{found}`")));
    }
    Ok(match (engine == "auto", pid) {
        (false, _) => engine,
        (true, Some(pid)) => detect::engine_for_process(pid).into(),
        (true, None) => match detect::engine_for_attach(arguments) {
            Some(found) => found.into(),
            None => {
                detect::check_folder(arguments)?;
                detect::engine_for_launch(arguments).into()
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use tandem_wire::command::{COMMANDS, LookOnly};

    use super::*;
    use tandem_child::started;

    /// Every request that the command table leaves to the engine, and which engines carry it out for a
    /// client that may only look.
    #[test]
    fn each_engine_lists_what_it_reads_without_running_code() {
        let children = tandem_child::descriptions()
            .map(|engine| started(engine.name).unwrap_or_else(|| panic!("no engine `{}`", engine.name)));
        let engines: Vec<StartedEngine> = std::iter::once(built_in()).chain(children).collect();
        for row in &COMMANDS {
            let allowed = engines.iter().filter(|engine| engine.look_only.include(row.name));
            let allowed: Vec<&str> = allowed.map(|engine| engine.name.as_str()).collect();
            let expected = match row.name {
                "threads" | "stackTrace" | "scopes" | "modules" | "loadedSources" | "breakpointLocations" => {
                    engines.iter().map(|engine| engine.name.as_str()).collect()
                }
                "variables" | "readMemory" | "disassemble" => vec!["coreclr", "lldb", "gdb", "delve"],
                "completions" | "evaluate" => vec!["coreclr"],
                "exceptionInfo" => vec!["coreclr", "lldb", "gdb", "delve"],
                "source" => vec!["coreclr", "lldb", "gdb", "delve", "js", "rdbg"],
                "locations" => vec!["coreclr", "lldb", "gdb"],
                _ => Vec::new(),
            };
            assert_eq!(allowed, expected, "{}", row.name);
            let asks = matches!(row.look_only, LookOnly::AskProfile | LookOnly::AskBinder);
            assert_eq!(!expected.is_empty(), asks, "{}", row.name);
        }
    }

    #[test]
    fn every_adapter_of_a_language_in_which_conditions_combine_says_so() {
        let combines = |name: &str| started(name).and_then(|engine| engine.conditions.any_of(&["a", "b"]));
        for name in ["debugpy", "js", "rdbg", "lldb", "gdb", "delve"] {
            assert!(combines(name).is_some(), "{name}");
        }
        assert_eq!(combines("bash").or(combines("netcoredbg")), None);
        assert_eq!(built_in().conditions.any_of(&["a", "b"]), None);
    }
}
