//! What to run: an assembly, an app host, or a project that is built first.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::launch_settings::{self, LaunchSettings, Profile};
use crate::engine::builds::{self, Tell, Telling};
use crate::engine::console::Console;
use crate::io::SpawnSpec;

/// How long a build may take.
const BUILD_LIMIT: Duration = Duration::from_secs(10 * 60);

/// A program ready to be started.
pub(super) struct Program {
    /// What to spawn.
    pub(super) spec: SpawnSpec,
    /// The assembly whose entry method is the program's, when it is known.
    pub(super) assembly: Option<PathBuf>,
    /// Where it is to run.
    pub(super) console: Console,
}

/// Variables that switch a runtime's debugging services off when they are 0.
pub(super) const SERVICES: [&str; 2] = ["DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics"];

/// Where a project, or a folder, has its launch profiles.
const SETTINGS: &str = "Properties/launchSettings.json";

/// Launch attributes of the contract, checked one by one so that each error names its attribute.
pub(super) struct Attributes<'a>(pub(super) &'a Value);

impl Attributes<'_> {
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Failure> {
        match &self.0[key] {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            Value::String(text) => Ok(Some(text)),
            other => Err(Failure::invalid(format!("`{key}` must be a string, not {other}"))),
        }
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, Failure> {
        match &self.0[key] {
            Value::Null => Ok(default),
            Value::Bool(value) => Ok(*value),
            other => Err(Failure::invalid(format!("`{key}` must be true or false, not {other}"))),
        }
    }

    fn args(&self) -> Result<Vec<OsString>, Failure> {
        let wrong =
            || Failure::invalid(format!("`args` must be an array of strings, not {}", self.0["args"]));
        match &self.0["args"] {
            Value::Null => Ok(Vec::new()),
            Value::Array(list) => {
                list.iter().map(|item| item.as_str().map(OsString::from).ok_or_else(wrong)).collect()
            }
            _ => Err(wrong()),
        }
    }

    fn env(&self) -> Result<Vec<(String, Option<String>)>, Failure> {
        let wrong =
            || Failure::invalid(format!("`env` must map names to strings or null, not {}", self.0["env"]));
        let pair = |(name, value): (&String, &Value)| match value {
            Value::Null => Ok((name.clone(), None)),
            Value::String(text) => Ok((name.clone(), Some(text.clone()))),
            _ => Err(wrong()),
        };
        match &self.0["env"] {
            Value::Null => Ok(Vec::new()),
            Value::Object(map) => map.iter().map(pair).collect(),
            _ => Err(wrong()),
        }
    }

    /// A variable as the program will see it.
    fn variable(&self, name: &str) -> Option<String> {
        match &self.0["env"][name] {
            Value::Null if self.0["env"].get(name).is_some() => None,
            Value::String(text) => Some(text.clone()),
            _ => std::env::var(name).ok(),
        }
    }
}

/// Works out what to start, building first when it is a project. `tell` gets its events.
pub(super) fn resolve(
    attributes: &Attributes<'_>,
    tell: Tell<'_>,
    give_up: &dyn Fn() -> bool,
) -> Result<Program, Failure> {
    let console = Console::parse(attributes.text("console")?)?;
    let debugged = !attributes.flag("noDebug", false)?;
    for name in SERVICES {
        if debugged && attributes.variable(name).as_deref() == Some("0") {
            return Err(without_services(name));
        }
    }
    let (program, project) = (attributes.text("program")?, attributes.text("project")?);
    let mut target = match (program, project) {
        (Some(program), _) => PathBuf::from(program),
        (None, Some(project)) => PathBuf::from(project),
        (None, None) => {
            return Err(Failure::invalid(
                "`program` is missing: a .dll, an executable, a .csproj or a folder",
            ));
        }
    };
    if let Some(cwd) = attributes.text("cwd")?
        && target.is_relative()
    {
        target = Path::new(cwd).join(target);
    }
    if !target.exists() {
        return Err(absent(&target));
    }
    let target = target.canonicalize().unwrap_or(target);
    let needs_build = target.is_dir() || is_project(&target);
    let mut outputs = Vec::new();
    if needs_build || project.is_some() {
        let built = project.map_or(target.as_path(), Path::new);
        outputs = build(attributes, built, tell, give_up)?;
    }
    // A folder of the project: what is launched or built, else where the launch says to be.
    let place = match (needs_build, project) {
        (true, _) => Some(target.clone()),
        (false, Some(project)) => Some(PathBuf::from(project)),
        (false, None) => attributes.text("cwd")?.map(PathBuf::from),
    };
    let settings = settings_at(attributes, place.as_deref())?.unwrap_or_default();
    if !settings.origin.is_empty() {
        builds::say(tell, &format!("Launch profile {}", settings.origin));
    }
    let target = if needs_build { output_of(&target, &outputs)? } else { target };
    let home = place.filter(|_| needs_build || project.is_some()).map(|place| match place.parent() {
        Some(folder) if !place.is_dir() => folder.to_path_buf(),
        _ => place,
    });
    command(attributes, target, settings, home, console)
}

