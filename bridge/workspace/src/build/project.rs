//! The project in a folder, and the tool that builds it.
//!
//! Not here: the commands of the tool ([`super::steps`]).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tandem_error::{ErrorCode, Failure};

use crate::bounded;
use crate::roots::Roots;

/// Maximum number of files in a folder that are inspected.
const MAX_FILES: usize = 10_000;

/// A build tool. In this order when a folder holds files of several; makefiles often only call the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BuildTool {
    /// The .NET SDK: `dotnet`.
    Dotnet,
    /// Rust, by `cargo build` and `cargo test`.
    Cargo,
    /// Go, by `go build` and `go test`.
    Go,
    /// `npm`, `pnpm` or `yarn`, by the lock file.
    Npm,
    /// CMake: `cmake` and `ctest`.
    Cmake,
    /// Python, tested by `pytest`.
    Pytest,
    /// Ruby's minitest, test-unit and RSpec.
    Ruby,
    /// A makefile, built by `make`.
    Make,
}

impl BuildTool {
    const ALL: [Self; 8] =
        [Self::Dotnet, Self::Cargo, Self::Go, Self::Npm, Self::Cmake, Self::Pytest, Self::Ruby, Self::Make];

    /// Name of the tool, as arguments spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dotnet => "dotnet",
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Npm => "npm",
            Self::Cmake => "cmake",
            Self::Pytest => "pytest",
            Self::Ruby => "ruby",
            Self::Make => "make",
        }
    }

    /// The tool that a file speaks for.
    fn of(name: &str) -> Option<Self> {
        let python = name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
        let ruby = ["_test.rb", "_spec.rb"].iter().any(|end| name.ends_with(end))
            || name.starts_with("test_") && name.ends_with(".rb");
        match name {
            "Cargo.toml" => Some(Self::Cargo),
            "go.mod" | "go.work" => Some(Self::Go),
            "package.json" => Some(Self::Npm),
            "CMakeLists.txt" => Some(Self::Cmake),
            "Makefile" | "makefile" | "GNUmakefile" => Some(Self::Make),
            "pyproject.toml" | "setup.py" | "setup.cfg" | "pytest.ini" | "tox.ini" | "requirements.txt"
            | "conftest.py" => Some(Self::Pytest),
            "Gemfile" | "Rakefile" | ".rspec" => Some(Self::Ruby),
            _ if ruby => Some(Self::Ruby),
            _ if python => Some(Self::Pytest),
            _ => {
                let ending = Path::new(name).extension()?.to_str()?;
                matches!(ending, "sln" | "slnx" | "slnf" | "csproj" | "fsproj" | "vbproj" | "proj")
                    .then_some(Self::Dotnet)
            }
        }
    }
}

/// A project to build or test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The tool that builds it.
    pub kind: BuildTool,
    /// The project's folder.
    pub folder: PathBuf,
    /// The project file that was named, or the only one there is to name.
    pub file: Option<PathBuf>,
}

