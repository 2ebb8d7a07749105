//! Identity of a process: a .NET program, a tool of the .NET SDK, a debugger, or anything else. Determined by
//! its executable and command line alone, as soon as it has executed them.
//!
//! Not here: whether its runtime has started.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cordebug::runtime::single_file::DebuggingLibraries;

use super::super::runtimes;
use tandem_process_tree::descendants::command_of;

/// Executables of debuggers that hold their child processes as Tandem does.
const DEBUGGERS: [&str; 5] = ["tandem-dap", "netcoredbg", "vsdbg", "vsdbg-ui", "dotnet-dbg"];
/// Programs of the SDK that may also come as a NuGet package.
const TOOLS: [&str; 4] = ["MSBuild.dll", "VBCSCompiler.dll", "csc.dll", "vstest.console.dll"];
/// Options of `dotnet` that have a value and precede the assembly.
const HOST_OPTIONS: [&str; 8] = [
    "--depsfile",
    "--runtimeconfig",
    "--additionalprobingpath",
    "--additional-deps",
    "--fx-version",
    "--roll-forward",
    "--roll-forward-on-no-candidate-fx",
    "--roll-forward-on-no-candidate-fx-to",
];
/// Where an executable that finds its runtime by itself names the hosting library, bytes from its beginning.
const MAX_HOST_CODE_BYTES: u64 = 256 * 1024;
const HOST_LIBRARY: &[u8] = b"libhostfxr.so";
/// An executable that contains a runtime is larger than this, bytes.
const MIN_BUNDLE_BYTES: u64 = 1024 * 1024;
/// Most executables in the cache.
const MAX_KNOWN: usize = 256;

/// Identity of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// A .NET program that can be held before its first code.
    Dotnet(ProgramInfo),
    /// A .NET program, by its name, whose runtime comes without the library that debugs it.
    Undebuggable(String),
    /// A part of the .NET SDK, by its name: it starts programs of users and is not one of them.
    Tool(String),
    /// A debugger: its child processes are its own.
    Debugger,
    /// A program of another user, which this user may not debug.
    OtherUser {
        /// Program name, for users.
        name: String,
        /// It is a .NET program, as far as is visible.
        is_dotnet: bool,
    },
    /// A program that does not contain a .NET runtime; it may load one later, or execute another program.
    Other(ProgramInfo),
}

impl Identity {
    /// Whether a runtime that is to be held may start in the process, now or after it has
    /// executed another program.
    pub(super) fn may_start_a_runtime(&self) -> bool {
        matches!(self, Self::Dotnet(_) | Self::Other(_) | Self::OtherUser { is_dotnet: false, .. })
    }
}

/// Name and path of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramInfo {
    /// The name in messages to users.
    pub(super) name: String,
    /// Its assembly, or its executable.
    pub(super) path: PathBuf,
}

/// Classification of an executable, independent of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Executable {
    /// It finds a .NET runtime and starts it.
    Host,
    /// It contains a runtime, or lies next to one, without the library that debugs it.
    HostWithoutDebugger,
    Native,
}

/// Identifies processes, and caches their executables.
#[derive(Debug)]
pub(super) struct Identities {
    user: u32,
    known: HashMap<(u64, u64, i64), Executable>,
    /// Folders of debugging libraries that the user has configured.
    symbol_paths: Vec<PathBuf>,
}

impl Identities {
    pub(super) fn new(symbol_paths: Vec<PathBuf>) -> Self {
        Self { user: rustix::process::geteuid().as_raw(), known: HashMap::new(), symbol_paths }
    }

    /// Identifies a process; `None` if it has ended or has not quite started.
    pub(super) fn of(&mut self, pid: u32) -> Option<Identity> {
        let (executable, words) = command_of(pid);
        let command = words.first()?;
        // The kernel may also protect a process from its own user.
        if std::fs::metadata(format!("/proc/{pid}")).ok()?.uid() != self.user {
            let name = file_name(&executable).or_else(|| file_name(Path::new(command)))?;
            return Some(match self.of_executable(pid, &executable, &words) {
                Some(Identity::Dotnet(program)) => {
                    Identity::OtherUser { name: program.name, is_dotnet: true }
                }
                _ => Identity::OtherUser { name, is_dotnet: false },
            });
        }
        self.of_executable(pid, &executable, &words)
    }

