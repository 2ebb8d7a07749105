//! The program to run: an assembly, an app host, or the output of a [`project`]; with its folder and
//! variables.
//!
//! Not here: its build ([`super::project`]).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

use super::attributes::Attributes;
use super::dotnet_command;
use super::launch_settings::{self, LaunchProfile, LaunchSettings};
use super::project::{self, BuildOptions, DotnetSdk, LaunchCommand, LaunchTargetKind};
use super::services;
use tandem_engine::builds::{self, EventSink};
use tandem_engine::console::Console;
use tandem_engine::kind;
use tandem_process::SpawnSpec;
use tandem_process::executable::{self, HostSupport};
use tandem_process::terminal::Pty;

/// A program that is ready to be started.
pub struct LaunchSpec {
    /// The process to spawn.
    pub spec: SpawnSpec,
    /// The assembly whose entry method is the program's, if it is known.
    pub assembly: Option<PathBuf>,
    /// Console that it runs in.
    pub console: Console,
    /// Its child processes are the programs to debug, as with `dotnet test`.
    pub starts_programs: bool,
}

/// Path of the launch profiles in a project or folder.
const SETTINGS: &str = "Properties/launchSettings.json";

/// Determines the program to start; builds a project first. `send_event` receives the build's events.
pub fn resolve(
    attributes: &Attributes<'_>,
    send_event: EventSink<'_>,
    give_up: &dyn Fn() -> bool,
) -> Result<LaunchSpec, Failure> {
    let runs_sdk = dotnet_command::starts_programs(attributes.0);
    let meant = dotnet_command::equivalent_launch(attributes.0);
    let attributes = &meant.as_ref().map_or(Attributes(attributes.0), Attributes);
    let console = Console::parse(attributes.text("console")?)?;
    let debugged = !attributes.flag("noDebug", false)?;
    if debugged {
        services::refuse_without(&|name| attributes.variable(name))?;
    }
    let (program, project) = (attributes.text("program")?, attributes.text("project")?);
    let Some(named) = program.or(project) else {
        return Err(Failure::invalid(
            "`program` is missing: a .dll, an executable, a project, a solution, a C# file or a folder",
        ));
    };
    let cwd = attributes.text("cwd")?.map(Path::new);
    let open = attributes.text("__workspaceFolder")?.map(Path::new);
    let there = |named: &str| cwd.map_or_else(|| PathBuf::from(named), |cwd| cwd.join(named));
    let target = match named {
        "dotnet" if !there(named).exists() => dotnet(attributes)?,
        // A command.
        named if !named.contains('/') && !there(named).exists() => {
            let path = attributes.variable("PATH").unwrap_or_default();
            executable::on_path(&path, named).unwrap_or_else(|| there(named))
        }
        named => there(named),
    };
    if !target.exists() {
        return Err(missing_program(named, &target));
    }
    let target = target.canonicalize().unwrap_or(target);
    let options = BuildOptions::of(attributes)?;
    let sdk = || {
        let mut env = attributes.env()?;
        // The SDK itself is a .NET program.
        services::keep_from_waiting(&mut env);
        Ok::<_, Failure>(DotnetSdk { dotnet: dotnet(attributes)?, env, send_event, give_up })
    };
    let launch_command = match LaunchTargetKind::of(&target, open)? {
        Some(kind) => Some(project::build_launch_command(&sdk()?, &kind, &options)?),
        None => {
            if let Some(project) = project.filter(|_| !options.no_build) {
                sdk()?.build(&there(project), &options, false)?;
            }
            None
        }
    };
    // Settings belong to the program's project: the one that is launched or built, otherwise the launch's
    // folder.
    let place = match (&launch_command, project) {
        (Some(launch_command), _) => Some(launch_command.project.clone()),
        (None, Some(project)) => Some(there(project)),
        (None, None) => cwd.map(Path::to_path_buf),
    };
    let settings = settings_at(attributes, place.as_deref())?.unwrap_or_default();
    if !settings.origin.is_empty() {
        builds::print_line(send_event, &format!("Launch profile {}", settings.origin));
    }
    let home =
        place.filter(|_| launch_command.is_some() || project.is_some()).map(|place| match place.parent() {
            Some(folder) if !place.is_dir() => folder.to_path_buf(),
            _ => place,
        });
    let starts_programs =
        launch_command.as_ref().is_some_and(|launch_command| launch_command.starts_programs) || runs_sdk;
    let mut program = command(attributes, target, launch_command, settings, home, console)?;
    program.starts_programs = starts_programs;
    if debugged {
        refuse_native(&program.spec.program)?;
        let SpawnSpec { env, cwd, .. } = &mut program.spec;
        for line in services::keep_from_waiting(env) {
            builds::print_line(send_event, &line);
        }
        services::refuse_without(&|name| services::variable_in(env, name))?;
        services::refuse_without_folder(services::variable_in(env, services::TEMPORARY).as_deref(), cwd)?;
    }
    Ok(program)
}