/// Nothing is there; of a file with no .NET ending nobody knows what it should have been.
fn absent(target: &Path) -> Failure {
    let ending = target.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let hint = if is_project(target) || ["dll", "exe", "slnx"].contains(&ending) {
        "build the project first, or name the .csproj to have it built"
    } else {
        "a relative `program` begins in `cwd`, and a bare name may be a command of the project's virtual environment \
         (Python) or of PATH; correct it, or install what provides it"
    };
    Failure::new(ErrorCode::LaunchFailed, format!("there is no `{}`", target.display())).hint(hint)
}

/// A runtime would start without its debugging services.
pub(super) fn without_services(name: &str) -> Failure {
    Failure::new(
        ErrorCode::NotDebuggable,
        format!("`{name}` is 0: the runtime would start without its debugging services"),
    )
    .hint(format!("unset it with `env: {{\"{name}\": null}}`"))
}

/// The launch profile the attributes ask for, or that the project has.
fn settings_at(attributes: &Attributes<'_>, place: Option<&Path>) -> Result<Option<LaunchSettings>, Failure> {
    let wanted = match &attributes.0["launchSettingsProfile"] {
        Value::Null => Profile::First,
        Value::String(name) if name.is_empty() => return Ok(None),
        Value::String(name) => Profile::Named(name),
        other => {
            return Err(Failure::invalid(format!("`launchSettingsProfile` must be a string, not {other}")));
        }
    };
    let given = attributes.text("launchSettingsFilePath")?.map(PathBuf::from);
    let folder = place.map(|place| if place.is_dir() { place } else { place.parent().unwrap_or(place) });
    let file = given.clone().or_else(|| Some(folder?.join(SETTINGS)));
    match file.filter(|file| given.is_some() || file.is_file()) {
        Some(file) => launch_settings::read(&file, wanted),
        None if wanted == Profile::First => Ok(None),
        None => {
            let message = format!("there is no `{SETTINGS}` for `launchSettingsProfile`");
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("launch the project, or name the file with `launchSettingsFilePath`"))
        }
    }
}

fn is_project(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["csproj", "fsproj", "vbproj", "sln"].iter().any(|known| ending == *known))
}

fn command(
    attributes: &Attributes<'_>,
    target: PathBuf,
    settings: LaunchSettings,
    home: Option<PathBuf>,
    console: Console,
) -> Result<Program, Failure> {
    let mut args = attributes.args()?;
    if attributes.0["args"].is_null() {
        args.extend(settings.args.into_iter().map(OsString::from));
    }
    let folder = target.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let given = attributes.text("cwd")?.map(PathBuf::from).or(settings.cwd);
    let open = attributes.text("__workspaceFolder")?.map(PathBuf::from);
    let cwd = given.or(home).or(open).unwrap_or(folder);
    let mut env: Vec<_> = settings.env.into_iter().map(|(name, value)| (name, Some(value))).collect();
    env.extend(attributes.env()?);
    // The runtime's debugging pipes live in its temporary folder, which must be ours.
    match std::env::var("TMPDIR") {
        Ok(own) => env.push(("TMPDIR".into(), Some(own))),
        Err(_) => env.push(("TMPDIR".into(), None)),
    }
    let is_assembly = target.extension().is_some_and(|ending| ending == "dll" || ending == "exe");
    let (program, assembly) = if is_assembly {
        clr_metadata::image::Image::open(&target).map_err(|error| {
            Failure::new(ErrorCode::NotDebuggable, format!("cannot debug `{}`: {error}", target.display()))
        })?;
        if !target.with_extension("runtimeconfig.json").exists() {
            return Err(Failure::new(
                ErrorCode::LaunchFailed,
                format!("`{}` is a library: it has no `.runtimeconfig.json` beside it", target.display()),
            )
            .hint("launch a program that uses it"));
        }
        args.insert(0, target.clone().into_os_string());
        (dotnet(attributes)?, Some(target))
    } else {
        // An app host runs the assembly of its own name.
        let mut assembly = PathBuf::from(format!("{}.dll", target.display()));
        if !assembly.exists() {
            // It may have it inside.
            assembly = assembly.file_name().unwrap_or_default().into();
        }
        (target, Some(assembly))
    };
    let pty = attributes.flag("pty", false)?;
    let spec = SpawnSpec { program, args, cwd, env, pty, ends_by_itself: false };
    Ok(Program { spec, assembly, console })
}

