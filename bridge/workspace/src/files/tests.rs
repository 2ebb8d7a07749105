//! The file tools with odd files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use tandem_error::ErrorCode;

use super::reading::{ReadOptions, read};
use super::writing::{create_directory, delete, write};
use super::*;

fn root() -> (tempfile::TempDir, Roots) {
    let folder = tempfile::tempdir().unwrap();
    let roots = Roots::open(&[folder.path().to_owned()]).unwrap();
    (folder, roots)
}

fn selection() -> ReadOptions {
    ReadOptions { start: None, count: None, max_bytes: 1000, base64: false }
}

#[test]
fn binary_content_is_refused_with_the_reason() {
    let (folder, roots) = root();
    for (name, bytes, reason) in [
        ("zero", &b"ab\0c"[..], "a zero byte at offset 2"),
        ("latin", b"caf\xe9", "an invalid byte at offset 3"),
        ("utf16", b"\xff\xfea\0", "UTF-16"),
    ] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let failure = read(&roots, name, &selection()).unwrap_err();
        assert_eq!(failure.code, ErrorCode::Unsupported);
        assert!(failure.message.contains(reason), "{failure}");
    }
    let selection = ReadOptions { base64: true, ..selection() };
    assert_eq!(read(&roots, "zero", &selection).unwrap().content, "YWIAYw==");
}

#[test]
fn pipes_devices_and_huge_files_are_not_waited_for() {
    let (folder, roots) = root();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert_eq!(read(&roots, "pipe", &selection()).unwrap_err().code, ErrorCode::InvalidParameter);
    assert_eq!(write(&roots, "pipe", b"").unwrap_err().code, ErrorCode::InvalidParameter);
    std::fs::File::create(folder.path().join("huge")).unwrap().set_len(1 << 40).unwrap();
    let failure = read(&roots, "huge", &selection()).unwrap_err();
    assert_eq!((failure.code, failure.data["size"].as_u64()), (ErrorCode::Unsupported, Some(1 << 40)));
    assert_eq!(read(&roots, ".", &selection()).unwrap_err().code, ErrorCode::InvalidParameter);
    assert_eq!(read(&roots, "none", &selection()).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn writing_keeps_the_mode_and_the_link_and_leaves_nothing_behind() {
    let (folder, roots) = root();
    let script = folder.path().join("script");
    std::fs::write(&script, "old").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
    symlink("script", folder.path().join("link")).unwrap();
    let written = write(&roots, "link", "neu\u{e4}".as_bytes()).unwrap();
    assert_eq!((written.created, written.bytes_written), (false, 5));
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "neu\u{e4}");
    assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(std::fs::symlink_metadata(folder.path().join("link")).unwrap().is_symlink());
    assert!(write(&roots, "new.txt", b"").unwrap().created);
    assert_eq!(list(&roots, ".", 0, 10).unwrap().entries, ["link", "new.txt", "script"]);
    assert_eq!(write(&roots, "no/new.txt", b"").unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn a_file_of_the_same_size_written_in_the_same_second_has_another_time() {
    use std::os::unix::fs::MetadataExt;
    let (folder, roots) = root();
    let mut times = Vec::new();
    for text in ["a = 1", "a = 2", "a = 3"] {
        write(&roots, "a.py", text.as_bytes()).unwrap();
        times.push(std::fs::metadata(folder.path().join("a.py")).unwrap().mtime());
    }
    assert!(times.is_sorted_by(|before, after| before < after), "{times:?}");
}

#[test]
fn git_keeps_its_folder() {
    let (folder, roots) = root();
    std::fs::create_dir_all(folder.path().join(".git/hooks")).unwrap();
    std::fs::write(folder.path().join(".git/config"), "").unwrap();
    symlink(".git", folder.path().join("alias")).unwrap();
    for path in [".git/config", ".git/hooks/pre-commit", "alias/config", ".GIT/config", ".git"] {
        drop(std::fs::create_dir(folder.path().join(".GIT")));
        let failure = write(&roots, path, b"[core]").unwrap_err();
        assert!(
            matches!(failure.code, ErrorCode::PathNotAllowed | ErrorCode::InvalidParameter),
            "{path}: {failure}"
        );
        assert!(delete(&roots, path).is_err());
    }
    assert_eq!(create_directory(&roots, "alias/new").unwrap_err().code, ErrorCode::PathNotAllowed);
    assert_eq!(read(&roots, ".git/config", &selection()).unwrap().content, "");
}

/// A folder and a link to git's own change places all the time: whatever a path leads to,
/// nothing is written there.
#[test]
fn git_keeps_its_folder_while_paths_change() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    let (folder, roots) = root();
    for name in [".git/sub", "plain/sub"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join(".git/HEAD"), "").unwrap();
    symlink(".git", folder.path().join("link")).unwrap();
    let (one, other) = (folder.path().join("plain"), folder.path().join("link"));
    let exchange = || renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
    exchange()
        .expect("a temporary folder (TMPDIR) on a file system that exchanges names, such as ext4 or tmpfs");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                exchange().unwrap();
            }
        });
        for round in 0..2000 {
            drop(write(&roots, "plain/config", b"x"));
            drop(write(&roots, "plain/sub/config", b"x"));
            drop(create_directory(&roots, &format!("plain/{round}/a")));
            drop(delete(&roots, "plain/HEAD"));
        }
        over.store(true, Ordering::Relaxed);
    });
    let mut left: Vec<_> = std::fs::read_dir(folder.path().join(".git"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["HEAD", "sub"]);
    assert_eq!(std::fs::read_dir(folder.path().join(".git/sub")).unwrap().count(), 0);
}

