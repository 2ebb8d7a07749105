//! `engine: auto`: which engine a program needs, by what it is. Looks at names, first lines and sections of executables;
//! starts nothing.
//! A bare name may be a command, which is looked for as [`super::child`] does.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::child;

/// What `program` is debugged with when the launch does not say; the .NET engine, which says what it needs, when
/// nothing else fits.
pub fn engine_for_launch(arguments: &Value) -> &'static str {
    let text = |key: &str| arguments[key].as_str().filter(|text| !text.is_empty());
    let Some(program) = text("program").or_else(|| text("project")) else {
        return if arguments["module"].is_string() || arguments["code"].is_string() {
            "debugpy"
        } else {
            "coreclr"
        };
    };
    let attributes = json!({ "program": program, "cwd": arguments["cwd"], "env": arguments["env"],
        "__workspaceFolder": arguments["__workspaceFolder"] });
    let path = child::named_program(&attributes).unwrap_or_else(|| PathBuf::from(program));
    of_path(&path).unwrap_or("coreclr")
}

/// The same for a running process.
pub fn engine_for_process(pid: u64) -> &'static str {
    let process = Path::new("/proc").join(pid.to_string());
    let maps = std::fs::read_to_string(process.join("maps")).unwrap_or_default();
    if maps.contains("libcoreclr.so") {
        return "coreclr";
    }
    let executable = std::fs::read_link(process.join("exe")).unwrap_or_default();
    let name = executable.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.as_str() {
        python if python.starts_with("python") => return "debugpy",
        "node" | "nodejs" => return "js",
        _ => {}
    }
    of_executable(&process.join("exe")).unwrap_or("coreclr")
}

fn of_path(path: &Path) -> Option<&'static str> {
    if path.is_dir() {
        return of_folder(path);
    }
    match path.file_name()?.to_str()? {
        "Cargo.toml" => return Some("lldb"),
        "go.mod" => return Some("delve"),
        _ => {}
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "dll" | "exe" | "csproj" | "fsproj" | "vbproj" | "sln" | "slnx" | "slnf" | "cs" => Some("coreclr"),
        "py" | "pyw" => Some("debugpy"),
        "go" => Some("delve"),
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => Some("js"),
        "rb" => Some("rdbg"),
        "sh" | "bash" => Some("bash"),
        "c" | "cc" | "cpp" | "cxx" | "rs" => Some("lldb"),
        // An app host runs the assembly of its own name.
        _ if PathBuf::from(format!("{}.dll", path.display())).exists() => Some("coreclr"),
        _ => of_first_line(path).or_else(|| of_executable(path)),
    }
}

fn of_folder(folder: &Path) -> Option<&'static str> {
    let has = |name: &str| folder.join(name).exists();
    let engines = [
        ("Cargo.toml", "lldb"),
        ("go.mod", "delve"),
        ("main.go", "delve"),
        ("__main__.py", "debugpy"),
        ("package.json", "js"),
        ("CMakeLists.txt", "lldb"),
        ("Makefile", "lldb"),
    ];
    let projects = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let dotnet = ["csproj", "fsproj", "vbproj", "sln", "slnx"];
    if projects.filter_map(|path| of_path_ending(&path)).any(|ending| dotnet.contains(&ending.as_str())) {
        return Some("coreclr");
    }
    engines.into_iter().find(|(name, _)| has(name)).map(|(_, engine)| engine)
}

fn of_path_ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().into_owned())
}

/// `#!/usr/bin/env python3` and the like.
fn of_first_line(path: &Path) -> Option<&'static str> {
    let mut start = [0; 128];
    let count = File::open(path).ok()?.read(&mut start).ok()?;
    let text = String::from_utf8_lossy(start.get(..count)?);
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_ascii_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut interpreter = words.next()?;
    while interpreter == "env" || interpreter.starts_with('-') {
        interpreter = words.next()?;
    }
    match interpreter {
        "sh" | "bash" | "dash" => Some("bash"),
        "node" | "nodejs" => Some("js"),
        "ruby" => Some("rdbg"),
        "dotnet" => Some("coreclr"),
        python if python.starts_with("python") => Some("debugpy"),
        _ => None,
    }
}

/// An ELF file: Go by the notes its linker leaves, anything else with DWARF natively.
fn of_executable(path: &Path) -> Option<&'static str> {
    let names = section_names(&File::open(path).ok()?)?;
    if has(&names, ".go.buildinfo") || has(&names, ".note.go.buildid") {
        Some("delve")
    } else if DWARF.iter().chain([&MANAGED_CODE]).any(|name| has(&names, name)) {
        Some("lldb")
    } else {
        None
    }
}

