//! `agentAccess: readOnly` with every engine, on programs that record when their code runs: none of it
//! runs.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_display_does_not_run_for_an_agent_that_may_only_look,
}

const ROBOT: &str = r#"{ "clientID": "tandem-mcp", "clientName": "robot", "supportsVariableType": true }"#;

async fn join_agent(editor: &mut DapClient, transcript: &Transcript) -> anyhow::Result<DapClient> {
    let mut agent = DapClient::connect("agent", &editor.socket().await?, transcript).await?;
    agent.join(serde_json::from_str(ROBOT)?).await?;
    Ok(agent)
}

/// The first scope's rows of the top frame, and the frame.
async fn locals(client: &mut DapClient) -> anyhow::Result<(Vec<Value>, Value)> {
    let (_, frame) = client.stop().await?;
    let scopes = client.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let locals = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let rows = client.ok("variables", locals).await?["variables"].as_array().cloned();
    Ok((rows.context("no variables")?, frame["id"].clone()))
}

async fn a_display_does_not_run_for_an_agent_that_may_only_look(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("values", &["objects"], json!({ "agentAccess": "readOnly" })).await?;
    let mut agent = join_agent(&mut editor, &transcript).await?;
    let (seen, frame) = locals(&mut agent).await?;
    let row = |rows: &[Value], name: &str| {
        rows.iter().find(|row| row["name"] == name).cloned().context("no such row")
    };
    assert_eq!(row(&seen, "shown")?["value"], "{Shown}");
    // Fields are still shown; a getter without a field says why it has no value.
    let derived = json!({ "variablesReference": row(&seen, "derived")?["variablesReference"] });
    let members =
        agent.ok("variables", derived).await?["variables"].as_array().cloned().context("no members")?;
    assert_eq!(row(&members, "Fixed")?["value"], "3");
    let runs = row(&members, "Runs")?;
    let runs = json!({ "variablesReference": runs["variablesReference"] });
    let response = agent.ask("variables", runs).await?.body.to_string();
    assert!(response.contains("runs code of the program"), "{response}");
    // Expressions that call nothing are evaluated; for others the error names what would have run. Nothing is
    // compiled for this client.
    let arguments =
        |expression: &str| json!({ "expression": expression, "frameId": frame, "context": "repl" });
    assert_eq!(agent.ok("evaluate", arguments("derived.Fixed + 1")).await?["result"], "4");
    for (expression, named) in [
        ("derived.Runs", "`derived.Runs` runs code of the program"),
        ("1 + derived.ToString().Length", "`derived.ToString()` runs code of the program"),
        ("derived = null", "would be written to"),
        ("new[] { 1 }.Sum(n => n)", "runs code of the program"),
        ("await System.Threading.Tasks.Task.FromResult(1)", "needs the C# compiler"),
    ] {
        let response = agent.ask("evaluate", arguments(expression)).await?;
        let error = &response.body["error"]["variables"];
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            error["code"] == "ACCESS_DENIED" && message.contains(named),
            "{expression}: {}",
            response.body
        );
    }
    let program = editor.event("process").await?["systemProcessId"].as_u64().context("no process")?;
    assert_eq!(tandem_harness::compiled::compilers_beside(program)?, [0u64; 0]);
    // A person beside it sees everything.
    let (seen, _) = locals(&mut editor).await?;
    assert_eq!(row(&seen, "shown")?["value"], "Ann is 30 (15) {ok}");
    agent.finish().await?;
    editor.finish().await
}

