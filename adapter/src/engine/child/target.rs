//! What to run, from the launch attributes, checked; and the attributes as a child adapter may see them.

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};

use dap_wire::{ErrorCode, Failure};
use serde_json::{Map, Value};

use super::socket::Place;
use crate::engine::console::Console;

/// Attributes that mean something to Tandem alone.
const OURS: [&str; 9] = [
    "engine",
    "enginePath",
    "engineOptions",
    "agentAccess",
    "outputBufferBytes",
    "consoleInputPrefix",
    "pty",
    "console",
    "project",
];

/// The attributes of a `launch` or `attach`.
#[derive(Debug, Clone)]
pub(super) struct Target {
    attributes: Value,
    /// `program`, absolute if it is there; as it came if not.
    pub(super) program: PathBuf,
    /// `args`.
    pub(super) args: Vec<String>,
    /// `cwd`, else the program's folder.
    pub(super) cwd: PathBuf,
    /// `env`; `None` unsets.
    pub(super) env: Vec<(String, Option<String>)>,
    /// `pty`.
    pub(super) pty: bool,
    /// `console` asks for a client's terminal.
    pub(super) console: Console,
    /// `noDebug`.
    pub(super) no_debug: bool,
}

impl Target {
    /// Checks the attributes that every language shares.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` naming the attribute.
    pub(super) fn parse(attributes: &Value) -> Result<Self, Failure> {
        let strings = |key: &str| -> Result<Vec<String>, Failure> {
            let wrong =
                || Failure::invalid(format!("`{key}` must be an array of strings, not {}", attributes[key]));
            match &attributes[key] {
                Value::Null => Ok(Vec::new()),
                Value::Array(list) => {
                    list.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
                }
                _ => Err(wrong()),
            }
        };
        let mut target = Self {
            args: strings("args")?,
            env: environment(&attributes["env"])?,
            attributes: attributes.clone(),
            program: PathBuf::new(),
            cwd: PathBuf::new(),
            pty: false,
            console: Console::Piped,
            no_debug: false,
        };
        target.no_debug = target.flag("noDebug", false)?;
        if target.no_debug && target.names_any(&["stopOnEntry"]) {
            target.attributes["stopOnEntry"] = Value::Bool(false);
        }
        target.pty = target.flag("pty", false)?;
        target.console = Console::parse(target.text("console")?)?;
        // An adapter that runs in this folder and is told of it as well would look for it inside itself.
        let whole = |path: &str| std::path::absolute(path).unwrap_or_else(|_| path.into());
        let cwd = target.text("cwd")?.map(whole);
        if let Some(program) = target.text("program")? {
            let given = Path::new(program);
            let base = cwd.clone().filter(|_| given.is_relative());
            let whole = base.map_or_else(|| given.to_path_buf(), |cwd| cwd.join(given));
            target.program = std::path::absolute(&whole).unwrap_or(whole);
        }
        let folder =
            if target.program.is_dir() { Some(target.program.as_path()) } else { target.program.parent() };
        let folder =
            folder.filter(|folder| folder.is_dir()).map_or_else(|| PathBuf::from("/"), Path::to_path_buf);
        target.cwd = cwd.unwrap_or(folder);
        Ok(target)
    }

    /// The same with another program: the one that was built.
    pub(super) fn with_program(self, program: PathBuf) -> Self {
        Self { program, ..self }
    }

    /// All attributes, as they came.
    pub(super) fn attributes(&self) -> &Value {
        &self.attributes
    }

    /// Any attribute.
    pub(super) fn attribute(&self, key: &str) -> &Value {
        &self.attributes[key]
    }

