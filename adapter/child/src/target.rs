//! The program to run, from the validated launch attributes; and the attributes that a child adapter gets.
//!
//! Not here: building the program ([`super::build`]).

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure, environment};

use super::find::{self, FileUse};
use super::socket::Endpoint;
use super::test_files::{Runner, RunnerEntry};
use tandem_engine::console::Console;
use tandem_engine::{path_map, running_process};
use tandem_process::executable::{self, HostSupport};
use tandem_process::terminal::Pty;

/// The folder that the client has open.
pub(super) const WORKSPACE: &str = "__workspaceFolder";

/// A user types into the terminal of `pty`, which echoes the input.
pub(super) const ECHO: &str = "__ptyEcho";

/// Attributes that only Tandem reads.
const OURS: [&str; 14] = [
    "engine",
    "enginePath",
    "engineOptions",
    "agentAccess",
    "outputBufferBytes",
    "consoleInputPrefix",
    "pty",
    "terminalSize",
    "console",
    "stdio",
    "project",
    "terminateTimeout",
    WORKSPACE,
    ECHO,
];

/// Folders of a project that may contain its virtual environment of Python.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

/// Files that mark a project's folder.
const PROJECT_FILES: [&str; 4] = ["Cargo.toml", "go.mod", "CMakeLists.txt", "Makefile"];
const DOTNET_PROJECTS: [&str; 5] = ["csproj", "fsproj", "vbproj", "sln", "slnx"];