#[test]
fn lists_are_sorted_bounded_and_honest_about_names() {
    let (folder, roots) = root();
    for name in [&b"b"[..], b"a\nb", b"\xff", b"-rf", b" "] {
        std::fs::write(folder.path().join(OsStr::from_bytes(name)), "").unwrap();
    }
    std::fs::create_dir(folder.path().join("c")).unwrap();
    let all = list(&roots, ".", 0, 100).unwrap();
    assert_eq!(all.entries, [" ", "-rf", "a\nb", "b", "c", "\"\\377\""]);
    assert_eq!((all.directories, all.not_utf8, all.next), (vec!["c".to_owned()], 1, None));
    let part = list(&roots, ".", 4, 1).unwrap();
    assert_eq!((part.entries, part.total, part.next), (vec!["c".to_owned()], 6, Some(5)));
    delete(&roots, "\"\\377\"").unwrap();
    assert_eq!(list(&roots, ".", 0, 100).unwrap().total, 5);
    delete(&roots, "-rf").unwrap();
    assert_eq!(delete(&roots, "c").unwrap_err().code, ErrorCode::InvalidParameter);
    assert_eq!(delete(&roots, "-rf").unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn folders_are_made_with_those_above_and_existence_says_what_is_there() {
    let (_folder, roots) = root();
    assert_eq!(create_directory(&roots, "a/b/c").unwrap().created, Some(true));
    assert_eq!(create_directory(&roots, "a/b/c").unwrap().created, Some(false));
    write(&roots, "a/file", b"12").unwrap();
    assert_eq!(create_directory(&roots, "a/file").unwrap_err().code, ErrorCode::InvalidParameter);
    let there = exists(&roots, "a/file", EntryType::File).unwrap();
    assert_eq!((there.exists, there.size, there.instead), (true, Some(2), None));
    let there = exists(&roots, "a/b", EntryType::File).unwrap();
    assert_eq!((there.exists, there.instead), (false, Some("directory")));
    assert!(exists(&roots, "a/b", EntryType::Directory).unwrap().exists);
    assert!(!exists(&roots, "a/file/x", EntryType::Directory).unwrap().exists);
}
