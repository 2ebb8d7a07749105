//! Recognises the framework's modules: they are not user code, and have no useful symbols.

use std::path::{Path, PathBuf};

/// Location of the framework's modules.
#[derive(Default)]
pub(super) enum FrameworkLocation {
    #[default]
    Unknown,
    /// Installed in this folder, with other frameworks next to it.
    Shared(PathBuf),
    /// In the folder of a self-contained program.
    Own(PathBuf),
    /// In the executable, together with the user's modules.
    Inside,
}

impl FrameworkLocation {
    /// By the folder of the runtime.
    pub(super) fn of(runtime: &Path) -> Self {
        // `dotnet/shared/Microsoft.NETCore.App/9.0.1`
        let product = runtime.parent().filter(|product| product.ends_with("shared/Microsoft.NETCore.App"));
        match product.and_then(Path::parent) {
            Some(shared) => Self::Shared(shared.to_path_buf()),
            None => Self::Own(runtime.to_path_buf()),
        }
    }

    /// Whether a module belongs to the framework.
    pub(super) fn has(&self, module: &Path) -> bool {
        match self {
            Self::Unknown => false,
            Self::Shared(folder) => module.starts_with(folder),
            Self::Own(folder) => module.starts_with(folder) && has_framework_name(module),
            Self::Inside => has_framework_name(module),
        }
    }
}

/// Whether a module has a name like the framework's. User code may have such a name, too; then
/// it usually has symbols.
fn has_framework_name(module: &Path) -> bool {
    let name = module.file_name().unwrap_or_default().to_string_lossy();
    let starts = ["System.", "Microsoft.", "mscorlib.", "netstandard.", "WindowsBase."];
    // Of a module in the executable only the name is known, without an extension.
    let fits = |start: &&str| name.starts_with(*start) || name == start.trim_end_matches('.');
    starts.iter().any(fits) && !module.with_extension("pdb").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_framework_includes_its_neighbours() {
        let framework = FrameworkLocation::of(Path::new("/usr/dotnet/shared/Microsoft.NETCore.App/9.0.1"));
        for (module, is_its) in [
            ("/usr/dotnet/shared/Microsoft.NETCore.App/9.0.1/System.Runtime.dll", true),
            ("/usr/dotnet/shared/Microsoft.AspNetCore.App/9.0.1/Microsoft.AspNetCore.dll", true),
            ("/home/me/app/System.Mine.dll", false),
            ("app", false),
        ] {
            assert_eq!(framework.has(Path::new(module)), is_its, "{module}");
        }
    }

    #[test]
    fn self_contained_framework_is_recognised_by_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let framework = FrameworkLocation::of(folder.path());
        std::fs::write(folder.path().join("System.Mine.pdb"), "").unwrap();
        for (module, is_its) in [
            ("System.Runtime.dll", true),
            ("netstandard.dll", true),
            ("app.dll", false),
            ("System.Mine.dll", false),
            ("SystemOfMine.dll", false),
        ] {
            assert_eq!(framework.has(&folder.path().join(module)), is_its, "{module}");
        }
        assert!(!framework.has(Path::new("/elsewhere/System.Text.Json.dll")));
    }

    #[test]
    fn bundled_framework_is_recognised_by_its_names_alone() {
        for (module, is_its) in
            [("System.Runtime", true), ("netstandard", true), ("app", false), ("SystemOfMine", false)]
        {
            assert_eq!(FrameworkLocation::Inside.has(Path::new(module)), is_its, "{module}");
        }
    }
}