/// Sends every request that DAP has, and some that it does not have.
async fn ask_everything(agent: &mut DapClient, typed: &str) -> anyhow::Result<HashMap<&'static str, String>> {
    let stopped = agent.event("stopped").await?;
    let thread = &stopped["threadId"];
    let shown = json!({ "threadId": thread, "format": { "parameters": true, "parameterValues": true,
        "parameterNames": true } });
    let stack = agent.ok("stackTrace", shown).await?;
    let frame = &stack["stackFrames"][0]["id"];
    let scopes = agent.ok("scopes", json!({ "frameId": frame })).await?;
    let scope = &scopes["scopes"][0]["variablesReference"];
    let mut outcomes = HashMap::new();
    for (command, arguments) in [
        ("threads", json!({})),
        ("modules", json!({})),
        ("loadedSources", json!({})),
        ("sessionInfo", json!({})),
        ("variables", json!({ "variablesReference": scope })),
        ("completions", json!({ "text": typed, "column": typed.len() + 1, "frameId": frame })),
        ("exceptionInfo", json!({ "threadId": thread })),
        ("evaluate", json!({ "expression": typed, "frameId": frame, "context": "hover" })),
        ("evaluate", json!({ "expression": typed, "frameId": frame, "context": "watch" })),
        ("evaluate", json!({ "expression": typed, "frameId": frame, "context": "repl" })),
        ("setVariable", json!({ "variablesReference": scope, "name": "trap", "value": typed })),
        ("setExpression", json!({ "expression": "trap", "value": typed, "frameId": frame })),
        ("gotoTargets", json!({ "source": stack["stackFrames"][0]["source"], "line": 1 })),
        ("stepInTargets", json!({ "frameId": frame })),
        ("dataBreakpointInfo", json!({ "variablesReference": scope, "name": "trap" })),
        (
            "setBreakpoints",
            json!({ "source": stack["stackFrames"][0]["source"], "breakpoints": [{ "line": 1,
                "condition": typed }] }),
        ),
        ("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "main", "condition": typed }] })),
        ("restartFrame", json!({ "frameId": frame })),
        ("next", json!({ "threadId": thread })),
        ("restart", json!({})),
        ("pydevdSystemInfo", json!({})),
        ("invented", json!({ "expression": typed })),
    ] {
        let answer = agent.ask(command, arguments).await?;
        let code = answer.body["error"]["variables"]["code"].as_str().unwrap_or("ok").to_owned();
        outcomes.insert(command, code);
    }
    Ok(outcomes)
}

/// Launches, with read-only access, a program that writes a file when a debugger runs any of its code.
async fn launch_read_only(
    subject: Subject,
    name: &str,
    text: &str,
    typed: &str,
) -> anyhow::Result<HashMap<&'static str, String>> {
    let folder = tempfile::tempdir()?;
    let (program, ran) = (folder.path().join(name), folder.path().join("ran"));
    let text = text.replace("RAN", &ran.display().to_string());
    std::fs::write(&program, &text)?;
    let transcript = Transcript::default();
    let mut editor = DapClient::start_in("editor", HashMap::new(), &transcript)?;
    let mut launch = subject.with(json!({ "program": program }));
    launch["agentAccess"] = json!("readOnly");
    let line = tandem_harness::child::line(&program, "here");
    editor.launch_child(launch, &program, &[line]).await?;
    editor.event("stopped").await?;
    let mut agent = join_agent(&mut editor, &transcript).await?;
    let outcomes = ask_everything(&mut agent, &typed.replace("RAN", &ran.display().to_string())).await?;
    agent.finish().await?;
    not_run(&ran)?;
    editor.finish().await?;
    Ok(outcomes)
}

fn not_run(ran: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(ran).unwrap_or_default();
    ensure!(!ran.exists(), "code of the program ran: {text}");
    Ok(())
}

/// Every request that changes or runs something is refused.
fn check(outcomes: &HashMap<&'static str, String>, denied: &[&str]) {
    let always = [
        "evaluate",
        "setVariable",
        "setExpression",
        "gotoTargets",
        "stepInTargets",
        "dataBreakpointInfo",
        "setBreakpoints",
        "setFunctionBreakpoints",
        "restartFrame",
        "next",
        "restart",
        "pydevdSystemInfo",
        "invented",
    ];
    for command in always.iter().chain(denied) {
        assert_eq!(outcomes.get(command).map(String::as_str), Some("ACCESS_DENIED"), "{command}");
    }
    assert_eq!(outcomes["threads"], "ok");
    assert_eq!(outcomes["sessionInfo"], "ok");
}

