//! The attribute `processName`: a running process by its name, if the name identifies one. Attaches to
//! nothing, and chooses no engine (`engines/select.rs` of `tandem-dap`).

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};

/// Most processes that are named in a refusal.
const MAX_NAMED: usize = 20;

/// The attributes that name a process to attach to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProcessAttributes {
    process_name: Value,
    /// Its number, as the client spells it.
    pub process_id: Value,
}

impl ProcessAttributes {
    /// The process that `processId` names, as a number or as text.
    pub fn pid(&self) -> Option<u64> {
        self.process_id.as_u64().or_else(|| self.process_id.as_str()?.parse().ok())
    }
}

/// `data` of a name that several processes have.
#[derive(Debug, Serialize)]
struct ProcessChoice {
    processes: Vec<u64>,
}

/// The process that `processName` means; `None` when the attributes have none.
///
/// # Errors
/// `PROCESS_NOT_FOUND` when no process is called so; `INVALID_PARAMETER` when several are (`data.processes`),
/// or when there is a `processId` besides.
pub fn process_of(arguments: &Value) -> Result<Option<u64>, Failure> {
    let ProcessAttributes { process_name, process_id } = types::read(arguments);
    let name = match process_name {
        Value::Null => return Ok(None),
        Value::String(name) if !name.is_empty() => name,
        other => {
            return Err(Failure::invalid(format!(
                "`processName` must be the name of a process, not {other}"
            )));
        }
    };
    if !process_id.is_null() {
        return Err(Failure::invalid("`processName` and `processId` are both set; use one of them"));
    }
    let found = called(&name);
    match found.as_slice() {
        [] => Err(Failure::new(ErrorCode::ProcessNotFound, format!("no process is named `{name}`"))
            .hint("the name is that of the executable, or of the assembly that `dotnet` runs")),
        [one] => Ok(Some(*one)),
        several => {
            let numbers: Vec<String> = several.iter().take(MAX_NAMED).map(u64::to_string).collect();
            let message = format!("{} processes are called `{name}`: {}", several.len(), numbers.join(", "));
            Err(Failure::invalid(message).hint("name one by `processId`").data(types::body(&ProcessChoice {
                processes: several.iter().copied().take(MAX_NAMED).collect(),
            })))
        }
    }
}

/// The processes with a name, but for this one.
fn called(name: &str) -> Vec<u64> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let mut found: Vec<u64> = pids
        .filter(|pid| *pid != u64::from(std::process::id()))
        .filter(|pid| names(&Path::new("/proc").join(pid.to_string())).iter().any(|own| own == name))
        .collect();
    found.sort_unstable();
    found
}

/// Names of a process: its executable, its command, and the assembly that `dotnet` runs, with and
/// without the extension.
fn names(process: &Path) -> Vec<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let executable = std::fs::read_link(process.join("exe")).unwrap_or_default();
    let executable = last(&executable.to_string_lossy());
    let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = command.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let started = words.next().map(|word| last(&word));
    let assembly =
        words.find(|word| word.ends_with(".dll")).filter(|_| executable == "dotnet").map(|word| last(&word));
    let bare = assembly.as_deref().and_then(|assembly| assembly.strip_suffix(".dll")).map(str::to_owned);
    let all = [Some(executable), started, assembly, bare].into_iter().flatten();
    all.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_means_one_process_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!("named-{}", std::process::id());
        let program = folder.path().join(&own);
        std::fs::copy("/bin/sleep", &program).unwrap();
        let start = || Command::new(&program).arg("1000").spawn().unwrap();
        let named = json!({ "processName": own });
        assert_eq!(process_of(&named).unwrap_err().code, ErrorCode::ProcessNotFound);
        let mut first = start();
        let wait = std::time::Instant::now();
        while process_of(&named).is_err() {
            assert!(wait.elapsed().as_secs() < 10);
        }
        assert_eq!(process_of(&named).unwrap(), Some(u64::from(first.id())));
        let mut second = start();
        while process_of(&named).is_ok() {
            assert!(wait.elapsed().as_secs() < 10);
        }
        let several = process_of(&named).unwrap_err();
        assert!(several.message.contains(&first.id().to_string()), "{several}");
        for child in [&mut first, &mut second] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(process_of(&json!({})).unwrap(), None);
        for wrong in [
            json!({ "processName": 7 }),
            json!({ "processName": "" }),
            json!({ "processName": "x", "processId": 1 }),
        ] {
            assert_eq!(process_of(&wrong).unwrap_err().code, ErrorCode::InvalidParameter);
        }
    }
}
