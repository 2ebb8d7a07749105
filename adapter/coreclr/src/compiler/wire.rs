//! The compiler process's protocol: messages of numbers, texts and lists. Not the pipes ([`super::process`]).
//!
//! Numbers are four bytes, little-endian; texts, bytes and lists begin with their length. `helper/Wire.cs` is
//! the other end.

/// A message that is being written.
#[derive(Debug, Default)]
pub(crate) struct HelperMessage(Vec<u8>);

impl HelperMessage {
    /// A message of this kind.
    pub(crate) fn new(kind: u8) -> Self {
        Self(vec![kind])
    }

    pub(crate) fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    pub(crate) fn flag(&mut self, flag: bool) -> &mut Self {
        self.byte(u8::from(flag))
    }

    pub(crate) fn number(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// A list, each item written by `write`.
    pub(crate) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.number(u32::try_from(items.len()).unwrap_or(u32::MAX));
        for item in items {
            write(self, item);
        }
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// A message that is being read. Each part is `None` if the message is too short for it.
#[derive(Debug)]
pub(crate) struct MessageReader<'a>(&'a [u8]);

impl<'a> MessageReader<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(part)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.number()? as usize;
        self.take(count)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub(crate) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()? as usize;
        // Each item has at least a byte.
        (count <= self.0.len()).then_some(())?;
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_message_reads_back_unchanged() {
        let mut message = HelperMessage::new(b'E');
        message.number(7).text("naïve").flag(true).list(&["a", "bc"], |message, text| {
            message.text(text);
        });
        let bytes = message.finish();
        let mut parts = MessageReader::of(&bytes);
        assert_eq!((parts.byte(), parts.number(), parts.text()), (Some(b'E'), Some(7), Some("naïve".into())));
        assert_eq!(parts.byte(), Some(1));
        assert_eq!(parts.list(|parts| parts.text()), Some(vec!["a".into(), "bc".into()]));
        assert_eq!(parts.byte(), None);
    }

    #[test]
    fn truncated_message_or_wrong_length_yields_no_part() {
        assert_eq!(MessageReader::of(&[9, 0, 0, 0, 1]).bytes(), None);
        assert_eq!(MessageReader::of(&[1, 2]).number(), None);
        assert_eq!(MessageReader::of(&[255; 8]).list(|parts| parts.byte()), None);
    }
}
