//! Refuses native programs that cannot start a .NET runtime, before they run. Reads files and starts nothing.
//!
//! Not here: programs compiled ahead of time ([`super::program`]).

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use memchr::memmem;
use tandem_wire::{ErrorCode, Failure};

use tandem_process::SpawnSpec;

/// Names that a program contains which starts a runtime itself: app hosts and custom hosts call `hostfxr`
/// or find it with `nethost`; older hosts call `coreclr_initialize`, and a program in one file has
/// `DotNetRuntimeInfo`.
const HOST_NAMES: [&[u8]; 4] = [b"hostfxr", b"nethost", b"coreclr_initialize", b"DotNetRuntimeInfo"];
/// Place of the offset of bundled files in every app host: SHA-256 of ".net core bundle" and a line break
/// (dotnet/runtime, `src/native/corehost/apphost/bundle_marker.cpp`).
const BUNDLE_MARKER: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13,
    0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];
/// How much of a program is searched, bytes. A larger one is started.
const MAX_SEARCHED_LEN: u64 = 512 * 1024 * 1024;
/// Size of the pieces in which it is read, bytes.
const PIECE_LEN: usize = 1024 * 1024;
/// How many words of the program's arguments are looked at.
const MAX_WORDS: usize = 1000;
/// How much of a script is looked at, bytes.
const MAX_SCRIPT_LEN: u64 = 64 * 1024;
/// How many scripts may start each other.
const MAX_SCRIPT_DEPTH: usize = 3;
/// How many files of the program's folder are looked at.
const MAX_FOLDER_FILES: usize = 10_000;

/// Refuses a native program in which nothing shows that it starts a .NET runtime.
///
/// # Errors
/// `NOT_DEBUGGABLE`, with what to do.
pub fn refuse_unable(spec: &SpawnSpec) -> Result<(), Failure> {
    let program = &spec.program;
    if !is_elf(program)
        || may_run_dotnet(spec)
        || has_host_files(program)
        || contains_host(program) != Some(false)
    {
        return Ok(());
    }
    let message = format!(
        "cannot debug `{}` with the .NET engine: it is a native program that contains no .NET host; it was \
            not started",
        program.display()
    );
    Err(Failure::new(ErrorCode::NotDebuggable, message).hint(
        "to debug it as native code, set `engine` to `lldb`, `gdb` or `delve` (Go), and build it with debug \
            information (`-g`, not stripped); to run it without a debugger, set `noDebug`; for a .NET \
            program, name its .dll or project",
    ))
}

/// Advice about a shell or script that names a .NET program and did not become it; `None` about others.
pub fn exec_hint(spec: &SpawnSpec) -> Option<&'static str> {
    let program = &spec.program;
    let is_named = match script(program) {
        Some(text) => may_run_dotnet(spec) || names_dotnet(&text, &spec.cwd, MAX_SCRIPT_DEPTH),
        None => is_elf(program) && contains_host(program) == Some(false) && may_run_dotnet(spec),
    };
    is_named.then_some(
        "if a shell or script starts the .NET program, write `exec` before that command, so the program \
            replaces the shell; or launch the .NET program directly",
    )
}

fn is_elf(program: &Path) -> bool {
    let mut magic = [0; 4];
    // A pipe would wait for its writer.
    program.is_file()
        && File::open(program).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"\x7fELF"
}

/// Whether the program may replace itself by one that an argument names, as `env dotnet app.dll`,
/// `sh -c ./app` and `sh -c ./script` do.
fn may_run_dotnet(spec: &SpawnSpec) -> bool {
    let text = spec.args.iter().map(|arg| arg.as_bytes()).collect::<Vec<_>>().join(&b' ');
    names_dotnet(&text, &spec.cwd, MAX_SCRIPT_DEPTH)
}

/// Whether words of a command line or script name something of .NET; `deeper`: how many scripts deep.
fn names_dotnet(text: &[u8], cwd: &Path, deeper: usize) -> bool {
    let mut folder = cwd.to_owned();
    let mut is_folder = false;
    let words = text.split(|byte| byte.is_ascii_whitespace() || b"'\";&|()=".contains(byte));
    words.filter(|word| !word.is_empty()).take(MAX_WORDS).any(|word| {
        let file = folder.join(OsStr::from_bytes(word));
        if std::mem::replace(&mut is_folder, word == b"cd") {
            folder = file;
            return false;
        }
        memmem::find(word, b"dotnet").is_some()
            || memmem::find(word, b".dll").is_some()
            || (is_elf(&file) && (has_host_files(&file) || contains_host(&file) == Some(true)))
            || deeper > 0 && script(&file).is_some_and(|text| names_dotnet(&text, &folder, deeper - 1))
    })
}

/// The beginning of a script, after `#!`.
fn script(file: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    if !file.is_file() {
        return None;
    }
    File::open(file).ok()?.take(MAX_SCRIPT_LEN).read_to_end(&mut text).ok()?;
    text.starts_with(b"#!").then(|| text.split_off(2))
}

