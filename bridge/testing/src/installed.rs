//! Installed packages: virtual environments, `node_modules` and bundles are often below a project's folder,
//! and their code is not the user's.

/// Folders of installed packages of Python, Node and Ruby.
const FOLDERS: [&str; 4] = ["/site-packages/", "/dist-packages/", "/node_modules/", "/gems/"];

/// Whether a path, or a line with one, is in an installed package.
pub(crate) fn is_in_package(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.contains(folder))
}