/// A program compiled ahead of time contains no runtime that can be debugged.
fn refuse_native(program: &Path) -> Result<(), Failure> {
    if !kind::is_native_dotnet(program) {
        return Ok(());
    }
    let message = format!(
        "cannot debug `{}` with the .NET engine: it was compiled ahead of time (NativeAOT) and has no .NET \
            runtime",
        program.display()
    );
    Err(Failure::new(ErrorCode::NotDebuggable, message)
        .hint("omit `engine`, or set it to `lldb` or `gdb` to debug native code"))
}

/// The error for a program that does not exist; without a .NET extension its kind is unknown.
fn missing_program(given: &str, target: &Path) -> Failure {
    let failure = executable::absence_failure(given, target);
    let ending = target.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if project::is_buildable(target) || ["dll", "exe"].contains(&ending) {
        return failure.hint("build the project first, or name its .csproj");
    }
    failure
}

/// The launch profile that the attributes request, or that the project has.
fn settings_at(attributes: &Attributes<'_>, place: Option<&Path>) -> Result<Option<LaunchSettings>, Failure> {
    // The second name is that of `dotnet run`.
    let names = ["launchSettingsProfile", "launchProfile"];
    let given = names.into_iter().map(|name| &attributes.0[name]).find(|value| !value.is_null());
    let profile = match given.unwrap_or(&Value::Null) {
        Value::Null => LaunchProfile::First,
        Value::String(name) if name.is_empty() => return Ok(None),
        Value::String(name) => LaunchProfile::Named(name),
        other => {
            return Err(Failure::invalid(format!("`launchSettingsProfile` must be a string, not {other}")));
        }
    };
    let given = attributes.text("launchSettingsFilePath")?.map(PathBuf::from);
    let folder = place.map(|place| if place.is_dir() { place } else { place.parent().unwrap_or(place) });
    // A C# file without a project has them next to it.
    let own = place.filter(|place| place.is_file()).map(|place| place.with_extension("run.json"));
    let own = own.filter(|own| own.is_file());
    let file = given.clone().or(own).or_else(|| Some(folder?.join(SETTINGS)));
    match file.filter(|file| given.is_some() || file.is_file()) {
        Some(file) => launch_settings::read(&file, profile),
        None if profile == LaunchProfile::First => Ok(None),
        None => {
            let message = format!("there is no `{SETTINGS}` for `launchSettingsProfile`");
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("launch the project, or name the file with `launchSettingsFilePath`"))
        }
    }
}

fn command(
    attributes: &Attributes<'_>,
    target: PathBuf,
    launch_command: Option<LaunchCommand>,
    settings: LaunchSettings,
    home: Option<PathBuf>,
    console: Console,
) -> Result<LaunchSpec, Failure> {
    let (target, mut args, own_cwd) = match launch_command {
        Some(LaunchCommand { path, arguments, cwd, .. }) => (path, arguments, cwd),
        None => (target, Vec::new(), None),
    };
    args.extend(attributes.texts("args")?.into_iter().map(OsString::from));
    if attributes.0["args"].is_null() {
        args.extend(settings.args.into_iter().map(OsString::from));
    }
    let folder = target.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let given = attributes.text("cwd")?.map(PathBuf::from).or(settings.cwd).or(own_cwd);
    let open = attributes.text("__workspaceFolder")?.map(PathBuf::from);
    let cwd = given.or(home).or(open).unwrap_or(folder);
    let mut env: Vec<_> = settings.env.into_iter().map(|(name, value)| (name, Some(value))).collect();
    env.extend(attributes.env()?);
    let is_assembly = target.extension().is_some_and(|ending| ending == "dll" || ending == "exe");
    let (program, assembly) = if is_assembly {
        if let Err(error) = clr_metadata::image::PeImage::open(&target) {
            executable::refuse_foreign(&target, HostSupport::Debuggers)?;
            let message = format!("cannot debug `{}`: {error}", target.display());
            return Err(Failure::new(ErrorCode::NotDebuggable, message));
        }
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
        let support =
            if attributes.flag("noDebug", false)? { HostSupport::Kernel } else { HostSupport::Debuggers };
        executable::refuse_foreign(&target, support)?;
        executable::refuse_uninterpreted(&target)?;
        // An app host runs the assembly with the same name.
        let mut assembly = PathBuf::from(format!("{}.dll", target.display()));
        if !assembly.exists() {
            // The assembly may be bundled inside.
            assembly = assembly.file_name().unwrap_or_default().into();
        }
        (target, Some(assembly))
    };
    let pty = Pty::of(attributes.flag("pty", false)?, attributes.flag("__ptyEcho", false)?);
    pty.name_in(&mut env);
    let spec = SpawnSpec { program, args, cwd, env, pty, ends_by_itself: false };
    Ok(LaunchSpec { spec, assembly, console, starts_programs: false })
}

/// The `dotnet` of DOTNET_ROOT, of PATH, or of the usual folders.
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
            executable::refuse_foreign(&candidate, HostSupport::Kernel)?;
            return Ok(candidate);
        }
        looked.push(folder.display().to_string());
    }
    Err(Failure::new(ErrorCode::EngineNotFound, format!("no `dotnet` found in {}", looked.join(", ")))
        .hint("install the .NET runtime, or set `env: {\"DOTNET_ROOT\": …}` to its folder"))
}
