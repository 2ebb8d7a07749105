//! Reads a file that another program wrote: never more than the limit, and never waiting for a pipe or a
//! device.
//!
//! Not here: the check that the file may be read, which is the caller's.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// A whole regular file of at most `limit` bytes.
///
/// # Errors
/// `NotFound` and the system's other errors; `InvalidInput` for what is not a regular file; `FileTooLarge`.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe without a writer would wait; NONBLOCK opens it, and the check below refuses it.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"));
    if metadata.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    // It may have grown since.
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_sensible_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (text, pipe, huge) = (folder.path().join("a"), folder.path().join("p"), folder.path().join("h"));
        std::fs::write(&text, "abc").unwrap();
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        std::fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&text, 3).unwrap(), b"abc");
        assert_eq!(read(&text, 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&huge, 1 << 20).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert_eq!(read(path, 9).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
        assert_eq!(read(&folder.path().join("none"), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
