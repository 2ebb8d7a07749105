//! Sources by decompiling: the user's `ilspycmd` writes a portable PDB for an assembly, with the text of each
//! type in it and the lines of its statements. Kept in the user's cache under the module's id.
//!
//! Does not decompile by itself, and downloads nothing.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clr_metadata::pdb::Pdb;
use serde_json::Value;
use tandem_download::Cache;
use tandem_wire::{ErrorCode, Failure};

use crate::modules::PdbIdentity;
use tandem_engine::builds::command;

/// The decompiler's program, and the folder of `dotnet tool install --global`.
const PROGRAM: &str = "ilspycmd";
const TOOLS: &str = ".dotnet/tools";
/// Command that installs the decompiler.
pub(crate) const INSTALL: &str = "dotnet tool install --global ilspycmd";
/// Time limit of its `--help`, and of decompiling one assembly.
const HELP_TIMEOUT: Duration = Duration::from_secs(30);
const DECOMPILE_TIMEOUT: Duration = Duration::from_secs(180);
/// Largest PDB that is read, bytes.
const MAX_PDB_BYTES: u64 = 256 * 1024 * 1024;
/// Most lines of its output that are kept, for when it fails, and most folders with assemblies
/// that are passed to it.
const MAX_OUTPUT_LINES: usize = 3;
const MAX_FOLDERS: usize = 32;
/// Folder of decompiled sources in the cache.
const FOLDER: &str = "decompiled";
/// Prefix of its output folders.
const SCRATCH: &str = "tandem-decompiler-";

/// The attribute `decompiler`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum DecompilerChoice {
    /// `off`: no decompiler.
    Off,
    /// The usual location of the program.
    #[default]
    Auto,
    /// The program with this path.
    Named(PathBuf),
}

/// The chosen decompiler, if any.
#[derive(Debug, Default)]
pub(crate) struct ConfiguredDecompiler {
    choice: DecompilerChoice,
    found: OnceCell<Option<PathBuf>>,
}

impl ConfiguredDecompiler {
    /// Reads `auto`, `off` or a path.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for anything else, and for a path without a file.
    pub(crate) fn parse(attribute: &Value) -> Result<Self, Failure> {
        let choice = match attribute {
            Value::Null => DecompilerChoice::Auto,
            Value::String(word) if word == "auto" => DecompilerChoice::Auto,
            Value::String(word) if word == "off" => DecompilerChoice::Off,
            Value::String(path) if Path::new(path).is_file() => DecompilerChoice::Named(path.into()),
            other => {
                return Err(Failure::invalid(format!(
                    "`decompiler` is {other}; it must be \"auto\", \"off\" or the path of an ilspycmd"
                ))
                .hint(format!("install one: `{INSTALL}`")));
            }
        };
        Ok(Self { choice, found: OnceCell::new() })
    }

    /// Whether the decompiler is disabled.
    pub(crate) fn is_off(&self) -> bool {
        self.choice == DecompilerChoice::Off
    }

    /// The program, searched for once.
    pub(crate) fn program(&self) -> Option<&Path> {
        let look = || match &self.choice {
            DecompilerChoice::Off => None,
            DecompilerChoice::Named(path) => Some(path.clone()),
            DecompilerChoice::Auto => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(TOOLS));
                let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(home);
                folders.map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
            }
        };
        self.found.get_or_init(look).as_deref()
    }
}

/// An assembly to decompile.
pub(super) struct Assembly {
    /// Path of the assembly's file.
    pub(super) path: PathBuf,
    /// The identity that its PDB must have.
    pub(super) identity: PdbIdentity,
    /// Its existing PDB, whose names of variables are used.
    pub(super) names: Option<PathBuf>,
    /// Folders with the assemblies that it references.
    pub(super) folders: Vec<PathBuf>,
}

/// The cached PDB of an earlier decompilation, for the module with this identity.
pub(crate) fn open_cached(cache: &Cache, identity: &PdbIdentity) -> Option<Pdb> {
    let folder = folder_of(identity)?;
    let name = folder.join(PDB);
    cache.path(&name).filter(|path| path.exists())?;
    let mut pdb = identity.read_unchecked(&cache.read(&name)?).filter(has_sources)?;
    pdb.place_documents(&cache.path(&folder)?.display().to_string());
    Some(pdb)
}

