//! The file of a command on PATH, and the machine and system of an executable, from its header: a program for
//! another one is refused before it is started. Otherwise execvp(3) would answer the system's "exec format
//! error" by running it in a shell, which reports syntax errors, and the absence of a script's interpreter by
//! the words for an absent script.
//!
//! Not here: unknown files; starting them shows what is wrong.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tandem_error::{ErrorCode, Failure};

/// Machines as ELF counts them (System V ABI, `e_machine`).
const MACHINES: [(u16, &str); 11] = [
    (2, "SPARC"),
    (3, "x86"),
    (8, "MIPS"),
    (20, "PowerPC"),
    (21, "64-bit PowerPC"),
    (22, "S/390"),
    (40, "32-bit ARM"),
    (62, "x86-64"),
    (183, "64-bit ARM (AArch64)"),
    (243, "RISC-V"),
    (258, "LoongArch"),
];
/// The machine that this program is for, as ELF counts it; 32-bit programs that its kernel may run; the name
/// that .NET has for it.
#[cfg(target_arch = "x86_64")]
const NATIVE: (u16, Option<u16>, &str) = (62, Some(3), "linux-x64");
#[cfg(not(target_arch = "x86_64"))]
const NATIVE: (u16, Option<u16>, &str) = (183, Some(40), "linux-arm64");
/// Machines as Windows counts them (PE format, `Machine`).
const WINDOWS: [(u16, &str); 4] =
    [(0x14c, "x86"), (0x1c4, "32-bit ARM"), (0x8664, "x86-64"), (0xaa64, "64-bit ARM (AArch64)")];
/// How the optional header of a PE file for 64 bits begins.
const PE32_PLUS: u64 = 0x20b;
/// How much of a file is read, bytes: a PE header is near the beginning.
const MAX_HEADER_LEN: u64 = 4096;
/// How much of a script's first line the kernel reads, bytes (`BINPRM_BUF_SIZE`).
const MAX_SCRIPT_LINE_LEN: u64 = 256;
/// Files that name the formats which the kernel starts through another program (`binfmt_misc`).
const EMULATED: &str = "/proc/sys/fs/binfmt_misc";

/// The support that a program needs on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostSupport {
    /// Executables of this machine: the ones that our debuggers support.
    Debuggers,
    /// Programs that the kernel can run, including 32-bit and emulated ones.
    Kernel,
}

