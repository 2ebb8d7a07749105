//! Attributes that configurations of other .NET debuggers have: honoured, refused, or named in the debug
//! console, never passed over in silence. Those about sources and symbols: [`super::remote_sources`],
//! [`super::symbol_servers`], [`super::jit_optimizations`].

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncBufReadExt, BufReader};

dotnet_tests! {
    logging_says_what_it_is_asked_to,
    a_process_is_attached_to_by_its_name,
}

net10_tests! {
    unsupported_attributes_are_refused_by_name,
    options_that_mean_nothing_are_named,
    values_in_env_may_be_numbers_and_booleans,
}

async fn logging_says_what_it_is_asked_to(runtime: Runtime) -> anyhow::Result<()> {
    let flags = ["moduleLoad", "exceptions", "threadExit", "processExit"];
    for (flag, texts) in flags.iter().zip([
        "Loaded `",
        "Exception thrown: `System.",
        "Thread ",
        "The program has ended with exit code 0.\n",
    ]) {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("distant", &[], json!({ "logging": { *flag: true } })).await?;
        editor.event("exited").await?;
        editor.event("terminated").await?;
        let console = editor.output[2].clone();
        editor.finish().await?;
        assert!(console.contains(texts), "{flag}: {console}");
        for (other, others) in
            flags.iter().zip(["Loaded `", "Exception thrown: `", " has ended.", "with exit code"])
        {
            assert!(other == flag || !console.contains(others), "{flag}: {console}");
        }
        if *flag == "exceptions" {
            assert!(
                console.contains("Exception thrown: `System.ArgumentException` in distantlib.dll."),
                "{console}"
            );
        }
    }
    Ok(())
}

async fn a_process_is_attached_to_by_its_name(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let name = format!("named{}{}", std::process::id(), runtime.name());
    for ending in ["dll", "runtimeconfig.json"] {
        let from = fixture::program("echo").replace("dll", ending);
        std::fs::copy(from, folder.path().join(format!("{name}.{ending}")))?;
    }
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    assert_eq!(editor.refused("attach", json!({ "processName": name })).await?, "PROCESS_NOT_FOUND");
    let both = json!({ "processName": name, "processId": 1 });
    assert_eq!(editor.refused("attach", both).await?, "INVALID_PARAMETER");
    let mut command = tokio::process::Command::new(runtime.dotnet().context("no dotnet")?);
    command.arg(folder.path().join(format!("{name}.dll"))).envs(runtime.environment().context("no runtime")?);
    command.kill_on_drop(true).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut process = command.spawn()?;
    let mut stdin = process.stdin.take().context("no stdin")?;
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"a\n").await?;
    let mut lines = BufReader::new(process.stdout.take().context("no stdout")?).lines();
    lines.next_line().await?.context("the program prints nothing")?;
    let attach = editor.send("attach", json!({ "processName": name })).await?;
    editor.initialized(attach).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(attach).await?.success);
    let event = editor.event("process").await?;
    assert_eq!(event["systemProcessId"].as_u64(), process.id().map(u64::from));
    editor.finish().await?;
    drop(stdin);
    anyhow::ensure!(process.wait().await?.success(), "it continues when it is released");
    Ok(())
}

async fn unsupported_attributes_are_refused_by_name(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    for (attribute, value) in
        [("pipeTransport", json!({ "pipeProgram": "ssh" })), ("targetArchitecture", json!("arm64"))]
    {
        for (command, what) in [
            ("launch", json!({ "program": fixture::program("echo") })),
            ("attach", json!({ "processId": std::process::id(), "engine": "coreclr" })),
        ] {
            let mut arguments = what;
            arguments[attribute] = value.clone();
            let refused = editor.ask(command, arguments).await?;
            let error = &refused.body["error"]["variables"];
            assert_eq!(error["code"], "UNSUPPORTED", "{}", refused.body);
            assert!(
                error["message"].as_str().is_some_and(|message| message.contains(&format!("`{attribute}`")))
            );
        }
    }
    for (attribute, value) in [
        ("symbolOptions", json!({ "searchPaths": ["http://symbols.example"] })),
        ("sourceLinkOptions", json!({ "*": true })),
        ("suppressJITOptimizations", json!("yes")),
        ("requireExactSource", json!(1)),
        ("logging", json!([])),
        ("env", json!({ "A": [] })),
    ] {
        let arguments = json!({ "program": fixture::program("echo"), attribute: value });
        let refused = editor.ask("launch", arguments).await?;
        let error = &refused.body["error"]["variables"];
        assert_eq!(error["code"], "INVALID_PARAMETER", "{attribute}: {}", refused.body);
        assert!(
            error["message"].as_str().is_some_and(|message| message.contains(&format!("`{attribute}"))),
            "{error}"
        );
    }
    editor.finish().await
}

async fn options_that_mean_nothing_are_named(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let odd = json!({ "logging": { "engineLogging": true }, "symbolOptions": { "searchPath": [] },
        "targetArchitecture": "x86_64", "checkForDevCert": true });
    editor.launch("distant", &[], odd).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    let console = editor.output[2].clone();
    for expected in [
        "`checkForDevCert`: the attribute means nothing",
        "logging.engineLogging, symbolOptions.searchPath: the .NET engine has no such options",
    ] {
        assert!(console.contains(expected), "{console}");
    }
    assert!(!console.contains("targetArchitecture"), "{console}");
    editor.finish().await
}

async fn values_in_env_may_be_numbers_and_booleans(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let env = json!({ "MODE": 7, "GREETING": true, "ASPNETCORE_URLS": null });
    editor.launch("settings", &[], json!({ "env": env })).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    let printed = editor.output[0].clone();
    editor.finish().await?;
    for line in ["MODE=7\n", "GREETING=true\n", "ASPNETCORE_URLS=\n"] {
        assert!(printed.contains(line), "{printed}");
    }
    Ok(())
}
