//! Local paths of sources that a program was built from, or runs from, elsewhere: one attribute for all
//! engines, in the spellings of several debuggers, so that a configuration of another debugger keeps its
//! meaning.
//!
//! Not here: what an engine makes of it.

use dap_wire::Failure;
use serde_json::Value;

/// Path prefixes: as the program has them, and what replaces them here.
pub type PathMap = Vec<(String, String)>;

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
                // cppdbg has objects that say whether breakpoints use the path, too.
                let path = |here: &Value| here.as_str().or(here["editorPath"].as_str()).map(str::to_owned);
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
    if let (Some(here), Some(there)) = (attributes["localRoot"].as_str(), attributes["remoteRoot"].as_str()) {
        map.push((there.to_owned(), here.to_owned()));
    }
    map.truncate(MAX_ENTRIES);
    Ok(map)
}

fn pair(key: &str, item: &Value) -> Option<(String, String)> {
    let (there, here) = match key {
        "pathMappings" => (&item["remoteRoot"], &item["localRoot"]),
        "substitutePath" => (&item["to"], &item["from"]),
        "sourceMap" | "sourceFileMap" => (&item[0], &item[1]),
        _ => return None,
    };
    Some((there.as_str()?.to_owned(), here.as_str()?.to_owned()))
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
