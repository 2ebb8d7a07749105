//! The build before a launch: a Cargo package, example, binary or test; a Go package or file; one C, C++ or
//! Rust file; a folder with a CMakeLists.txt or (`project`) a Makefile. The compiler's errors are returned as
//! diagnostics with locations ([`readers`]). Not here: running the commands ([`tandem_engine::builds`]),
//! CMake ([`cmake`]), Go ([`go`]), and .NET projects (`tandem-dotnet-launch`).

mod cmake;
mod go;
mod readers;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};

use super::find;
use super::target::{Target, is_project_file};
use readers::{CompilerOutput, Reader, gnu, rustc};
use tandem_engine::builds::{self, BuildProgress, EventSink, OutputTail};

/// The arguments that a program of Rust's tests takes, for messages.
const LIBTEST: &str = "libtest (`NAME`, `--exact`)";
/// How long a build may take.
const BUILD_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The target with the program that was built, or as it is when there is nothing to build.
///
/// # Errors
/// `BUILD_FAILED` with `data.diagnostics`, `ENGINE_NOT_FOUND` when there is no compiler, `CANCELLED`.
pub(super) fn build_target(
    target: Target,
    tell: EventSink<'_>,
    give_up: &dyn Fn() -> bool,
) -> Result<Target, Failure> {
    let build = Build { target: &target, tell, give_up };
    if let Some(project) = target.text("project")? {
        let built = build.project(&target.cwd.join(project))?;
        return match built {
            _ if !target.program.as_os_str().is_empty() => Ok(target),
            Some(program) => Ok(program.launched_as(target)),
            None => Err(unknown_program_failure(&target.cwd.join(project))),
        };
    }
    let program = &target.program;
    let ending = program.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let built = if program.is_dir() || is_project_file(program) {
        match build.project(program)? {
            Some(built) => Some(built),
            None => return Err(unknown_program_failure(program)),
        }
    } else {
        match ending {
            "rs" if program.is_file() => match manifest_above(program) {
                Some(manifest) => Some(build.cargo(&manifest, cargo_target(&manifest, program))?),
                None => Some(build.single("rustc", &["-g"])?.into()),
            },
            "c" if program.is_file() => Some(build.single("cc", &["-g", "-O0"])?.into()),
            "go" if program.is_file() => Some(build.go(program)?),
            "cc" | "cpp" | "cxx" if program.is_file() => Some(build.single("c++", &["-g", "-O0"])?.into()),
            _ => None,
        }
    };
    Ok(match built {
        Some(program) => program.launched_as(target),
        None => target,
    })
}

/// A program that was built.
struct BuiltProgram {
    path: PathBuf,
    /// The folder in which their runner runs its tests, for a program of tests.
    test_folder: Option<PathBuf>,
}

impl From<PathBuf> for BuiltProgram {
    fn from(path: PathBuf) -> Self {
        Self { path, test_folder: None }
    }
}

impl BuiltProgram {
    /// The target with this program. Tests find their data in the runner's folder, also where the client has
    /// another one open.
    fn launched_as(self, target: Target) -> Target {
        let mut target = target.with_program(self.path);
        if let Some(folder) = self.test_folder.filter(|_| target.text("cwd") == Ok(None)) {
            target.cwd = folder;
        }
        target
    }
}

/// The failure of a launch that has built a project and does not know which program to run.
fn unknown_program_failure(project: &Path) -> Failure {
    let message = format!("`{}` was built, but it is not known which program to run", project.display());
    Failure::new(ErrorCode::LaunchFailed, message)
        .hint("name the folder as `project`, and the executable it builds as `program`")
}

struct Build<'a> {
    target: &'a Target,
    tell: EventSink<'a>,
    give_up: &'a dyn Fn() -> bool,
}