/// What NativeAOT, .NET's compiler ahead of time, made of managed code; stripped or not.
const MANAGED_CODE: &str = "__managedcode";
const DWARF: [&str; 2] = [".debug_info", ".zdebug_info"];

/// Whether a section of this name is among those of [`section_names`].
fn has(names: &[u8], name: &str) -> bool {
    names.split(|byte| *byte == 0).any(|section| section == name.as_bytes())
}

/// Whether an executable is a .NET program without a .NET runtime: compiled ahead of time, by NativeAOT.
pub(crate) fn is_native_dotnet(path: &Path) -> bool {
    File::open(path).ok().and_then(|file| section_names(&file)).is_some_and(|names| has(&names, MANAGED_CODE))
}

/// What is said of a .NET program that native debugger `engine` debugs; nothing of any other program.
pub(crate) fn remark_on_native_dotnet(path: &Path, engine: &str) -> Option<String> {
    let names = section_names(&File::open(path).ok()?)?;
    has(&names, MANAGED_CODE).then_some(())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Its linker puts them into a file of their own, which debuggers look for beside the program.
    let symbols = PathBuf::from(format!("{}.dbg", path.display()));
    let missing = match DWARF.iter().any(|name| has(&names, name)) || symbols.is_file() {
        true => String::new(),
        false => format!(" It has no symbols: keep `{name}.dbg`, which `dotnet publish` makes, beside it."),
    };
    Some(format!(
        "{name} was compiled ahead of time (NativeAOT): it has no .NET runtime, and {engine} debugs it as native code.{missing}"
    ))
}

/// The section header string table of a 64-bit little-endian ELF file (ELF-64 Object File Format 1.5, "Sections"):
/// names, each ended by a zero byte.
fn section_names(file: &File) -> Option<Vec<u8>> {
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, size: usize| -> Option<u64> {
        Some(header.get(at..at + size)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let (table, size, index) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3e, 2)?);
    let mut entry = [0; 64];
    file.read_exact_at(&mut entry, table.checked_add(size.checked_mul(index)?)?).ok()?;
    let long = |at: usize| -> Option<u64> {
        Some(entry.get(at..at + 8)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    // A table of names is small; a file that says otherwise is broken.
    let (offset, length) =
        (long(0x18)?, usize::try_from(long(0x20)?).ok().filter(|length| *length < 1 << 20)?);
    let mut names = vec![0; length];
    file.read_exact_at(&mut names, offset).ok()?;
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_its_first_line_or_its_sections() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &[u8]| {
            std::fs::write(folder.path().join(name), text).unwrap();
            json!({ "program": name, "cwd": folder.path() })
        };
        for (name, text, engine) in [
            ("a.py", &b""[..], "debugpy"),
            ("a.dll", b"", "coreclr"),
            ("a.go", b"", "delve"),
            ("a.mjs", b"", "js"),
            ("a.rb", b"", "rdbg"),
            ("a.sh", b"", "bash"),
            ("a.c", b"", "lldb"),
            ("tool", b"#!/usr/bin/env -S python3.11 -u\n", "debugpy"),
            ("script", b"#! /bin/bash -e\n", "bash"),
            ("hello.cs", b"#!/usr/bin/env dotnet\n", "coreclr"),
            ("hello", b"#!/usr/bin/env dotnet\n", "coreclr"),
            ("strange", b"#!", "coreclr"),
            ("broken", b"\x7fELF\x02\x01", "coreclr"),
            ("empty", b"", "coreclr"),
        ] {
            assert_eq!(engine_for_launch(&file(name, text)), engine, "{name}");
        }
        // This test itself is native code with debug information.
        let own = std::env::current_exe().unwrap();
        assert_eq!(engine_for_launch(&json!({ "program": own })), "lldb");
        assert_eq!(engine_for_launch(&json!({ "module": "http.server" })), "debugpy");
        assert_eq!(engine_for_launch(&json!({ "program": "/no/such" })), "coreclr");
        file("Cargo.toml", b"");
        assert_eq!(engine_for_launch(&json!({ "program": folder.path() })), "lldb");
        assert_eq!(engine_for_launch(&json!({ "project": folder.path() })), "lldb");
        assert_eq!(engine_for_launch(&file("all.slnx", b"<Solution />")), "coreclr");
        assert_eq!(engine_for_launch(&json!({ "program": folder.path() })), "coreclr");
    }

    proptest::proptest! {
        #[test]
        fn no_file_is_too_strange_to_look_at(mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            for (at, magic) in b"\x7fELF\x02\x01".iter().enumerate() {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *magic;
                }
            }
            let mut file = tempfile::tempfile().unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
            drop(section_names(&file));
        }
    }
}
