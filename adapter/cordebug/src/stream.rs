//! IStream, in which the runtime passes symbols. It can only be read to its end. Its vtable in `raw` ends
//! with the last method that is called.

use crate::Result;
use crate::com::{ComPtr, call};
use crate::raw::IStream;

/// Maximum size of a stream that is read, in bytes.
const MAX_STREAM_LEN: usize = 256 * 1024 * 1024;
/// Number of bytes that one call reads.
const READ_LEN: usize = 64 * 1024;
/// STREAM_SEEK: STREAM_SEEK_SET.
const FROM_START: u32 = 0;

/// A stream of the debugging library.
pub struct ComStream(pub(crate) ComPtr<IStream>);

impl ComStream {
    /// Reads the whole stream, without bytes after the first 256 MiB.
    ///
    /// # Errors
    /// From `IStream::Seek` or `IStream::Read`.
    pub fn read(&self) -> Result<Vec<u8>> {
        call!(self.0, IStream.Seek(0, FROM_START, core::ptr::null_mut()))?;
        let (mut bytes, mut piece) = (Vec::new(), vec![0u8; READ_LEN]);
        while bytes.len() < MAX_STREAM_LEN {
            let mut got = 0;
            call!(self.0, IStream.Read(piece.as_mut_ptr().cast(), READ_LEN as u32, &raw mut got))?;
            match piece.get(..got as usize) {
                Some(read) if !read.is_empty() => bytes.extend_from_slice(read),
                _ => break,
            }
        }
        Ok(bytes)
    }
}
