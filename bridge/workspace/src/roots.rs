//! The roots: folders outside of which nothing is read, written or run. Every path an agent names becomes a
//! [`ConfinedPath`] here, and every access goes through the folder's open handle, so that neither `..`, nor a
//! symbolic link, nor a link that is swapped in between a check and its use leads out.
//!
//! Not here: the operations on a path (`files`, `git`, `build`). A *program* that runs
//! inside a root is not confined.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tandem_error::{ErrorCode, Failure};

use crate::quoted_path::path_bytes;

/// An allowed folder, opened once.
#[derive(Debug)]
struct RootDirectory {
    /// Without symbolic links.
    path: PathBuf,
    /// The path as given, made absolute: agents may use this spelling as well.
    typed: PathBuf,
    dir: Dir,
}

/// The folders that may be used; relative paths begin at the first. The default has
/// none and refuses every path.
#[derive(Debug, Default)]
pub struct Roots(Vec<RootDirectory>);

/// A path inside a root by its spelling. Only its use checks that it exists and that no link leads out.
#[derive(Debug, Clone)]
pub struct ConfinedPath<'a> {
    root: &'a RootDirectory,
    /// Relative to the root; `.` for the root itself.
    beneath: PathBuf,
    /// The path in the agent's spelling, for messages.
    spelling: String,
}

impl Roots {
    /// Opens each root; the first is where relative paths begin.
    ///
    /// # Errors
    /// When there are none, or one is not a readable folder.
    pub fn open(folders: &[PathBuf]) -> io::Result<Self> {
        let open = |folder: &PathBuf| {
            let named = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot use `{}` as a root: {error}", folder.display()))
            };
            let path = folder.canonicalize().map_err(named)?;
            let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(named)?;
            Ok(RootDirectory { path, typed: std::path::absolute(folder)?, dir })
        };
        let roots: Vec<RootDirectory> = folders.iter().map(open).collect::<io::Result<_>>()?;
        if roots.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no root"));
        }
        Ok(Self(roots))
    }

    /// The roots' paths, without symbolic links.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|root| root.path.as_path())
    }

    /// Locates a path in the roots; relative ones begin at the first root. A name that is not UTF-8 is
    /// written as the tools list it.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` when it is outside of every root, `INVALID_PARAMETER` when it is not a path.
    pub fn place(&self, spelling: &str) -> Result<ConfinedPath<'_>, Failure> {
        if spelling.is_empty() || spelling.contains('\0') {
            return Err(Failure::invalid("a path must not be empty or contain a NUL character"));
        }
        let path = PathBuf::from(OsString::from_vec(path_bytes(spelling)));
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(Failure::invalid("a path must not contain a NUL character"));
        }
        self.place_of(&path, spelling)
    }

    /// As [`place`](Self::place), for a path of the bridge itself; `spelling` is its name in messages.
    ///
    /// # Errors
    /// As [`place`](Self::place).
    pub fn place_of(&self, path: &Path, spelling: &str) -> Result<ConfinedPath<'_>, Failure> {
        let found = if path.is_absolute() {
            self.strip(path).or_else(|| self.strip(&real(path)?))
        } else {
            self.0.first().map(|root| (root, path.to_owned()))
        };
        match found {
            Some((root, beneath)) if stays_inside(&beneath) => {
                let beneath = if beneath.as_os_str().is_empty() { PathBuf::from(".") } else { beneath };
                Ok(ConfinedPath { root, beneath, spelling: spelling.to_owned() })
            }
            _ => Err(self.refuse(spelling)),
        }
    }

    /// The innermost root that contains a path by its spelling, and the rest of the path.
    fn strip(&self, path: &Path) -> Option<(&RootDirectory, PathBuf)> {
        let rest = |root: &RootDirectory| {
            let rest = path.strip_prefix(&root.path).or_else(|_| path.strip_prefix(&root.typed));
            rest.ok().map(Path::to_owned)
        };
        let found = self.0.iter().filter_map(|root| Some((root, rest(root)?)));
        found.min_by_key(|(_, rest)| rest.components().count())
    }

    /// A failure with `PATH_NOT_ALLOWED`.
    fn refuse(&self, spelling: &str) -> Failure {
        let roots: Vec<String> = self.paths().map(|path| format!("`{}`", path.display())).collect();
        let message = format!("`{spelling}` is outside of the allowed folders ({})", roots.join(", "));
        Failure::new(ErrorCode::PathNotAllowed, message)
            .hint("use a path inside them; the user who starts tandem-mcp can allow more with `--root DIR`")
    }

    /// Runs `work` at a place, beneath the root's handle; a [`Failure`] inside its error is returned
    /// unchanged. A link with an absolute target, which a handle cannot follow, is followed once if it leads
    /// back into a root; `follow` says whether this also applies to the last part of the path.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `IO_FAILED`.
    pub fn at<T>(
        &self,
        place: &ConfinedPath<'_>,
        verb: &str,
        follow: bool,
        work: impl Fn(&Dir, &Path) -> io::Result<T>,
    ) -> Result<T, Failure> {
        let mut outcome = work(&place.root.dir, &place.beneath);
        if outcome.as_ref().is_err_and(leads_out)
            && let Some((root, beneath)) = self.resolve_place(place, follow)
        {
            outcome = work(&root.dir, &beneath);
        }
        outcome.map_err(|error| {
            let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Failure>()).cloned();
            match own {
                Some(failure) => failure,
                None if leads_out(&error) => self.refuse(&place.spelling),
                None => place.access_failure(verb, &error),
            }
        })
    }

    /// The place with its links resolved by the system; only a spelling: using it is checked again.
    fn resolve_place(&self, place: &ConfinedPath<'_>, follow: bool) -> Option<(&RootDirectory, PathBuf)> {
        let absolute = place.absolute();
        let real =
            if follow { real(&absolute)? } else { real(absolute.parent()?)?.join(absolute.file_name()?) };
        self.strip(&real).filter(|(_, beneath)| stays_inside(beneath))
    }

    /// An existing folder, without symbolic links, for a program to work in.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `INVALID_PARAMETER` when it is a file.
    pub fn folder(&self, spelling: Option<&str>) -> Result<PathBuf, Failure> {
        let place = self.place(spelling.unwrap_or("."))?;
        let dir = self.at(&place, "open the folder", true, |dir, path| dir.open_dir(path))?;
        self.of_handle(&dir, &place)
    }

    /// An existing file or folder, without symbolic links.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`, `NOT_FOUND`.
    pub fn existing_path(&self, spelling: Option<&str>) -> Result<PathBuf, Failure> {
        let place = self.place(spelling.unwrap_or("."))?;
        let is_dir = self.at(&place, "look at", true, |dir, path| Ok(dir.metadata(path)?.is_dir()))?;
        if is_dir {
            return self.folder(spelling);
        }
        let real =
            place.absolute().canonicalize().map_err(|error| place.access_failure("look at", &error))?;
        if self.strip(&real).is_none() { Err(self.refuse(&place.spelling)) } else { Ok(real) }
    }

    /// The path of an open folder according to the system, checked against the roots again.
    fn of_handle(&self, dir: &Dir, place: &ConfinedPath<'_>) -> Result<PathBuf, Failure> {
        let own = |error: io::Error| place.access_failure("look at", &error);
        let real = place.absolute().canonicalize().map_err(own)?;
        let there = Dir::open_ambient_dir(&real, ambient_authority()).map_err(own)?;
        let same = identity(&there).map_err(own)? == identity(dir).map_err(own)?;
        if same && self.strip(&real).is_some() { Ok(real) } else { Err(self.refuse(&place.spelling)) }
    }
}

