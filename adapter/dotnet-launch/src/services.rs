//! Variables that a runtime reads when it starts and that prevent debugging: they disable its debugging
//! services, make it wait for another tool, or place its debugging pipes in a folder where none can be
//! created. Also variables that let the debugger see more.
//!
//! Not here: how a debugger reaches the pipes ([`cordebug::startup`]). Runtimes read these variables with the
//! prefixes `DOTNET_` (.NET 6 and later) and `COMPlus_`, in exactly this spelling, and none of them from
//! `runtimeconfig.json`.

use std::path::Path;

use cordebug::startup::temporary_folder::{self, variable_of};
use rustix::fs::{Access, access};
use tandem_wire::{ErrorCode, Failure};

/// The variable with the folder in which a runtime creates its debugging pipes.
pub const TEMPORARY: &str = temporary_folder::VARIABLE;

/// Disable the debugging services when they are 0.
const SWITCHES: [&str; 4] = [
    "DOTNET_EnableDiagnostics",
    "COMPlus_EnableDiagnostics",
    "DOTNET_EnableDiagnostics_Debugger",
    "COMPlus_EnableDiagnostics_Debugger",
];
/// Make the runtime wait for a tool on its own diagnostics port when they are not 0.
const WAITING: [&str; 2] = ["DOTNET_DefaultDiagnosticPortSuspend", "COMPlus_DefaultDiagnosticPortSuspend"];
/// Name ports of other tools; the runtime waits for each that does not say `nosuspend`.
const PORTS: [&str; 2] = ["DOTNET_DiagnosticPorts", "COMPlus_DiagnosticPorts"];

/// A number as a runtime reads it: the leading hexadecimal digits; `None` without any.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let end = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(digits.get(..end)?, 16).ok()
}

/// The ports, rewritten so that the runtime waits for none; `None` if it waits for none already. The first of
/// contradicting options of a port applies.
fn rewrite_ports(ports: &str) -> Option<String> {
    let waits = |port: &str| {
        let mut options = port.split(',').skip(1).map(|word| word.trim().to_ascii_lowercase());
        !port.trim().is_empty()
            && options
                .find(|word| word == "suspend" || word == "nosuspend")
                .is_none_or(|word| word == "suspend")
    };
    let changed = |port: &str| match port.split_once(',') {
        _ if !waits(port) => port.to_owned(),
        Some((path, rest)) => format!("{path},nosuspend,{rest}"),
        None => format!("{port},nosuspend"),
    };
    ports.split(';').any(waits).then(|| ports.split(';').map(changed).collect::<Vec<_>>().join(";"))
}

/// Make a runtime compile everything itself when they are 0, even code that was compiled ahead of time,
/// such as the framework.
const AHEAD_OF_TIME: [&str; 2] = ["DOTNET_ReadyToRun", "COMPlus_ReadyToRun"];

/// Changes an environment so that a runtime compiles everything itself, unless it sets one of
/// these variables already.
pub fn compile_everything(env: &mut Vec<(String, Option<String>)>) {
    if AHEAD_OF_TIME.iter().all(|name| variable_in(env, name).is_none()) {
        env.extend(AHEAD_OF_TIME.map(|name| (name.to_owned(), Some("0".to_owned()))));
    }
}

/// The value of a variable in an environment that changes Tandem's: the last change applies.
pub fn variable_in(env: &[(String, Option<String>)], name: &str) -> Option<String> {
    match env.iter().rev().find(|(changed, _)| changed == name) {
        Some((_, value)) => value.clone(),
        None => std::env::var(name).ok(),
    }
}

/// Changes an environment so that a runtime waits for no other tool. Returns notes about it, a
/// line for each variable.
pub fn keep_from_waiting(env: &mut Vec<(String, Option<String>)>) -> Vec<String> {
    let mut notes = Vec::new();
    for name in WAITING {
        if variable_in(env, name).and_then(|value| number(&value)).is_some_and(|value| value != 0) {
            env.push((name.into(), None));
            notes.push(format!(
                "`{name}` is left out of this launch: the runtime would wait for another tool before a \
                    debugger can reach it"
            ));
        }
    }
    for name in PORTS {
        if let Some(ports) = variable_in(env, name).and_then(|value| rewrite_ports(&value)) {
            notes.push(format!(
                "`{name}` is `{ports}` for this launch: the runtime would wait for that tool before a \
                    debugger can reach it"
            ));
            env.push((name.into(), Some(ports)));
        }
    }
    notes
}

/// Refuses an environment in which a runtime would start without its debugging services.
///
/// # Errors
/// `NOT_DEBUGGABLE`, with the variable that prevents debugging.
pub fn refuse_without(variable: &dyn Fn(&str) -> Option<String>) -> Result<(), Failure> {
    match SWITCHES.into_iter().find_map(|name| Some((name, variable(name).filter(is_off)?))) {
        None => Ok(()),
        Some((name, value)) => Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!("`{name}` is {value}: the runtime would start without its debugging services"),
        )
        .hint(format!("unset it with `env: {{\"{name}\": null}}`"))),
    }
}

#[expect(clippy::ptr_arg, reason = "what `Option::filter` passes")]
fn is_off(value: &String) -> bool {
    number(value) == Some(0)
}

