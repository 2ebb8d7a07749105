//! Repositories that a stranger made: no git tool runs a program that they name, or touches
//! anything outside the roots.
//!
//! Each case is a folder in one root. Every git tool is called on it, with each git of the machine, with and
//! without `--read-only`. A program that must never run leaves a mark; a folder that must never be touched is
//! watched by the kernel.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::inotify;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

/// The contents of each file outside.
const SECRET: &str = "SECRET-7421";

/// A root with hostile repositories, and what lies beside it.
struct HostileRoot {
    folder: tempfile::TempDir,
}

impl HostileRoot {
    fn new() -> anyhow::Result<Self> {
        let trap = Self { folder: tempfile::tempdir()? };
        let outside = trap.outside();
        std::fs::create_dir_all(trap.root())?;
        std::fs::create_dir(&outside)?;
        git(&outside, &["init", "-q", "-b", "main"])?;
        for name in ["a.txt", "canary.txt", "ignore", ".gitattributes"] {
            std::fs::write(outside.join(name), format!("{SECRET}\n"))?;
        }
        git(&outside, &["add", "."])?;
        git(&outside, &["commit", "-qm", SECRET])?;
        let program = trap.program();
        std::fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trap.mark().display()))?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(trap)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    /// A program that must never run.
    fn program(&self) -> PathBuf {
        self.folder.path().join("trap.sh")
    }

    /// The file that the trap creates when it runs.
    fn mark(&self) -> PathBuf {
        self.folder.path().join("ran")
    }

    /// A repository with one commit, and a change that is not committed.
    fn repository(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.root().join(name);
        std::fs::create_dir(&folder)?;
        git(&folder, &["init", "-q", "-b", "main"])?;
        std::fs::write(folder.join("a.txt"), "one\n")?;
        std::fs::create_dir(folder.join("d"))?;
        std::fs::write(folder.join("d/b.txt"), "one\n")?;
        git(&folder, &["add", "."])?;
        git(&folder, &["commit", "-qm", "one"])?;
        std::fs::write(folder.join("a.txt"), "two\n")?;
        Ok(folder)
    }
}

fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"]);
    let done = command.args(arguments).current_dir(folder).output()?;
    anyhow::ensure!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// Adds to a repository's configuration; replaces `@` by the program that must not run,
/// `^` by the outside folder.
fn configure(trap: &HostileRoot, folder: &Path, text: &[u8]) -> anyhow::Result<()> {
    let file = folder.join(".git/config");
    let mut config = std::fs::read(&file)?;
    config.extend_from_slice(b"\n[user]\n\tname = A\n\temail = a@example.com\n");
    for byte in text {
        match byte {
            b'@' => config.extend_from_slice(trap.program().as_os_str().as_bytes()),
            b'^' => config.extend_from_slice(trap.outside().as_os_str().as_bytes()),
            other => config.push(*other),
        }
    }
    config.push(b'\n');
    std::fs::write(file, config)?;
    Ok(())
}

