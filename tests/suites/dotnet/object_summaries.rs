//! Summaries of objects without a display string, for agents: their first fields,
//! also among changed variables.

use std::path::PathBuf;

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::transcript::Transcript;

const PYTHON: &str = r#"class Account:
    def __init__(self):
        self.name = "ann"
        self.balance = 70
        self.history = [30, 5]
        self.owner = self

    @property
    def total(self):
        print("the program ran")


class Slots:
    __slots__ = ("x", "y")


class Own:
    def __repr__(self):
        return "its own"


class Empty:
    pass


class Key:
    def __hash__(self):
        return hash("k")

    def __eq__(self, other):
        print("the program ran")
        return False


class Fields(dict):
    def items(self):
        print("the program ran")
        return super().items()


class Trap:
    pass


trap, keyed = Trap(), Empty()
trap.__dict__ = Fields(a=1, b=2)
keyed.of = {Key(): 1}
keyed.of.setdefault("other", 2)
account, slots, own, empty = Account(), Slots(), Own(), Empty()
slots.x = 1
several = [account]
account.balance = 80  # BP here
print("done")
"#;

const JAVASCRIPT: &str = r#"class Account {
  constructor() {
    this.name = "ann";
    this.balance = 70;
    this.history = [30, 5];
    this.owner = this;
  }
}
function main() {
  const account = new Account();
  account.balance = 80; // BP here
  console.log("done");
}
main();
"#;

const RUBY: &str = r#"class Account
  def initialize
    @name = "ann"
    @balance = 70
    @history = [30, 5]
    @owner = self
  end
  attr_writer :balance
end
def main
  account = Account.new
  account.balance = 80 # BP here
  puts "done"
end
main
"#;

/// The value of the row with a name, and what it was.
fn value(rows: &Value, name: &str) -> (String, String) {
    let row =
        rows.as_array().into_iter().flatten().find(|row| row["name"] == name).cloned().unwrap_or_default();
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    (text("value"), text("was"))
}

/// An agent that was notified of a stop at the marker of a program in a separate folder.
struct AgentStop {
    agent: Agent,
    event: Value,
    _folder: tempfile::TempDir,
}

async fn launch_to_stop(subject: Subject, name: &str, text: &str) -> anyhow::Result<AgentStop> {
    let folder = tempfile::tempdir()?;
    let script: PathBuf = folder.path().join(name);
    std::fs::write(&script, text)?;
    let line = text.lines().position(|line| line.contains("BP here")).unwrap_or_default() + 1;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let mut arguments = subject.with(json!({ "program": script, "run": true }));
    arguments["breakpoints"] = json!([{ "sourceFile": script, "line": line }]);
    let mut hit = agent.call("debug_launch", arguments).await?;
    Ok(AgentStop { agent, event: hit["event"].take(), _folder: folder })
}

#[tokio::test]
async fn an_object_of_python_shows_its_fields_and_runs_nothing() -> anyhow::Result<()> {
    for subject in [Subject::Python, Subject::PythonAdapter] {
        let AgentStop { mut agent, event, _folder } = launch_to_stop(subject, "main.py", PYTHON).await?;
        let before = "Account(name='ann', balance=70, history=[30, 5], owner=Account(...))";
        let after = before.replace("70", "80");
        let locals = &event["locals"];
        assert_eq!(value(locals, "account").0, before, "{event}");
        assert_eq!(value(locals, "several").0, format!("[{before}]"), "{event}");
        assert_eq!(value(locals, "slots").0, "Slots(x=1)", "{event}");
        assert_eq!(value(locals, "own").0, "its own", "{event}");
        assert_eq!(value(locals, "trap").0, "Trap(a=1, b=2)", "{event}");
        assert_eq!(value(locals, "keyed").0, "Empty(of={Key(...): 1, 'other': 2})", "{event}");
        assert!(value(locals, "empty").0.starts_with("<__main__.Empty object at 0x"), "{event}");
        // An evaluation expands its result, and debugpy runs the properties of an object to expand it.
        let output = agent.call("process_read_output", json!({})).await?;
        assert!(!output.to_string().contains("the program ran"), "{output}");
        let result = agent.call("debug_evaluate", json!({ "expression": "account.owner" })).await?;
        assert_eq!(result["result"], before, "{result}");
        let stepped = agent.call("debug_step_over", json!({})).await?;
        let changed = &stepped["event"]["changed"];
        assert_eq!(value(changed, "account"), (after, before.to_owned()), "{stepped}");
        let again = agent.call("debug_variables", json!({})).await?;
        assert!(value(&again["variables"], "account").0.contains("balance=80"), "{again}");
        agent.finish().await?;
    }
    Ok(())
}

/// Their debuggers have a display string for each object.
#[tokio::test]
async fn objects_of_javascript_and_ruby_show_their_fields() -> anyhow::Result<()> {
    for (subject, name, text, fields) in [
        (Subject::Js, "main.js", JAVASCRIPT, ["name: 'ann'", "balance: 70"]),
        (Subject::Rdbg, "main.rb", RUBY, ["@name=\"ann\"", "@balance=70"]),
        (Subject::Rdbg192, "main.rb", RUBY, ["@name=\"ann\"", "@balance=70"]),
    ] {
        let AgentStop { mut agent, event, _folder } = launch_to_stop(subject, name, text).await?;
        let shown = value(&event["locals"], "account").0;
        assert!(fields.iter().all(|field| shown.contains(field)), "{subject:?}: {event}");
        let answer = agent.call("debug_evaluate", json!({ "expression": "account" })).await?;
        let result = answer["result"].as_str().unwrap_or_default();
        assert!(fields.iter().all(|field| result.contains(field)), "{subject:?}: {answer}");
        let stepped = agent.call("debug_step_over", json!({})).await?;
        let (now, was) = value(&stepped["event"]["changed"], "account");
        assert!(now.contains("80") && was.contains("70"), "{subject:?}: {stepped}");
        agent.finish().await?;
    }
    Ok(())
}
