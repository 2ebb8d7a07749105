//! IStream, in which the runtime hands over symbols: only how to read one to its end. Its vtable in `raw`
//! ends with the last method that is called.

use crate::Result;
use crate::com::{ComPtr, call};
use crate::raw::IStream;

/// Largest stream that is read, bytes.
const MAX_STREAM_LEN: usize = 256 * 1024 * 1024;
/// Bytes read per call.
const READ_LEN: usize = 64 * 1024;
/// STREAM_SEEK_SET.
const FROM_START: u32 = 0;

/// A stream of the debugging library's.
pub struct ComStream(pub(crate) ComPtr<IStream>);

impl ComStream {
    /// All of it; what is beyond 256 MiB is left out.
    ///
    /// # Errors
    /// From the runtime.
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