/// Name of the PDB among the sources.
const PDB: &str = ".symbols.pdb";

/// The folder in the cache for a module.
fn folder_of(identity: &PdbIdentity) -> Option<PathBuf> {
    let key = identity.key()?;
    Some(Path::new(FOLDER).join(key.split('/').nth(1)?))
}

/// Decompiles an assembly. The result is kept in the cache if it is writable, with each
/// source in its own file.
///
/// # Errors
/// `UNSUPPORTED` when the program cannot write PDBs; `COMMAND_FAILED` with the end of its output when it
/// fails or produces something else; `CANCELLED` when `give_up` becomes true.
pub(super) fn decompile(
    program: &Path,
    cache: Option<&Cache>,
    assembly: &Assembly,
    give_up: &dyn Fn() -> bool,
) -> Result<Pdb, Failure> {
    if let Some(pdb) = cache.and_then(|cache| open_cached(cache, &assembly.identity)) {
        return Ok(pdb);
    }
    let can = help_text(program, give_up)?;
    let scratch = DecompilerOutputDir::make()
        .map_err(|error| failed(program, assembly, &format!("no folder for its work: {error}")))?;
    let mut arguments: Vec<OsString> =
        vec!["--generate-pdb".into(), "--outputdir".into(), scratch.0.clone().into()];
    if can.contains("--nested-directories") {
        arguments.push("--nested-directories".into());
    }
    if can.contains("--disable-updatecheck") {
        // It would contact a server.
        arguments.push("--disable-updatecheck".into());
    }
    for folder in assembly.folders.iter().filter(|folder| folder.is_dir()).take(MAX_FOLDERS) {
        arguments.extend(["--referencepath".into(), folder.clone().into()]);
    }
    let names = assembly.names.as_ref().filter(|_| can.contains("--use-varnames-from-pdb"));
    let with_names = names.map(|pdb| {
        let mut option = OsString::from("--use-varnames-from-pdb:");
        option.push(pdb);
        option
    });
    // A PDB without the names is better than none.
    let ways = with_names.map(Some).into_iter().chain([None]);
    let mut last = String::new();
    for names in ways {
        let mut command = of(program);
        command.args(&arguments).args(names).arg(&assembly.path);
        let (success, printed) =
            run(command, DECOMPILE_TIMEOUT, give_up, &|reason| failed(program, assembly, &reason))?;
        let made = success.then(|| read(&scratch.0, &assembly.path, &assembly.identity));
        match made {
            Some(Ok((pdb, file))) => return Ok(keep(cache, &assembly.identity, pdb, &file)),
            Some(Err(reason)) => last = reason.to_owned(),
            None => last = printed,
        }
    }
    Err(failed(program, assembly, &last))
}

/// The help text of the program.
fn help_text(program: &Path, give_up: &dyn Fn() -> bool) -> Result<String, Failure> {
    let mut command = of(program);
    command.arg("--help");
    let mut help = String::new();
    let cannot = |reason: String| {
        Failure::new(
            ErrorCode::CommandFailed,
            format!("cannot run the decompiler `{}`: {reason}", program.display()),
        )
        .hint("run it with `--help` to see why, and check that its .NET runtime is installed")
    };
    command::run(command, HELP_TIMEOUT, give_up, &cannot, &mut |line| {
        help.push_str(line);
        help.push('\n');
    })?;
    if help.contains("--generate-pdb") {
        return Ok(help);
    }
    let message = format!("the decompiler `{}` cannot write PDBs (`--generate-pdb`)", program.display());
    Err(Failure::new(ErrorCode::Unsupported, message).hint(format!("install a newer ilspycmd: `{INSTALL}`")))
}

/// The program with the variables that it needs to run on any installed runtime.
fn of(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, value) in [("DOTNET_ROLL_FORWARD", "Major"), ("DOTNET_NOLOGO", "1")] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    command
}

