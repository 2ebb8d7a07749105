//! Local paths of sources that a program was built from, or runs from, elsewhere: one attribute for all
//! engines, in the spellings of several debuggers, so that a configuration of another debugger keeps its
//! meaning.
//!
//! Not here: what an engine makes of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::Failure;

/// Path prefixes: as the program has them, and what replaces them here.
pub type PathMap = Vec<(String, String)>;

/// An entry of `pathMappings`, in the spelling of debugpy. vscode-js-debug takes one such pair.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootMapping {
    /// The folder on this machine.
    pub local_root: String,
    /// The same folder, as the program names it.
    pub remote_root: String,
}

/// An entry of `substitutePath`, in the spelling of Delve.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSubstitution {
    /// The folder on this machine.
    pub from: String,
    /// The same folder, as the program names it.
    pub to: String,
}

/// A path here, as an object of `sourceFileMap` may spell it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum EditorPath {
    Path(String),
    // cppdbg's objects say whether breakpoints use the path, too.
    Object {
        #[serde(rename = "editorPath")]
        path: String,
    },
}

/// Maximum number of entries read.
const MAX_ENTRIES: usize = 100;

/// The attributes that say it.
pub const SPELLINGS: [&str; 4] = ["sourceFileMap", "pathMappings", "substitutePath", "sourceMap"];

/// Reads `sourceFileMap` (`{ there: here }`), `pathMappings` (`[{ localRoot, remoteRoot }]`),
/// `substitutePath` (`[{ from: here, to: there }]`), `sourceMap` (`[[there, here]]` or `{ there: here }`),
/// and `localRoot` with `remoteRoot`.
///
/// # Errors
/// `INVALID_PARAMETER` naming the attribute.
pub fn read(attributes: &Value) -> Result<PathMap, Failure> {
    let mut map = PathMap::new();
    for key in SPELLINGS {
        let given = &attributes[key];
        let found = match (key, given) {
            (_, Value::Null) => continue,
            // A mapping without a path is an adapter's own attribute (`sourceMap: true`).
            ("sourceMap", Value::Bool(_) | Value::String(_)) => continue,
            (_, Value::Object(pairs)) if matches!(key, "sourceFileMap" | "sourceMap") => {
                let path = |here: &Value| match EditorPath::deserialize(here).ok()? {
                    EditorPath::Path(path) | EditorPath::Object { path } => Some(path),
                };
                pairs.iter().map(|(there, here)| Some((there.clone(), path(here)?))).collect()
            }
            (_, Value::Array(list)) => list.iter().map(|item| pair(key, item)).collect(),
            _ => None,
        };
        let found: PathMap = found.ok_or_else(|| {
            Failure::invalid(format!("`{key}` must map paths to paths, not {given}"))
                .hint("`sourceFileMap` is `{ \"path in the program\": \"path here\" }`")
        })?;
        map.extend(found.into_iter().take(MAX_ENTRIES));
    }
    if let Ok(RootMapping { local_root, remote_root }) = RootMapping::deserialize(attributes) {
        map.push((remote_root, local_root));
    }
    map.truncate(MAX_ENTRIES);
    Ok(map)
}

fn pair(key: &str, item: &Value) -> Option<(String, String)> {
    match key {
        "pathMappings" => {
            let RootMapping { local_root, remote_root } = RootMapping::deserialize(item).ok()?;
            Some((remote_root, local_root))
        }
        "substitutePath" => {
            let PathSubstitution { from, to } = PathSubstitution::deserialize(item).ok()?;
            Some((to, from))
        }
        "sourceMap" | "sourceFileMap" => Some((item[0].as_str()?.to_owned(), item[1].as_str()?.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_spelling_means_the_same() {
        for attributes in [
            json!({ "sourceFileMap": { "/there": "/here" } }),
            json!({ "sourceFileMap": { "/there": { "editorPath": "/here", "useForBreakpoints": true } } }),
            json!({ "pathMappings": [{ "localRoot": "/here", "remoteRoot": "/there" }] }),
            json!({ "substitutePath": [{ "from": "/here", "to": "/there" }] }),
            json!({ "sourceMap": [["/there", "/here"]] }),
            json!({ "sourceMap": { "/there": "/here" } }),
            json!({ "localRoot": "/here", "remoteRoot": "/there" }),
        ] {
            assert_eq!(
                read(&attributes).unwrap(),
                [("/there".to_owned(), "/here".to_owned())],
                "{attributes}"
            );
        }
        assert_eq!(read(&json!({ "localRoot": "/here", "sourceMap": true })).unwrap(), []);
        assert_eq!(read(&Value::Null).unwrap(), []);
    }

    #[test]
    fn invalid_path_map_is_refused_by_name() {
        for (key, value) in [
            ("sourceFileMap", json!("/here")),
            ("pathMappings", json!([{ "localRoot": "/here" }])),
            ("pathMappings", json!({ "/there": "/here" })),
            ("substitutePath", json!([1])),
            ("sourceMap", json!([["/there"]])),
        ] {
            let mut attributes = json!({});
            attributes[key] = value;
            let failure = read(&attributes).unwrap_err();
            assert!(failure.message.contains(&format!("`{key}`")), "{failure}");
        }
    }
}
