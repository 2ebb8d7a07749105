//! Shell scripts: todo.txt's, which asks before it deletes.

use serde_json::json;
use tandem_harness::child::Subject;

use super::{AgentRun, copy_fetched};

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_shell_program_asks_and_the_agent_answers() -> anyhow::Result<()> {
    let folder = copy_fetched("/debian/todo")?;
    let (program, list) = (folder.path().join("todo-txt"), folder.path().join("todo.txt"));
    let config = folder.path().join("config");
    std::fs::write(&list, "buy  milk\nwrite a test\n")?;
    let folder_of = format!("export TODO_DIR={:?}\n", folder.path());
    let files = "export TODO_FILE=\"$TODO_DIR/todo.txt\"\nexport DONE_FILE=\"$TODO_DIR/done.txt\"\n\
        export REPORT_FILE=\"$TODO_DIR/report.txt\"\n";
    std::fs::write(&config, folder_of + files)?;
    let arguments = Subject::Bash
        .with(json!({ "program": program, "args": ["-d", config, "del", "1"], "run": true,
        "breakpoints": [{ "sourceFile": program, "text": "getTodo \"$item\"", "line": 1110 }] }));
    let mut visit = AgentRun::begin(folder.path()).await?;
    let hit = visit.launch("debug_launch", arguments).await?;
    visit.hits(&hit, "main")?;
    let into = visit.call("debug_step_into", json!({})).await?;
    assert_eq!(into["event"]["function"], "getTodo", "{into}");
    visit.call("debug_step_out", json!({})).await?;
    visit
        .check_values(&[("item", "1"), ("todo", "buy  milk"), ("$todo", "buy  milk"), ("${#todo}", "9")])
        .await?;
    visit.remove_breakpoints().await?;
    let asks = visit.call("debug_continue", json!({})).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    visit.call("process_write_input", json!({ "data": "y\n" })).await?;
    let ended = visit.call("debug_wait", json!({})).await?;
    visit.has_ended(&ended, 0, "TODO: 1 deleted.").await?;
    // The others keep their numbers.
    assert_eq!(std::fs::read_to_string(&list)?, "\nwrite a test\n");
    Ok(())
}
