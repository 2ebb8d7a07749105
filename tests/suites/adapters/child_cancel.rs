//! `cancel` with child adapters: it reaches only those that announce it, because it crashes some
//! (lldb-dap 19, rdbg), and debugpy prints into the program's output. The cancelled request is answered
//! anyway, and the session continues.

use std::collections::HashMap;

use serde_json::json;
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

/// Acts like an editor while its user types in the console: each key requests completions
/// and cancels older requests.
async fn types_in_the_console(subject: Subject) -> anyhow::Result<()> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let source = subject.source();
    editor.launch_child(subject.launch(), &source, &[subject.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    for typed in ["l", "le", "len", "leng"] {
        let arguments = json!({ "text": typed, "column": typed.len() + 1, "frameId": frame["id"] });
        let completions = editor.send("completions", arguments).await?;
        let evaluation = json!({ "expression": typed, "frameId": frame["id"], "context": "watch" });
        let evaluation = editor.send("evaluate", evaluation).await?;
        for seq in [completions, evaluation] {
            editor.ok("cancel", json!({ "requestId": seq })).await?;
        }
        for seq in [completions, evaluation] {
            editor.response(seq).await?;
        }
    }
    editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.ok("processWriteInput", json!({ "data": "", "closeAfter": true })).await?;
    editor.event("exited").await?;
    let output = editor.output.concat().to_lowercase();
    assert!(!output.contains("cancel") && !output.contains("unknown"), "{output}");
    // gdb prints its rules for signals when they are set.
    assert!(!output.contains("pass to program"), "{output}");
    editor.finish().await
}

parameterized_tests! {
    in_python: types_in_the_console(Subject::Python),
    in_python_through_its_adapter: types_in_the_console(Subject::PythonAdapter),
    in_c_under_lldb: types_in_the_console(Subject::Lldb),
    in_c_under_gdb: types_in_the_console(Subject::Gdb),
    in_go: types_in_the_console(Subject::Delve),
    in_ruby: types_in_the_console(Subject::Rdbg),
    in_ruby_with_debug_1_9_2: types_in_the_console(Subject::Rdbg192),
    in_javascript: types_in_the_console(Subject::Js),
    in_a_shell_script: types_in_the_console(Subject::Bash),
    in_perl: types_in_the_console(Subject::Perl),
}
