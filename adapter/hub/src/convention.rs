//! A client's convention for lines, columns and paths. The hub and the engines count from 1 and use
//! native paths; a client that does the same (most do) costs nothing here.
//!
//! Not here: ids ([`super::ids`]).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::InitializeRequestArguments;

/// DAP `InitializeRequestArguments`: `linesStartAt1`, `columnsStartAt1`, `pathFormat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientConventions {
    lines_start_at: i64,
    columns_start_at: i64,
    uris: bool,
}

impl Default for ClientConventions {
    fn default() -> Self {
        Self { lines_start_at: 1, columns_start_at: 1, uris: false }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    ToClient,
    ToHub,
}

impl ClientConventions {
    /// As in `initialize`; absent means 1, 1 and `path`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for an unknown path format.
    pub fn from_initialize(arguments: &InitializeRequestArguments) -> Result<Self, Failure> {
        let start = |flag: Option<bool>| i64::from(flag.unwrap_or(true));
        let uris = match arguments.path_format.as_deref() {
            None | Some("path") => false,
            Some("uri") => true,
            Some(other) => {
                return Err(Failure::invalid(format!(
                    "`pathFormat` is `{other}`; it must be `path` or `uri`"
                )));
            }
        };
        Ok(Self {
            lines_start_at: start(arguments.lines_start_at1),
            columns_start_at: start(arguments.columns_start_at1),
            uris,
        })
    }

    fn is_default(self) -> bool {
        self == Self::default()
    }

    /// Rewrites a body or event for this client.
    pub fn to_client(self, body: &mut Value) {
        if !self.is_default() {
            self.walk(body, Direction::ToClient);
        }
    }

    /// Rewrites a client's arguments for the hub and the engine.
    pub fn to_hub(self, arguments: &mut Value) {
        if !self.is_default() {
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
        // 0 means "no line" here (DAP: frames without a source have line 0).
        *value = match direction {
            Direction::ToClient => (number - 1 + start).max(0).into(),
            Direction::ToHub => number.saturating_add(1 - start).into(),
        };
    }
}

/// Characters that a `file:` URI (RFC 8089) leaves unescaped: RFC 3986's unreserved characters, and the
/// slashes between folders.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn respell(value: &mut Value, direction: Direction) {
    let Some(text) = value.as_str() else { return };
    *value = match direction {
        Direction::ToClient if text.starts_with('/') => {
            format!("file://{}", utf8_percent_encode(text, IN_PATH)).into()
        }
        Direction::ToHub => match text.strip_prefix("file://") {
            Some(rest) => percent_decode_str(rest).decode_utf8_lossy().into(),
            None => return,
        },
        Direction::ToClient => return,
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::types;

    use super::*;

    #[test]
    fn a_client_that_counts_from_zero_and_uses_uris_gets_its_own_view_back() {
        let zero = json!({"linesStartAt1": false, "columnsStartAt1": false, "pathFormat": "uri"});
        let zero = ClientConventions::from_initialize(&types::read(&zero)).unwrap();
        let ours = json!({"source": {"path": "/a b/ü.cs"}, "line": 7, "column": 1});
        let mut theirs = ours.clone();
        zero.to_client(&mut theirs);
        assert_eq!(theirs, json!({"source": {"path": "file:///a%20b/%C3%BC.cs"}, "line": 6, "column": 0}));
        zero.to_hub(&mut theirs);
        assert_eq!(theirs, ours);
    }

    #[test]
    fn escapes_that_are_none_stay_as_they_are() {
        for (uri, path) in [
            ("file:///a%20b", "/a b"),
            ("file:///100%", "/100%"),
            ("file:///a%zz", "/a%zz"),
            ("/a%20b", "/a%20b"),
        ] {
            let mut value = json!(uri);
            respell(&mut value, Direction::ToHub);
            assert_eq!(value, path);
        }
    }

    #[test]
    fn an_unknown_path_format_is_refused() {
        assert!(ClientConventions::from_initialize(&types::read(&json!({"pathFormat": "dos"}))).is_err());
    }
}
