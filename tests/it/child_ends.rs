//! Real adapters that are killed or crash: who is told when, and what is left. Scripted ones: [`super::child_faults`].

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::child::Subject;
use tests::client::DapClient;
use tests::transcript::Transcript;

/// Declares a story for each of these subjects that is set up.
macro_rules! told_with {
    ($($name:ident: $story:ident($subject:ident)),* $(,)?) => {
        $(#[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            if Subject::$subject.is_set_up() { $story(Subject::$subject).await } else { Ok(()) }
        })*
    };
}

told_with! {
    lldb_that_dies_before_anybody_configured_is_told_of: dies_early(Lldb),
    gdb_that_dies_before_anybody_configured_is_told_of: dies_early(Gdb),
    delve_that_dies_before_anybody_configured_is_told_of: dies_early(Delve),
    js_debug_that_dies_before_anybody_configured_is_told_of: dies_early(Js),
    bash_dap_that_dies_before_anybody_configured_is_told_of: dies_early(Bash),
    debugpy_that_dies_before_anybody_configured_is_told_of: dies_early(PythonAdapter),
}

/// A session whose processes are known by a variable.
struct Marked {
    editor: DapClient,
    folder: tempfile::TempDir,
    _aside: tempfile::TempDir,
}

impl Marked {
    fn start() -> anyhow::Result<Self> {
        let (folder, aside) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let temporary = folder.path().display().to_string();
        // One that is never done, so that whoever kills a crashing lldb-dap does so in the midst of it.
        let symbolizer = aside.path().join("llvm-symbolizer");
        std::fs::write(&symbolizer, "#!/bin/sh\nsleep 60\n")?;
        std::fs::set_permissions(&symbolizer, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        // Both ours alone: whatever is left there, this session has left.
        let names = ["TMPDIR", "XDG_RUNTIME_DIR", "TANDEM_MARK"];
        let mut environment = HashMap::from(names.map(|name| (name.to_owned(), temporary.clone())));
        environment.insert("LLVM_SYMBOLIZER_PATH".into(), symbolizer.display().to_string());
        Ok(Self {
            editor: DapClient::start_in("editor", environment, &Transcript::default())?,
            folder,
            _aside: aside,
        })
    }

    /// The adapter's process, by a word of what it was started with.
    fn adapter(&self, subject: Subject) -> anyhow::Result<Pid> {
        let word = match subject {
            Subject::Lldb => "lldb-dap",
            Subject::Gdb => "gdb",
            Subject::Delve => "dlv",
            Subject::Js => "DebugServer",
            Subject::Bash => "bash_dap",
            _ => "debugpy.adapter",
        };
        let mark = self.folder.path().display().to_string();
        let folders = std::fs::read_dir("/proc")?.flatten();
        let found = folders.filter_map(|process| {
            let text = |name: &str| {
                let bytes = std::fs::read(process.path().join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let words = text("cmdline");
            let helps =
                words.contains("exec-held") || words.contains("--launch-target") || words.contains("warden");
            let ours = text("environ").contains(&format!("TANDEM_MARK={mark}"));
            (ours && words.contains(word) && !helps).then(|| process.file_name().to_str()?.parse().ok())?
        });
        let found: Vec<i32> = found.collect();
        let first = found.iter().min().with_context(|| format!("no {word}"))?;
        Pid::from_raw(*first).context("no process")
    }
}

/// Its editor would wait for an answer to what it has not asked yet.
async fn dies_early(subject: Subject) -> anyhow::Result<()> {
    let mut marked = Marked::start()?;
    marked.editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = marked.editor.send("launch", subject.launch()).await?;
    marked.editor.initialized(launch).await?;
    let start = Instant::now();
    kill_process(marked.adapter(subject)?, Signal::KILL)?;
    let answer = marked.editor.response(launch).await?;
    let told = if answer.success {
        marked.editor.event("terminated").await?;
        marked.editor.output[2].clone()
    } else {
        answer.body["error"]["variables"]["message"].as_str().unwrap_or_default().to_owned()
    };
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(told.contains("ended by signal 9"), "{told}");
    marked.editor.finish().await
}

/// Its crash handler has a symbolizer read and write files, for seconds; the program knows nothing of where.
#[tokio::test]
async fn lldb_that_crashes_leaves_no_files() -> anyhow::Result<()> {
    if !Subject::Lldb.is_set_up() {
        return Ok(());
    }
    let subject = Subject::Lldb;
    let mut marked = Marked::start()?;
    marked.editor.launch_child(subject.launch(), &subject.source(), &[subject.line("handle")]).await?;
    let pid = marked.editor.event("process").await?["systemProcessId"].as_u64().context("no process id")?;
    let environment = std::fs::read(format!("/proc/{pid}/environ"))?;
    let own = format!("TMPDIR={}", marked.folder.path().display());
    assert!(environment.split(|byte| *byte == 0).any(|variable| variable == own.as_bytes()), "not {own}");
    marked.editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    marked.editor.stop().await?;
    // Sent from outside the signal does not end it, but its handler does as in a crash. It is killed in the midst of that.
    let adapter = marked.adapter(subject)?;
    kill_process(adapter, Signal::ABORT)?;
    let crashes = async {
        while !files_below(marked.folder.path()).iter().any(|name| name.contains("symbolizer")) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(10), crashes).await;
    in_time.context("its crash handler writes no files")?;
    kill_process(adapter, Signal::KILL)?;
    marked.editor.event("terminated").await?;
    let Marked { editor, folder, _aside } = marked;
    editor.finish().await?;
    assert_eq!(files_below(folder.path()), [""; 0]);
    Ok(())
}

/// All files, also in the folder of sessions, which may stay.
fn files_below(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.flat_map(|entry| match entry.path() {
        folder if folder.is_dir() => files_below(&folder),
        file => vec![file.display().to_string()],
    });
    names.collect()
}
