//! Programs, runtimes and binaries that tests use, as `scripts/setup` made them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

/// A .NET runtime that tests run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// .NET Core 3.1, the oldest that set-up installs.
    Net31,
    /// .NET 9, the newest that set-up installs.
    Net9,
    /// .NET 10, if the user's own SDK has it (`installed` of set-up).
    Net10,
    /// .NET 8, if the user's own SDK has it.
    Net8,
}

/// The declarations of the Debug Adapter Protocol.
pub fn debug_protocol() -> PathBuf {
    setup_product("/debugProtocol").into()
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("/")).to_path_buf()
}

/// The cache of `scripts/setup`.
pub fn cache() -> PathBuf {
    std::env::var_os("TANDEM_CACHE").map_or_else(|| root().join(".cache"), PathBuf::from)
}

/// The paths and versions that set-up found.
///
/// # Panics
/// If set-up has not run: a test that cannot run has failed. `check` does not start such tests if the user
/// chooses to run without runtimes.
fn environment() -> Option<Value> {
    let text = std::fs::read_to_string(cache().join("env.json"));
    match text.context("scripts/setup has not run").and_then(|text| Ok(serde_json::from_str(&text)?)) {
        Ok(found) => Some(found),
        Err(error) => {
            panic!("{error:#}: run it, or leave these tests out as `TANDEM_SKIP_TOOLCHAINS=1 ./check` does")
        }
    }
}

/// The path of a product of set-up, which is updated if it is older than this tree.
///
/// # Panics
/// If set-up fails, with its output.
fn setup_product(pointer: &str) -> String {
    let found = || Some(environment()?.pointer(pointer)?.as_str()?.to_owned());
    found().unwrap_or_else(|| {
        // Tests run side by side; one of them sets up, the others find it done.
        let lock = std::fs::File::create(cache().join("setup.lock")).expect("the cache folder is there");
        lock.lock().expect("a lock on the set-up file");
        found().unwrap_or_else(|| {
            let done = std::process::Command::new(root().join("scripts/setup")).status();
            assert!(done.is_ok_and(|status| status.success()), "scripts/setup fails");
            found().unwrap_or_else(|| panic!("scripts/setup makes no {pointer}"))
        })
    })
}

/// A build tool of set-up: `go`, `cmake`, `ctest`.
pub fn tool(name: &str) -> PathBuf {
    setup_product(&format!("/tools/{name}")).into()
}

/// `PATH` with the pinned Node of set-up first; without set-up, unchanged.
pub fn path() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let text = std::fs::read_to_string(cache().join("env.json")).unwrap_or_default();
    let found: Value = serde_json::from_str(&text).unwrap_or_default();
    let node = found["node"].as_str().and_then(|node| Path::new(node).parent());
    let folders = node.map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap_or(path)
}

/// Sets [`path`] for a command that sets no `PATH` itself.
pub fn set_path(command: &mut tokio::process::Command) {
    if !command.as_std().get_envs().any(|(name, _)| name == "PATH") {
        command.env("PATH", path());
    }
}

/// The folder with the Python packages of set-up, for `PYTHONPATH`.
pub fn python_packages() -> PathBuf {
    setup_product("/pythonPackages").into()
}

/// The fixture `tour` as a self-contained single file, and the folder with the
/// libraries that debug its runtime.
pub fn one_file() -> (PathBuf, PathBuf) {
    (setup_product("/oneFile/program").into(), setup_product("/oneFile/libraries").into())
}

/// A copy of `fixtures/projects/NAME`, to build in.
///
/// # Errors
/// When it cannot be copied.
pub fn project(name: &str) -> anyhow::Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    copy_folder(&root().join("fixtures/projects").join(name), copy.path())?;
    Ok(copy)
}

/// A copy of `fixtures/tests/NAME`, to build and run in.
///
/// # Errors
/// When it cannot be copied.
pub fn test_project(name: &str) -> anyhow::Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    copy_folder(&root().join("fixtures/tests").join(name), copy.path())?;
    Ok(copy)
}

/// As [`test_project`], for a project with npm packages, which set-up has downloaded.
///
/// # Errors
/// When it cannot be copied.
pub fn node_test_project(name: &str) -> anyhow::Result<tempfile::TempDir> {
    let copy = test_project(name)?;
    let packages = PathBuf::from(setup_product("/nodeTests")).join(name).join("node_modules");
    std::os::unix::fs::symlink(packages, copy.path().join("node_modules"))?;
    Ok(copy)
}

/// The built projects of `fixtures/tests/dotnet`, made by the user's own SDK.
///
/// # Panics
/// If set-up fails, with its output.
pub fn dotnet_test_projects() -> PathBuf {
    setup_product("/testProjects").into()
}

/// A copy of the C# project that does not compile, to build in: two errors in its Program.cs.
///
/// # Errors
/// When it cannot be copied.
pub fn broken_project() -> anyhow::Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    let programs = root().join("fixtures/programs/dotnet");
    for name in ["broken/broken.csproj", "broken/Program.cs", "Directory.Build.props"] {
        let from = programs.join(name);
        std::fs::copy(&from, copy.path().join(from.file_name().unwrap_or_default()))?;
    }
    Ok(copy)
}

fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for file in std::fs::read_dir(from)? {
        let file = file?;
        let target = to.join(file.file_name());
        if file.file_type()?.is_dir() {
            copy_folder(&file.path(), &target)?;
        } else {
            std::fs::copy(file.path(), target)?;
        }
    }
    Ok(())
}

