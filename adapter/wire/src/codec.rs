//! `Content-Length` frames, DAP "Base Protocol": bytes to messages and back.
//!
//! Lenient where adapters differ (header case, further headers, a stray line break before a header), strict
//! for protection: sizes are bounded, and a browser that was tricked into connecting is refused.
//!
//! Not here: the fields of a message ([`crate::message`]).

use bytes::{Buf, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

use crate::fast_path;
use crate::lenient;
use crate::message::{Message, MessageError};

/// Maximum size of a body, in bytes. A memory read or a big `variables` response stays far below.
pub const MAX_BODY: usize = 64 * 1024 * 1024;
/// Maximum size of a header block, in bytes.
pub const MAX_HEADER: usize = 8 * 1024;

/// Maximum capacity that is kept for the next body, in bytes.
const MAX_KEPT_BODY_LEN: usize = 256 * 1024;

/// An error in the framing. The next message cannot be found, so the connection ends.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Reading or writing failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The header does not end within [`MAX_HEADER`].
    #[error("the header is longer than {MAX_HEADER} bytes")]
    HeaderTooLong,
    /// The header has no usable length.
    #[error("the header has no usable `Content-Length`: `{0}`")]
    NoLength(String),
    /// The body exceeds [`MAX_BODY`].
    #[error("a message of {0} bytes is announced; the limit is {MAX_BODY}")]
    BodyTooLong(u64),
    /// The other side is a browser or another HTTP client.
    #[error("this is HTTP, not DAP; connections from browsers are refused")]
    Http,
    /// The other side closed the connection in the middle of a message.
    #[error("the connection ended inside a message")]
    Truncated,
}

impl FrameError {
    /// Whether the other side violated the protocol. A process that was killed has not: its socket is reset
    /// if it left bytes unread, and its last message may be truncated.
    pub const fn breaks_protocol(&self) -> bool {
        !matches!(self, Self::Io(_) | Self::Truncated)
    }
}

/// Frames of both directions. A frame whose body is not a DAP message is also an item, because only
/// that message is lost.
#[derive(Debug, Default)]
pub struct DapCodec {
    body_length: Option<usize>,
    /// Buffer for the body that is encoded: its length must be written before it.
    body: Vec<u8>,
}

impl Decoder for DapCodec {
    type Item = Result<Message, MessageError>;
    type Error = FrameError;

    fn decode(&mut self, source: &mut BytesMut) -> Result<Option<Self::Item>, FrameError> {
        let length = match self.body_length {
            Some(length) => length,
            None => match take_header(source)? {
                Some(length) => length,
                None => return Ok(None),
            },
        };
        if source.len() < length {
            self.body_length = Some(length);
            source.reserve((length - source.len()).min(1024 * 1024));
            return Ok(None);
        }
        self.body_length = None;
        let body = source.split_to(length);
        Ok(Some(parse(&body)))
    }

    fn decode_eof(&mut self, source: &mut BytesMut) -> Result<Option<Self::Item>, FrameError> {
        match self.decode(source)? {
            Some(item) => Ok(Some(item)),
            None if source.is_empty() && self.body_length.is_none() => Ok(None),
            None => Err(FrameError::Truncated),
        }
    }
}

fn parse(body: &[u8]) -> Result<Message, MessageError> {
    if let Some(message) = fast_path::read(body) {
        return Ok(message);
    }
    match lenient::parse(body) {
        Ok(value) => Message::from_value(value),
        Err(error) => Err(MessageError::of(body, format!("the body cannot be read as JSON: {error}"))),
    }
}

/// Removes a whole header block and returns the length of the body; `None` if more bytes are needed.
fn take_header(source: &mut BytesMut) -> Result<Option<usize>, FrameError> {
    while matches!(source.first(), Some(b'\r' | b'\n')) {
        source.advance(1);
    }
    if [&b"GET "[..], b"POST", b"PUT ", b"HEAD", b"OPTI", b"CONN"].iter().any(|verb| source.starts_with(verb))
    {
        return Err(FrameError::Http);
    }
    let Some(end) = source.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if source.len() > MAX_HEADER { Err(FrameError::HeaderTooLong) } else { Ok(None) };
    };
    if end > MAX_HEADER {
        return Err(FrameError::HeaderTooLong);
    }
    let header = source.split_to(end + 4);
    let text = String::from_utf8_lossy(&header);
    let mut length = None;
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.trim().eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<u64>().map_err(|_| FrameError::NoLength(line.to_owned()))?);
        } else if name.trim().eq_ignore_ascii_case("origin") {
            return Err(FrameError::Http);
        }
    }
    let length = length.ok_or_else(|| {
        FrameError::NoLength(text.lines().next().unwrap_or_default().chars().take(80).collect())
    })?;
    match usize::try_from(length) {
        Ok(fits) if fits <= MAX_BODY => Ok(Some(fits)),
        _ => Err(FrameError::BodyTooLong(length)),
    }
}