/// Refuses a temporary folder in which a runtime cannot create pipes. `cwd` is the base of a relative one.
///
/// # Errors
/// `LAUNCH_FAILED`, with the problem of the folder.
pub fn refuse_without_folder(named: Option<&str>, cwd: &Path) -> Result<(), Failure> {
    let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(()) };
    let folder = cwd.join(named);
    let wrong = match folder.metadata() {
        Err(error) => error.to_string(),
        Ok(found) if !found.is_dir() => "it is not a folder".into(),
        Ok(_) => match access(&folder, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => return Ok(()),
            Err(error) => error.to_string(),
        },
    };
    Err(Failure::new(
        ErrorCode::LaunchFailed,
        format!("the runtime can make no debugging pipes in `{TEMPORARY}`, which is `{named}`: {wrong}"),
    )
    .hint(format!("create the folder, or unset it with `env: {{\"{TEMPORARY}\": null}}`")))
}

/// Refuses a process that waits to become the program, in an environment that prevents debugging.
///
/// # Errors
/// `NOT_DEBUGGABLE`, `LAUNCH_FAILED`, with the variable that prevents debugging.
pub fn refuse(pid: u32) -> Result<(), Failure> {
    let variable = |name: &str| Some(variable_of(pid, name)?.to_string_lossy().into_owned());
    refuse_without(&variable)?;
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    refuse_without_folder(variable(TEMPORARY).as_deref(), &cwd)?;
    match waits_for_port(&variable) {
        None => Ok(()),
        Some((name, value)) => Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!(
                "`{name}` is `{value}`: the runtime would wait for another tool before a debugger can reach \
                    it"
            ),
        )
        .hint(format!("unset it with `env: {{\"{name}\": null}}`"))),
    }
}

fn waits_for_port(variable: &dyn Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    let own = WAITING.into_iter().find_map(|name| {
        let value = variable(name)?;
        number(&value).is_some_and(|number| number != 0).then_some((name, value))
    });
    own.or_else(|| {
        PORTS.into_iter().find_map(|name| {
            let value = variable(name)?;
            rewrite_ports(&value).is_some().then_some((name, value))
        })
    })
}

/// Removes the debugging pipes and the diagnostics socket of a process that has ended: a runtime that was
/// killed leaves them behind. For debuggers that do not do that themselves.
pub fn remove_stale_files(pid: u32) {
    cordebug::startup::remove_stale_files(pid);
}

/// Why a debugger cannot reach the runtime of a running process; `None` if its variables are not the reason.
pub fn unreachable_because(pid: u32) -> Option<Failure> {
    if cordebug::startup::has_pipes(pid) {
        return None;
    }
    let variable = |name: &str| Some(variable_of(pid, name)?.to_string_lossy().into_owned());
    let refused = |message: String, hint: &str| {
        Some(Failure::new(ErrorCode::NotDebuggable, message).hint(hint.to_owned()))
    };
    let off = SWITCHES.into_iter().find_map(|name| Some((name, variable(name).filter(is_off)?)));
    if let Some((name, value)) = off {
        return refused(
            format!("process {pid} was started with `{name}={value}`, which turns the debugger off"),
            "start it again without that variable",
        );
    }
    if let Some((name, value)) = waits_for_port(&variable) {
        return refused(
            format!(
                "process {pid} was started with `{name}={value}`: its runtime waits for another tool, and \
                    no debugger can reach it before"
            ),
            "have that tool resume it, then attach; or launch it with the debugger, which does not wait",
        );
    }
    let folder = variable(TEMPORARY)?;
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let failure = refuse_without_folder(Some(&folder), &cwd).err()?;
    refused(
        format!("cannot attach to process {pid}: {}", failure.message),
        "start it again with another folder",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parse_as_in_the_runtime() {
        for (text, expected) in [
            ("0", Some(0)),
            ("00", Some(0)),
            ("0x0", Some(0)),
            ("0q", Some(0)),
            ("1", Some(1)),
            ("f", Some(15)),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
        for text in ["", "true", "no", "0x", "é", "-1", "123456789012345678901"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn ports_are_rewritten_so_that_the_runtime_waits_for_none() {
        for (ports, expected) in [
            ("/a", "/a,nosuspend"),
            ("/a,suspend", "/a,nosuspend,suspend"),
            ("/a,connect,SUSPEND", "/a,nosuspend,connect,SUSPEND"),
            ("/a,nonsense", "/a,nosuspend,nonsense"),
            ("/a,nosuspend;/b;", "/a,nosuspend;/b,nosuspend;"),
        ] {
            assert_eq!(rewrite_ports(ports).as_deref(), Some(expected), "{ports}");
        }
        for ports in ["", ";", "/a,nosuspend", "/a,connect,nosuspend,suspend", "/a, NoSuspend"] {
            assert_eq!(rewrite_ports(ports), None, "{ports}");
        }
    }

    #[test]
    fn variables_that_make_the_runtime_wait_are_removed_and_reported() {
        let pair = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let mut env = vec![
            pair("COMPlus_DefaultDiagnosticPortSuspend", "1"),
            pair("DOTNET_DiagnosticPorts", "/a"),
            pair("DOTNET_DefaultDiagnosticPortSuspend", "1"),
            // The last value applies.
            pair("DOTNET_DefaultDiagnosticPortSuspend", "0"),
        ];
        let notes = keep_from_waiting(&mut env);
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert_eq!(variable_in(&env, "COMPlus_DefaultDiagnosticPortSuspend"), None);
        assert_eq!(variable_in(&env, "DOTNET_DefaultDiagnosticPortSuspend").as_deref(), Some("0"));
        assert_eq!(variable_in(&env, "DOTNET_DiagnosticPorts").as_deref(), Some("/a,nosuspend"));
        assert_eq!(keep_from_waiting(&mut env), [""; 0]);
    }
}
