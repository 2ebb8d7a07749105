//! Recognition of programs that rustc built, for lldb and gdb, and the folder of its toolchain that
//! teaches debuggers to show strings, vectors, maps and enums. Runs `rustc --print sysroot`, nothing
//! else.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::find;
use super::target::Target;
use tandem_engine::ExceptionFilter;
use tandem_engine::builds::command;

/// The prefix of the standard library's source paths in each program that rustc made: its panics name them.
const MARK: &[u8] = b"/rustc/";
/// How much of a program is searched for the prefix, bytes.
const MAX_SEARCHED_BYTES: u64 = 256 << 20;

/// The function that each panic calls after printing its message and before unwinding.
pub(super) const PANIC: &str = "rust_panic";

/// The escapes in a linker's name for characters that it cannot contain.
const MARKS: [(&str, &str); 14] = [
    ("$SP$", "@"),
    ("$BP$", "*"),
    ("$RF$", "&"),
    ("$LT$", "<"),
    ("$GT$", ">"),
    ("$LP$", "("),
    ("$RP$", ")"),
    ("$C$", ","),
    ("$u20$", " "),
    ("$u27$", "'"),
    ("$u5b$", "["),
    ("$u5d$", "]"),
    ("$u7b$", "{"),
    ("$u7d$", "}"),
];

/// The exception filter that stops at panics.
pub(super) const PANIC_FILTER: ExceptionFilter = ExceptionFilter {
    default: Some(true),
    description: Some("Stop where a panic has printed its message, before the stack is unwound."),
    ..ExceptionFilter::new(PANIC, "Rust: panics")
};

/// Whether rustc made the target's program.
pub(super) fn is_compiled_by_rustc(target: &Target) -> bool {
    contains_mark(&executable(target))
}

/// `program`; without it, the executable of the process that `processId` names, also where its file was
/// replaced since the process started.
fn executable(target: &Target) -> PathBuf {
    match target.process_id() {
        Ok(pid) if target.program.as_os_str().is_empty() => PathBuf::from(format!("/proc/{pid}/exe")),
        _ => target.program.clone(),
    }
}

fn contains_mark(program: &Path) -> bool {
    let Ok(file) = std::fs::File::open(program) else { return false };
    let mut file = file.take(MAX_SEARCHED_BYTES);
    let (mut buffer, mut kept) = (vec![0; 1 << 20], 0);
    loop {
        let Some(room) = buffer.get_mut(kept..) else { return false };
        let read = match file.read(room) {
            Ok(0) | Err(_) => return false,
            Ok(read) => read,
        };
        let filled = kept + read;
        let Some(there) = buffer.get(..filled) else { return false };
        if memchr::memmem::find(there, MARK).is_some() {
            return true;
        }
        // The mark may begin at the end of this piece.
        kept = filled.min(MARK.len() - 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

/// The name of a function in its source, from a linker name that ends in a hash (`::h0123456789abcdef`);
/// escapes such as `_$u7b$$u7b$closure$u7d$$u7d$` are decoded. `None` for a name without a hash.
pub(super) fn without_hash(name: &str) -> Option<String> {
    let at = name.rfind("::h")?;
    let (before, hash) = (name.get(..at)?, name.get(at + "::h".len()..)?);
    let (hash, behind) = hash.split_at_checked(16)?;
    let is_hash = hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hash || behind.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
        return None;
    }
    let mut demangled = before.replace("::_$", "::$");
    if demangled.contains('$') {
        demangled =
            MARKS.iter().fold(demangled.replace("..", "::"), |name, (mark, text)| name.replace(mark, text));
    }
    Some(demangled + behind)
}

/// The folder with the formatters of the toolchain that is used in the program's folder.
pub(super) fn formatters(target: &Target) -> Option<PathBuf> {
    let home = target.variable("HOME").map(|home| PathBuf::from(home).join(".cargo/bin/rustc"));
    let path = target.variable("PATH").unwrap_or_default();
    let rustc = find::on_path(&path, "rustc").or(home.filter(|file| find::is_executable(file)))?;
    let mut query = Command::new(rustc);
    // A toolchain that a project names and that is not there is not to be fetched for this.
    query.args(["--print", "sysroot"]).env("RUSTUP_AUTO_INSTALL", "0");
    let executable = executable(target);
    let program = match target.program.as_os_str().is_empty() {
        true => std::fs::read_link(&executable).unwrap_or(executable),
        false => executable,
    };
    query.current_dir(program.parent().filter(|folder| folder.is_dir()).unwrap_or(Path::new("/")));
    let folder = PathBuf::from(command::first_line(query)?).join("lib/rustlib/etc");
    folder.join("lldb_lookup.py").is_file().then_some(folder)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_lose_their_hashes_and_nothing_else() {
        let hash = "h0123456789abcdef";
        for (name, path) in [
            (format!("main::main::{hash}"), "main::main"),
            (format!("main::main::{hash} [opt]"), "main::main [opt]"),
            (
                format!("std::rt::lang_start::_$u7b$$u7b$closure$u7d$$u7d$::{hash}"),
                "std::rt::lang_start::{{closure}}",
            ),
            (
                format!("core::ptr::drop_in_place$LT$alloc..string..String$GT$::{hash}"),
                "core::ptr::drop_in_place<alloc::string::String>",
            ),
        ] {
            assert_eq!(without_hash(&name).as_deref(), Some(path));
        }
        for kept in
            ["main", "a::h0123", "a::h0123456789abcdeg", "a::h0123456789abcdef0", "a::hé23456789abcdefg"]
        {
            assert_eq!(without_hash(kept), None, "{kept}");
        }
    }

    #[test]
    fn a_program_of_rustc_is_known_by_its_panics_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        for before in [0, 1, (1 << 20) - 3, (1 << 20) + 9, 3 << 20] {
            let mut text = vec![b'x'; before];
            text.extend(b"/rustc/abc/library/core");
            std::fs::write(&file, &text).unwrap();
            assert!(contains_mark(&file), "{before}");
        }
        std::fs::write(&file, vec![b'/'; 3 << 20]).unwrap();
        assert!(!contains_mark(&file));
        assert!(!contains_mark(Path::new("/no/such")));
        assert!(contains_mark(&std::env::current_exe().unwrap()), "this test is one");
    }

    #[test]
    fn a_process_is_recognized_by_its_executable() {
        let target = |attributes| Target::parse(&attributes).unwrap();
        assert!(
            is_compiled_by_rustc(&target(json!({ "processId": std::process::id() }))),
            "this test is one"
        );
        let attributes = json!({ "processId": std::process::id(), "program": "/no/such" });
        assert!(!is_compiled_by_rustc(&target(attributes)), "`program` precedes the process");
        assert!(!is_compiled_by_rustc(&target(json!({ "connect": { "port": 1 } }))));
    }
}