    /// An attribute that is text; absent and empty are the same.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for anything else.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Failure> {
        match &self.attributes[key] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            other => Err(Failure::invalid(format!("`{key}` must be a string, not {other}"))),
        }
    }

    /// An attribute that is true or false.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for anything else.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, Failure> {
        match &self.attributes[key] {
            Value::Null => Ok(default),
            Value::Bool(value) => Ok(*value),
            other => Err(Failure::invalid(format!("`{key}` must be true or false, not {other}"))),
        }
    }

    /// The program, which must exist.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when there is no attribute, `LAUNCH_FAILED` when there is no such file.
    pub(super) fn existing_program(&self) -> Result<&Path, Failure> {
        if self.program.as_os_str().is_empty() {
            return Err(Failure::invalid("`program` is missing: what shall be debugged?"));
        }
        if !self.program.exists() {
            let message = format!("there is no `{}`", self.program.display());
            return Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("`program` is looked up in `cwd`; give an absolute path"));
        }
        Ok(&self.program)
    }

    /// `processId`, of a process that is there.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `PROCESS_NOT_FOUND`.
    pub(super) fn process_id(&self) -> Result<u32, Failure> {
        let given = self.attribute("processId");
        let pid = given.as_u64().or_else(|| given.as_str()?.parse().ok());
        let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0) else {
            return Err(Failure::invalid(format!("`processId` must be a process id, not {given}")));
        };
        if !Path::new("/proc").join(pid.to_string()).exists() {
            return Err(Failure::new(ErrorCode::ProcessNotFound, format!("there is no process {pid}")));
        }
        Ok(pid)
    }

    /// Whether the attributes say in an adapter's own way what to attach to.
    pub(super) fn names_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| !self.attributes[*key].is_null())
    }

    /// `connect: { host, port }` or `{ socket }`: where an adapter listens that runs already.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a place that is none, `PROCESS_NOT_FOUND` for a host nobody knows.
    pub(super) fn connect(&self) -> Result<Option<Place>, Failure> {
        let connect = &self.attributes["connect"];
        if connect.is_null() {
            return Ok(None);
        }
        if let Some(socket) = connect["socket"].as_str() {
            return Ok(Some(Place::Folder(self.cwd.join(socket))));
        }
        let port = connect["port"].as_u64().or_else(|| connect["port"].as_str()?.trim().parse().ok());
        let Some(port) = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0) else {
            return Err(Failure::invalid(format!(
                "`connect` must be {{host, port}} or {{socket}}, not {connect}"
            )));
        };
        let host = match &connect["host"] {
            Value::Null => "127.0.0.1",
            Value::String(host) => host,
            other => return Err(Failure::invalid(format!("`connect.host` must be a string, not {other}"))),
        };
        let unknown = |reason: String| {
            Failure::new(ErrorCode::ProcessNotFound, format!("cannot find the host `{host}`: {reason}"))
        };
        let mut found = (host, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        found
            .next()
            .map(|address| Some(Place::Named(address)))
            .ok_or_else(|| unknown("it has no address".into()))
    }

    /// A variable as the program will see it.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match self.env.iter().rev().find(|(key, _)| key == name) {
            Some((_, value)) => value.clone(),
            None => std::env::var(name).ok(),
        }
    }

    /// The attributes a child adapter gets: all that are not Tandem's own, `engineOptions` on top, then `ours`.
    pub(super) fn for_adapter(&self, ours: Value) -> Value {
        let mut passed = Map::new();
        let attributes = self.attributes.as_object().into_iter().flatten();
        for (key, value) in attributes.filter(|(key, _)| !OURS.contains(&key.as_str())) {
            passed.insert(key.clone(), value.clone());
        }
        if let Value::Object(ours) = ours {
            passed.extend(ours);
        }
        if let Some(options) = self.attributes["engineOptions"].as_object() {
            passed.extend(options.clone());
        }
        Value::Object(passed)
    }

    /// The folders in which a project may keep its own tools: of the program, of `cwd`, and all above.
    pub(super) fn project_folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for start in [self.cwd.as_path(), self.program.parent().unwrap_or(&self.cwd)] {
            for folder in start.ancestors().filter(|folder| folder.parent().is_some()) {
                if !folders.iter().any(|known| known == folder) {
                    folders.push(folder.to_path_buf());
                }
            }
        }
        folders
    }
}

fn environment(env: &Value) -> Result<Vec<(String, Option<String>)>, Failure> {
    let wrong = || Failure::invalid(format!("`env` must map names to strings or null, not {env}"));
    match env {
        Value::Null => Ok(Vec::new()),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| match value {
                Value::Null => Ok((name.clone(), None)),
                Value::String(text) => Ok((name.clone(), Some(text.clone()))),
                _ => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_ours_reaches_the_adapter_untouched_and_engine_options_win() {
        let target = Target::parse(&json!({
            "program": "/bin/ls", "engine": "lldb", "pty": false, "sourceFileMap": [["/a", "/b"]],
            "initCommands": ["x"], "engineOptions": { "initCommands": ["y"], "odd": { "deep": null } },
        }))
        .unwrap();
        assert_eq!(
            target.for_adapter(json!({ "runInTerminal": true })),
            json!({ "program": "/bin/ls", "sourceFileMap": [["/a", "/b"]], "initCommands": ["y"],
                "runInTerminal": true, "odd": { "deep": null } })
        );
    }

    #[test]
    fn each_bad_attribute_is_named() {
        for (attributes, name) in [
            (json!({ "args": "x" }), "args"),
            (json!({ "env": { "A": 1 } }), "env"),
            (json!({ "pty": "yes" }), "pty"),
            (json!({ "console": "window" }), "console"),
            (json!({ "cwd": 1 }), "cwd"),
        ] {
            let failure = Target::parse(&attributes).unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidParameter);
            assert!(failure.message.contains(&format!("`{name}`")), "{failure}");
        }
    }
}