/// The first executable of this name in the absolute folders of a PATH.
pub fn on_path(path: &str, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Whether the path is an executable file.
pub fn is_executable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// There is no program where one was named.
pub fn absence_failure(given: &str, place: &Path) -> Failure {
    let message = format!("there is no `{}`", place.display());
    let hint = if Path::new(given).is_absolute() {
        let there = place.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
        format!("correct the path, of which `{}` is there; or build the program first", there.display())
    } else if let Some((command, _)) = given.split_once(' ') {
        format!("`program` is one file or command: if it is `{command}`, put its arguments into `args`")
    } else {
        "a relative `program` begins in `cwd`, and a bare name may be a command of the project's virtual \
            environment (Python) or of PATH; correct it, or install what provides it"
            .to_owned()
    };
    Failure::new(ErrorCode::LaunchFailed, message).hint(hint)
}

/// Refuses a file that is a program of another machine or system.
///
/// # Errors
/// `LAUNCH_FAILED`, with what it is.
pub fn refuse_foreign(file: &Path, support: HostSupport) -> Result<(), Failure> {
    let Some((what, hint)) = describe_foreign(file, support) else { return Ok(()) };
    let message = format!("cannot start `{}`: it is {what}", file.display());
    Err(Failure::new(ErrorCode::LaunchFailed, message).hint(hint))
}

/// Refuses a script whose interpreter does not exist: the system would say that the script does not.
///
/// # Errors
/// `LAUNCH_FAILED`, with the interpreter.
pub fn refuse_uninterpreted(file: &Path) -> Result<(), Failure> {
    let Some(interpreter) = absent_interpreter(file) else { return Ok(()) };
    let hint = match interpreter.ends_with('\r') {
        true => "end the lines of the script with LF, not with CRLF: `\\r` becomes part of the name",
        false => "install the interpreter, or correct the first line of the script",
    };
    let interpreter = interpreter.replace('\r', "\\r");
    let message =
        format!("cannot start `{}`: its interpreter `{interpreter}` does not exist", file.display());
    Err(Failure::new(ErrorCode::LaunchFailed, message).hint(hint))
}

/// The interpreter that a script names by an absolute path, if it does not exist.
fn absent_interpreter(file: &Path) -> Option<String> {
    let interpreter = script_words(file)?.into_iter().next()?;
    (interpreter.starts_with('/') && !Path::new(&interpreter).exists()).then_some(interpreter)
}

/// The words of a script's first line behind `#!`, separated as the kernel does: the first one is the
/// interpreter, also with a `\r` at its end (execve(2)). `None` of a file that is not a script.
pub fn script_words(file: &Path) -> Option<Vec<String>> {
    let start = first_bytes(file, MAX_SCRIPT_LINE_LEN)?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    Some(line.split([' ', '\t']).filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

/// At most `limit` bytes from the beginning of a file. `None` of a pipe, which would wait for its writer.
fn first_bytes(file: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    File::open(file).ok()?.take(limit).read_to_end(&mut start).ok()?;
    Some(start)
}

fn describe_foreign(file: &Path, support: HostSupport) -> Option<(String, String)> {
    let header = first_bytes(file, MAX_HEADER_LEN)?;
    let found = elf(&header, support).or_else(|| windows(&header)).or_else(|| macos(&header))?;
    (support == HostSupport::Debuggers || !is_emulated(&header)).then_some(found)
}

fn number(header: &[u8], at: usize, size: usize, big: bool) -> Option<u64> {
    let bytes = header.get(at..at.checked_add(size)?)?;
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    Some(if big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
}

fn named(known: &[(u16, &str)], machine: u64) -> String {
    let found = known.iter().find(|(number, _)| u64::from(*number) == machine);
    found.map_or_else(|| format!("machine number {machine}"), |(_, name)| (*name).into())
}

fn elf(header: &[u8], support: HostSupport) -> Option<(String, String)> {
    let [0x7f, b'E', b'L', b'F', class, order, ..] = header else { return None };
    let machine = number(header, 0x12, 2, *order == 2)?;
    let (native, compatible, identifier) = NATIVE;
    let is_native = machine == u64::from(native);
    match (is_native, *class) {
        (true, 2) => return None,
        _ if support == HostSupport::Kernel && compatible.map(u64::from) == Some(machine) => return None,
        _ => {}
    }
    let own = named(&MACHINES, native.into());
    let name = if is_native { format!("{own} with 32-bit addresses") } else { named(&MACHINES, machine) };
    let bits = if *class == 1 && !name.contains("32") { "32-bit " } else { "" };
    let what = format!("a Linux program for {bits}{name}, and this machine is {own}");
    let hint = format!(
        "build it for {own} (.NET: `-r {identifier}`; a .NET program's .dll runs anywhere), or debug it on \
            such a machine"
    );
    Some((what, hint))
}

fn windows(header: &[u8]) -> Option<(String, String)> {
    if !header.starts_with(b"MZ") {
        return None;
    }
    let at = usize::try_from(number(header, 0x3c, 4, false)?).ok()?;
    let rest = header.get(at..)?.strip_prefix(b"PE\0\0")?;
    let machine = number(rest, 0, 2, false)?;
    // .NET's directory is the fifteenth in both formats.
    let directories = if number(rest, 20, 2, false) == Some(PE32_PLUS) { 112 } else { 96 };
    if number(rest, 20 + directories + 14 * 8, 4, false).is_some_and(|place| place != 0) {
        return None;
    }
    let what = format!("a Windows program for {}, and this machine runs Linux", named(&WINDOWS, machine));
    Some((what, hint_for_linux()))
}

/// Mach-O, of one machine or of several; what Java compiles begins like the latter, with a version where
/// that has a small count.
fn macos(header: &[u8]) -> Option<(String, String)> {
    const MAX_ARCHITECTURES: u64 = 20;
    let magic = number(header, 0, 4, true)?;
    let is_one = [0xfeed_face, 0xfeed_facf, 0xcefa_edfe, 0xcffa_edfe].contains(&magic);
    let has_several = magic == 0xcafe_babe && number(header, 4, 4, true)? < MAX_ARCHITECTURES;
    (is_one || has_several).then(|| ("a macOS program, and this machine runs Linux".into(), hint_for_linux()))
}

fn hint_for_linux() -> String {
    let (_, _, identifier) = NATIVE;
    format!("build it for Linux; a .NET program starts from the .dll beside it, or with `-r {identifier}`")
}

/// Whether the kernel has another program run files that begin so (binfmt_misc of the
/// kernel's documentation).
fn is_emulated(header: &[u8]) -> bool {
    let entries = std::fs::read_dir(EMULATED).into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).any(|text| fits(&text, header))
}

fn fits(entry: &str, header: &[u8]) -> bool {
    let field = |name: &str| entry.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
    let bytes = |text: &str| -> Option<Vec<u8>> {
        let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        (0..text.len()).step_by(2).map(pair).collect()
    };
    let Some(magic) = field("magic").and_then(bytes).filter(|magic| !magic.is_empty()) else { return false };
    let mask = field("mask").and_then(bytes).unwrap_or_default();
    let offset = field("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
    let begins = header.get(offset..).filter(|begins| begins.len() >= magic.len());
    entry.lines().next() == Some("enabled")
        && begins.is_some_and(|begins| {
            let mask = mask.iter().copied().chain(std::iter::repeat(0xff));
            magic.iter().zip(begins).zip(mask).all(|((magic, byte), mask)| magic & mask == byte & mask)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_that_is_missing_is_answered_with_the_part_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("bin/app");
        let hint = |given: &str| absence_failure(given, &place).hint.unwrap_or_default().to_string();
        let absolute = hint(&place.display().to_string());
        assert!(absolute.contains(&format!("`{}` is there", folder.path().display())), "{absolute}");
        assert!(!absolute.contains("PATH") && hint("bin/app").contains("PATH"));
        assert!(hint("python3 app.py").contains("if it is `python3`"));
    }

    fn elf_of(class: u8, order: u8, machine: u16) -> Vec<u8> {
        let machine = if order == 2 { machine.to_be_bytes() } else { machine.to_le_bytes() };
        [&[0x7f, b'E', b'L', b'F', class, order, 1][..], &[0; 11], &machine, &[0; 44]].concat()
    }

    fn windows_of(machine: u16) -> Vec<u8> {
        let mut header = [&b"MZ"[..], &[0; 58], &[0x40, 0, 0, 0], b"PE\0\0"].concat();
        header.extend(machine.to_le_bytes());
        header
    }

    /// With a directory of .NET.
    fn managed(magic: u16, directories: usize) -> Vec<u8> {
        let mut header = windows_of(0x14c);
        header.extend([&[0; 18][..], &magic.to_le_bytes()].concat());
        header.resize(header.len() - 2 + directories + 14 * 8, 0);
        header.extend([8, 0, 0, 0]);
        header
    }

    #[test]
    fn programs_of_other_machines_and_systems_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        let refusal = |header: &[u8], support: HostSupport| {
            std::fs::write(&file, header).unwrap();
            refuse_foreign(&file, support).err().map(|failure| failure.message)
        };
        for (header, words) in [
            (elf_of(2, 1, 183), "a Linux program for 64-bit ARM (AArch64), and"),
            (elf_of(1, 1, 40), "a Linux program for 32-bit ARM, and"),
            (elf_of(1, 1, 3), "a Linux program for 32-bit x86, and"),
            (elf_of(2, 2, 22), "a Linux program for S/390, and"),
            (elf_of(1, 1, 62), "a Linux program for x86-64 with 32-bit addresses, and"),
            (elf_of(2, 1, 999), "a Linux program for machine number 999, and"),
            (windows_of(0xaa64), "a Windows program for 64-bit ARM (AArch64), and"),
            (vec![0xcf, 0xfa, 0xed, 0xfe, 12, 0, 0, 1], "a macOS program, and"),
            (vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2], "a macOS program, and"),
        ] {
            let message = refusal(&header, HostSupport::Debuggers).unwrap_or_default();
            assert!(message.contains(words), "{message}");
        }
        for header in [
            &b""[..],
            b"echo hello",
            b"#!/bin/sh\n",
            b"MZ",
            b"\x7fELF",
            b"\xca\xfe\xba\xbe\0\0\0\x34",
            &elf_of(2, 1, 62),
            &managed(0x10b, 96),
            &managed(0x20b, 112),
        ] {
            assert_eq!(refusal(header, HostSupport::Debuggers), None, "{header:?}");
        }
        assert_eq!(refusal(&elf_of(1, 1, 3), HostSupport::Kernel), None);
        assert_eq!(refuse_foreign(Path::new("/no/such"), HostSupport::Debuggers).err(), None);
        assert_eq!(refuse_foreign(&std::env::current_exe().unwrap(), HostSupport::Debuggers).err(), None);
    }

    #[test]
    fn a_script_without_its_interpreter_is_refused_by_the_interpreters_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        let refusal = |text: &str| {
            std::fs::write(&file, text).unwrap();
            refuse_uninterpreted(&file).err().map(|failure| (failure.message, failure.hint))
        };
        for (text, words, advice) in [
            ("#! /no/such -x\necho\n", "`/no/such` does not exist", "install"),
            ("#!/bin/sh\r\necho\r\n", "`/bin/sh\\r` does not exist", "CRLF"),
        ] {
            let (message, hint) = refusal(text).unwrap();
            assert!(message.contains(words), "{message}");
            assert!(hint.unwrap_or_default().contains(advice), "{message}");
        }
        std::fs::write(&file, "#! /usr/bin/env\t-S  sh -e\r\necho\n").unwrap();
        assert_eq!(script_words(&file).unwrap(), ["/usr/bin/env", "-S", "sh", "-e\r"]);
        for other in ["#!/bin/sh -e\n", "#!/bin/sh", "#!\n", "#!relative\n", "", "echo\n"] {
            assert_eq!(refusal(other), None, "{other:?}");
        }
        assert_eq!(refuse_uninterpreted(folder.path()).err(), None);
    }

    #[test]
    fn emulated_formats_are_recognized_by_their_magic() {
        let entry = |head: &str| {
            format!(
                "{head}\ninterpreter /usr/bin/qemu-aarch64\nflags: OC\noffset 0\nmagic 7f454c4602010100\n\
                    mask ffffffffffffff00\n"
            )
        };
        assert!(fits(&entry("enabled"), &elf_of(2, 1, 183)));
        assert!(!fits(&entry("disabled"), &elf_of(2, 1, 183)));
        assert!(!fits(&entry("enabled"), &elf_of(1, 1, 40)));
        assert!(!fits(&entry("enabled"), b"\x7fELF"));
        for strange in ["", "enabled", "enabled\nmagic zz", "enabled\nmagic 7f4", "enabled\nmagic é"] {
            assert!(!fits(strange, &elf_of(2, 1, 183)), "{strange}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_header_is_too_strange(mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(),
            0..100)) {
            elf(&bytes, HostSupport::Debuggers);
            macos(&bytes);
            for (at, magic) in b"MZ".iter().enumerate() {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *magic;
                }
            }
            windows(&bytes);
        }
    }
}