impl Encoder<&Message> for DapCodec {
    type Error = FrameError;

    fn encode(&mut self, message: &Message, target: &mut BytesMut) -> Result<(), FrameError> {
        self.body.clear();
        serde_json::to_writer(&mut self.body, message).map_err(std::io::Error::from)?;
        target.reserve(self.body.len() + 32);
        target.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        target.extend_from_slice(&self.body);
        // A big body must not keep its memory for the rest of the connection.
        self.body.shrink_to(MAX_KEPT_BODY_LEN);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::message::{Event, Request};

    fn frames(messages: &[Message]) -> BytesMut {
        let mut bytes = BytesMut::new();
        for message in messages {
            DapCodec::default().encode(message, &mut bytes).unwrap();
        }
        bytes
    }

    fn decode_in_pieces(bytes: &[u8], pieces: &[usize]) -> Vec<Result<Message, MessageError>> {
        let (mut codec, mut buffer, mut found, mut rest) =
            (DapCodec::default(), BytesMut::new(), Vec::new(), bytes);
        for size in pieces.iter().copied().chain(std::iter::once(usize::MAX)) {
            let (now, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            buffer.extend_from_slice(now);
            while let Some(item) = codec.decode(&mut buffer).unwrap() {
                found.push(item);
            }
        }
        found
    }

    proptest! {
        #[test]
        fn any_split_of_a_stream_decodes_alike(pieces in proptest::collection::vec(0usize..40, 0..30)) {
            let messages = [
                Message::Request(Request { seq: 1, command: "x".into(), arguments: json!({"é": [1, 2.5]}) }),
                Message::Event(Event { seq: 2, event: "unheardOf".into(),
                    body: json!({"deep": {"er": null}}) }),
            ];
            let found = decode_in_pieces(&frames(&messages), &pieces);
            prop_assert_eq!(found, messages.map(Ok).to_vec());
        }
    }

    #[test]
    fn headers_are_read_leniently() {
        let bytes = b"\r\ncontent-length:  31\r\nX-More: yes\r\n\r\n{\"type\":\"event\",\"event\":\"here\"}";
        let found = decode_in_pieces(bytes, &[]);
        assert_eq!(found, vec![Ok(Message::Event(Event::new("here", serde_json::Value::Null)))]);
    }

    #[test]
    fn a_body_that_is_not_a_message_loses_only_itself() {
        let mut bytes = b"Content-Length: 3\r\n\r\n{x}Content-Length: 9\r\n\r\n{\"seq\":4}".to_vec();
        bytes.extend_from_slice(&frames(&[Message::Event(Event::new("after", json!({})))]));
        let found = decode_in_pieces(&bytes, &[]);
        assert!(found[0].is_err());
        assert_eq!(found[1].as_ref().unwrap_err().seq, Some(4));
        assert!(found[2].is_ok());
    }

    #[test]
    fn the_sender_of_a_message_that_cannot_be_parsed_gets_an_answer() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for arguments in [r#"{"expression":1e999}"#, &deep, "{x}"] {
            let body =
                format!(r#"{{"seq":50,"type":"request","command":"evaluate","arguments":{arguments}}}"#);
            let error = parse(body.as_bytes()).unwrap_err();
            assert_eq!((error.seq, error.command.as_deref()), (Some(50), Some("evaluate")), "{error}");
            let body = format!(
                r#"{{"seq":50,"type":"response","request_seq":7,"success":true,"body":{arguments}}}"#
            );
            let error = parse(body.as_bytes()).unwrap_err();
            assert_eq!((error.seq, error.answers), (None, Some(7)), "{error}");
        }
        let surrogate =
            br#"{"seq":50,"type":"request","command":"evaluate","arguments":{"expression":"\ud83d"}}"#;
        let Message::Request(request) = parse(surrogate).unwrap() else { panic!("no request") };
        assert_eq!(request.arguments["expression"], "\\ud83d");
    }

    #[test]
    fn a_browser_a_giant_and_a_missing_length_end_the_connection() {
        for (bytes, part) in [
            (&b"GET / HTTP/1.1\r\n"[..], "HTTP"),
            (b"Content-Length: 2\r\nOrigin: http://x\r\n\r\n{}", "HTTP"),
            (b"Content-Length: 99999999999999\r\n\r\n", "limit"),
            (b"Content-Size: 2\r\n\r\n{}", "Content-Length"),
            (b"Content-Length: -2\r\n\r\n{}", "Content-Length"),
        ] {
            let error = DapCodec::default().decode(&mut BytesMut::from(bytes)).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        let mut endless = BytesMut::from(&vec![b'a'; MAX_HEADER + 1][..]);
        assert!(matches!(DapCodec::default().decode(&mut endless), Err(FrameError::HeaderTooLong)));
    }
}
