//! Names of threads: the program's name, else their number in the program.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    names_of_threads_come_from_the_program,
    a_list_of_a_running_program_follows_its_threads,
}

net8_tests! {
    names_of_threads_come_from_the_program,
    a_list_of_a_running_program_follows_its_threads,
}

/// The names of all threads at the next stop, and what the program says the numbers of some are.
async fn names(editor: &mut DapClient) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let (thread, frame) = editor.stop().await?;
    let body = editor.ok("threads", json!({})).await?;
    let list = body["threads"].as_array().context("no threads")?;
    let names = list.iter().map(|thread| thread["name"].as_str().unwrap_or_default().to_owned()).collect();
    let mut numbers = Vec::new();
    for expression in ["plain.ManagedThreadId", "twin.ManagedThreadId", "other.ManagedThreadId", "pool"] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"] });
        let body = editor.ok("evaluate", arguments).await?;
        numbers.push(body["result"].as_str().context("no number")?.to_owned());
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    Ok((names, numbers))
}

async fn names_of_threads_come_from_the_program(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("threads", &["started", "named", "ended"], json!({})).await?;
    let (started, numbers) = names(&mut editor).await?;
    assert_eq!(started[0], "Main Thread");
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    assert!(has(&started, "worker \"one\""), "{started:?}");
    // Without a name, and two of one name: by the number the program knows them by.
    for name in
        [format!("Thread #{}", numbers[0]), format!("twin #{}", numbers[1]), format!("twin #{}", numbers[2])]
    {
        assert!(has(&started, &name), "no {name} in {started:?}");
    }
    let pool = match runtime {
        // It has no name for them.
        Runtime::Net31 => format!("Thread #{}", numbers[3]),
        _ => format!(".NET TP Worker #{}", numbers[3]),
    };
    assert!(has(&started, &pool), "no {pool} in {started:?}");
    // A thread id of the operating system is not one of the program's, and the error explains it.
    let bare = |name: &&String| name.strip_prefix("Thread ").is_some_and(|rest| !rest.starts_with('#'));
    assert_eq!(started.iter().find(bare), None, "{started:?}");
    let (named, _) = names(&mut editor).await?;
    assert_eq!(named[0], "renamed main");
    assert!(has(&named, "named late"), "{named:?}");
    let (ended, _) = names(&mut editor).await?;
    assert!(!has(&ended, "worker \"one\"") && !has(&ended, "named late"), "{ended:?}");
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.finish().await
}

async fn a_list_of_a_running_program_follows_its_threads(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("threads", &[], json!({ "args": ["serve"] })).await?;
    const NAME: &str = "named while it runs";
    let names = |list: &Value| -> Vec<String> {
        let list = list["threads"].as_array().into_iter().flatten();
        list.map(|thread| thread["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    for line in ["begin", "name", "end"] {
        // The list from before is known by now.
        let before = names(&editor.ok("threads", json!({})).await?);
        editor.ok("processWriteInput", json!({ "data": format!("{line}\n") })).await?;
        while !editor.output[0].contains(&format!("did {line}\n")) {
            editor.event("output").await?;
        }
        let after = names(&editor.ok("threads", json!({})).await?);
        match line {
            "begin" => assert!(after.len() > before.len(), "{before:?}, then {after:?}"),
            "name" => assert!(after.iter().any(|name| name == NAME), "{before:?}, then {after:?}"),
            _ => assert!(!after.iter().any(|name| name == NAME), "{before:?}, then {after:?}"),
        }
    }
    editor.ok("processWriteInput", json!({ "data": "", "closeAfter": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.finish().await
}
