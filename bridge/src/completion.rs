//! Completions for the arguments of prompts and of the resource template.
//!
//! Not here: the prompts and resources ([`crate::prompts`], [`crate::resources`]).

use crate::resources;
use crate::server::Bridge;

/// Maximum number of completions in an answer; MCP allows 100.
const MAX_COMPLETIONS: usize = 100;

/// Returns completions of `typed` for the argument of this name, and whether there are more. Paths are
/// completed only inside the roots.
pub fn complete(bridge: &Bridge, argument: &str, typed: &str) -> (Vec<String>, bool) {
    let mut found = match argument {
        "program" | "project" | "file" => paths(typed, |folder| bridge.may_read(folder)),
        "session" => starting_with(tandem_registry::all().into_iter().map(|entry| entry.id), typed),
        "view" => starting_with(resources::views().map(str::to_owned), typed),
        "processId" => starting_with(processes(), typed),
        _ => Vec::new(),
    };
    let more = found.len() > MAX_COMPLETIONS;
    found.truncate(MAX_COMPLETIONS);
    (found, more)
}

fn starting_with(all: impl Iterator<Item = String>, typed: &str) -> Vec<String> {
    all.filter(|one| one.starts_with(typed)).collect()
}

/// Lists files and folders (with a `/` at the end) whose path begins with `typed`. Hidden ones are listed
/// only if `typed` names a dot.
fn paths(typed: &str, may_read: impl Fn(&str) -> bool) -> Vec<String> {
    let (folder, start) = typed.rsplit_once('/').map_or(("", typed), |(folder, start)| (folder, start));
    let base = match folder {
        "" if typed.starts_with('/') => "/",
        "" => ".",
        folder => folder,
    };
    if !may_read(base) {
        return Vec::new();
    }
    let before = typed.strip_suffix(start).unwrap_or_default();
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            if !name.starts_with(start) || (name.starts_with('.') && !start.starts_with('.')) {
                return None;
            }
            let end = if entry.path().is_dir() { "/" } else { "" };
            Some(format!("{before}{name}{end}"))
        })
        .collect();
    found.sort();
    found
}

/// How many entries of the temporary folder a completion looks at: other programs may fill it.
const MAX_SEARCHED_ENTRIES: usize = 65_536;

/// Processes of this user with a .NET runtime in them.
fn processes() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten();
    let sockets = entries.take(MAX_SEARCHED_ENTRIES).flatten();
    sockets.filter_map(|entry| {
        // The runtime opens this socket for diagnostic tools.
        let name = entry.file_name().into_string().ok()?;
        let pid = name.strip_prefix("dotnet-diagnostic-")?.split('-').next()?.to_owned();
        std::path::Path::new("/proc").join(&pid).exists().then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_complete_the_typed_text() {
        let folder = std::env::temp_dir().join(format!("tandem-completion-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("app")).unwrap();
        for name in ["app.dll", ".hidden", "other"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let base = folder.display();
        let found = paths(&format!("{base}/a"), |_| true);
        let all = paths(&format!("{base}/"), |_| true).len();
        let outside = paths(&format!("{base}/"), |_| false);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [format!("{base}/app.dll"), format!("{base}/app/")]);
        assert_eq!((all, outside.len()), (3, 0));
        assert_eq!(starting_with(resources::views().map(str::to_owned), "t"), ["threads", "timeline"]);
    }
}