const PYTHON: &str = r#"
def ran(what):
    with open('RAN', 'a') as file:
        file.write(what + '\n')

class Trap:
    @property
    def a(self):
        ran('property')
        return 1
    def __repr__(self):
        ran('repr')
        return 'trap'
    def __getattr__(self, name):
        ran('getattr ' + name)
        raise AttributeError(name)
    def __dir__(self):
        ran('dir')
        return ['a']

trap = Trap()
print('here')  # BP here
"#;

const RUBY: &str = r#"
class Trap
  def ran(what) = File.write('RAN', what)
  def inspect
    ran 'inspect'
    'trap'
  end
  def a = ran('a')
end
trap = Trap.new
puts 'here' # BP here
"#;

const JAVASCRIPT: &str = r#"
const ran = what => require('fs').appendFileSync('RAN', what + '\n');
class Trap {
  get a() { ran('getter'); return 1; }
  toString() { ran('toString'); return 'trap'; }
  [Symbol.for('debug.description')]() { ran('description'); return 'trap'; }
  [Symbol.toPrimitive]() { ran('primitive'); return 1; }
}
const trap = new Trap();
console.log('here'); // BP here
"#;

const BASH: &str = "trap='$(touch RAN)'\nvalues=('a[$(touch RAN)]')\necho here # BP here\n";

#[tokio::test]
async fn python_runs_nothing_for_an_agent_that_may_only_look() -> anyhow::Result<()> {
    let outcomes = launch_read_only(Subject::Python, "main.py", PYTHON, "trap.a").await?;
    check(&outcomes, &["variables", "completions", "exceptionInfo"]);
    Ok(())
}

#[tokio::test]
async fn ruby_runs_nothing_for_an_agent_that_may_only_look() -> anyhow::Result<()> {
    let outcomes =
        launch_read_only(Subject::Rdbg, "main.rb", RUBY, r#"Kernel::system("touch RAN").a"#).await?;
    check(&outcomes, &["variables", "completions", "exceptionInfo"]);
    Ok(())
}

#[tokio::test]
async fn ruby_with_debug_1_9_2_runs_nothing_for_an_agent_that_may_only_look() -> anyhow::Result<()> {
    let outcomes =
        launch_read_only(Subject::Rdbg192, "main.rb", RUBY, r#"Kernel::system("touch RAN").a"#).await?;
    check(&outcomes, &["variables", "completions", "exceptionInfo"]);
    Ok(())
}

#[tokio::test]
async fn javascript_runs_nothing_for_an_agent_that_may_only_look() -> anyhow::Result<()> {
    let outcomes = launch_read_only(Subject::Js, "main.js", JAVASCRIPT, "trap.a").await?;
    check(&outcomes, &["variables", "completions", "exceptionInfo"]);
    Ok(())
}

#[tokio::test]
async fn bash_runs_nothing_for_an_agent_that_may_only_look() -> anyhow::Result<()> {
    let outcomes = launch_read_only(Subject::Bash, "main.sh", BASH, "$(touch RAN)").await?;
    check(&outcomes, &["variables", "completions", "exceptionInfo"]);
    Ok(())
}

#[tokio::test]
async fn native_values_are_read_by_an_agent_that_may_only_look() -> anyhow::Result<()> {
    for subject in [Subject::Lldb, Subject::Gdb, Subject::Delve] {
        let transcript = Transcript::default();
        let mut editor = DapClient::start_in("editor", HashMap::new(), &transcript)?;
        let mut launch = subject.launch();
        launch["agentAccess"] = json!("readOnly");
        editor.launch_child(launch, &subject.source(), &[subject.line("handle")]).await?;
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        editor.event("stopped").await?;
        let mut agent = join_agent(&mut editor, &transcript).await?;
        let outcomes = ask_everything(&mut agent, "1").await?;
        check(&outcomes, &["completions"]);
        assert_eq!(outcomes["variables"], "ok", "{subject:?}");
        agent.finish().await?;
        editor.finish().await?;
    }
    Ok(())
}