/// The attributes of a `launch` or `attach`.
#[derive(Debug, Clone)]
pub(super) struct Target {
    attributes: Value,
    /// `program`, absolute; a bare name that is not a file may be a command's.
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    /// `cwd`, else the folder of the project that is run, else the client's, else the program's.
    pub(super) cwd: PathBuf,
    /// `env`; `None` unsets.
    pub(super) env: Vec<(String, Option<String>)>,
    pub(super) pty: Pty,
    /// `console` names a client's terminal.
    pub(super) console: Console,
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
            env: environment::read("env", &attributes["env"])?,
            attributes: attributes.clone(),
            program: PathBuf::new(),
            cwd: PathBuf::new(),
            pty: Pty::No,
            console: Console::Piped,
            no_debug: false,
        };
        // Adapters get the variables as text, too.
        if !target.env.is_empty() {
            target.attributes["env"] = as_attribute(&target.env);
        }
        if let Some(env) = target.attributes.pointer_mut("/engineOptions/env")
            // A list is the adapter's own form.
            && !matches!(env, Value::Null | Value::Array(_))
        {
            *env = as_attribute(&environment::read("engineOptions.env", env)?);
        }
        target.no_debug = target.flag("noDebug", false)?;
        if target.no_debug && target.names_any(&["stopOnEntry"]) {
            target.attributes["stopOnEntry"] = Value::Bool(false);
        }
        target.pty = Pty::of(target.flag("pty", false)?, target.flag(ECHO, false)?);
        target.pty.name_in(&mut target.env);
        target.console = Console::parse(target.text("console")?)?;
        // An adapter that runs in this folder and also gets it as an attribute would look for it inside
        // itself.
        let whole = |path: &str| std::path::absolute(path).unwrap_or_else(|_| path.into());
        let workspace = target.text(WORKSPACE)?.map(whole);
        let in_workspace = |path: &str| workspace.as_ref().map_or_else(|| whole(path), |at| at.join(path));
        let cwd = target.text("cwd")?.map(in_workspace);
        let base = cwd.clone().or_else(|| workspace.clone());
        let from_base =
            |path: &str| base.as_ref().map_or_else(|| whole(path), |base| absolute_in(base, path));
        let named = target.text("program")?.map(str::to_owned);
        target.program = named.as_deref().map(from_base).unwrap_or_default();
        if let Some(project) = target.text("project")?.map(from_base) {
            target.attributes["project"] = Value::from(project.display().to_string());
        }
        let project = target.text("project")?.map_or(target.program.as_path(), Path::new);
        let project = project_folder(project);
        let command = named.as_deref().is_some_and(|name| !name.contains('/') && !target.program.exists());
        let own = target.program.parent().filter(|folder| !command && folder.is_dir()).map(Path::to_path_buf);
        let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        target.cwd = cwd.or(project).or(workspace).or(own).unwrap_or_else(here);
        if let Some(found) = named.filter(|_| command).and_then(|name| target.command(&name)) {
            target.program = found;
        }
        Ok(target)
    }

    /// A command by its name: in the project's virtual environment, then in the folders of PATH.
    fn command(&self, name: &str) -> Option<PathBuf> {
        let bins = self.environments().into_iter().map(|folder| folder.join("bin").join(name));
        let path = self.variable("PATH").unwrap_or_default();
        bins.into_iter().find(|file| find::is_executable(file)).or_else(|| find::on_path(&path, name))
    }

    /// The virtual environments of Python that the project may have, and the active one.
    pub(super) fn environments(&self) -> Vec<PathBuf> {
        let own = self.project_folders().into_iter();
        let own = own.flat_map(|folder| ENVIRONMENTS.map(|name| folder.join(name)));
        let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(|name| self.variable(name));
        own.chain(active.map(PathBuf::from)).collect()
    }

    /// A file that an attribute names, looked for in `cwd`, then in the client's folder.
    pub(super) fn file(&self, named: &str) -> Option<PathBuf> {
        let workspace = self.attributes[WORKSPACE].as_str().map(PathBuf::from);
        let folders = std::iter::once(self.cwd.clone()).chain(workspace);
        folders.map(|folder| folder.join(named)).find(|file| file.is_file())
    }

    /// The first place of [`Self::file`] that has something else, or cannot be reached, and the reason.
    pub(super) fn unusable_file(&self, named: &str) -> Option<String> {
        let workspace = self.attributes[WORKSPACE].as_str().map(PathBuf::from);
        let folders = std::iter::once(self.cwd.clone()).chain(workspace);
        let is_absent = |file: &PathBuf| {
            file.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        let file = folders.map(|folder| folder.join(named)).find(|file| !is_absent(file))?;
        let reason = find::unusable_because(&file, FileUse::Execute)?;
        Some(format!("`{}`, {reason}", file.display()))
    }

    /// The same target with another program: the one that was built.
    pub(super) fn with_program(self, program: PathBuf) -> Self {
        Self { program, ..self }
    }

    /// The same with a runner of tests in the place of the program.
    pub(super) fn with_runner(mut self, runner: Runner) -> Self {
        self.args = runner.args.into_iter().chain(self.args).collect();
        if !self.names_any(&["cwd", WORKSPACE]) {
            self.cwd = runner.cwd;
        }
        self.env = runner.env.into_iter().chain(self.env).collect();
        let args = Value::from(self.args.clone());
        if let Some(attributes) = self.attributes.as_object_mut() {
            attributes.insert("args".into(), args);
            match runner.run {
                RunnerEntry::Module(name) => {
                    attributes.remove("program");
                    attributes.insert("module".into(), name.into());
                }
                RunnerEntry::Program(program) => {
                    attributes.insert("program".into(), Value::from(program.display().to_string()));
                    self.program = program;
                }
            }
        }
        self
    }

    /// All attributes, unchanged.
    pub(super) fn attributes(&self) -> &Value {
        &self.attributes
    }

    /// Any attribute; an entry of `engineOptions` overrides it, unless it means something to Tandem alone.
    pub(super) fn attribute(&self, key: &str) -> &Value {
        match &self.attributes["engineOptions"][key] {
            Value::Null => &self.attributes[key],
            _ if OURS.contains(&key) => &self.attributes[key],
            own => own,
        }
    }

    /// An attribute that is text; absent and empty are the same.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for anything else.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Failure> {
        match self.attribute(key) {
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
        match self.attribute(key) {
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
            return Err(Failure::invalid("`program` is missing"));
        }
        if !self.program.exists() {
            let given = self.attributes["program"].as_str().unwrap_or_default();
            return Err(executable::absence_failure(given, &self.program));
        }
        executable::refuse_foreign(&self.program, HostSupport::Kernel)?;
        Ok(&self.program)
    }

    /// `processId` of a process that exists.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `PROCESS_NOT_FOUND`.
    pub(super) fn process_id(&self) -> Result<u32, Failure> {
        let given = self.attribute("processId");
        let pid = given.as_u64().or_else(|| given.as_str()?.parse().ok());
        let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0) else {
            return Err(Failure::invalid(format!("`processId` must be a process id, not {given}")));
        };
        running_process::check(pid.into())?;
        Ok(pid)
    }

    /// The same, of a process that no debugger holds: for adapters that trace it.
    ///
    /// # Errors
    /// `ALREADY_ATTACHED`, and those of [`Self::process_id`].
    pub(super) fn untraced_process_id(&self) -> Result<u32, Failure> {
        let pid = self.process_id()?;
        running_process::refuse_traced(pid)?;
        Ok(pid)
    }

    /// Whether the attributes name the target of an attach with one of the adapter's own `keys`.
    pub(super) fn names_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| !self.attribute(key).is_null())
    }

    /// `connect: { host, port }` or `{ socket }`: where an adapter listens that runs already.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for an invalid address, `PROCESS_NOT_FOUND` for an unknown host.
    pub(super) fn connect(&self) -> Result<Option<Endpoint>, Failure> {
        let connect = &self.attributes["connect"];
        if connect.is_null() {
            return Ok(None);
        }
        if let Some(socket) = connect["socket"].as_str() {
            return Ok(Some(Endpoint::Folder(self.cwd.join(socket))));
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
            .map(|address| Some(Endpoint::Named(address)))
            .ok_or_else(|| unknown("it has no address".into()))
    }

    /// The value of an environment variable for the program.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match self.env.iter().rev().find(|(key, _)| key == name) {
            Some((_, value)) => value.clone(),
            None => std::env::var(name).ok(),
        }
    }

    /// The attributes a child adapter gets: all that are not Tandem's own,
    /// `engineOptions` on top, then `ours`.
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

    /// Adds the local paths of sources under the adapter's name for them, unless its own attribute is set.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` naming the attribute.
    pub(super) fn map_paths(
        &self,
        arguments: &mut Value,
        key: &str,
        pair: impl Fn(&str, &str) -> Value,
    ) -> Result<(), Failure> {
        let map = path_map::read(&self.attributes)?;
        if arguments[key].is_null() && !map.is_empty() {
            arguments[key] = map.iter().map(|(there, here)| pair(there, here)).collect();
        }
        Ok(())
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

/// The absolute form of a path that is relative to a folder.
fn absolute_in(base: &Path, path: &str) -> PathBuf {
    let whole = base.join(path);
    std::path::absolute(&whole).unwrap_or(whole)
}

/// Whether it is a file that names the project of its folder.
pub(super) fn is_project_file(file: &Path) -> bool {
    file.file_name().is_some_and(|name| PROJECT_FILES.iter().any(|known| name == *known))
}

/// The folder of a project that is built before it runs.
fn project_folder(project: &Path) -> Option<PathBuf> {
    let ending = project.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match is_project_file(project) || DOTNET_PROJECTS.contains(&ending) {
        true => project.parent().map(Path::to_path_buf),
        false => project.is_dir().then(|| project.to_path_buf()),
    }
}

fn as_attribute(env: &environment::Variables) -> Value {
    env.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect()
}

#[cfg(test)]
mod tests;
