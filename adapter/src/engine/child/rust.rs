//! Programs that rustc made, for lldb and gdb: how to know one, and the folder of its toolchain that teaches debuggers to show
//! strings, vectors, maps and enums. Runs `rustc --print sysroot`, nothing else.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::find;
use super::target::Target;

/// What the paths of the standard library's sources begin with in each program that rustc made: its panics name them.
const MARK: &[u8] = b"/rustc/";
/// How much of a program is looked through for it.
const LOOKED_AT: u64 = 256 << 20;
/// How long `rustc` may take to say where it is.
const LIMIT: Duration = Duration::from_secs(5);
/// Between two looks at whether it has.
const PROBE: Duration = Duration::from_millis(5);

/// The function that each panic comes by, after its message was printed and before anything is unwound.
pub(super) const PANIC: &str = "rust_panic";

/// The exception filter that stops there.
pub(super) fn panic_filter() -> Value {
    json!({ "filter": PANIC, "label": "Rust: panics", "default": true,
        "description": "Stop where a panic has printed its message, before the stack is unwound." })
}

/// Whether rustc made this program.
pub(super) fn made(program: &Path) -> bool {
    let Ok(file) = std::fs::File::open(program) else { return false };
    let mut file = file.take(LOOKED_AT);
    let (mut buffer, mut kept) = (vec![0; 1 << 20], 0);
    loop {
        let Some(room) = buffer.get_mut(kept..) else { return false };
        let read = match file.read(room) {
            Ok(0) | Err(_) => return false,
            Ok(read) => read,
        };
        let filled = kept + read;
        let Some(there) = buffer.get(..filled) else { return false };
        if there.windows(MARK.len()).any(|window| window == MARK) {
            return true;
        }
        // The mark may begin at the end of this piece.
        kept = filled.min(MARK.len() - 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

/// The folder with the formatters of the toolchain that is used where the program lies.
pub(super) fn formatters(target: &Target) -> Option<PathBuf> {
    let home = target.variable("HOME").map(|home| PathBuf::from(home).join(".cargo/bin/rustc"));
    let path = target.variable("PATH").unwrap_or_default();
    let rustc = find::on_path(&path, "rustc").or(home.filter(|file| find::is_executable(file)))?;
    let mut command = Command::new(rustc);
    // A toolchain that a project names and that is not there is not to be fetched for this.
    command.args(["--print", "sysroot"]).env("RUSTUP_AUTO_INSTALL", "0");
    command.current_dir(target.program.parent().filter(|folder| folder.is_dir()).unwrap_or(Path::new("/")));
    let folder = PathBuf::from(first_line(&mut command)?).join("lib/rustlib/etc");
    folder.join("lldb_lookup.py").is_file().then_some(folder)
}

fn first_line(command: &mut Command) -> Option<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let until = Instant::now() + LIMIT;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > until {
            // It ends now, or has ended.
            child.kill().and_then(|()| child.wait()).map(drop).unwrap_or_default();
            return None;
        }
        std::thread::sleep(PROBE);
    }
    let mut text = String::new();
    child.stdout.take()?.take(4096).read_to_string(&mut text).ok()?;
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_rustc_is_known_by_its_panics_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        for before in [0, 1, (1 << 20) - 3, (1 << 20) + 9, 3 << 20] {
            let mut text = vec![b'x'; before];
            text.extend(b"/rustc/abc/library/core");
            std::fs::write(&file, &text).unwrap();
            assert!(made(&file), "{before}");
        }
        std::fs::write(&file, vec![b'/'; 3 << 20]).unwrap();
        assert!(!made(&file));
        assert!(!made(Path::new("/no/such")));
        assert!(made(&std::env::current_exe().unwrap()), "this test is one");
    }
}