impl ConfinedPath<'_> {
    /// The path in full, links not resolved.
    pub fn absolute(&self) -> PathBuf {
        match self.beneath.as_os_str() == "." {
            true => self.root.path.clone(),
            false => self.root.path.join(&self.beneath),
        }
    }

    /// A failed access as a failure.
    pub fn access_failure(&self, verb: &str, error: &io::Error) -> Failure {
        let message = format!("cannot {verb} `{}`: {error}", self.spelling);
        match error.kind() {
            io::ErrorKind::NotFound => Failure::new(ErrorCode::NotFound, message)
                .hint("list_directory shows what is there; relative paths are relative to the first root"),
            io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                Failure::invalid(message)
            }
            _ => Failure::new(ErrorCode::IoFailed, message),
        }
    }
}

/// Device and inode of a folder.
fn identity(dir: &Dir) -> io::Result<(u64, u64)> {
    use cap_std::fs::MetadataExt;
    let metadata = dir.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Whether cap-std itself refused, because the path leaves the handle's folder; the
/// system's errors have a code.
fn leads_out(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Whether a path stays inside by its spelling. The handle checks links.
fn stays_inside(beneath: &Path) -> bool {
    let mut depth = 0_usize;
    for part in beneath.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::CurDir => {}
            _ => return false,
        }
    }
    true
}

/// The path with the links of its existing part resolved.
fn real(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let name = path.file_name()?;
    Some(real(path.parent()?)?.join(name))
}

#[cfg(test)]
mod tests;
