//! Real repositories: empty ones, worktrees, odd names, and configurations that name programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tandem_error::ErrorCode;
use tokio_util::sync::CancellationToken;

use super::repository::Repository;
use super::*;
use crate::roots::Roots;

struct TestRepository {
    folder: tempfile::TempDir,
    roots: Roots,
}

impl TestRepository {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: impl AsRef<OsStr>, text: &str) {
        std::fs::write(self.path().join(Path::new(name.as_ref())), text).unwrap();
    }

    async fn open(&self, folder: Option<&str>) -> Repository<'_> {
        Repository::open(&self.roots, folder, false, &CancellationToken::new()).await.unwrap()
    }

    async fn open_allowed(&self) -> Repository<'_> {
        Repository::open(&self.roots, None, true, &CancellationToken::new()).await.unwrap()
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = std::process::Command::new("git").args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn repository() -> TestRepository {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    git(folder.path(), &["config", "user.name", "A Person"]);
    git(folder.path(), &["config", "user.email", "a@example.com"]);
    let roots = Roots::open(&[folder.path().to_owned()]).unwrap();
    TestRepository { folder, roots }
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

fn log_selection() -> history::LogOptions {
    history::LogOptions { count: 10, start: 0, revision: None, files: Vec::new() }
}

fn diff_selection() -> diff::DiffOptions {
    diff::DiffOptions { max_bytes: 10_000, ..diff::DiffOptions::default() }
}

#[tokio::test]
async fn from_an_empty_repository_to_a_commit_and_a_diff() {
    let place = repository();
    let git = place.open(None).await;
    let empty = status::status(&git).await.unwrap();
    assert_eq!(
        (empty.branch.as_str(), empty.commit, empty.clean, empty.output.as_str()),
        ("main", None, true, "")
    );
    assert!(history::log(&git, &log_selection()).await.unwrap().commits.is_empty());
    assert!(history::branches(&git).await.unwrap().branches.is_empty());
    assert!(diff::diff(&git, &diff_selection()).await.unwrap().output.is_empty());
    let branch = status::current_branch(&git).await.unwrap();
    assert_eq!((branch.branch.as_str(), branch.commit, branch.detached), ("main", None, false));
    let failure = changes::commit(&git, "nothing").await.unwrap_err();
    assert!(failure.message.contains("nothing is staged"), "{failure}");
    assert_eq!(changes::commit(&git, " \n").await.unwrap_err().code, ErrorCode::InvalidParameter);
    assert_eq!(changes::add(&git, &[]).await.unwrap_err().code, ErrorCode::InvalidParameter);

    place.write("a.txt", "one\ntwo\n");
    assert_eq!(status::status(&git).await.unwrap().output, "?? a.txt\n");
    assert_eq!(changes::add(&git, &names(&["a.txt"])).await.unwrap().staged, ["a.txt"]);
    let committed = changes::commit(&git, "First\n\nwith a body\n").await.unwrap();
    assert_eq!((committed.branch.as_str(), committed.hash.len()), ("main", 40));
    assert_eq!(committed.summary, "1 file changed, 2 insertions(+)");
    place.write("a.txt", "one\nzwei\n");
    let diff = diff::diff(&git, &diff_selection()).await.unwrap();
    assert!(diff.output.contains("-two\n+zwei\n"), "{}", diff.output);
    assert_eq!(
        (diff.files[0].path.as_str(), diff.files[0].added, diff.files[0].removed),
        ("a.txt", Some(1), Some(1))
    );
    let log = history::log(&git, &log_selection()).await.unwrap();
    assert_eq!(log.commits[0].subject, "First");
    assert_eq!(log.commits[0].author, "A Person <a@example.com>");
    assert_eq!(log.output, format!("{} First\n", &committed.hash[..log.output.find(' ').unwrap()]));
    assert_eq!(history::branches(&git).await.unwrap().output, "* main\n");
}

#[tokio::test]
async fn a_long_patch_comes_in_parts_and_a_long_log_too() {
    let place = repository();
    for number in 0..5 {
        place.write("a.txt", &format!("{number}\n").repeat(1000));
        git(place.path(), &["add", "."]);
        git(place.path(), &["commit", "-qm", &format!("number {number}")]);
    }
    let git = place.open(None).await;
    let selection = diff::DiffOptions { revision: Some("HEAD~1..HEAD".into()), ..diff_selection() };
    let whole = diff::diff(&git, &selection).await.unwrap().output;
    let (mut parts, mut start) = (String::new(), 0);
    loop {
        let part = diff::diff(&git, &diff::DiffOptions { start, max_bytes: 700, ..selection.clone() })
            .await
            .unwrap();
        parts += &part.output;
        match part.next {
            Some(next) => start = next,
            None => break,
        }
    }
    assert_eq!(parts, whole);
    let log =
        history::log(&git, &history::LogOptions { count: 2, start: 1, ..log_selection() }).await.unwrap();
    assert_eq!((log.commits.len(), log.commits[0].subject.as_str(), log.next), (2, "number 3", Some(3)));
    assert_eq!(
        history::log(&git, &history::LogOptions { count: 4, start: 1, ..log_selection() })
            .await
            .unwrap()
            .next,
        None
    );
}

#[tokio::test]
async fn names_of_any_bytes_can_be_seen_and_staged() {
    let place = repository();
    let odd: [&[u8]; 8] = [b"a\nb", b"\xff\xfe", b"-rf", b":(top)x", b"*", b"\"q\"", b" ", "ä€".as_bytes()];
    for name in odd {
        place.write(OsStr::from_bytes(name), &format!("{name:?}\n"));
    }
    place.write("plain", "x");
    let git = place.open(None).await;
    let seen: Vec<String> =
        status::status(&git).await.unwrap().files.into_iter().map(|file| file.path).collect();
    assert_eq!(seen.len(), 9);
    for path in seen.iter().filter(|path| *path != "plain") {
        changes::add(&git, std::slice::from_ref(path)).await.unwrap();
    }
    let staged = changes::add(&git, &seen[..1]).await.unwrap();
    // `*` was the file, not a pattern.
    assert_eq!((staged.total, staged.staged.contains(&"plain".to_owned())), (8, false));
    changes::commit(&git, "odd").await.unwrap();
    assert_eq!(status::status(&git).await.unwrap().output, "?? plain\n");
    std::fs::remove_file(place.path().join("-rf")).unwrap();
    std::fs::rename(place.path().join(":(top)x"), place.path().join("renamed.txt")).unwrap();
    changes::add(&git, &names(&["-rf", "."])).await.unwrap();
    let renamed = status::status(&git).await.unwrap();
    assert!(renamed.files.iter().any(|file| file.path == "-rf" && file.status == "D "), "{}", renamed.output);
    assert_eq!(
        diff::diff(&git, &diff::DiffOptions { staged: true, ..diff_selection() }).await.unwrap().total,
        3
    );
}

#[tokio::test]
async fn options_in_place_of_a_revision_are_refused() {
    let place = repository();
    let git = place.open(None).await;
    for text in ["--output=/tmp/x", "-p", ""] {
        let selection = diff::DiffOptions { revision: Some(text.into()), ..diff_selection() };
        assert_eq!(diff::diff(&git, &selection).await.unwrap_err().code, ErrorCode::InvalidParameter);
        let selection = history::LogOptions { revision: Some(text.into()), ..log_selection() };
        assert_eq!(history::log(&git, &selection).await.unwrap_err().code, ErrorCode::InvalidParameter);
    }
    let selection = history::LogOptions { revision: Some("no-such".into()), ..log_selection() };
    assert_eq!(history::log(&git, &selection).await.unwrap_err().code, ErrorCode::CommandFailed);
}

#[tokio::test]
async fn worktrees_subfolders_and_detached_heads_work() {
    let place = repository();
    std::fs::create_dir(place.path().join("sub")).unwrap();
    place.write("sub/a.txt", "1");
    place.write("top.txt", "1");
    git(place.path(), &["add", "."]);
    git(place.path(), &["commit", "-qm", "one"]);
    git(place.path(), &["worktree", "add", "-q", "-b", "other", "tree"]);
    let tree = place.open(Some("tree")).await;
    assert_eq!(status::current_branch(&tree).await.unwrap().branch, "other");
    place.write("tree/sub/a.txt", "2");
    assert_eq!(status::status(&tree).await.unwrap().output, " M sub/a.txt\n");
    changes::add(&tree, &names(&["sub/a.txt"])).await.unwrap();
    changes::commit(&tree, "two").await.unwrap();
    git(place.path(), &["checkout", "-q", "--detach", "other"]);
    let sub = place.open(Some("sub")).await;
    let branch = status::current_branch(&sub).await.unwrap();
    assert_eq!((branch.branch.as_str(), branch.detached), ("", true));
    assert!(history::branches(&sub).await.unwrap().output.starts_with("* (HEAD detached at "));
    // Relative to the folder that was named, or to the top, as git_status writes it.
    place.write("sub/a.txt", "3");
    place.write("top.txt", "3");
    let added = changes::add(&sub, &names(&["a.txt", "top.txt"])).await.unwrap();
    assert_eq!(added.staged, ["sub/a.txt", "top.txt"]);
}

#[tokio::test]
async fn a_repository_above_the_root_is_seen_as_far_as_the_root_reaches() {
    let place = repository();
    std::fs::create_dir(place.path().join("sub")).unwrap();
    place.write("sub/a.txt", "1");
    place.write("secret.txt", "1");
    git(place.path(), &["add", "."]);
    git(place.path(), &["commit", "-qm", "one"]);
    place.write("sub/a.txt", "2");
    place.write("secret.txt", "secret");
    let roots = Roots::open(&[place.path().join("sub")]).unwrap();
    let git = Repository::open(&roots, None, false, &CancellationToken::new()).await.unwrap();
    assert!(git.narrowed);
    assert_eq!(status::status(&git).await.unwrap().output, " M sub/a.txt\n");
    assert!(!diff::diff(&git, &diff_selection()).await.unwrap().output.contains("secret"));
    for path in ["../secret.txt", "secret.txt", &place.path().join("secret.txt").display().to_string()] {
        assert!(changes::add(&git, &names(&[path])).await.is_err(), "{path}");
    }
    assert_eq!(changes::add(&git, &names(&["."])).await.unwrap().staged, ["sub/a.txt"]);
    let outside = Repository::open(&roots, Some(".."), false, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(outside.code, ErrorCode::PathNotAllowed);
}

#[tokio::test]
async fn a_configuration_cannot_run_programs_unless_commands_are_allowed() {
    let place = repository();
    place.write("a.txt", "1");
    git(place.path(), &["add", "."]);
    git(place.path(), &["commit", "-qm", "one"]);
    let trap = place.path().join("trap.sh");
    let ran = place.path().join("ran");
    std::fs::write(&trap, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", ran.display())).unwrap();
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let trap = trap.display().to_string();
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "diff.odd.textconv",
        "diff.odd.command",
        "filter.odd.clean",
        "filter.odd.process",
        "gpg.program",
        "core.alternateRefsCommand",
        "interactive.diffFilter",
        "credential.helper",
        "pager.log",
        "pager.diff",
        "pager.status",
        "pager.branch",
    ] {
        git(place.path(), &["config", name, &trap]);
    }
    git(place.path(), &["config", "commit.gpgSign", "true"]);
    git(place.path(), &["config", "log.showSignature", "true"]);
    std::fs::create_dir_all(place.path().join(".git/hooks")).unwrap();
    for hook in ["pre-commit", "post-commit", "post-index-change", "commit-msg", "reference-transaction"] {
        std::fs::copy(&trap, place.path().join(".git/hooks").join(hook)).unwrap();
    }
    place.write(".gitattributes", "*.txt filter=odd diff=odd\n");
    place.write("a.txt", "2");
    let git_here = place.open(None).await;
    status::status(&git_here).await.unwrap();
    diff::diff(&git_here, &diff_selection()).await.unwrap();
    history::log(&git_here, &log_selection()).await.unwrap();
    history::branches(&git_here).await.unwrap();
    let refused = changes::add(&git_here, &names(&["a.txt"])).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::AccessDenied);
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
    // Without the filters, files are staged and committed, and the notes list the omitted parts.
    git(place.path(), &["config", "--unset", "filter.odd.clean"]);
    git(place.path(), &["config", "--unset", "filter.odd.process"]);
    let git_here = place.open(None).await;
    changes::add(&git_here, &names(&["a.txt"])).await.unwrap();
    let committed = changes::commit(&git_here, "two").await.unwrap();
    assert_eq!(committed.notes.len(), 2, "{:?}", committed.notes);
    assert!(committed.notes[0].ends_with("pre-commit, commit-msg, post-commit"), "{:?}", committed.notes);
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
    // Allowing commands also allows hooks.
    git(place.path(), &["config", "commit.gpgSign", "false"]);
    place.write("b.md", "2");
    let git_here = place.open_allowed().await;
    changes::add(&git_here, &names(&["b.md"])).await.unwrap();
    changes::commit(&git_here, "three").await.unwrap();
    assert!(std::fs::read_to_string(&ran).unwrap().contains("pre-commit"));
}

#[tokio::test]
async fn a_missing_repository_is_reported_and_a_bare_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let roots = Roots::open(&[folder.path().to_owned()]).unwrap();
    let none = Repository::open(&roots, None, false, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(none.code, ErrorCode::NotFound);
    git(folder.path(), &["init", "-q", "--bare", "bare.git"]);
    let bare =
        Repository::open(&roots, Some("bare.git"), false, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(bare.code, ErrorCode::Unsupported | ErrorCode::CommandFailed), "{bare}");
}
