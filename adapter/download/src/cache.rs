//! Downloaded files in the user's cache folder, which all sessions share.
//!
//! Hosts write and read at the same time, so a file appears under its name only when it is complete. If the
//! folder cannot be written to, files stay in memory. The reader must check the content of a file.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

/// Maximum size of a user's cache, in bytes.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Maximum size of a file that is read, in bytes.
const MAX_FILE_LEN: u64 = 512 * 1024 * 1024;
/// Maximum number of files that are considered for removal.
const MAX_FILES: usize = 100_000;
/// Age of a file without its final name at which its writer must have ended.
const MAX_PARTIAL_FILE_AGE: Duration = Duration::from_secs(3600);
/// Prefix of the names of incomplete files.
const UNFINISHED: &str = ".unfinished-";
/// Maximum length of a file name, in bytes.
const MAX_NAME_LEN: usize = 120;

/// A folder of downloaded files.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Maximum size in bytes; `None` for a folder from which no file may be removed.
    most: Option<u64>,
    /// Bytes stored since the size of the folder was last determined; `u64::MAX` if it never was.
    since: AtomicU64,
    names: AtomicU64,
}

impl Cache {
    /// The cache of this user (XDG Base Directory Specification): `$XDG_CACHE_HOME/tandem`,
    /// otherwise `~/.cache/tandem`; `None` for a user without a home. Old files are removed when it
    /// is larger than 2 GiB.
    pub fn of_user() -> Option<Self> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(Self { most: Some(MAX_BYTES), ..Self::at(folder.join("tandem")) })
    }

    /// A cache in a folder that the user chose. No file is ever removed from it.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder, most: None, since: AtomicU64::new(u64::MAX), names: AtomicU64::new(0) }
    }

    /// The folder with the cached files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file, which may not exist. `None` for a name that is not a plain relative path.
    pub fn path(&self, name: &Path) -> Option<PathBuf> {
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        (is_plain && name.components().next().is_some()).then(|| self.folder.join(name))
    }

    /// Reads a file, and records that it was used now.
    pub fn read(&self, name: &Path) -> Option<Vec<u8>> {
        let path = self.path(name)?;
        let file = File::open(&path).ok()?;
        let is_sound = |about: &std::fs::Metadata| about.is_file() && about.len() <= MAX_FILE_LEN;
        let content = file.metadata().ok().filter(is_sound).and_then(|_| std::fs::read(&path).ok());
        let used = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        };
        // A cache that cannot be written to does not record uses.
        rustix::fs::futimens(&file, &used).unwrap_or_default();
        content
    }

    /// Stores a file, replacing an earlier one, and returns its path.
    ///
    /// # Errors
    /// From the file system, for example for a read-only folder or a full disk.
    pub fn store(&self, name: &Path, content: &[u8]) -> std::io::Result<PathBuf> {
        let path = self.path(name).ok_or(std::io::ErrorKind::InvalidFilename)?;
        if std::fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(path);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        // Other users must not read the sources of a program.
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        self.write(folder, &path, content)?;
        let size = content.len() as u64;
        let since = self.since.load(Ordering::Relaxed).saturating_add(size);
        self.since.store(since, Ordering::Relaxed);
        // The size is determined when the first file is stored, and then from time to time.
        if let Some(most) = self.most.filter(|most| since > most / 20) {
            self.make_room(most, &path);
        }
        Ok(path)
    }

    /// Writes a file that has no name until it is complete, if the file system supports this.
    fn write(&self, folder: &Path, path: &Path, content: &[u8]) -> std::io::Result<()> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let Ok(nameless) = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) else {
            return self.write_and_rename(folder, path, content);
        };
        let mut nameless = File::from(nameless);
        nameless.write_all(content)?;
        let link = || {
            let open = format!("/proc/self/fd/{}", nameless.as_raw_fd());
            rustix::fs::linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)
        };
        match link() {
            // The existing file is damaged, or another host has just written it.
            Err(rustix::io::Errno::EXIST) => {
                std::fs::remove_file(path).unwrap_or_default();
                match link() {
                    Err(rustix::io::Errno::EXIST) => Ok(()),
                    linked => Ok(linked?),
                }
            }
            linked => Ok(linked?),
        }
    }

    fn write_and_rename(&self, folder: &Path, path: &Path, content: &[u8]) -> std::io::Result<()> {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut file =
                std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
            file.write_all(content)?;
            std::fs::rename(&unfinished, path)
        };
        write().inspect_err(|_| std::fs::remove_file(&unfinished).unwrap_or_default())
    }

    /// Removes the least recently used files if the cache is too large, but never `newest`. Other
    /// hosts may do the same.
    fn make_room(&self, most: u64, newest: &Path) {
        self.since.store(0, Ordering::Relaxed);
        let mut files = files(&self.folder);
        let mut total: u64 = files.iter().map(|file| file.size).sum();
        let now = SystemTime::now();
        let is_abandoned = |file: &CachedFile| {
            let named =
                file.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED));
            named && now.duration_since(file.used).is_ok_and(|age| age > MAX_PARTIAL_FILE_AGE)
        };
        for file in files.extract_if(.., |file| is_abandoned(file)) {
            std::fs::remove_file(&file.path).unwrap_or_default();
            total = total.saturating_sub(file.size);
        }
        if total <= most {
            return;
        }
        files.sort_by_key(|file| file.used);
        for file in files.iter().filter(|file| file.path != newest) {
            if total <= most / 10 * 8 {
                break;
            }
            // Another process may have removed it.
            std::fs::remove_file(&file.path).unwrap_or_default();
            total = total.saturating_sub(file.size);
        }
        tracing::debug!(left = total, "old files are removed from the cache");
    }
}