/// Whether the program's folder has what a host needs that lies in one of the program's libraries.
fn has_host_files(program: &Path) -> bool {
    let files =
        program.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    files.take(MAX_FOLDER_FILES).any(|file| {
        let name = file.file_name();
        let name = name.as_bytes();
        name.ends_with(b".runtimeconfig.json")
            || [&b"libhostfxr.so"[..], b"libnethost.so", b"libcoreclr.so"].contains(&name)
    })
}

/// Whether a file contains a sign of a host; `None` if it cannot be read to its end.
fn contains_host(program: &Path) -> Option<bool> {
    let file = File::open(program).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > MAX_SEARCHED_LEN {
        return None;
    }
    search(file.take(MAX_SEARCHED_LEN), PIECE_LEN)
}

fn search(mut file: impl Read, piece_len: usize) -> Option<bool> {
    let signs = HOST_NAMES.into_iter().chain([&BUNDLE_MARKER[..]]);
    let finders: Vec<_> = signs.map(memmem::Finder::new).collect();
    // A sign may lie across the border of two pieces.
    let overlap = BUNDLE_MARKER.len() - 1;
    let mut piece = Vec::new();
    loop {
        piece.drain(..piece.len().saturating_sub(overlap));
        let count = file.by_ref().take(u64::try_from(piece_len).ok()?).read_to_end(&mut piece).ok()?;
        if finders.iter().any(|finder| finder.find(&piece).is_some()) {
            return Some(true);
        }
        if count == 0 {
            return Some(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(program: &Path, args: &[&str]) -> Option<Failure> {
        let args = args.iter().map(Into::into).collect();
        refuse_unable(&SpawnSpec { program: program.into(), args, ..SpawnSpec::default() }).err()
    }

    #[test]
    fn a_native_program_without_a_host_is_refused_before_it_starts() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tool");
        let is_refused = |content: &[u8], args: &[&str]| {
            std::fs::write(&program, content).unwrap();
            refusal(&program, args).is_some()
        };
        assert!(is_refused(b"\x7fELF", &[]));
        assert!(is_refused(b"\x7fELF and code", &["one", "--two"]));
        for sign in HOST_NAMES.into_iter().chain([&BUNDLE_MARKER[..]]) {
            assert!(!is_refused(&[b"\x7fELF and ", sign, b"."].concat(), &[]), "{sign:?}");
        }
        for other in [&b"#!/bin/sh\nexec ./app\n"[..], b"", b"\x7f"] {
            assert!(!is_refused(other, &[]), "{other:?}");
        }
        for args in [&["dotnet", "app"][..], &["-c", "exec /opt/dotnet/dotnet x"], &["--", "bin/app.dll"]] {
            assert!(!is_refused(b"\x7fELF", args), "{args:?}");
        }
        let app = folder.path().join("app");
        std::fs::write(&app, b"\x7fELF and libhostfxr.so").unwrap();
        assert!(!is_refused(b"\x7fELF", &["-c", &format!("exec '{}' one", app.display())]));
        let script = folder.path().join("start");
        for (text, is_allowed) in [
            ("#!/bin/sh\nexec dotnet app\n", true),
            ("#!/usr/bin/env dotnet\n", true),
            (&format!("#!/bin/sh\ncd '{}'\nexec ./app\n", folder.path().display()), true),
            ("#!/bin/sh\necho\n", false),
            (&format!("#!/bin/sh\nexec {}\n", script.display()), false),
            ("exec dotnet app\n", false),
        ] {
            std::fs::write(&script, text).unwrap();
            let args = format!("cd {} && ./start", folder.path().display());
            assert_eq!(!is_refused(b"\x7fELF", &["-c", &args]), is_allowed, "{text}");
            assert_eq!(!is_refused(b"\x7fELF", &[&script.display().to_string()]), is_allowed, "{text}");
        }
        let hint = |args: &[&str]| {
            let args = args.iter().map(Into::into).collect();
            exec_hint(&SpawnSpec { program: script.clone(), args, ..SpawnSpec::default() })
        };
        std::fs::write(&script, "#!/bin/sh\ndotnet app\n").unwrap();
        assert!(hint(&[]).is_some_and(|hint| hint.contains("`exec`")));
        std::fs::write(&script, "#!/bin/sh\necho\n").unwrap();
        assert_eq!(hint(&[]), None);
        std::fs::write(&script, b"\x7fELF").unwrap();
        assert!(hint(&["-c", "dotnet app"]).is_some());
        std::fs::write(&script, b"\x7fELF hostfxr").unwrap();
        assert_eq!(hint(&["app.dll"]), None);
        let failure = refusal(&program, &[]).unwrap();
        assert_eq!(failure.code, ErrorCode::NotDebuggable);
        let hint = failure.hint.unwrap_or_default();
        assert!(hint.contains("`lldb`") && hint.contains("`noDebug`"), "{hint}");
        std::fs::write(folder.path().join("app.runtimeconfig.json"), "{}").unwrap();
        assert_eq!(refusal(&program, &[]), None);
    }

    #[test]
    fn a_sign_across_the_border_of_two_pieces_is_found() {
        for before in 0..80 {
            let content = [&vec![b'.'; before][..], &BUNDLE_MARKER, b"...."].concat();
            assert_eq!(search(&content[..], 40), Some(true), "{before}");
            assert_eq!(search(&content[..before + 31], 40), Some(false), "{before}");
        }
    }
}
