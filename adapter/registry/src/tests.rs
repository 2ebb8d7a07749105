//! Tests of the folder: other users, links, false entries, and hosts that crashed.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;

fn entry(id: &str) -> SessionRecord {
    SessionRecord {
        id: id.into(),
        pid: std::process::id(),
        title: "app".into(),
        program: "/app.dll".into(),
        engine: "coreclr".into(),
        cwd: None,
        version: String::new(),
        protocol: 0,
        started: 0,
        socket: PathBuf::new(),
        launched_by: SessionLauncher::default(),
        parent: None,
    }
}

fn safe_folder() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    place
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_folder_that_is_a_link_or_open_to_others_is_refused_and_not_read() {
    let place = tempfile::tempdir().unwrap();
    let real = place.path().join("real");
    prepare(&real).unwrap();
    prepare(&real).unwrap();
    let (_published, _listener) = PublishedSession::new(&real, entry("fox1")).unwrap();
    assert_eq!(live(&real).len(), 1);
    let link = place.path().join("link");
    symlink(&real, &link).unwrap();
    assert!(prepare(&link).is_err() && live(&link).is_empty());
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(prepare(&real).is_err() && live(&real).is_empty());
}

#[test]
fn folder_of_another_user_is_skipped() {
    let place = safe_folder();
    let (taken, own) = (place.path().join("tandem-1"), place.path().join("state/tandem/sessions"));
    // A folder that this user may not enter counts as another user's.
    std::fs::DirBuilder::new().mode(0o755).create(&taken).unwrap();
    let (folder, refused) = prepare_one(&[taken.clone(), own.clone()]).unwrap();
    assert_eq!((folder, refused.len()), (own.clone(), 1));
    assert_eq!(std::fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
    assert!(refused[0].to_string().contains("others may enter"), "{}", refused[0]);
    assert!(prepare_one(&[taken]).is_err());
    assert!(prepare_one(&[]).is_err());
}

#[test]
fn a_session_is_found_while_it_lives_and_swept_when_it_crashed() {
    let place = safe_folder();
    let (published, listener) = PublishedSession::new(place.path(), entry("fox1")).unwrap();
    assert_eq!(live(place.path())[0].socket, place.path().join("fox1.sock"));
    assert!(
        PublishedSession::new(place.path(), entry("fox1")).is_err(),
        "an id is taken from a live session"
    );
    assert_eq!(live(place.path()).len(), 1);
    assert_eq!(names(place.path()), ["fox1.json", "fox1.sock"]);
    // As after a crash: the files stay, without a listener.
    std::mem::forget(published);
    drop(listener);
    drop(UnixListener::bind(place.path().join("owl2.sock")).unwrap());
    assert_eq!(live(place.path()), vec![]);
    assert_eq!(names(place.path()), Vec::<String>::new());
}

#[test]
fn session_with_a_full_backlog_is_listed_without_waiting() {
    let place = safe_folder();
    let (_published, listener) = PublishedSession::new(place.path(), entry("fox1")).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let socket = place.path().join("fox1.sock");
    let address = SocketAddrUnix::new(&socket).unwrap();
    // They wait in its queue as long as they exist.
    let mut calls = Vec::new();
    loop {
        let flags = SocketFlags::NONBLOCK;
        let call = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        match rustix::net::connect(&call, &address) {
            Ok(()) => calls.push(call),
            Err(error) => break assert_eq!(error, Errno::AGAIN),
        }
    }
    let (sender, listed) = std::sync::mpsc::channel();
    let folder = place.path().to_owned();
    std::thread::spawn(move || sender.send(live(&folder)));
    let entries = listed.recv_timeout(Duration::from_secs(10)).expect("listing does not wait");
    assert_eq!(entries.len(), 1);
    assert_eq!(names(place.path()), ["fox1.json", "fox1.sock"]);
}

#[test]
fn links_foreign_names_and_false_entries_are_neither_followed_nor_believed() {
    let place = safe_folder();
    let elsewhere = safe_folder();
    let (_kept, _listener) = PublishedSession::new(elsewhere.path(), entry("owl1")).unwrap();
    let outside = elsewhere.path().join("owl1.json");
    let write = |name: &str, text: &str| {
        std::fs::write(place.path().join(name), text).unwrap();
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(place.path().join(name), private).unwrap();
    };
    // A link to a valid entry, and a name that leads out of the folder.
    symlink(&outside, place.path().join("owl1.json")).unwrap();
    let mut false_one = entry("fox2");
    false_one.socket = elsewhere.path().join("owl1.sock");
    write("UPPER.json", &serde_json::to_string(&false_one).unwrap());
    write("notes.txt", "mine");
    assert_eq!(live(place.path()), vec![]);
    assert_eq!(names(place.path()), ["UPPER.json", "notes.txt", "owl1.json"]);
    assert!(outside.exists());
    // A socket elsewhere is not where a session of this folder listens.
    write("fox2.json", &serde_json::to_string(&false_one).unwrap());
    // The id of another session, a text that is not JSON, and a file that is too large.
    write("fox3.json", &serde_json::to_string(&entry("fox4")).unwrap());
    write("fox5.json", "{");
    write("fox6.json", &"x".repeat(100_000));
    // Other users may write it.
    write("fox7.json", "{}");
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(place.path().join("fox7.json"), open).unwrap();
    assert_eq!(live(place.path()), vec![]);
    assert_eq!(names(place.path()), ["UPPER.json", "fox7.json", "notes.txt", "owl1.json"]);
}

#[test]
fn an_id_is_one_sessions_from_the_moment_it_is_chosen() {
    let folder = safe_folder();
    let id = || "fox7".to_owned();
    let reserved = ReservedId::reserve(folder.path(), id()).unwrap();
    assert!(ReservedId::reserve(folder.path(), id()).is_none());
    let lock = folder.path().join("fox7.lock");
    assert!(live(folder.path()).is_empty());
    assert!(lock.exists());
    drop(reserved);
    assert!(!lock.exists());
    // The file of a host that was killed is removed.
    std::fs::write(&lock, "").unwrap();
    assert!(live(folder.path()).is_empty());
    assert!(!lock.exists());
    // A host of an earlier version does not reserve its id.
    std::fs::write(folder.path().join("fox7.sock"), "").unwrap();
    assert!(ReservedId::reserve(folder.path(), id()).is_none());
    assert!(!lock.exists());
    let all: std::collections::BTreeSet<String> = {
        let reserved: Vec<ReservedId> = (0..500).map(|_| ReservedId::new(folder.path())).collect();
        reserved.iter().map(ToString::to_string).collect()
    };
    assert_eq!(all.len(), 500);
}

#[test]
fn a_session_of_another_release_is_listed_and_never_removed() {
    let folder = safe_folder();
    let (published, _listener) = PublishedSession::new(folder.path(), entry("new")).unwrap();
    let ours = live(folder.path()).remove(0);
    assert_eq!((ours.version.as_str(), ours.protocol), (env!("CARGO_PKG_VERSION"), PROTOCOL));
    assert_eq!(ours.join_obstacle(), None);

    let file = folder.path().join("new.json");
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let rewrite = |change: &dyn Fn(&mut serde_json::Map<String, serde_json::Value>)| {
        let mut written = written.as_object().unwrap().clone();
        change(&mut written);
        std::fs::write(&file, serde_json::to_vec(&written).unwrap()).unwrap();
        live(folder.path())
    };
    // The release before this field, which this one understands.
    let older = rewrite(&|written| {
        written.remove("protocol");
        written.remove("version");
    });
    assert_eq!(older[0].join_obstacle(), None);
    let newer = rewrite(&|written| {
        written.insert("protocol".into(), (PROTOCOL + 1).into());
        written.insert("version".into(), "9.8.7".into());
        written.insert("unknown".into(), "field".into());
    });
    let reason = newer[0].join_obstacle().unwrap();
    assert!(reason.contains("9.8.7") && reason.contains(&format!("protocol {}", PROTOCOL + 1)), "{reason}");
    // One that this release cannot even read.
    let unreadable = rewrite(&|written| drop(written.remove("program")));
    assert!(unreadable.is_empty());
    assert_eq!(names(folder.path()), ["new.json", "new.sock"]);
    drop(published);
    assert!(names(folder.path()).is_empty());
}
