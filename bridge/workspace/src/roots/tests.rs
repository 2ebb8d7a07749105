//! Paths and links that try to leave a root: none succeeds.

use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;
use crate::files::reading::{self, ReadOptions};
use crate::files::{self, EntryType, writing};

/// A root with a secret next to it.
struct RootWithSecret {
    folder: tempfile::TempDir,
    roots: Roots,
}

impl RootWithSecret {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("root/sub/deep")).unwrap();
        std::fs::write(folder.path().join("root/sub/inside.txt"), "inside\n").unwrap();
        std::fs::write(folder.path().join("secret.txt"), "secret\n").unwrap();
        std::fs::create_dir(folder.path().join("root-too")).unwrap();
        std::fs::write(folder.path().join("root-too/secret.txt"), "secret\n").unwrap();
        let root = folder.path().join("root");
        symlink("../secret.txt", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink(folder.path(), root.join("away")).unwrap();
        symlink("sub", root.join("in")).unwrap();
        symlink(root.join("sub"), root.join("in-absolute")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("../gone.txt", root.join("dangling")).unwrap();
        let roots = Roots::open(std::slice::from_ref(&root)).unwrap();
        Self { folder, roots }
    }

    fn read(&self, path: &str) -> Result<String, Failure> {
        let selection = ReadOptions { start: None, count: None, max_bytes: 1000, base64: false };
        reading::read(&self.roots, path, &selection).map(|text| text.content)
    }
}

#[test]
fn links_out_of_the_roots_are_refused_and_links_into_them_are_followed() {
    let trap = RootWithSecret::new();
    let outside = trap.folder.path().join("secret.txt").display().to_string();
    let sibling = trap.folder.path().join("root-too/secret.txt").display().to_string();
    let around = trap.folder.path().join("root/../secret.txt").display().to_string();
    for path in [
        "out",
        "up/secret.txt",
        "away/secret.txt",
        "../secret.txt",
        "sub/../../secret.txt",
        "in/../../secret.txt",
        "./../root/../secret.txt",
        &outside,
        &sibling,
        &around,
        "/etc/passwd",
        "/",
        "..",
        "/proc/self/root/etc/passwd",
        "dangling/x",
    ] {
        let failure = trap.read(path).unwrap_err();
        assert_eq!(failure.code, ErrorCode::PathNotAllowed, "{path}: {failure}");
        assert!(!failure.message.contains("secret\n"));
        for failure in [
            writing::write(&trap.roots, path, b"x").unwrap_err(),
            files::exists(&trap.roots, path, EntryType::File).unwrap_err(),
            files::list(&trap.roots, path, 0, 10).unwrap_err(),
            writing::create_directory(&trap.roots, path).unwrap_err(),
        ] {
            assert_eq!(failure.code, ErrorCode::PathNotAllowed, "{path}: {failure}");
        }
    }
    let inside = trap.folder.path().join("root/sub/inside.txt").display().to_string();
    for path in [
        "up/root/sub/inside.txt",
        "sub/inside.txt",
        "in/inside.txt",
        "in-absolute/inside.txt",
        "sub/deep/../inside.txt",
        &inside,
    ] {
        assert_eq!(trap.read(path).unwrap(), "inside\n", "{path}");
    }
    assert_eq!(trap.read("loop").unwrap_err().code, ErrorCode::IoFailed);
    assert_eq!(std::fs::read_to_string(trap.folder.path().join("secret.txt")).unwrap(), "secret\n");
    assert!(!trap.folder.path().join("gone.txt").exists());
}

#[test]
fn a_link_that_leads_out_can_be_deleted_itself() {
    let trap = RootWithSecret::new();
    writing::delete(&trap.roots, "out").unwrap();
    writing::delete(&trap.roots, "dangling").unwrap();
    assert!(trap.folder.path().join("secret.txt").exists());
    assert_eq!(writing::delete(&trap.roots, "up/secret.txt").unwrap_err().code, ErrorCode::PathNotAllowed);
    assert_eq!(writing::delete(&trap.roots, "in").unwrap().path, trap.folder.path().join("root/in"));
    assert!(trap.folder.path().join("root/sub/inside.txt").exists());
}

#[test]
fn a_folder_swapped_for_a_link_while_it_is_used_leads_nowhere() {
    let trap = RootWithSecret::new();
    let root = trap.folder.path().join("root");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for (from, to) in [("sub", "aside"), ("up", "sub"), ("sub", "up"), ("aside", "sub")] {
                    std::fs::rename(root.join(from), root.join(to)).unwrap();
                }
            }
        });
        for number in 0..500 {
            let read = trap.read("sub/secret.txt");
            assert!(read.is_err(), "{read:?}");
            drop(writing::write(&trap.roots, &format!("sub/{number}.txt"), b"x"));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let outside: Vec<_> =
        std::fs::read_dir(trap.folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(outside.len(), 3, "{outside:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_path_reads_the_secret(parts in proptest::collection::vec(
        prop_oneof!["\\.\\.", "\\.", "sub", "in", "up", "away", "out", "secret.txt", "root", "root-too",
            "in-absolute", ""], 0..8),
        absolute in any::<bool>()) {
        let trap = RootWithSecret::new();
        let path = parts.join("/");
        let path = if absolute { format!("{}/root/{path}", trap.folder.path().display()) } else { path };
        if let Ok(text) = trap.read(&path) {
            prop_assert_eq!(text, "inside\n");
        }
        drop(writing::write(&trap.roots, &path, b"changed"));
        let secret = std::fs::read_to_string(trap.folder.path().join("secret.txt")).unwrap();
        prop_assert_eq!(secret, "secret\n");
    }
}
