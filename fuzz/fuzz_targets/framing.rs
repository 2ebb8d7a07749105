//! Any bytes are what a client or an adapter writes on its connection, in any pieces. Reading them neither panics nor hangs, and what was
//! read is the same however it was cut.
#![no_main]

use bytes::BytesMut;
use tandem_wire::codec::DapCodec;
use tokio_util::codec::{Decoder, Encoder};

/// The messages read from these bytes, whole ones written again; until the framing breaks.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Option<Vec<u8>>>, bool) {
    let (mut codec, mut buffer, mut found) = (DapCodec::default(), BytesMut::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match codec.decode(&mut buffer) {
                Ok(Some(Ok(message))) => {
                    let mut written = BytesMut::new();
                    DapCodec::default().encode(&message, &mut written).expect("what was read can be written");
                    found.push(Some(written.to_vec()));
                }
                Ok(Some(Err(_))) => found.push(None),
                Ok(None) => break,
                Err(_) => return (found, true),
            }
        }
    }
    (found, false)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let size = usize::from(bytes.first().copied().unwrap_or(0) % 40) + 1;
    let (whole, broken) = read(std::iter::once(bytes));
    let (cut, cut_broken) = read(bytes.chunks(size));
    // A broken header may be noticed earlier in the whole.
    assert!(whole == cut || (broken && cut_broken));
});