/// A file in a cache, with its age and size.
struct CachedFile {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

fn files(folder: &Path) -> Vec<CachedFile> {
    let (mut open, mut found) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                open.push(entry.path());
            } else if found.len() < MAX_FILES {
                let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                // The size on disk, including unused space of the last block.
                let size = about.blocks().saturating_mul(512).max(about.len());
                found.push(CachedFile { path: entry.path(), size, used });
            }
        }
    }
    found
}

/// Creates a file name from any text: its last part, without special characters of paths, and
/// with a limited length.
pub fn file_name(text: &str) -> String {
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain =
        |letter: char| if letter.is_alphanumeric() || "._-+ ()[]#".contains(letter) { letter } else { '_' };
    let mut name: String = last.chars().map(plain).collect();
    while name.len() > MAX_NAME_LEN {
        // Editors choose the language by the extension.
        name.remove(0);
    }
    if name.trim_matches('.').is_empty() || name.starts_with(UNFINISHED) { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("tandem"));
        (folder, cache)
    }

    #[test]
    fn a_file_is_stored_whole_and_read_again_and_a_damaged_one_is_replaced() {
        let (_folder, cache) = cache();
        let name = Path::new("sources/ab/x.cs");
        assert_eq!(cache.read(name), None);
        let path = cache.store(name, b"one").unwrap();
        assert_eq!(cache.read(name).as_deref(), Some(&b"one"[..]));
        std::fs::write(&path, "damaged").unwrap();
        assert_eq!(cache.store(name, b"one").unwrap(), path);
        assert_eq!(cache.read(name).as_deref(), Some(&b"one"[..]));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(files(cache.folder()).len(), 1);
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_none() {
        let (folder, cache) = cache();
        for name in ["../x", "/etc/x", "a/../../x", "a/..", "", "."] {
            assert_eq!(cache.path(Path::new(name)), None, "{name}");
            assert!(cache.store(Path::new(name), b"x").is_err(), "{name}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        for (text, name) in [
            ("/_/src/A b.cs", "A b.cs"),
            ("C:\\src\\A.cs", "A.cs"),
            ("..", "_.."),
            ("", "_"),
            ("a/b\0\n.cs", "b__.cs"),
            (".unfinished-1", "_.unfinished-1"),
        ] {
            assert_eq!(file_name(text), name);
        }
        let long = file_name(&format!("{}.cs", "å".repeat(500)));
        assert!(long.len() <= MAX_NAME_LEN && long.ends_with("å.cs"));
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_an_error_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        // Tests may run as root, who may write to any folder, but not below a file.
        std::fs::write(folder.path().join("file"), "").unwrap();
        let cache = Cache::at(folder.path().join("file"));
        assert!(cache.store(Path::new("a/b"), b"x").is_err());
        assert_eq!(cache.read(Path::new("a/b")), None);
    }

    #[test]
    fn several_writers_of_one_file_leave_one_that_is_whole() {
        let (_folder, cache) = cache();
        let content = vec![7u8; 100_000];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..20).for_each(|_| drop(cache.store(Path::new("a/b"), &content).unwrap())));
            }
            for _ in 0..200 {
                assert!(cache.read(Path::new("a/b")).is_none_or(|read| read == content));
            }
        });
        assert_eq!(files(cache.folder()).len(), 1);
    }

    #[test]
    fn a_file_system_without_nameless_files_is_written_to_as_well() {
        let (_folder, cache) = cache();
        std::fs::create_dir_all(cache.folder()).unwrap();
        let path = cache.folder().join("x");
        cache.write_and_rename(cache.folder(), &path, b"one").unwrap();
        cache.write_and_rename(cache.folder(), &path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(files(cache.folder()).len(), 1);
    }

    #[test]
    fn least_recently_used_files_and_abandoned_ones_are_removed() {
        let (_folder, cache) = cache();
        let most = 4_000_000;
        let aged = |name: &str, age: u64| {
            let path = cache.store(Path::new(name), &vec![7; 1_000_000]).unwrap();
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            path
        };
        let paths: Vec<PathBuf> = (0..6u64).map(|at| aged(&format!("f/{at}"), 10_000 - at * 100)).collect();
        let abandoned = aged(&format!("{UNFINISHED}1-1"), 4000);
        cache.read(Path::new("f/0")).unwrap();
        cache.make_room(most, &paths[1]);
        let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        // Three of six remain: the first was read just now, the second is the one that was stored.
        assert_eq!(left, [true, true, false, false, false, true]);
        assert!(!abandoned.exists());
    }
}