    /// Whether a process may have a runtime without the library that debugs it: that runtime must not be
    /// held, because nothing could release it.
    pub(super) fn may_lack_its_debugger(pid: u32) -> bool {
        let executable = PathBuf::from(format!("/proc/{pid}/exe"));
        let is_large = executable.metadata().is_ok_and(|found| found.len() > MIN_BUNDLE_BYTES);
        is_large || executable.read_link().is_ok_and(|path| path.with_file_name("libcoreclr.so").exists())
    }

    fn of_executable(&mut self, pid: u32, executable: &Path, words: &[String]) -> Option<Identity> {
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let name = file_name(executable)?;
        if DEBUGGERS.contains(&name.as_str()) {
            return Some(Identity::Debugger);
        }
        if name == "dotnet" {
            return Some(of_command(executable, words.get(1..).unwrap_or_default(), &cwd));
        }
        let program = || ProgramInfo { name: name.clone(), path: executable.to_path_buf() };
        Some(match self.classify(&PathBuf::from(format!("/proc/{pid}/exe")), executable) {
            Executable::Native => Identity::Other(program()),
            _ if is_of_sdk(executable) => Identity::Tool(name),
            Executable::Host => Identity::Dotnet(program()),
            Executable::HostWithoutDebugger => Identity::Undebuggable(name),
        })
    }

    /// Classifies an executable; `file` opens that of a process, which may have been deleted.
    fn classify(&mut self, file: &Path, path: &Path) -> Executable {
        let Ok(found) = file.metadata() else { return Executable::Native };
        let key = (found.dev(), found.ino(), found.mtime());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let executable = self.read(file, path);
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(key, executable);
        executable
    }

    fn read(&self, file: &Path, path: &Path) -> Executable {
        let Ok(opened) = File::open(file) else { return Executable::Native };
        let is_large = opened.metadata().is_ok_and(|found| found.len() > MIN_BUNDLE_BYTES);
        let mut start = Vec::new();
        let read = opened.take(MAX_HOST_CODE_BYTES).read_to_end(&mut start);
        if read.is_err() || !start.starts_with(b"\x7fELF") {
            return Executable::Native;
        }
        if let Some(needs) = is_large.then(|| DebuggingLibraries::of(file)).flatten() {
            return match runtimes::libraries_for(&needs, &self.symbol_paths) {
                Some(_) => Executable::Host,
                None => Executable::HostWithoutDebugger,
            };
        }
        let beside = |name: &str| path.with_file_name(name).exists();
        match memchr::memmem::find(&start, HOST_LIBRARY).is_some() {
            false => Executable::Native,
            true if beside("libcoreclr.so") && !beside("libmscordbi.so") => Executable::HostWithoutDebugger,
            true => Executable::Host,
        }
    }
}

/// Identity of `dotnet` with these arguments.
fn of_command(dotnet: &Path, words: &[String], cwd: &Path) -> Identity {
    let mut rest = words.iter().map(String::as_str);
    let mut first = rest.next().unwrap_or_default();
    let has_exec = first == "exec";
    loop {
        if HOST_OPTIONS.contains(&first) {
            rest.next();
        } else if !(has_exec && first == "exec") {
            break;
        }
        let Some(next) = rest.next() else { break };
        first = next;
    }
    if ![".dll", ".exe"].iter().any(|ending| first.ends_with(ending)) {
        let name = if first.is_empty() { "dotnet".into() } else { format!("dotnet {first}") };
        return Identity::Tool(name);
    }
    let assembly = cwd.join(first);
    let name = file_name(&assembly).unwrap_or_default();
    let sdk = dotnet.parent().unwrap_or(Path::new("/")).join("sdk");
    if assembly.starts_with(sdk) || TOOLS.contains(&name.as_str()) {
        return Identity::Tool(name);
    }
    // Several hosts may run at once, each with the configuration of its tests.
    let name = match tests_of(words) {
        Some(tests) if name.starts_with("testhost") => format!("testhost of {tests}"),
        _ => name,
    };
    Identity::Dotnet(ProgramInfo { name, path: assembly })
}