impl Runtime {
    /// Name of the runtime in the file names of snapshots.
    pub fn name(self) -> &'static str {
        match self {
            Self::Net31 => "net31",
            Self::Net9 => "net9",
            Self::Net10 => "net10",
            Self::Net8 => "net8",
        }
    }

    /// The runtime itself, if it is installed.
    ///
    /// # Errors
    /// When it is not: a test that cannot run has failed.
    pub fn ensure_installed(self) -> anyhow::Result<Self> {
        let missing = || {
            let name = self.name();
            format!(
                "the runtime {name} is missing: run scripts/setup, or leave out the tests `on_{name}::`, as \
                    `check` does"
            )
        };
        self.dotnet().with_context(missing).map(|_| self)
    }

    /// Whether the runtime reports a stack overflow to the debugger as an unhandled exception.
    pub fn reports_stack_overflows(self) -> bool {
        matches!(self, Self::Net8 | Self::Net10)
    }

    /// Its `dotnet`; of an installed one, only when that has a runtime of this version.
    pub fn dotnet(self) -> Option<PathBuf> {
        let found = environment()?;
        let installed = |major: &str| {
            let versions = found["installed"]["runtimes"].as_array()?;
            let has = versions.iter().any(|version| version.as_str().unwrap_or_default().starts_with(major));
            found["installed"]["dotnet"].as_str().filter(|_| has)
        };
        let dotnet = match self {
            Self::Net31 => found["dotnet31"].as_str(),
            Self::Net9 => found["dotnet9"].as_str(),
            Self::Net10 => installed("10."),
            Self::Net8 => installed("8."),
        };
        dotnet.map(PathBuf::from)
    }

    /// The environment in which it is the one that is found.
    pub fn environment(self) -> Option<HashMap<String, String>> {
        let dotnet = self.dotnet()?;
        let folder = dotnet.parent()?.display().to_string();
        let libraries = environment()?["opensslLibs"].as_str()?.to_owned();
        // The programs of `fixtures/programs/dotnet` roll forward to the lowest runtime they find: 8, where
        // 10 is beside it.
        let roll = if self == Self::Net10 { "LatestMajor" } else { "Major" };
        let pairs = [
            ("DOTNET_ROLL_FORWARD", roll.into()),
            ("DOTNET_ROOT", folder),
            ("LD_LIBRARY_PATH", libraries),
            ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1".into()),
            ("DOTNET_CLI_TELEMETRY_OPTOUT", "1".into()),
            ("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1".into()),
            ("DOTNET_NOLOGO", "1".into()),
            ("DOTNET_CLI_HOME", cache().join("home").display().to_string()),
            ("XDG_CACHE_HOME", cache().join("home/.cache").display().to_string()),
        ];
        Some(pairs.map(|(name, value)| (name.to_owned(), value)).into())
    }
}

/// A fixture program built by set-up.
///
/// # Panics
/// When there is no program of this name.
pub fn program(name: &str) -> String {
    setup_product(&format!("/programs/{name}"))
}

/// A program of `fixtures/programs/modern`, built by the user's own SDK, for [`Runtime::Net10`].
///
/// # Panics
/// When there is no program of this name.
pub fn modern_program(name: &str) -> String {
    setup_product(&format!("/modern/{name}"))
}

/// The source of a program of `fixtures/programs/modern`.
pub fn modern_source(name: &str) -> String {
    let folder = root().join("fixtures/programs/modern").join(name);
    let sources = ["Program.cs", "Program.vb"].map(|source| folder.join(source));
    let source = sources.iter().find(|source| source.exists()).unwrap_or(&folder);
    source.display().to_string()
}

/// The line (from 1) with `// BP marker`, or `' BP marker`, in a program of `fixtures/programs/modern`.
///
/// # Panics
/// When there is no such marker.
pub fn modern_line(name: &str, marker: &str) -> i64 {
    marked(&modern_source(name), marker)
}

/// Builds `fixtures/libraries/NAME.c`, for `LD_PRELOAD`.
///
/// # Errors
/// When the compiler refuses.
pub async fn library(name: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let library = folder.join(format!("{name}.so"));
    let built = tokio::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(root().join(format!("fixtures/libraries/{name}.c")))
        .arg("-ldl")
        .status()
        .await?;
    anyhow::ensure!(built.success(), "{name}.c was not built");
    Ok(library)
}

/// The source of a fixture program.
pub fn source(name: &str) -> String {
    root().join("fixtures/programs/dotnet").join(name).join("Program.cs").display().to_string()
}

/// The line (from 1) with `// BP marker` in a fixture program.
///
/// # Panics
/// When there is no such marker.
pub fn line(name: &str, marker: &str) -> i64 {
    marked(&source(name), marker)
}

fn marked(source: &str, marker: &str) -> i64 {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    let comments = [format!("// BP {marker}"), format!("' BP {marker}")];
    let found = text
        .lines()
        .position(|line| comments.iter().any(|comment| line.trim_end().ends_with(comment.as_str())));
    let at = found.unwrap_or_else(|| panic!("no marker `{marker}` in {source}"));
    i64::try_from(at).unwrap_or_default() + 1
}

/// Whether a process exists and is not a zombie.
pub fn is_running(pid: u64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

/// The socket of a live session.
pub fn session_socket(id: &str) -> PathBuf {
    tandem_registry::folder().join(format!("{id}.sock"))
}

/// One of our programs, beside the test or in the folder above it.
///
/// # Panics
/// When it was not built, or when it is older than its sources.
pub fn binary(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let candidates = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let found = candidates.into_iter().find(|path| path.is_file());
    let program =
        found.unwrap_or_else(|| panic!("`{name}` is not built: run `cargo build --workspace` first"));
    crate::freshness::check_once(&program, &root()).unwrap_or_else(|stale| panic!("{stale:#}"));
    program
}
