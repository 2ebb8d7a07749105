//! How a client counts lines and columns and spells paths. The hub and the engines count from 1 and use native
//! paths; a client that asked for the same (most do) costs nothing here.

use dap_wire::Failure;
use serde_json::{Value, json};

/// DAP `InitializeRequestArguments`: `linesStartAt1`, `columnsStartAt1`, `pathFormat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convention {
    lines_start_at: i64,
    columns_start_at: i64,
    uris: bool,
}

impl Default for Convention {
    fn default() -> Self {
        Self { lines_start_at: 1, columns_start_at: 1, uris: false }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    ToClient,
    ToHub,
}

impl Convention {
    /// As `initialize` asks; absent means 1, 1 and `path`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for an unknown path format.
    pub fn from_initialize(arguments: &Value) -> Result<Self, Failure> {
        let start = |key: &str| i64::from(arguments[key].as_bool().unwrap_or(true));
        let uris = match arguments["pathFormat"].as_str() {
            None | Some("path") => false,
            Some("uri") => true,
            Some(other) => {
                return Err(Failure::invalid(format!(
                    "`pathFormat` is `{other}`; it must be `path` or `uri`"
                )));
            }
        };
        Ok(Self { lines_start_at: start("linesStartAt1"), columns_start_at: start("columnsStartAt1"), uris })
    }

    fn is_ours(self) -> bool {
        self == Self::default()
    }

    /// Rewrites a body or event for this client.
    pub fn to_client(self, body: &mut Value) {
        if !self.is_ours() {
            self.walk(body, Direction::ToClient);
        }
    }

    /// Rewrites a client's arguments for the hub and the engine.
    pub fn to_hub(self, arguments: &mut Value) {
        if !self.is_ours() {
            self.walk(arguments, Direction::ToHub);
        }
    }

    fn walk(self, value: &mut Value, direction: Direction) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, direction)),
            Value::Object(object) => {
                for (key, inner) in object.iter_mut() {
                    match key.as_str() {
                        "line" | "endLine" => shift(inner, self.lines_start_at, direction),
                        "column" | "endColumn" => shift(inner, self.columns_start_at, direction),
                        "path" if self.uris => respell(inner, direction),
                        _ => self.walk(inner, direction),
                    }
                }
            }
            _ => {}
        }
    }
}

fn shift(value: &mut Value, start: i64, direction: Direction) {
    if let Some(number) = value.as_i64() {
        // 0 stands for "no line" on our side (DAP: frames without a source have line 0).
        *value = match direction {
            Direction::ToClient => json!((number - 1 + start).max(0)),
            Direction::ToHub => json!(number.saturating_add(1 - start)),
        };
    }
}

/// RFC 8089 `file:` URIs with the escapes of RFC 3986.
fn respell(value: &mut Value, direction: Direction) {
    let Some(text) = value.as_str() else { return };
    *value = match direction {
        Direction::ToClient if text.starts_with('/') => {
            let mut uri = String::from("file://");
            for byte in text.bytes() {
                if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
                    uri.push(char::from(byte));
                } else {
                    uri.push_str(&format!("%{byte:02X}"));
                }
            }
            uri.into()
        }
        Direction::ToHub => match text.strip_prefix("file://") {
            Some(rest) => unescape(rest).into(),
            None => return,
        },
        Direction::ToClient => return,
    };
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escaped {
            Some(value) => {
                bytes.push(value);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_counts_from_zero_and_uses_uris_gets_its_own_view_back() {
        let zero = Convention::from_initialize(
            &json!({"linesStartAt1": false, "columnsStartAt1": false, "pathFormat": "uri"}),
        )
        .unwrap();
        let ours = json!({"source": {"path": "/a b/ü.cs"}, "line": 7, "column": 1});
        let mut theirs = ours.clone();
        zero.to_client(&mut theirs);
        assert_eq!(theirs, json!({"source": {"path": "file:///a%20b/%C3%BC.cs"}, "line": 6, "column": 0}));
        zero.to_hub(&mut theirs);
        assert_eq!(theirs, ours);
    }

    #[test]
    fn an_unknown_path_format_is_refused() {
        assert!(Convention::from_initialize(&json!({"pathFormat": "dos"})).is_err());
    }
}
