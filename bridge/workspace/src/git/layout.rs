//! Locations that git reads and writes for a repository, and the check that all of them are in the roots.
//!
//! A repository can name places elsewhere: a `.git` file or link, `commondir`, `core.worktree`, alternates,
//! and links inside its own folder. They are followed here as git follows them, before git runs, and the
//! repository is refused when one of them leaves the roots. `settings` handles the rest of the configuration.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use tandem_error::{ErrorCode, Failure};

use crate::bounded;
use crate::quoted_path::unquote;

/// Larger pointer files are not git's.
const MAX_POINTER_BYTES: u64 = 64 << 10;
/// Maximum number of entries of git's folder; a folder with more is refused.
const MAX_ENTRIES: usize = 2_000_000;
/// Maximum depth of alternates of alternates, as in git.
const MAX_DEPTH: usize = 6;

/// The places where a repository may keep anything.
#[derive(Debug, Clone)]
pub struct Fence {
    /// The roots, links resolved.
    pub roots: Vec<PathBuf>,
    /// The folder of a repository that begins above a root: choosing the root chose it, too.
    above: Option<PathBuf>,
}

/// The folders of one repository, links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryLayout {
    /// The top of the working tree.
    pub top: PathBuf,
    /// HEAD, the index and what else belongs to this working tree.
    pub git_dir: PathBuf,
    /// Configuration, references and what else all working trees share.
    pub common_dir: PathBuf,
}

impl Fence {
    /// A fence that allows the roots.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots, above: None }
    }

    fn holds(&self, real: &Path) -> bool {
        self.roots.iter().chain(&self.above).any(|root| real.starts_with(root))
    }

    /// A place that `from` leads to, links resolved.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` when it is outside.
    pub fn check(&self, from: &Path, real: &Path) -> Result<(), Failure> {
        if self.holds(real) {
            return Ok(());
        }
        let (from, real) = (from.display(), real.display());
        let message =
            format!("git would leave the allowed folders: `{from}` leads to `{real}`, so git is not run");
        Err(Failure::new(ErrorCode::PathNotAllowed, message).hint(
            "the user who starts tandem-mcp can also allow that folder with another `--root DIR`, if it is \
                trusted",
        ))
    }

    /// Resolves the links of a path that `from` names, and checks the result. For a path that does not
    /// exist, its folder decides.
    fn follow(&self, from: &Path, named: &Path) -> Result<PathBuf, Failure> {
        let real = match named.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = named.parent().and_then(|folder| folder.canonicalize().ok());
                let whole = folder.zip(named.file_name()).map(|(folder, name)| folder.join(name));
                whole.ok_or_else(|| {
                    layout_failure(from, &format!("it leads to `{}`: {error}", named.display()))
                })?
            }
            real => real.map_err(|error| layout_failure(from, &format!("`{}`: {error}", named.display())))?,
        };
        self.check(from, &real)?;
        Ok(real)
    }
}

