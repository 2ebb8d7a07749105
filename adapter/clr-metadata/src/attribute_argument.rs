//! Arguments of custom attributes, from their blobs (II.23.3).
//!
//! Not here: which attributes there are ([`crate::metadata::attributes`]).

use crate::bytes::ByteReader;

/// An argument of a custom attribute (II.23.3). Only types that debugger attributes have are supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeArgument {
    /// A string or the name of a type; `None` for null.
    Text(Option<String>),
    /// A `bool`, `byte`, `int` or enum argument.
    Number(i64),
    /// An array of strings, with `None` for null; empty also for a null array.
    Texts(Vec<Option<String>>),
}

/// Reads the blob of a custom attribute with one fixed argument: a string or type name (`0x0e`), a number of
/// four bytes (`0x08`), or an array of strings (`0x1d`). Named arguments follow it.
pub(crate) fn parse_attribute(
    blob: &[u8],
    first: u8,
) -> Option<(AttributeArgument, Vec<(String, AttributeArgument)>)> {
    let mut reader = ByteReader::new(blob);
    (reader.u16()? == 1).then_some(())?;
    let fixed = parse_argument(&mut reader, first)?;
    let mut named = Vec::new();
    for _ in 0..reader.u16().unwrap_or(0) {
        let mut read = || {
            reader.u8()?;
            let mut kind = reader.u8()?;
            if kind == 0x55 {
                parse_string(&mut reader)?;
                kind = 0x08;
            }
            let name = parse_string(&mut reader)??;
            Some((name, parse_argument(&mut reader, kind)?))
        };
        match read() {
            Some(pair) => named.push(pair),
            None => break,
        }
    }
    Some((fixed, named))
}

fn parse_argument(reader: &mut ByteReader<'_>, kind: u8) -> Option<AttributeArgument> {
    Some(match kind {
        0x0e | 0x50 => AttributeArgument::Text(parse_string(reader)?),
        0x02 | 0x05 => AttributeArgument::Number(i64::from(reader.u8()?)),
        0x08 => AttributeArgument::Number(i64::from(reader.u32()? as i32)),
        0x1d => {
            let count = reader.u32()?;
            let count = if count == u32::MAX { 0 } else { count.min(4096) };
            AttributeArgument::Texts((0..count).map(|_| parse_string(reader)).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// SerString: 0xff is null.
fn parse_string(reader: &mut ByteReader<'_>) -> Option<Option<String>> {
    let mut look = *reader;
    if look.u8()? == 0xff {
        *reader = look;
        return Some(None);
    }
    let length = reader.compressed()? as usize;
    Some(Some(String::from_utf8_lossy(reader.take(length)?).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_with_named_arguments() {
        let mut blob = vec![1, 0, 5];
        blob.extend(b"{X,h}");
        blob.extend([1, 0, 0x54, 0x0e, 4]);
        blob.extend(b"Name");
        blob.extend([1, b'n']);
        assert_eq!(
            parse_attribute(&blob, 0x0e),
            Some((
                AttributeArgument::Text(Some("{X,h}".into())),
                vec![("Name".into(), AttributeArgument::Text(Some("n".into())))]
            ))
        );
        let names = [1, 0, 2, 0, 0, 0, 1, b'a', 0xff, 0, 0];
        assert_eq!(
            parse_attribute(&names, 0x1d),
            Some((AttributeArgument::Texts(vec![Some("a".into()), None]), Vec::new()))
        );
    }
}