/// The `dotnet` of DOTNET_ROOT, of PATH, or of the usual places.
fn dotnet(attributes: &Attributes<'_>) -> Result<PathBuf, Failure> {
    let root = attributes.variable("DOTNET_ROOT").map(PathBuf::from);
    let path = attributes.variable("PATH").unwrap_or_default();
    let home = attributes.variable("HOME").map(|home| Path::new(&home).join(".dotnet"));
    let usual = ["/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet"].map(PathBuf::from);
    let folders = root.into_iter().chain(std::env::split_paths(&path)).chain(home).chain(usual);
    let mut looked = Vec::new();
    for folder in folders {
        let candidate = folder.join("dotnet");
        if candidate.is_file() {
            return Ok(candidate);
        }
        looked.push(folder.display().to_string());
    }
    Err(Failure::new(ErrorCode::EngineNotFound, format!("no `dotnet` found in {}", looked.join(", ")))
        .hint("install the .NET runtime, or set `env: {\"DOTNET_ROOT\": …}` to its folder"))
}

/// What a build says that it made: the project's name, and the assembly.
type Output = (String, PathBuf);

/// MSBuild's line for what it made: `  app -> /src/app/bin/Debug/net9.0/app.dll`.
fn output(line: &str) -> Option<Output> {
    let (project, path) = line.trim().split_once(" -> ")?;
    let path = Path::new(path);
    let is_assembly = path.extension().is_some_and(|ending| ending == "dll" || ending == "exe");
    (is_assembly && path.is_absolute()).then(|| (project.to_owned(), path.to_path_buf()))
}