impl Build<'_> {
    /// A folder, or a `Cargo.toml`; returns the program where the build says which it is.
    fn project(&self, project: &Path) -> Result<Option<BuiltProgram>, Failure> {
        let folder = if project.is_dir() { project } else { project.parent().unwrap_or(project) };
        let has = |name: &str| folder.join(name).is_file();
        if has("Cargo.toml") {
            return self.cargo(&folder.join("Cargo.toml"), Vec::new()).map(Some);
        }
        if has("CMakeLists.txt") {
            return Ok(self.cmake(folder)?.map(BuiltProgram::from));
        }
        if has("go.mod") || find::any_file(folder, "go") {
            return self.go(folder).map(Some);
        }
        if has("Makefile") || has("makefile") || has("GNUmakefile") {
            let mut make = self.command("make", folder)?;
            make.arg("-C").arg(folder);
            return self.run(make, folder, gnu).map(|_| None);
        }
        let message = format!(
            "cannot build `{}`: there is no Cargo.toml, go.mod, CMakeLists.txt or Makefile",
            folder.display()
        );
        Err(Failure::new(ErrorCode::BuildFailed, message).hint("name an executable as `program`"))
    }

    fn cargo(&self, manifest: &Path, chosen: Vec<String>) -> Result<BuiltProgram, Failure> {
        let folder = manifest.parent().unwrap_or(manifest);
        let mut cargo = self.command("cargo", folder)?;
        let CargoAttribute { args } = types::read(self.target.attribute("cargo"));
        let words = args.into_iter().flatten();
        let own: Vec<String> = words.filter_map(|word| word.as_str().map(str::to_owned)).collect();
        let is_chosen = !own.is_empty() || !chosen.is_empty();
        let words = match (own.is_empty(), chosen.is_empty()) {
            (false, _) => own,
            (true, false) => chosen,
            (true, true) => vec!["build".to_owned()],
        };
        cargo.args(&words).arg("--message-format=json").arg("--manifest-path").arg(manifest);
        let mut compiler_output = self.run(cargo, folder, rustc)?;
        let mut is_test = words.first().is_some_and(|word| word == "test");
        if is_test {
            self.announce_tests(&self.target.program, LIBTEST);
        } else if compiler_output.executables.is_empty() && !is_chosen {
            // Of a library there is nothing else to run.
            let mut cargo = self.command("cargo", folder)?;
            cargo
                .args(["test", "--no-run", "--lib", "--message-format=json", "--manifest-path"])
                .arg(manifest);
            compiler_output = self.run(cargo, folder, rustc)?;
            if !compiler_output.executables.is_empty() {
                self.announce_tests(manifest, LIBTEST);
                is_test = true;
            }
        }
        if compiler_output.executables.is_empty() {
            let message = format!("`{}` was built, but it has no program", folder.display());
            return Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("name an example (`examples/x.rs`) or a test (`tests/x.rs`) as `program`"));
        }
        let path = single_program(
            folder,
            &compiler_output.executables,
            "choose one: `cargo: { \"args\": [\"build\", \"--bin\", \"NAME\"] }`",
        )?;
        Ok(BuiltProgram { path, test_folder: is_test.then(|| folder.to_owned()) })
    }

    /// Says that tests are debugged; `runner`: whose arguments choose them.
    fn announce_tests(&self, what: &Path, runner: &str) {
        let name = what.file_name().unwrap_or_default().to_string_lossy();
        builds::print_line(self.tell, &format!("{name}: debugging its tests; `args` are those of {runner}"));
    }

    /// Builds one source file into our folder next to it.
    fn single(&self, compiler: &str, flags: &[&str]) -> Result<PathBuf, Failure> {
        let source = &self.target.program;
        let folder = source.parent().unwrap_or(source);
        let name = source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let out = own_folder(folder)?.join(&name);
        let mut command = self.command(compiler, folder)?;
        let is_rust = compiler == "rustc";
        if is_rust {
            command.arg("--error-format=json");
        }
        command.args(flags).arg("-o");
        if is_rust {
            // Its linker takes a percent sign in an absolute path for a placeholder.
            command.arg(out.strip_prefix(folder).unwrap_or(&out)).arg("--crate-name").arg(crate_name(&name));
        } else {
            command.arg(&out);
        }
        command.arg(source);
        self.run(command, folder, if is_rust { rustc } else { gnu })?;
        Ok(out)
    }

    fn command(&self, name: &str, folder: &Path) -> Result<Command, Failure> {
        let path = self.target.variable("PATH").unwrap_or_default();
        let cargo_home =
            self.target.variable("HOME").map(|home| Path::new(&home).join(".cargo/bin").join(name));
        let found = find::on_path(&path, name).or_else(|| cargo_home.filter(|file| file.is_file()));
        let program = found.ok_or_else(|| {
            let message =
                format!("cannot build `{}`: `{name}` is not on PATH", self.target.program.display());
            Failure::new(ErrorCode::EngineNotFound, message).hint(format!(
                "install it, or build the program yourself and name the executable (`{name}` builds it)"
            ))
        })?;
        let mut command = Command::new(program);
        command.current_dir(folder);
        for (name, value) in &self.target.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Ok(command)
    }

    /// The path that messages name: the source that was launched, or the folder of the project.
    fn what<'p>(&'p self, folder: &'p Path) -> &'p Path {
        let program = self.target.program.as_path();
        if program.is_file() && program.starts_with(folder) { program } else { folder }
    }

    fn run(&self, command: Command, folder: &Path, read: Reader) -> Result<CompilerOutput, Failure> {
        let failed = |reason: String| builds::failure(folder, reason);
        let telling = BuildProgress::begin(self.tell, self.what(folder));
        let (mut compiler_output, mut printed) = (CompilerOutput::default(), OutputTail::default());
        let status = builds::command::run(command, BUILD_TIMEOUT, self.give_up, &failed, &mut |line| {
            if let Some(shown) = read(line, folder, &mut compiler_output) {
                telling.line(shown.trim_end());
                printed.push(&shown);
            }
        })?;
        if status.success() {
            return Ok(compiler_output);
        }
        if let Some(reason) = &compiler_output.reason {
            printed.set_reason(reason);
        }
        Err(builds::build_failure(folder, &compiler_output.diagnostics, &printed))
    }
}