/// The tests of a host of the test platform, by its `--runtimeconfig NAME.runtimeconfig.json`.
fn tests_of(words: &[String]) -> Option<String> {
    let at = words.iter().position(|word| word == "--runtimeconfig")?;
    Some(file_name(Path::new(words.get(at + 1)?))?.strip_suffix(".runtimeconfig.json")?.to_owned())
}

/// Whether a file lies in the folder of an SDK: `sdk/VERSION` beside `host`.
pub(in super::super) fn is_of_sdk(file: &Path) -> bool {
    let mut above = file.ancestors().skip(1);
    above.any(|folder| {
        folder.file_name().is_some_and(|name| name == "sdk") && folder.with_file_name("host").is_dir()
    })
}

/// The name of a file, also of one that has been removed since (proc(5), `/proc/PID/exe`).
fn file_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(name.strip_suffix(" (deleted)").map(str::to_owned).unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dotnet(words: &str) -> Identity {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        of_command(Path::new("/opt/dotnet/dotnet"), &words, Path::new("/work"))
    }

    #[test]
    fn dotnet_command_is_identified_as_its_assembly_or_the_sdk() {
        let tool = |name: &str| Identity::Tool(name.into());
        let program =
            |path: &str, name: &str| Identity::Dotnet(ProgramInfo { name: name.into(), path: path.into() });
        for (words, expected) in [
            ("bin/app.dll --port 1", program("/work/bin/app.dll", "app.dll")),
            (
                "exec --runtimeconfig a.json --depsfile b.json bin/app.dll exec",
                program("/work/bin/app.dll", "app.dll"),
            ),
            ("--roll-forward Major app.dll", program("/work/app.dll", "app.dll")),
            (
                "exec --runtimeconfig /t/Shop.Tests.runtimeconfig.json /t/testhost.dll --port 1",
                program("/t/testhost.dll", "testhost of Shop.Tests"),
            ),
            ("exec testhost.dll --runtimeconfig", program("/work/testhost.dll", "testhost.dll")),
            ("test -c Debug", tool("dotnet test")),
            ("run app.dll", tool("dotnet run")),
            ("/opt/dotnet/sdk/10.0.100/MSBuild.dll /nodemode:1", tool("MSBuild.dll")),
            ("exec /opt/dotnet/sdk/10.0.100/vstest.console.dll", tool("vstest.console.dll")),
            ("exec /home/me/.nuget/packages/x/VBCSCompiler.dll", tool("VBCSCompiler.dll")),
            ("/opt/dotnet/sdks/app.dll", program("/opt/dotnet/sdks/app.dll", "app.dll")),
            ("exec", tool("dotnet exec")),
            ("--depsfile", tool("dotnet --depsfile")),
            ("", tool("dotnet")),
        ] {
            assert_eq!(dotnet(words), expected, "{words}");
        }
    }

    #[test]
    fn executable_is_identified_by_its_contents_and_neighbours() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            folder.path().join(name)
        };
        let mut identities = Identities::new(Vec::new());
        let mut classified = |path: &Path| identities.classify(path, path);
        let host = file("app", b"\x7fELF\x02\x01 libhostfxr.so and more");
        assert_eq!(classified(&host), Executable::Host);
        assert_eq!(classified(&file("script", b"#!/bin/sh libhostfxr.so")), Executable::Native);
        assert_eq!(classified(&file("tool", b"\x7fELF\x02\x01")), Executable::Native);
        assert_eq!(classified(Path::new("/no/such")), Executable::Native);
        file("libcoreclr.so", b"");
        assert_eq!(classified(&file("own", b"\x7fELF libhostfxr.so")), Executable::HostWithoutDebugger);
        file("libmscordbi.so", b"");
        assert_eq!(classified(&file("whole", b"\x7fELF libhostfxr.so")), Executable::Host);
        let own = std::process::id();
        assert!(matches!(Identities::new(Vec::new()).of(own), Some(Identity::Other(_))));
        assert_eq!(Identities::new(Vec::new()).of(u32::MAX), None);
    }
}