/// Configurations that name programs or files, with the attributes that make them count.
fn configurations() -> Vec<(&'static str, &'static [u8], &'static [u8])> {
    vec![
        ("filter-not-utf8", b"[filter \"x\xff\xfe\"]\nclean = @", b"* filter=x\xff\xfe\n"),
        ("filter-process", b"[filter \"p\"]\nprocess = @\nrequired = true", b"* filter=p\n"),
        ("filter-dots", b"[filter \"a.b.c\"]\nclean = @\nsmudge = @", b"* filter=a.b.c\n"),
        ("filter-empty", b"[filter \"\"]\nclean = @", b"* filter=\n"),
        ("filter-odd-case", b"[FILTER \"X\"]\nCLEAN = @", b"* filter=X\n"),
        ("filter-newline", b"[filter \"a\\nb\"]\nclean = @", b"* filter=anb\n"),
        ("monitor", b"[core]\nfsmonitor = @\nuntrackedCache = true", b""),
        ("hooks-path", b"[core]\nhooksPath = ../../hooks", b""),
        (
            "viewers",
            b"[core]\npager = @\neditor = @\nsshCommand = @\ngitProxy = @\naskPass = @\n\
            alternateRefsCommand = @",
            b"",
        ),
        (
            "pagers",
            b"[pager]\nstatus = @\nlog = @\ndiff = @\nadd = @\ncommit = @\nls-files = @\n\
            for-each-ref = @\nconfig = @",
            b"",
        ),
        ("aliases", b"[alias]\nstatus = !@\nlog = !@\nls-files = !@\nconfig = !@", b""),
        (
            "drivers",
            b"[diff]\nexternal = @\n[diff \"x\"]\ncommand = @\ntextconv = @\n[merge \"x\"]\n\
            driver = @",
            b"* diff=x merge=x\n",
        ),
        ("drivers-not-utf8", b"[diff \"\xff\"]\ncommand = @\ntextconv = @", b"* diff=\xff\n"),
        (
            "signing",
            b"[commit]\ngpgSign = true\n[gpg]\nprogram = @\n[gpg \"ssh\"]\nprogram = @\n\
            defaultKeyCommand = @\n[log]\nshowSignature = true",
            b"",
        ),
        (
            "credentials",
            b"[credential]\nhelper = @\n[sequence]\neditor = @\n[interactive]\ndiffFilter = @",
            b"",
        ),
        (
            "promisor",
            b"[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = o\n[remote \"o\"]\n\
            url = ext::@\nuploadpack = @\npromisor = true\n[protocol]\nallow = always",
            b"",
        ),
        ("include", b"[include]\npath = ../included", b"* filter=i diff=i\n"),
        (
            "include-if",
            b"[includeIf \"gitdir:/\"]\npath = ../included\n[includeIf \"onbranch:main\"]\n\
            path = ../included",
            b"* filter=i\n",
        ),
        ("include-outside", b"[include]\npath = ^/canary.txt", b""),
        (
            "files-outside",
            b"[core]\nattributesFile = ^/.gitattributes\nexcludesFile = ^/ignore\n[mailmap]\n\
            file = ^/canary.txt\n[commit]\ntemplate = ^/canary.txt\n[diff]\norderFile = ^/canary.txt\n\
            [blame]\nignoreRevsFile = ^/canary.txt",
            b"",
        ),
        ("traces", b"[trace2]\nnormalTarget = ^/trace\neventTarget = ^/trace\nperfTarget = ^/trace", b""),
        ("work-tree", b"[core]\nworktree = ^", b""),
        (
            "work-tree-config",
            b"[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true",
            b"* filter=w\n",
        ),
        ("unknown-extension", b"[core]\nrepositoryformatversion = 1\n[extensions]\nrunThis = @", b""),
        ("not-parsed", b"[core\nfsmonitor = @", b""),
        (
            "submodule-settings",
            b"[submodule \"s\"]\nupdate = !@\nactive = true\nurl = ext::@\n[submodule]\n\
            recurse = true",
            b"",
        ),
    ]
}