/// The attribute `cargo`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CargoAttribute {
    #[serde(deserialize_with = "types::optional")]
    args: Option<Vec<Value>>,
}

/// The one program that was built.
fn single_program(folder: &Path, programs: &[(String, PathBuf)], hint: &str) -> Result<PathBuf, Failure> {
    if let [(_, only)] = programs {
        return Ok(only.clone());
    }
    let names: Vec<&str> = programs.iter().map(|(name, _)| name.as_str()).collect();
    let message = format!("`{}` has several programs: {}", folder.display(), names.join(", "));
    Err(Failure::new(ErrorCode::LaunchFailed, message).hint(hint))
}

/// The folder for our own builds; hidden from tools that search for sources, and from git.
fn own_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let out = folder.join(".tandem");
    let made = std::fs::create_dir_all(&out).and_then(|()| std::fs::write(out.join(".gitignore"), "*\n"));
    made.map_err(|error| {
        Failure::new(ErrorCode::BuildFailed, format!("cannot write to `{}`: {error}", out.display()))
    })?;
    Ok(out)
}

/// The name of the crate of a file with this name: rustc refuses a file whose name is not an identifier.
fn crate_name(stem: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = stem.chars().map(letter).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// The package a source belongs to.
fn manifest_above(source: &Path) -> Option<PathBuf> {
    source.ancestors().skip(1).map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file())
}

/// Which target of the package a source is, by Cargo's conventions; nothing when only
/// the manifest would tell.
fn cargo_target(manifest: &Path, source: &Path) -> Vec<String> {
    let inside = manifest.parent().and_then(|folder| source.strip_prefix(folder).ok());
    let words: Vec<String> = inside
        .into_iter()
        .flat_map(Path::components)
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let build =
        |kind: &str, name: &str| vec!["build".into(), kind.into(), name.trim_end_matches(".rs").into()];
    match words.as_slice() {
        ["src", "bin", name] | ["src", "bin", name, "main.rs"] => build("--bin", name),
        ["examples", name] | ["examples", name, "main.rs"] => build("--example", name),
        ["tests", name] | ["tests", name, "main.rs"] => {
            vec!["test".into(), "--no-run".into(), "--test".into(), name.trim_end_matches(".rs").into()]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_a_package_is_built_as_what_it_is() {
        let target =
            |inside: &str| cargo_target(Path::new("/p/Cargo.toml"), &Path::new("/p").join(inside)).join(" ");
        assert_eq!(target("src/main.rs"), "");
        assert_eq!(target("src/bin/tool.rs"), "build --bin tool");
        assert_eq!(target("examples/shown/main.rs"), "build --example shown");
        assert_eq!(target("tests/it.rs"), "test --no-run --test it");
    }

    #[test]
    fn tests_run_in_the_folder_of_their_runner_unless_the_launch_names_one() {
        let cwd = |attributes: serde_json::Value, test_folder: Option<&str>| {
            let built =
                BuiltProgram { path: "/w/a/.tandem/a.test".into(), test_folder: test_folder.map(Into::into) };
            built.launched_as(Target::parse(&attributes).unwrap()).cwd
        };
        let open = serde_json::json!({ "program": "/w/a/a_test.go", "__workspaceFolder": "/w" });
        let named = serde_json::json!({ "program": "/w/a/a_test.go", "__workspaceFolder": "/w", "cwd": "b" });
        assert_eq!(cwd(open.clone(), Some("/w/a")), Path::new("/w/a"));
        assert_eq!(cwd(named, Some("/w/a")), Path::new("/w/b"));
        assert_eq!(cwd(open, None), Path::new("/w"));
    }

    #[test]
    fn a_file_with_any_name_has_a_crate_name() {
        let names = ["main", "my-app", "größe #1", "2048", "a.b"].map(crate_name);
        assert_eq!(names, ["main", "my_app", "gr__e__1", "_2048", "a_b"]);
    }
}