/// Runs it; returns whether it succeeded, and its last output lines.
fn run(
    command: Command,
    limit: Duration,
    give_up: &dyn Fn() -> bool,
    failed: &dyn Fn(String) -> Failure,
) -> Result<(bool, String), Failure> {
    let mut last = std::collections::VecDeque::new();
    let status = command::run(command, limit, give_up, failed, &mut |line| {
        let line: String = line.trim().chars().take(300).collect();
        if !line.is_empty() {
            last.push_back(line);
            last.drain(..last.len().saturating_sub(MAX_OUTPUT_LINES));
        }
    })?;
    let printed = Vec::from(last).join(" / ");
    Ok((status.success(), if printed.is_empty() { format!("it ended with {status}") } else { printed }))
}

fn failed(program: &Path, assembly: &Assembly, reason: &str) -> Failure {
    let message =
        format!("`{}` did not decompile `{}`: {reason}", program.display(), assembly.path.display());
    Failure::new(ErrorCode::CommandFailed, message)
}

/// The PDB that was written for an assembly.
fn read(folder: &Path, assembly: &Path, identity: &PdbIdentity) -> Result<(Pdb, Vec<u8>), &'static str> {
    let mut name = assembly.file_stem().unwrap_or_default().to_owned();
    name.push(".pdb");
    let path = folder.join(name);
    let about = path.metadata().map_err(|_| "it wrote no PDB")?;
    if !about.is_file() || about.len() > MAX_PDB_BYTES {
        return Err("it wrote a PDB that is too large");
    }
    let file = std::fs::read(path).map_err(|_| "its PDB cannot be read")?;
    match identity.read_unchecked(&file) {
        None => Err("it wrote a PDB that is not this assembly's"),
        Some(pdb) if !has_sources(&pdb) => Err("it wrote a PDB without embedded sources"),
        Some(pdb) => Ok((pdb, file)),
    }
}

/// Whether a PDB has the text of a document, and no path that leads out of its folder.
fn has_sources(pdb: &Pdb) -> bool {
    let is_plain = |name: &str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    pdb.documents().all(|(_, name)| is_plain(name))
        && pdb.documents().any(|(row, _)| pdb.has_embedded_source(row))
}

/// Puts the PDB and its sources into the cache, as far as it is writable.
fn keep(cache: Option<&Cache>, identity: &PdbIdentity, mut pdb: Pdb, file: &[u8]) -> Pdb {
    let (Some(cache), Some(folder)) = (cache, folder_of(identity)) else { return pdb };
    let names: Vec<(u32, PathBuf)> = pdb.documents().map(|(row, name)| (row, folder.join(name))).collect();
    for (row, name) in names {
        // A source that is not in the cache is shown from the PDB.
        if let Some(text) = pdb.embedded_source(row)
            && let Err(error) = cache.store(&name, text.as_bytes())
        {
            tracing::debug!(%error, name = %name.display(), "a decompiled source is not kept");
        }
    }
    if let Err(error) = cache.store(&folder.join(PDB), file) {
        tracing::debug!(%error, "a decompiled PDB is not kept");
    }
    if let Some(place) = cache.path(&folder) {
        pdb.place_documents(&place.display().to_string());
    }
    pdb
}

/// An output folder of the decompiler; removed when this is dropped, or by the next process that creates one.
struct DecompilerOutputDir(PathBuf);

impl DecompilerOutputDir {
    fn make() -> std::io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let folder = std::env::temp_dir();
        sweep(&folder);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = folder.join(format!("{SCRATCH}{}-{number}", std::process::id()));
        // A folder of this name that already exists is not used.
        std::fs::DirBuilder::new().mode(0o700).create(&own)?;
        Ok(Self(own))
    }
}

impl Drop for DecompilerOutputDir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

/// Removes folders of killed hosts.
fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(SCRATCH).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner.to_string()).exists()) {
            // Another user's folder stays.
            std::fs::remove_dir_all(entry.path()).unwrap_or_default();
        }
    }
}