/// Repositories whose places lead outside.
fn places(trap: &HostileRoot) -> anyhow::Result<()> {
    let outside = trap.outside();
    let store = outside.join(".git");
    let file = |name: &str, link: bool| -> anyhow::Result<()> {
        let folder = trap.root().join(name);
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join("a.txt"), "two\n")?;
        if link {
            return Ok(symlink(&store, folder.join(".git"))?);
        }
        Ok(std::fs::write(folder.join(".git"), format!("gitdir: {}\n", store.display()))?)
    };
    file("git-file", false)?;
    file("git-link", true)?;
    // A link to a `.git` file.
    let folder = trap.root().join("git-link-to-file");
    std::fs::create_dir(&folder)?;
    std::fs::write(
        outside.join("pointer"),
        format!("gitdir: {}\n", trap.root().join("monitor/.git").display()),
    )?;
    symlink(outside.join("pointer"), folder.join(".git"))?;
    let folder = trap.repository("alternates")?;
    std::fs::write(
        folder.join(".git/objects/info/alternates"),
        format!("{}\n", store.join("objects").display()),
    )?;
    let folder = trap.repository("alternates-quoted")?;
    let quoted = format!("# a\n\"{}\"\n", store.join("objects").display());
    std::fs::write(folder.join(".git/objects/info/alternates"), quoted)?;
    // An alternate inside, whose own alternate is outside.
    let folder = trap.repository("alternates-twice")?;
    let near = trap.root().join("alternates/.git/objects");
    std::fs::write(folder.join(".git/objects/info/alternates"), format!("{}\n", near.display()))?;
    for (name, replaced) in [
        ("objects-link", "objects"),
        ("refs-link", "refs"),
        ("head-link", "HEAD"),
        ("index-link", "index"),
        ("config-link", "config"),
        ("log-link", "logs/HEAD"),
        ("exclude-link", "info/exclude"),
        ("branch-link", "refs/heads/main"),
        ("message-link", "COMMIT_EDITMSG"),
    ] {
        let folder = trap.repository(name)?;
        let place = folder.join(".git").join(replaced);
        if place.is_dir() {
            std::fs::remove_dir_all(&place)?
        } else {
            std::fs::remove_file(&place)?
        }
        symlink(store.join(replaced), place)?;
    }
    let folder = trap.repository("dangling-link")?;
    symlink(outside.join("made"), folder.join(".git/packed-refs"))?;
    let folder = trap.repository("common-folder")?;
    std::fs::write(folder.join(".git/commondir"), format!("{}\n", store.display()))?;
    let folder = trap.repository("submodule")?;
    std::fs::create_dir(folder.join("sub"))?;
    std::fs::write(folder.join("sub/.git"), format!("gitdir: {}\n", store.display()))?;
    git(&folder, &["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))])?;
    let folder = trap.repository("submodule-link")?;
    symlink(&outside, folder.join("sub"))?;
    git(&folder, &["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))])?;
    // Its HEAD must not be recorded.
    let folder = trap.repository("nested")?;
    std::fs::create_dir_all(folder.join("new/deep"))?;
    std::fs::write(folder.join("new/deep/.git"), format!("gitdir: {}\n", store.display()))?;
    let folder = trap.repository("folder-link")?;
    std::fs::remove_dir_all(folder.join("d"))?;
    symlink(&outside, folder.join("d"))?;
    let folder = trap.repository("attributes-link")?;
    symlink(outside.join(".gitattributes"), folder.join(".gitattributes"))?;
    symlink(outside.join("ignore"), folder.join(".gitignore"))?;
    symlink(outside.join("canary.txt"), folder.join(".mailmap"))?;
    Ok(())
}

/// Makes all cases; returns their names.
fn cases(trap: &HostileRoot) -> anyhow::Result<Vec<String>> {
    let hooks = trap.root().join("hooks");
    std::fs::create_dir(&hooks)?;
    let all = [
        "pre-commit",
        "post-commit",
        "commit-msg",
        "post-index-change",
        "reference-transaction",
        "prepare-commit-msg",
    ];
    for hook in all {
        std::fs::copy(trap.program(), hooks.join(hook))?;
    }
    for (name, config, attributes) in configurations() {
        let folder = trap.repository(name)?;
        configure(trap, &folder, config)?;
        std::fs::write(folder.join(".gitattributes"), attributes)?;
        for hook in all {
            std::fs::copy(trap.program(), folder.join(".git/hooks").join(hook))?;
        }
        let program = trap.program().display().to_string();
        let more = format!(
            "[filter \"i\"]\nclean = {program}\n[diff \"i\"]\ncommand = {program}\n[core]\n\
                fsmonitor = {program}\n"
        );
        std::fs::write(folder.join("included"), &more)?;
        let more = more.replace("\"i\"", "\"w\"");
        std::fs::write(
            folder.join(".git/config.worktree"),
            format!("{more}worktree = {}\n", trap.outside().display()),
        )?;
    }
    // A submodule that is hostile itself, in a repository that is not.
    let folder = trap.repository("hostile-submodule")?;
    let inner = folder.join("sub");
    std::fs::rename(trap.repository("to-be-submodule")?, &inner)?;
    configure(
        trap,
        &inner,
        b"[filter \"x\"]\nclean = @\nprocess = @\n[core]\nfsmonitor = @\n\
        hooksPath = ../../hooks\nsshCommand = @\n[diff]\nexternal = @",
    )?;
    std::fs::write(inner.join(".gitattributes"), "* filter=x\n")?;
    git(&folder, &["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))])?;
    places(trap)?;
    let entries = std::fs::read_dir(trap.root())?.collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<String> =
        entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name != "hooks");
    names.sort();
    Ok(names)
}

/// Watches a folder and all below it for anything that opens or changes a file.
struct FolderWatch {
    events: rustix::fd::OwnedFd,
}

impl FolderWatch {
    fn over(top: &Path) -> anyhow::Result<Self> {
        let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
        let flags = inotify::WatchFlags::OPEN
            | inotify::WatchFlags::MODIFY
            | inotify::WatchFlags::CREATE
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::MOVE;
        let mut folders = vec![top.to_owned()];
        let mut at = 0;
        // All are listed before one is watched: listing opens them.
        while let Some(folder) = folders.get(at).cloned() {
            at += 1;
            let entries = std::fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
            folders.extend(
                entries
                    .iter()
                    .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                    .map(|entry| entry.path()),
            );
        }
        for folder in folders {
            inotify::add_watch(&events, &folder, flags)?;
        }
        Ok(Self { events })
    }

    /// Names of what was touched since the last time.
    fn touched(&self) -> Vec<OsString> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut names = Vec::new();
        while let Ok(event) = reader.next() {
            names.push(
                event
                    .file_name()
                    .map_or_else(OsString::new, |name| OsString::from_vec(name.to_bytes().to_vec())),
            );
        }
        names
    }
}

/// The folders of the gits of this machine, in PATH's order: `git` is looked up there.
fn gits() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.join("git").is_file());
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.filter_map(|folder| folder.canonicalize().ok()) {
        if !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}

async fn agent(root: &Path, git: &Path, flags: &[&str]) -> anyhow::Result<Agent> {
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(git.to_owned()).chain(std::env::split_paths(&path)))?;
    command.args(flags).current_dir(root).env("PATH", path);
    Agent::spawn("agent", command, &Transcript::default()).await
}

/// Every hostile repository, with one git and these flags of the bridge.
async fn no_repository_runs_a_program_or_leads_out(git: &Path, flags: &[&str]) -> anyhow::Result<()> {
    let trap = HostileRoot::new()?;
    let cases = cases(&trap)?;
    assert!(cases.len() > 45, "{cases:?}");
    std::fs::remove_file(trap.mark()).unwrap_or_default();
    let watch = FolderWatch::over(&trap.outside())?;
    let mut agent = agent(&trap.root(), git, flags).await?;
    for case in &cases {
        attack(&trap, &watch, &mut agent, case, &format!("{} {flags:?} {case}", git.display())).await?;
    }
    agent.finish().await
}

/// The first git on `PATH`, which users' tools find.
fn first_git() -> anyhow::Result<PathBuf> {
    gits().into_iter().next().context("no git on this machine")
}

#[tokio::test]
async fn no_repository_is_obeyed_when_agents_may_only_look() -> anyhow::Result<()> {
    no_repository_runs_a_program_or_leads_out(&first_git()?, &["--read-only"]).await
}

#[tokio::test]
async fn no_repository_is_obeyed_when_agents_may_look_and_run_commands() -> anyhow::Result<()> {
    no_repository_runs_a_program_or_leads_out(&first_git()?, &["--read-only", "--allow-commands"]).await
}

#[tokio::test]
async fn no_repository_is_obeyed_when_agents_may_commit() -> anyhow::Result<()> {
    no_repository_runs_a_program_or_leads_out(&first_git()?, &[]).await
}

#[tokio::test]
#[ignore = "long: every other git of the machine; `./check --long` runs it"]
async fn long_no_repository_is_obeyed_with_any_git() -> anyhow::Result<()> {
    for git in gits().iter().skip(1) {
        for flags in [&["--read-only"][..], &["--read-only", "--allow-commands"], &[]] {
            no_repository_runs_a_program_or_leads_out(git, flags).await?;
        }
    }
    Ok(())
}

/// Calls every git tool on one case.
async fn attack(
    trap: &HostileRoot,
    watch: &FolderWatch,
    agent: &mut Agent,
    case: &str,
    which: &str,
) -> anyhow::Result<()> {
    let mut answers = Vec::new();
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_diff", json!({ "staged": true })),
        ("git_diff", json!({ "revision": "HEAD" })),
        ("git_log", json!({})),
        ("git_list_branches", json!({})),
        ("git_current_branch", json!({})),
        ("git_add", json!({ "files": ["."] })),
        ("git_commit", json!({ "message": "two" })),
        ("git_status", json!({})),
    ] {
        let mut arguments: Value = arguments;
        arguments["repositoryPath"] = json!(case);
        let answer = agent.call(tool, arguments.clone()).await?;
        let mut touched = watch.touched();
        if case == "nested" {
            // Git looks whether an untracked folder is a repository, wherever its `.git` leads; it reads no
            // more.
            touched.retain(|name| name != "HEAD");
        }
        assert!(touched.is_empty(), "{which}: {tool} {arguments} touched {touched:?} outside: {answer:#}");
        assert!(!trap.mark().exists(), "{which}: {tool} ran {:?}", std::fs::read_to_string(trap.mark()));
        assert!(!answer.to_string().contains(SECRET), "{which}: {tool} told the secret: {answer:#}");
        answers.push(answer);
    }
    // A setting that leads outside is refused by name; one that only names programs still works.
    let refused =
        ["work-tree", "git-file", "git-link", "alternates", "common-folder", "objects-link", "log-link"];
    if refused.contains(&case) {
        assert_eq!(answers[0]["error"]["code"], "PATH_NOT_ALLOWED", "{which}: {:#}", answers[0]);
        assert!(answers[0]["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--root")), "{which}");
    }
    if case == "nested" {
        assert!(
            ["PATH_NOT_ALLOWED", "ACCESS_DENIED"]
                .contains(&answers[7]["error"]["code"].as_str().unwrap_or_default()),
            "{which}: {:#}",
            answers[7]
        );
    }
    if ["filter-not-utf8", "monitor", "drivers", "aliases", "include", "hostile-submodule"].contains(&case) {
        let output = answers[0]["output"].as_str().unwrap_or_default();
        assert!(output.contains(" M a.txt\n"), "{which}: {:#}", answers[0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_working_tree_of_a_repository_in_another_root_is_used_and_of_one_outside_is_not()
-> anyhow::Result<()> {
    let trap = HostileRoot::new()?;
    let main = trap.repository("main")?;
    configure(&trap, &main, b"[core]\nfsmonitor = @")?;
    std::fs::remove_file(trap.mark()).unwrap_or_default();
    let linked = trap.folder.path().join("linked");
    let name = linked.display().to_string();
    git(&main, &["-c", "core.fsmonitor=false", "worktree", "add", "-q", "-b", "other", &name])?;
    std::fs::write(linked.join("a.txt"), "three\n")?;
    let flags = ["--root", &name, "--root", &main.display().to_string()];
    for (flags, allowed) in [(&flags[..2], false), (&flags[..], true)] {
        let mut agent = agent(&trap.root(), &gits()[0], flags).await?;
        let status = agent.call("git_status", json!({})).await?;
        if allowed {
            assert_eq!(
                (&status["branch"], &status["output"]),
                (&json!("other"), &json!(" M a.txt\n")),
                "{status:#}"
            );
            assert_eq!(
                agent.call("git_add", json!({ "files": ["a.txt"] })).await?["staged"],
                json!(["a.txt"])
            );
            let committed = agent.call("git_commit", json!({ "message": "three" })).await?;
            assert_eq!(
                (&committed["success"], &committed["branch"]),
                (&json!(true), &json!("other")),
                "{committed:#}"
            );
            assert_eq!(agent.call("git_status", json!({})).await?["clean"], true);
        } else {
            assert_eq!(status["error"]["code"], "PATH_NOT_ALLOWED", "{status:#}");
            let (message, hint) =
                (status["error"]["message"].to_string(), status["error"]["hint"].to_string());
            assert!(message.contains(&*main.to_string_lossy()) && hint.contains("--root"), "{status:#}");
        }
        agent.finish().await?;
    }
    assert!(!trap.mark().exists());
    Ok(())
}

#[tokio::test]
async fn names_that_are_not_utf8_are_read_written_and_deleted() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    git(folder.path(), &["init", "-q"])?;
    std::fs::create_dir(folder.path().join("sub"))?;
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(folder.path().join("sub").join(name), "one\n")?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let listed = agent.call("list_directory", json!({ "path": "sub" })).await?;
    assert_eq!(listed["entries"], json!([r#""caf\351.txt""#]));
    let path = format!("sub/{}", listed["entries"][0].as_str().unwrap_or_default());
    assert_eq!(agent.call("read_file", json!({ "path": path })).await?["content"], "one\n");
    assert_eq!(agent.call("file_exists", json!({ "path": path })).await?["exists"], true);
    agent.call("git_add", json!({ "files": [path] })).await?;
    // As git names it: the whole path in quotes.
    let status = agent.call("git_status", json!({})).await?;
    let quoted = status["files"][0]["path"].clone();
    assert_eq!(quoted, json!(r#""sub/caf\351.txt""#));
    let written = agent.call("write_file", json!({ "path": quoted, "content": "two\n" })).await?;
    assert_eq!((&written["success"], &written["created"]), (&json!(true), &json!(false)), "{written:#}");
    assert_eq!(std::fs::read_to_string(folder.path().join("sub").join(name))?, "two\n");
    assert_eq!(agent.call("delete_file", json!({ "path": quoted })).await?["success"], true);
    assert_eq!(std::fs::read_dir(folder.path().join("sub"))?.count(), 0);
    agent.finish().await
}

#[tokio::test]
async fn a_changed_submodule_is_not_clean_and_a_conflict_is_listed_once() -> anyhow::Result<()> {
    let trap = HostileRoot::new()?;
    let (library, main) = (trap.repository("library")?, trap.repository("main")?);
    git(&main, &["submodule", "--quiet", "add", &library.display().to_string(), "lib"])?;
    git(&main, &["commit", "-qam", "two"])?;
    let mut agent = Agent::in_folder("agent", &main, &[], &Transcript::default()).await?;
    let status = agent.call("git_status", json!({})).await?;
    assert_eq!((&status["clean"], &status["success"]), (&json!(true), &json!(true)), "{status:#}");
    std::fs::write(main.join("lib/a.txt"), "changed\n")?;
    std::fs::write(main.join("new.txt"), "")?;
    let status = agent.call("git_status", json!({})).await?;
    assert_eq!((&status["clean"], &status["output"]), (&json!(false), &json!(" M lib\n?? new.txt\n")));
    assert_eq!(status["files"][0]["submodule"], "modified content");
    std::fs::remove_file(main.join("new.txt"))?;
    git(&main.join("lib"), &["commit", "-qam", "three"])?;
    std::fs::write(main.join("lib/new.txt"), "")?;
    let status = agent.call("git_status", json!({})).await?;
    assert_eq!((&status["output"], &status["total"]), (&json!(" M lib\n"), &json!(1)), "{status:#}");
    assert_eq!(status["files"][0]["submodule"], "untracked content");

    git(&main, &["checkout", "-qb", "other"])?;
    std::fs::write(main.join("a.txt"), "theirs\n")?;
    git(&main, &["commit", "-qm", "theirs", "a.txt"])?;
    git(&main, &["checkout", "-q", "main"])?;
    std::fs::write(main.join("a.txt"), "ours\n")?;
    git(&main, &["commit", "-qm", "ours", "a.txt"])?;
    assert!(git(&main, &["merge", "-q", "other"]).is_err());
    let diff = agent.call("git_diff", json!({ "files": ["a.txt"] })).await?;
    assert_eq!((diff["files"].as_array().map(Vec::len), &diff["total"]), (Some(1), &json!(1)), "{diff:#}");
    assert!(diff["output"].as_str().is_some_and(|patch| patch.contains("theirs")), "{diff:#}");
    agent.finish().await
}
