//! The program that hosts an SDK's compiler: Tandem contains its source, and that very compiler builds it,
//! once, into the user's cache. Does not run it ([`super::process`]).
//!
//! A folder of the cache is complete when it exists: it is built under another name first, so hosts that
//! build it at the same time do not see each other's partial results. Without a cache it is built in a folder
//! of the session.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tandem_registry::ScratchFolder;
use tandem_wire::{ErrorCode, Failure, types};

use super::sdk::{CompilerSdk, FrameworkReference, RuntimeOptions, RuntimeSettings};
use tandem_engine::builds;
use tandem_process::SpawnSpec;

/// The source files, by name.
const SOURCES: [(&str, &str); 19] = [
    ("Access.cs", include_str!("helper/Access.cs")),
    ("Anonymous.cs", include_str!("helper/Anonymous.cs")),
    ("Attempt.cs", include_str!("helper/Attempt.cs")),
    ("Bundle.cs", include_str!("helper/Bundle.cs")),
    ("Expression.cs", include_str!("helper/Expression.cs")),
    ("Frame.cs", include_str!("helper/Frame.cs")),
    ("Names.cs", include_str!("helper/Names.cs")),
    ("Options.cs", include_str!("helper/Options.cs")),
    ("Program.cs", include_str!("helper/Program.cs")),
    ("References.cs", include_str!("helper/References.cs")),
    ("Refusal.cs", include_str!("helper/Refusal.cs")),
    ("Server.cs", include_str!("helper/Server.cs")),
    ("Speakable.cs", include_str!("helper/Speakable.cs")),
    ("Types.cs", include_str!("helper/Types.cs")),
    ("Visibility.cs", include_str!("helper/Visibility.cs")),
    ("Wire.cs", include_str!("helper/Wire.cs")),
    ("Withs.cs", include_str!("helper/Withs.cs")),
    ("Wrapper.cs", include_str!("helper/Wrapper.cs")),
    ("Writes.cs", include_str!("helper/Writes.cs")),
];
const NAME: &str = "tandem-expressions";
/// Time limit of building it. A cold disk is slow.
const BUILD_TIMEOUT: Duration = Duration::from_secs(90);
/// It exits after this many seconds without a request.
const IDLE_TIMEOUT_SECONDS: u32 = 60;
/// Heap limit, bytes: an expression that the compiler cannot finish ends there.
const MAX_HEAP: u64 = 1 << 30;
/// Age at which an unfinished part of a cache is a leftover.
const MAX_UNFINISHED_AGE: Duration = Duration::from_secs(60 * 60);
/// Variables that the process needs from Tandem's environment. The debugged program's settings, profilers and
/// start-up hooks do not apply to it.
const KEPT: [&str; 5] = ["HOME", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"];

/// A program that is ready to be started.
pub(super) struct CompilerHelper {
    folder: PathBuf,
    sdk: CompilerSdk,
    /// Removed with the session; `None` if the program is in the cache.
    _scratch: Option<ScratchFolder>,
}

impl CompilerHelper {
    /// The program for an SDK, from the cache or built now. `variable` looks up the environment
    /// for the cache's folder.
    ///
    /// # Errors
    /// `ENGINE_FAILED` with what the compiler says, `CANCELLED`.
    pub(super) fn for_sdk(
        sdk: &CompilerSdk,
        variable: &dyn Fn(&str) -> Option<String>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Self, Failure> {
        let cache = cache(variable);
        let folder = cache.as_ref().map(|cache| cache.join(key(sdk)));
        if let Some(folder) = folder.clone().filter(|folder| is_private(folder)) {
            return Ok(Self { folder, sdk: sdk.clone(), _scratch: None });
        }
        if let (Some(cache), Some(folder)) = (cache, folder) {
            match make_in_cache(sdk, &cache, &folder, give_up) {
                Err(failure) if failure.code == ErrorCode::IoFailed => {
                    tracing::debug!(%failure, "the compiler's program is made for this session alone");
                }
                made => return made.map(|()| Self { folder, sdk: sdk.clone(), _scratch: None }),
            }
        }
        let scratch = ScratchFolder::new(&tandem_registry::folder()).map_err(|error| {
            Failure::new(ErrorCode::EngineFailed, format!("cannot create its folder: {error}"))
        })?;
        let folder = scratch.path().to_owned();
        make(sdk, &folder, give_up)?;
        Ok(Self { folder, sdk: sdk.clone(), _scratch: Some(scratch) })
    }

    /// Removes it from the cache, because it does not work.
    pub(super) fn discard(self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }

    /// The command that starts it.
    pub(super) fn spec(&self) -> SpawnSpec {
        SpawnSpec {
            program: self.sdk.dotnet.clone(),
            args: vec![
                "exec".into(),
                self.folder.join(format!("{NAME}.dll")).into(),
                self.sdk.compiler.clone().into(),
                OsString::from(IDLE_TIMEOUT_SECONDS.to_string()),
            ],
            cwd: "/".into(),
            env: environment(),
            ..SpawnSpec::default()
        }
    }
}

/// Changes to Tandem's environment for programs on the SDK's runtime.
fn environment() -> Vec<(String, Option<String>)> {
    let unset = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unset = unset.filter(|name| !KEPT.contains(&name.as_str())).map(|name| (name, None));
    // Its diagnostics would leave pipes behind when it is killed.
    let set = [
        ("DOTNET_EnableDiagnostics", "0"),
        ("COMPlus_EnableDiagnostics", "0"),
        ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"),
        ("DOTNET_TieredPGO", "0"),
        ("DOTNET_NOLOGO", "1"),
        ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ];
    unset.chain(set.map(|(name, value)| (name.into(), Some(value.into())))).collect()
}

/// The folder of the user's cache; `None` if the user has no home directory.
fn cache(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let named = variable("XDG_CACHE_HOME").filter(|folder| folder.starts_with('/')).map(PathBuf::from);
    let base = named.or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")))?;
    Some(base.join("tandem").join("csharp-compiler"))
}

/// The name of its folder: different for each SDK and each source.
fn key(sdk: &CompilerSdk) -> String {
    let mut hash = Sha256::new();
    let parts = SOURCES.iter().flat_map(|(name, text)| [*name, *text]);
    for part in parts.chain(sdk.compiler.to_str()).chain(sdk.runtime.to_str()) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hash: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hash}", sdk.version)
}

/// Whether a folder holds the program and no other user can have put anything into it.
fn is_private(folder: &Path) -> bool {
    let own = rustix::process::getuid().as_raw();
    let own_file = |path: &Path| std::fs::symlink_metadata(path).ok().filter(|found| found.uid() == own);
    let is_own_folder = own_file(folder).is_some_and(|found| found.is_dir() && found.mode() & 0o022 == 0);
    is_own_folder && own_file(&folder.join(format!("{NAME}.dll"))).is_some_and(|found| found.is_file())
}

fn make_in_cache(
    sdk: &CompilerSdk,
    cache: &Path,
    folder: &Path,
    give_up: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let unusable = |error: std::io::Error| {
        Failure::new(ErrorCode::IoFailed, format!("the cache `{}` cannot be used: {error}", cache.display()))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(cache).map_err(unusable)?;
    sweep(cache);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let half = cache.join(format!("unfinished-{}-{number}", std::process::id()));
    // Left by an earlier process with the same number.
    drop(std::fs::remove_dir_all(&half));
    DirBuilder::new().mode(0o700).create(&half).map_err(unusable)?;
    let made = make(sdk, &half, give_up).and_then(|()| match std::fs::rename(&half, folder) {
        Ok(()) => Ok(()),
        // Another host was faster.
        Err(_) if is_private(folder) => Ok(()),
        Err(error) => Err(unusable(error)),
    });
    drop(std::fs::remove_dir_all(&half));
    made
}

/// Removes unfinished folders of other hosts.
fn sweep(cache: &Path) {
    for entry in std::fs::read_dir(cache).into_iter().flatten().flatten() {
        let is_half = entry.file_name().to_string_lossy().starts_with("unfinished-");
        let changed = entry.metadata().and_then(|found| found.modified()).ok();
        let is_old = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > MAX_UNFINISHED_AGE);
        if is_half && is_old {
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
}

/// Compiles the program into a folder.
fn make(sdk: &CompilerSdk, folder: &Path, give_up: &dyn Fn() -> bool) -> Result<(), Failure> {
    let io = |error: std::io::Error| {
        Failure::new(ErrorCode::IoFailed, format!("cannot write to `{}`: {error}", folder.display()))
    };
    let version = sdk.runtime.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let properties = [
        ("System.GC.Server", Value::Bool(false)),
        ("System.GC.Concurrent", Value::Bool(false)),
        ("System.GC.HeapHardLimit", MAX_HEAP.into()),
        ("System.Runtime.TieredPGO", Value::Bool(false)),
        ("System.Globalization.Invariant", Value::Bool(true)),
    ];
    let settings = RuntimeSettings {
        runtime_options: RuntimeOptions {
            framework: FrameworkReference { name: "Microsoft.NETCore.App".into(), version },
            config_properties: properties.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
        },
    };
    let settings = types::body(&settings).to_string();
    std::fs::write(folder.join(format!("{NAME}.runtimeconfig.json")), settings).map_err(io)?;
    let sources = folder.join("source");
    std::fs::create_dir(&sources).map_err(io)?;
    let mut arguments: Vec<String> = [
        "-noconfig",
        "-nostdlib",
        "-nologo",
        "-optimize+",
        "-debug-",
        "-unsafe+",
        "-warn:0",
        "-langversion:8.0",
    ]
    .map(String::from)
    .to_vec();
    arguments.push(format!("-out:\"{}\"", folder.join(format!("{NAME}.dll")).display()));
    for assembly in assemblies(&sdk.runtime) {
        arguments.push(format!("-r:\"{}\"", assembly.display()));
    }
    for name in ["Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"] {
        arguments.push(format!("-r:\"{}\"", sdk.compiler.join(name).display()));
    }
    for (name, text) in SOURCES {
        std::fs::write(sources.join(name), text).map_err(io)?;
        arguments.push(format!("\"{}\"", sources.join(name).display()));
    }
    let response = folder.join("arguments.rsp");
    std::fs::write(&response, arguments.join("\n")).map_err(io)?;
    compile(sdk, &response, give_up)?;
    drop(std::fs::remove_file(response));
    drop(std::fs::remove_dir_all(sources));
    Ok(())
}

fn compile(sdk: &CompilerSdk, response: &Path, give_up: &dyn Fn() -> bool) -> Result<(), Failure> {
    let failed = |reason: String| {
        let of = sdk.compiler.display();
        Failure::new(ErrorCode::EngineFailed, format!("the C# compiler in `{of}` cannot be used: {reason}"))
    };
    let mut command = Command::new(&sdk.dotnet);
    command.arg("exec").arg(sdk.compiler.join("csc.dll")).arg(format!("@{}", response.display()));
    command.current_dir("/");
    for (name, value) in environment() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut first = None;
    let status = builds::command::run(command, BUILD_TIMEOUT, give_up, &failed, &mut |line| {
        if line.contains("error") || first.is_none() {
            first.get_or_insert_with(|| line.trim().to_owned());
        }
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(failed(first.unwrap_or_else(|| status.to_string()))),
    }
}

/// The assemblies of a runtime, without its native code.
fn assemblies(runtime: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(runtime).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let begins = ["System.", "Microsoft.", "netstandard.", "mscorlib."];
            name.ends_with(".dll") && begins.iter().any(|begin| name.starts_with(begin))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_contains_every_source_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/compiler/helper");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, SOURCES.map(|(name, _)| name));
    }

    #[test]
    fn cache_is_in_the_folder_that_the_user_configures() {
        let of = |cache: Option<&'static str>, home: Option<&'static str>| {
            super::cache(&move |name| match name {
                "XDG_CACHE_HOME" => cache.map(str::to_owned),
                _ => home.map(str::to_owned),
            })
        };
        assert_eq!(of(Some("/c"), Some("/h")), Some("/c/tandem/csharp-compiler".into()));
        assert_eq!(of(Some("c"), Some("/h")), Some("/h/.cache/tandem/csharp-compiler".into()));
        assert_eq!(of(None, None), None);
    }

    #[test]
    fn folder_writable_by_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_private(folder.path()), "there is no program in it");
        std::fs::write(folder.path().join(format!("{NAME}.dll")), "").unwrap();
        assert!(is_private(folder.path()));
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_private(folder.path()));
    }
}
