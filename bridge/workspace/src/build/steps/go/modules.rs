//! Modules of Go and their folders: that of a project, and those of its workspace (`go.work`).
//!
//! Not here: the commands ([`super`]), modules that Go downloads.

use std::path::{Path, PathBuf};

use crate::bounded;

/// A larger `go.mod` or `go.work` is not read.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// All packages below the working directory.
const ALL_PACKAGES: &str = "./...";

/// The modules of a project, whose packages its folder has or uses.
#[derive(Debug, Default)]
pub struct GoModules {
    /// The folder of the project, for packages of other modules.
    folder: PathBuf,
    /// The path and the folder of each module.
    modules: Vec<(String, PathBuf)>,
}

impl GoModules {
    /// The modules of the project in a folder.
    pub fn of(folder: &Path) -> Self {
        let own = folder.ancestors().find_map(|above| Some((module_in(above)?, above.to_owned())));
        let workspace = folder.ancestors().find(|above| above.join("go.work").is_file());
        let used = workspace.map(used_folders).unwrap_or_default();
        let used = used.into_iter().filter_map(|folder| Some((module_in(&folder)?, folder)));
        Self { folder: folder.to_owned(), modules: own.into_iter().chain(used).collect() }
    }

    /// The folder of a package, by its path. That of the project, if no module here has the package.
    pub fn folder_of(&self, package: &str) -> PathBuf {
        let below = |(module, folder): &(String, PathBuf)| {
            let rest = package.strip_prefix(module.as_str())?;
            let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
            Some((module.len(), folder.join(rest)))
        };
        let found = self.modules.iter().filter_map(below).max_by_key(|(length, _)| *length);
        found.map_or_else(|| self.folder.clone(), |(_, folder)| folder)
    }
}

/// The patterns of all packages of a project: those below its folder, or, in a workspace that is not a module
/// itself, those of its modules.
pub fn go_packages(folder: &Path) -> Vec<String> {
    let is_module = folder.join("go.mod").is_file();
    let used = if is_module { Vec::new() } else { used_folders(folder) };
    let pattern = |used: &PathBuf| match used.strip_prefix(folder) {
        Ok(rest) if rest.as_os_str().is_empty() => ALL_PACKAGES.to_owned(),
        Ok(rest) => format!("./{}/...", rest.display()),
        Err(_) => format!("{}/...", used.display()),
    };
    let patterns: Vec<String> = used.iter().map(pattern).collect();
    if patterns.is_empty() { vec![ALL_PACKAGES.to_owned()] } else { patterns }
}

/// The path of the module that a folder has a `go.mod` for.
fn module_in(folder: &Path) -> Option<String> {
    let text = bounded::read(&folder.join("go.mod"), MAX_MANIFEST_BYTES).ok()?;
    let text = String::from_utf8_lossy(&text);
    let named = text.lines().find_map(|line| words(line).strip_prefix("module"))?;
    named.starts_with([' ', '\t', '"', '`']).then(|| unquoted(named).to_owned())
}

/// The folders that the `go.work` of a folder uses.
fn used_folders(folder: &Path) -> Vec<PathBuf> {
    let text = bounded::read(&folder.join("go.work"), MAX_MANIFEST_BYTES).unwrap_or_default();
    let mut used = Vec::new();
    let mut is_block = false;
    for line in String::from_utf8_lossy(&text).lines().map(words) {
        let path = match line.strip_prefix("use").filter(|rest| rest.starts_with([' ', '\t', '(', '"'])) {
            Some(rest) if rest.trim_start().starts_with('(') => {
                is_block = true;
                continue;
            }
            Some(rest) => rest,
            None if line == ")" => {
                is_block = false;
                continue;
            }
            None if is_block && !line.is_empty() => line,
            None => continue,
        };
        let path = unquoted(path);
        used.push(folder.join(path.trim_start_matches("./").trim_end_matches('/')));
    }
    used
}

/// A line without its comment.
fn words(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_a_workspace_have_the_folders_of_their_modules() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for (name, text) in [
            ("go.work", "go 1.22\n\nuse ./cart // first\nuse (\n\t\"./cart/deep\"\n\t./shop/\n)\n"),
            ("cart/go.mod", "module example.com/cart // the cart\n"),
            ("cart/deep/go.mod", "// moved\nmodule \"example.com/cart/deep\"\n"),
            ("shop/go.mod", "go 1.22\nmodule\texample.com/shop\n"),
        ] {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        assert_eq!(go_packages(folder), ["./cart/...", "./cart/deep/...", "./shop/..."]);
        assert_eq!(go_packages(&folder.join("cart")), ["./..."]);
        for modules in [GoModules::of(folder), GoModules::of(&folder.join("cart"))] {
            for (package, below) in [
                ("example.com/cart", "cart"),
                ("example.com/cart/sub/x", "cart/sub/x"),
                ("example.com/cart/deep/y", "cart/deep/y"),
                ("example.com/shop/z", "shop/z"),
            ] {
                assert_eq!(modules.folder_of(package), folder.join(below), "{package}");
            }
        }
        assert_eq!(GoModules::of(folder).folder_of("example.com/shopping"), folder);
    }

    #[test]
    fn a_workspace_may_use_its_own_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("go.work"), "use .\n").unwrap();
        assert_eq!(used_folders(folder.path()), [folder.path()]);
    }
}