impl Project {
    /// The project at a path (the first root by default): a folder, or a project file. `requested` names the
    /// tool when a folder holds several projects.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`, `NOT_FOUND` when there is nothing to build, `INVALID_PARAMETER`
    /// when several projects match.
    pub fn find(roots: &Roots, path: Option<&str>, requested: Option<&str>) -> Result<Self, Failure> {
        let requested = match requested {
            Some(name) => Some(by_name(name)?),
            None => None,
        };
        let path = roots.existing_path(path)?;
        if !path.is_dir() {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let kind = requested.or_else(|| BuildTool::of(name)).ok_or_else(|| not_found(&path))?;
            let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
            return Ok(Self { kind, folder, file: Some(path) });
        }
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::IoFailed, format!("cannot list `{}`: {error}", path.display()))
        };
        let files = std::fs::read_dir(&path).map_err(failed)?.flatten().take(MAX_FILES);
        let mut files: Vec<(BuildTool, PathBuf)> = files
            .filter(|file| !file.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|file| Some((BuildTool::of(file.file_name().to_str()?)?, file.path())))
            .collect();
        files.sort();
        let found = requested.or_else(|| files.first().map(|(kind, _)| *kind));
        let kind = found.ok_or_else(|| not_found(&path))?;
        let own = files.into_iter().filter(|(other, _)| *other == kind).map(|(_, file)| file).collect();
        let file = if kind == BuildTool::Dotnet { only(own)? } else { None };
        Ok(Self { kind, folder: path, file })
    }

    /// The project as its tests run. For pytest, the folder becomes pytest's rootdir: the nearest one that
    /// configures it, else the highest one in the roots with a `conftest.py`, else the one that contains the
    /// package. From a folder below, pytest does not load that file and does not find the project's modules.
    #[must_use]
    pub fn for_tests(mut self, roots: &Roots) -> Self {
        if self.kind != BuildTool::Pytest {
            return self;
        }
        let inside = |folder: &&Path| roots.paths().any(|root| folder.starts_with(root));
        let above: Vec<&Path> = self.folder.ancestors().take_while(inside).collect();
        let configured = above.iter().find(|folder| configures_pytest(folder));
        let conftest = || above.iter().rfind(|folder| folder.join("conftest.py").is_file());
        // Modules of a package are imported from the folder that contains the package.
        let package = || above.iter().find(|folder| !folder.join("__init__.py").is_file());
        let top = configured.or_else(conftest).or_else(package);
        if let Some(top) = top.map(|top| top.to_path_buf()).filter(|top| *top != self.folder) {
            self.file.get_or_insert(self.folder);
            self.folder = top;
        }
        self
    }
}

/// Whether a folder has a file that makes it pytest's root.
fn configures_pytest(folder: &Path) -> bool {
    let contains_section = |name: &str, section: &str| {
        let text = bounded::read(&folder.join(name), 1 << 20).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().any(|line| line.trim_start().starts_with(section))
    };
    folder.join("pytest.ini").is_file()
        || folder.join(".pytest.ini").is_file()
        || contains_section("pyproject.toml", "[tool.pytest")
        || contains_section("tox.ini", "[pytest]")
        || contains_section("setup.cfg", "[tool:pytest]")
}

fn by_name(name: &str) -> Result<BuildTool, Failure> {
    BuildTool::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let all: Vec<&str> = BuildTool::ALL.into_iter().map(BuildTool::name).collect();
        Failure::invalid(format!("`tool` must be one of {}, not `{name}`", all.join(", ")))
    })
}

fn not_found(path: &Path) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("`{}` contains nothing to build", path.display())).hint(
        "name a folder with a .sln or .csproj, Cargo.toml, go.mod, package.json, CMakeLists.txt, Makefile, \
            pyproject.toml or Gemfile",
    )
}

/// `dotnet` refuses a folder with several: a solution wins over projects, and of several the caller chooses.
/// A filter of a solution counts when there is nothing else: `dotnet` wants it named.
fn only(files: Vec<PathBuf>) -> Result<Option<PathBuf>, Failure> {
    let ends = |file: &PathBuf, endings: &[&str]| {
        file.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one))
    };
    let (solutions, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| ends(file, &["sln", "slnx"]));
    let (filters, projects) = others.into_iter().partition(|file| ends(file, &["slnf"]));
    let mut candidates = [solutions, projects, filters].into_iter();
    let candidates = candidates.find(|some| !some.is_empty()).unwrap_or_default();
    if let [_, _, ..] = candidates.as_slice() {
        let names: Vec<_> = candidates.iter().map(|file| format!("`{}`", file.display())).collect();
        return Err(Failure::invalid(format!("there are several projects: {}", names.join(", ")))
            .hint("name one of them as projectPath"));
    }
    Ok(candidates.into_iter().next())
}
