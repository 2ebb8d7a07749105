//! Programs for other machines and systems: the error names their kind, and nothing runs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_program_of_another_machine_is_named,
}

net8_tests! {
    a_program_of_another_machine_is_named,
}

/// A copy of an executable whose header names another machine: its class and its machine (ELF header,
/// `e_ident` and `e_machine`).
fn changed(from: &Path, to: PathBuf, class: u8, machine: u8) -> anyhow::Result<PathBuf> {
    let mut bytes = std::fs::read(from)?;
    bytes[4] = class;
    bytes[0x12] = machine;
    // Not written by this process, which may start another just then: a file that is open for writing cannot
    // be started.
    std::fs::copy(from, &to)?;
    std::fs::write(&to, bytes)?;
    Ok(to)
}

async fn check_refused(runtime: Runtime, launch: Value, words: &str) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let answer = editor.ask("launch", launch).await?;
    let message = answer.message.unwrap_or_default();
    anyhow::ensure!(message.contains(words), "{message}");
    assert_eq!(answer.body["error"]["variables"]["code"], "LAUNCH_FAILED", "{message}");
    assert_eq!(editor.output[..2], ["", ""], "something has run");
    editor.finish().await
}

async fn a_program_of_another_machine_is_named(runtime: Runtime) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let place = |name: &str| scratch.path().join(name);
    let assembly = PathBuf::from(fixture::program("apphost"));
    let host = assembly.with_extension("");
    std::fs::copy(&assembly, place("arm.dll"))?;
    let arm = changed(&host, place("arm"), 2, 183)?;
    let small = changed(&host, place("small"), 1, 3)?;
    let windows = place("tool.exe");
    std::fs::write(&windows, [&b"MZ"[..], &[0; 58], &[0x40, 0, 0, 0], b"PE\0\0\x64\xaa", &[0; 64]].concat())?;
    let (arm_words, windows_words) =
        ("a Linux program for 64-bit ARM (AArch64)", "a Windows program for 64-bit");
    for (launch, words) in [
        (json!({ "program": arm }), arm_words),
        (json!({ "program": arm, "noDebug": true }), arm_words),
        (json!({ "program": arm, "engine": "lldb" }), arm_words),
        (json!({ "program": arm, "engine": "gdb" }), arm_words),
        (json!({ "program": small }), "a Linux program for 32-bit x86"),
        (json!({ "program": windows }), windows_words),
        (json!({ "program": windows, "engine": "gdb" }), windows_words),
    ] {
        check_refused(runtime, launch, words).await?;
    }
    // The `dotnet` that would run it is not a program for this machine either.
    changed(&host, place("dotnet"), 2, 183)?;
    let launch = json!({ "program": fixture::program("tour"), "env": { "DOTNET_ROOT": scratch.path() } });
    check_refused(runtime, launch, arm_words).await
}