fn build(
    attributes: &Attributes<'_>,
    target: &Path,
    tell: Tell<'_>,
    give_up: &dyn Fn() -> bool,
) -> Result<Vec<Output>, Failure> {
    let failed = |reason: String| builds::failure(target, reason);
    let mut command = Command::new(dotnet(attributes)?);
    command.args(["build", "-nologo", "-v:minimal", "-consoleLoggerParameters:NoSummary"]).arg(target);
    for (name, value) in attributes.env()? {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // Build servers would outlive the session.
    command.env("MSBUILDDISABLENODEREUSE", "1").env("UseSharedCompilation", "false");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let telling = Telling::begin(tell, target);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (lines, read) = std::sync::mpsc::channel();
    let stdout = child.stdout.take().map(|stdout| Box::new(stdout) as Box<dyn std::io::Read + Send>);
    let stderr = child.stderr.take().map(|stderr| Box::new(stderr) as Box<dyn std::io::Read + Send>);
    for pipe in [stdout, stderr].into_iter().flatten() {
        let lines = lines.clone();
        let reader = move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new()
            .name("build-output".into())
            .spawn(reader)
            .map_err(|error| failed(error.to_string()))?;
    }
    drop(lines);
    let folder = if target.is_dir() { target } else { target.parent().unwrap_or(target) };
    let deadline = Instant::now() + BUILD_LIMIT;
    let (mut diagnostics, mut last, mut outputs) = (Vec::new(), String::new(), Vec::new());
    loop {
        match read.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => {
                telling.line(&line);
                outputs.extend(output(&line));
                if let Some(found) = diagnostic(&line, folder)
                    && !diagnostics.contains(&found)
                {
                    diagnostics.push(found);
                }
                if !line.trim().is_empty() {
                    last = line.trim().to_owned();
                }
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
        }
        let late = Instant::now() > deadline;
        if late || give_up() {
            crate::io::child::signal_group(child.id(), rustix::process::Signal::KILL);
            drop(child.wait());
            return Err(if late { failed("it took too long".into()) } else { Failure::cancelled() });
        }
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if status.success() {
        return Ok(outputs);
    }
    Err(builds::failed(target, &diagnostics, &last))
}

/// MSBuild's canonical form: `file(line,column): severity code: message [project]`.
fn diagnostic(line: &str, folder: &Path) -> Option<Value> {
    let (place, rest) = line.split_once("): ")?;
    let (file, position) = place.rsplit_once('(')?;
    let (severity, rest) = rest.split_once(' ')?;
    let (code, message) = rest.split_once(": ")?;
    if !matches!(severity, "error" | "warning") {
        return None;
    }
    let mut numbers = position.split(',').map(|number| number.trim().parse::<u32>());
    let line = numbers.next()?.ok()?;
    let column = numbers.next().and_then(Result::ok).unwrap_or(1);
    let message = message.rsplit_once(" [").map_or(message, |(message, _)| message);
    // The compiler names files relative to their project.
    Some(
        json!({ "file": folder.join(file.trim()), "line": line, "column": column, "severity": severity, "code": code,
        "message": message }),
    )
}

/// The program that a build of a project made: what the build itself names. Where it names none, the newest assembly with a
/// `.runtimeconfig.json` under the project's `bin`.
fn output_of(target: &Path, outputs: &[Output]) -> Result<PathBuf, Failure> {
    let folder = if target.is_dir() { target } else { target.parent().unwrap_or(target) };
    let name = is_project(target).then(|| target.file_stem()).flatten();
    let is_its = |(project, _): &&Output| name.is_none_or(|name| name == project.as_str());
    let written = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    let programs = outputs.iter().filter(is_its).map(|(_, path)| path);
    let programs = programs.filter(|path| path.with_extension("runtimeconfig.json").exists());
    if let Some(program) = programs.max_by_key(|path| written(path)) {
        return Ok(program.clone());
    }
    let mut newest: Option<(std::time::SystemTime, PathBuf)> = None;
    let mut folders = vec![(folder.join("bin"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = file.path();
            if path.is_dir() {
                if depth < 6 {
                    folders.push((path, depth + 1));
                }
                continue;
            }
            let Some(stem) = path.to_str().and_then(|path| path.strip_suffix(".runtimeconfig.json")) else {
                continue;
            };
            let assembly = PathBuf::from(format!("{stem}.dll"));
            let fits = name.is_none_or(|name| assembly.file_stem() == Some(name));
            if let Ok(written) = assembly.metadata().and_then(|found| found.modified())
                && fits
                && newest.as_ref().is_none_or(|(when, _)| written > *when)
            {
                newest = Some((written, assembly));
            }
        }
    }
    newest.map(|(_, assembly)| assembly).ok_or_else(|| {
        Failure::new(
            ErrorCode::LaunchFailed,
            format!("`{}` was built, but no program was found under `bin`", target.display()),
        )
        .hint("name the built .dll as `program`; libraries cannot be launched")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_says_what_it_made() {
        let made = output("  app -> /p/bin/Debug/net9.0/other name.dll").unwrap();
        assert_eq!(made, ("app".into(), PathBuf::from("/p/bin/Debug/net9.0/other name.dll")));
        for other in ["  app -> app.dll", "  app -> /p/publish/", "Build succeeded.", "a -> b"] {
            assert_eq!(output(other), None, "{other}");
        }
    }

    #[test]
    fn a_compiler_error_is_read_with_its_place() {
        let line = "/p/Program.cs(8,22): error CS0029: Cannot convert: 'string' to 'int' [/p/broken.csproj]";
        assert_eq!(
            diagnostic(line, Path::new("/q")),
            Some(
                json!({ "file": "/p/Program.cs", "line": 8, "column": 22, "severity": "error", "code": "CS0029",
                "message": "Cannot convert: 'string' to 'int'" })
            )
        );
        assert_eq!(diagnostic("  Restore completed in 20 ms", Path::new("/q")), None);
    }
}
