//! The kind of an executable, by the sections of its ELF file: with debug information, or compiled from
//! managed code. Chooses no engine (`engines/detect.rs` of `tandem-dap`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The section in which NativeAOT, .NET's compiler ahead of time, puts managed code; stripped or not.
pub const MANAGED_CODE: &str = "__managedcode";
/// Debug information; compressed in the second.
pub const DWARF: [&str; 2] = [".debug_info", ".zdebug_info"];

/// Whether a section of this name is among those of [`section_names`].
pub fn has(names: &[u8], name: &str) -> bool {
    names.split(|byte| *byte == 0).any(|section| section == name.as_bytes())
}

/// Whether an executable is a .NET program without a .NET runtime: compiled ahead of time, by NativeAOT.
pub fn is_native_dotnet(path: &Path) -> bool {
    File::open(path).ok().and_then(|file| section_names(&file)).is_some_and(|names| has(&names, MANAGED_CODE))
}

/// Remark about a .NET program that the native debugger `engine` debugs; `None` for any other program.
pub fn remark_on_native_dotnet(path: &Path, engine: &str) -> Option<String> {
    let names = section_names(&File::open(path).ok()?)?;
    has(&names, MANAGED_CODE).then_some(())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Its linker puts them into a separate file, which debuggers look for beside the program.
    let symbols = PathBuf::from(format!("{}.dbg", path.display()));
    let missing = match DWARF.iter().any(|name| has(&names, name)) || symbols.is_file() {
        true => String::new(),
        false => format!(" It has no symbols: keep `{name}.dbg`, which `dotnet publish` makes, beside it."),
    };
    Some(format!(
        "{name} was compiled ahead of time (NativeAOT): it has no .NET runtime, and {engine} debugs it as \
            native code.{missing}"
    ))
}

/// The section header string table of a 64-bit little-endian ELF file (ELF-64 Object File Format 1.5,
/// "Sections"): names, each ended by a zero byte.
pub fn section_names(file: &File) -> Option<Vec<u8>> {
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

    proptest::proptest! {
        #[test]
        fn no_file_is_too_strange_to_look_at(
            mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
        ) {
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
