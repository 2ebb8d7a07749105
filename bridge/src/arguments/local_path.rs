//! Paths as agents write them: also with `~` for the user's home, as in a shell, and as `file://` URIs, as
//! editors and language servers name files. Knows the arguments that are paths; reads no file.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The arguments that are paths, lists of paths, or map names to paths.
pub(super) const NAMES: [&str; 25] = [
    "appDllPath",
    "coreFile",
    "cwd",
    "dllPath",
    "enginePath",
    "envFile",
    "file",
    "files",
    "localRoot",
    "outFiles",
    "path",
    "pathMappings",
    "program",
    "projectPath",
    "python",
    "repositoryPath",
    "runsettings",
    "runtimeExecutable",
    "settings",
    "solution",
    "sourceFile",
    "sourceFileMap",
    "stdio",
    "symbolPaths",
    "workingDirectory",
];

/// The value of an argument that is a path, with the paths in it in the form that the system reads.
pub(super) fn expand_all(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(path) = expand(text, std::env::var_os("HOME")) {
                *text = path;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(expand_all),
        Value::Object(fields) => fields.values_mut().for_each(expand_all),
        _ => {}
    }
}

/// The path that begins with `~` or is a `file://` URI; `None` for any other text.
fn expand(text: &str, home: Option<OsString>) -> Option<String> {
    if let Some(rest) = text.strip_prefix('~') {
        let home = home.filter(|home| Path::new(home).is_absolute())?;
        let is_own = rest.is_empty() || rest.starts_with('/');
        return is_own.then(|| format!("{}{rest}", home.to_str().unwrap_or("~")));
    }
    let rest = text.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let decoded = path.starts_with('/').then(|| percent_decode_str(path).decode_utf8().ok()).flatten();
    decoded.map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::GROUPS;

    /// Ends of the names of arguments that are paths.
    const ENDS: [&str; 8] = ["path", "Path", "File", "Directory", "Folder", "cwd", "program", "files"];

    #[test]
    fn home_and_uris_of_files_become_paths() {
        let expand = |text| expand(text, Some("/home/me".into()));
        for (text, path) in [
            ("~", "/home/me"),
            ("~/a b/c.py", "/home/me/a b/c.py"),
            ("file:///a%20b/c%23.cs", "/a b/c#.cs"),
            ("file://localhost/a/100%", "/a/100%"),
            ("file:///%C3%A4.py", "/ä.py"),
        ] {
            assert_eq!(expand(text).as_deref(), Some(path), "{text}");
        }
        for text in ["a/~", "~root/x", "~x", "file:a", "file://host/a", "file:///%ff", "http://a/b", ""] {
            assert_eq!(expand(text), None, "{text}");
        }
        assert_eq!(super::expand("~/a", None), None);
    }

    #[test]
    fn paths_in_lists_and_maps_are_expanded_too() {
        let mut value = json!({ "/build": "file:///src", "list": ["file:///a", 1] });
        expand_all(&mut value);
        assert_eq!(value, json!({ "/build": "/src", "list": ["/a", 1] }));
    }

    #[test]
    fn every_argument_whose_name_says_path_is_one() {
        for tool in GROUPS.iter().flat_map(|group| group.tools) {
            let schema = (tool.input)();
            let paths = schema.names().filter(|name| ENDS.iter().any(|end| name.ends_with(end)));
            for name in paths {
                assert!(NAMES.contains(&name), "{}: {name}", tool.name);
            }
        }
    }
}