impl RepositoryLayout {
    /// Finds the repository of a folder; `None` if there is none. If the repository begins above a root, the
    /// fence then also contains its `.git` folder.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` when a part of it is outside, `UNSUPPORTED` for a bare repository,
    /// `COMMAND_FAILED` for a broken one.
    pub fn find(fence: &mut Fence, folder: &Path) -> Result<Option<Self>, Failure> {
        let device = device(folder);
        for top in folder.ancestors() {
            if device != self::device(top) {
                break;
            }
            if is_git_dir(top) {
                let message = format!("`{}` is in a bare repository, without files", folder.display());
                return Err(Failure::new(ErrorCode::Unsupported, message));
            }
            if !fence.holds(top) {
                allow_above(fence, top)?;
            }
            if let Some(found) = Self::at(fence, top)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The repository whose working tree begins at this folder, if there is one.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn at(fence: &Fence, top: &Path) -> Result<Option<Self>, Failure> {
        let named = top.join(".git");
        let Ok(metadata) = named.symlink_metadata() else { return Ok(None) };
        let mut git_dir = named.clone();
        if metadata.is_symlink() {
            git_dir = fence.follow(&named, &named)?;
        }
        if !git_dir.is_dir() {
            fence.follow(&named, &git_dir)?;
            let text = pointer(&git_dir)?.unwrap_or_default();
            let path = text.strip_prefix(b"gitdir: ").ok_or_else(|| {
                layout_failure(&named, "it is not a folder, and does not begin with `gitdir: `")
            })?;
            git_dir = fence.follow(&named, &top.join(OsStr::from_bytes(path)))?;
        } else if !is_git_dir(&git_dir) {
            // As git: a folder of that name that is not a repository is passed over.
            return Ok(None);
        }
        let git_dir = fence.follow(&named, &git_dir)?;
        let common = git_dir.join("commondir");
        let common_dir = match pointer(&common)? {
            Some(path) => fence.follow(&common, &git_dir.join(OsStr::from_bytes(&path)))?,
            None => git_dir.clone(),
        };
        if !git_dir.join("HEAD").exists() || !is_git_dir_at(&common_dir) {
            return Err(layout_failure(&named, &format!("`{}` is not a repository", git_dir.display())));
        }
        Ok(Some(Self { top: top.to_owned(), git_dir, common_dir }))
    }

    /// Follows every link in git's folders and every alternate.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` when one leads out, `UNSUPPORTED` when there are too many to look at.
    pub fn check(&self, fence: &Fence) -> Result<(), Failure> {
        let mut scanner = LinkScanner { fence, seen: HashSet::new(), left: MAX_ENTRIES };
        scanner.tree(&self.common_dir)?;
        scanner.tree(&self.git_dir)?;
        let mut stores = vec![self.objects()];
        for _ in 0..MAX_DEPTH {
            let mut more = Vec::new();
            for store in stores {
                more.extend(alternates(fence, &store)?);
            }
            for store in &more {
                scanner.tree(store)?;
            }
            stores = more;
        }
        if stores.is_empty() {
            return Ok(());
        }
        Err(layout_failure(&self.objects(), "its alternates have alternates, and so on, too deep"))
    }

    /// The folder of the object database.
    pub fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    /// Sets the working tree that the configuration names (`core.worktree`).
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` when it is outside.
    pub fn work_tree(&mut self, fence: &Fence, named: &[u8]) -> Result<(), Failure> {
        let setting = self.common_dir.join("config");
        let named = self.git_dir.join(OsStr::from_bytes(named));
        let real = named.canonicalize().map_err(|error| {
            layout_failure(&setting, &format!("core.worktree is `{}`: {error}", named.display()))
        })?;
        if real != self.top {
            fence.check(&setting, &real)?;
            self.top = real;
        }
        Ok(())
    }
}

/// Allows a repository that begins above the root to use its own `.git` folder, if it belongs to this user.
fn allow_above(fence: &mut Fence, top: &Path) -> Result<(), Failure> {
    let own = top.join(".git");
    let Ok(metadata) = own.symlink_metadata() else { return Ok(()) };
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        let message = format!("`{}` belongs to another user", own.display());
        return Err(Failure::new(ErrorCode::PathNotAllowed, message)
            .hint("the user who starts tandem-mcp can allow it with `--root DIR`, if it is trusted"));
    }
    fence.above = Some(own);
    Ok(())
}

fn device(folder: &Path) -> Option<u64> {
    folder.metadata().ok().map(|metadata| metadata.dev())
}

/// Whether git accepts the folder as a git directory.
fn is_git_dir(folder: &Path) -> bool {
    folder.join("HEAD").symlink_metadata().is_ok()
        && (is_git_dir_at(folder) || folder.join("commondir").exists())
}

fn is_git_dir_at(common: &Path) -> bool {
    common.join("objects").is_dir() && common.join("refs").is_dir()
}

/// Content of a file that points to another location; `None` when there is no such file.
fn pointer(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match bounded::read(file, MAX_POINTER_BYTES) {
        Ok(text) => {
            let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
            match text.get(..end) {
                Some(path) if !path.is_empty() && !path.contains(&0) => Ok(Some(path.to_owned())),
                _ => Err(layout_failure(file, "it names no place")),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(layout_failure(file, &error.to_string())),
    }
}

/// The stores that a store of objects borrows from.
fn alternates(fence: &Fence, store: &Path) -> Result<Vec<PathBuf>, Failure> {
    let list = store.join("info/alternates");
    let text = match bounded::read(&list, MAX_POINTER_BYTES) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(layout_failure(&list, &error.to_string())),
    };
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let mut found = Vec::new();
    for line in lines {
        let quoted = std::str::from_utf8(line).ok().filter(|line| line.starts_with('"'));
        let path = match quoted {
            // Git continues to parse after the quotes; such a file is refused rather than guessed.
            Some(line) => {
                unquote(line).ok_or_else(|| layout_failure(&list, "a line in it has invalid quotes"))?
            }
            None if line.starts_with(b"\"") => {
                return Err(layout_failure(&list, "a line in it has invalid quotes"));
            }
            None => line.to_owned(),
        };
        // Git ignores a missing one, but it must not become a path outside.
        found.push(fence.follow(&list, &store.join(OsStr::from_bytes(&path)))?);
    }
    Ok(found)
}

/// Looks for links that lead out.
struct LinkScanner<'a> {
    fence: &'a Fence,
    seen: HashSet<PathBuf>,
    left: usize,
}

impl LinkScanner<'_> {
    fn tree(&mut self, top: &Path) -> Result<(), Failure> {
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            if !self.seen.insert(folder.clone()) {
                continue;
            }
            // Git cannot read an entry either that is gone or unreadable.
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                self.left = self.left.checked_sub(1).ok_or_else(|| {
                    let message = format!("`{}` has more than {MAX_ENTRIES} entries", top.display());
                    Failure::new(ErrorCode::Unsupported, message).hint("`git gc` packs them")
                })?;
                // The folders of submodules are checked when one is entered.
                let modules = entry.file_name() == "modules" && folder == top;
                let (path, kind) = (entry.path(), entry.file_type());
                match kind {
                    Ok(kind) if kind.is_dir() && !modules => folders.push(path),
                    Ok(kind) if kind.is_symlink() => folders.extend(self.link(&path)?),
                    Ok(kind) if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() => {
                        return Err(layout_failure(&path, "it is a pipe or a device"));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The target of a link, if it is a folder.
    fn link(&self, path: &Path) -> Result<Option<PathBuf>, Failure> {
        let text = path.read_link().map_err(|error| layout_failure(path, &error.to_string()))?;
        // A HEAD of old times is a link to a reference that may not be there yet.
        let named = path.parent().unwrap_or(path).join(text);
        let real = self.fence.follow(path, &named)?;
        Ok(real.is_dir().then_some(real))
    }
}

/// Builds a `COMMAND_FAILED` failure for a layout that git would reject, or that is not supported here.
fn layout_failure(place: &Path, why: &str) -> Failure {
    Failure::new(
        ErrorCode::CommandFailed,
        format!("the repository is broken at `{}`: {why}", place.display()),
    )
    .hint("run git in a terminal for details")
}
