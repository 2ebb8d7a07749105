//! Groups of members: internal members of a library, static members, the arguments of generic parameters, the
//! members that a dynamic object reports. Each row of a group leads back to its value.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    non_public_members_of_libraries_are_in_a_group,
    members_of_user_types_are_in_no_group,
    static_members_of_bases_are_in_the_group,
    a_group_is_read_in_pages_and_its_rows_are_set,
    a_dynamic_object_shows_the_members_it_says_it_has,
    type_variables_are_shown_in_generic_code,
    an_agent_learns_how_to_look_into_a_group,
}

net8_tests! {
    non_public_members_of_libraries_are_in_a_group,
    a_dynamic_object_shows_the_members_it_says_it_has,
}

struct GroupsStop {
    editor: DapClient,
    frame: Value,
}

impl GroupsStop {
    async fn at(runtime: Runtime, marker: &str) -> anyhow::Result<Self> {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("groups", &[marker], json!({})).await?;
        let (_, frame) = editor.stop().await?;
        Ok(Self { editor, frame: frame["id"].clone() })
    }

    async fn evaluate(&mut self, expression: &str) -> anyhow::Result<Value> {
        let arguments = json!({ "expression": expression, "frameId": self.frame });
        self.editor.ok("evaluate", arguments).await
    }

    async fn inside(&mut self, row: &Value) -> anyhow::Result<Vec<Value>> {
        let arguments = json!({ "variablesReference": row["variablesReference"] });
        let body = self.editor.ok("variables", arguments).await?;
        body["variables"].as_array().cloned().context("no rows")
    }

    async fn rows(&mut self, expression: &str) -> anyhow::Result<Vec<Value>> {
        let value = self.evaluate(expression).await?;
        self.inside(&value).await
    }

    /// Whether each row that has a value leads back to it.
    async fn lead_back(&mut self, rows: &[Value]) -> anyhow::Result<()> {
        for row in
            rows.iter().filter(|row| row["presentationHint"]["lazy"] != true && row["type"].is_string())
        {
            let way = row["evaluateName"].as_str().with_context(|| format!("no way to {row}"))?;
            let value = self.evaluate(way).await.with_context(|| way.to_owned())?;
            assert_eq!((&value["result"], &value["type"]), (&row["value"], &row["type"]), "{row}");
        }
        Ok(())
    }
}

fn names(rows: &[Value]) -> Vec<&str> {
    rows.iter().filter_map(|row| row["name"].as_str()).collect()
}

fn named<'a>(rows: &'a [Value], name: &str) -> anyhow::Result<&'a Value> {
    let found = rows.iter().find(|row| row["name"] == name);
    found.with_context(|| format!("no {name} among {:?}", names(rows)))
}

const NON_PUBLIC: &str = "Non-Public members";

async fn non_public_members_of_libraries_are_in_a_group(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = GroupsStop::at(runtime, "here").await?;
    for (of, kept, public) in [
        ("own", "_buffer", Some("Capacity")),
        ("guid", "_a", None),
        ("source", "_disposed", Some("IsCancellationRequested")),
    ] {
        let rows = stopped.rows(of).await?;
        assert!(!names(&rows).contains(&kept), "{of}: {:?}", names(&rows));
        if let Some(public) = public {
            named(&rows, public)?;
        }
        let group = named(&rows, NON_PUBLIC)?.clone();
        assert_eq!(group["evaluateName"], format!("{of},hidden"));
        let inside = stopped.inside(&group).await?;
        named(&inside, kept)?;
        assert!(inside.iter().all(|row| row["presentationHint"]["visibility"] != "public"), "{inside:?}");
        stopped.lead_back(&inside).await?;
        // All of them beside each other.
        let all = stopped.rows(&format!("{of},hidden")).await?;
        named(&all, kept)?;
        assert!(!names(&all).contains(&NON_PUBLIC), "{:?}", names(&all));
    }
    stopped.editor.finish().await
}

async fn members_of_user_types_are_in_no_group(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = GroupsStop::at(runtime, "here").await?;
    let own = stopped.rows("own").await?;
    for (name, visibility) in [("mine", "private"), ("inside", "internal"), ("Yours", "public")] {
        assert_eq!(named(&own, name)?["presentationHint"]["visibility"], visibility);
    }
    let spot = stopped.rows("spot").await?;
    assert_eq!(names(&spot), ["x", "Y", "Static members"]);
    stopped.lead_back(&spot).await?;
    stopped.editor.finish().await
}

async fn static_members_of_bases_are_in_the_group(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = GroupsStop::at(runtime, "here").await?;
    let derived = stopped.rows("derived").await?;
    let group = named(&derived, "Static members")?.clone();
    assert_eq!((&group["value"], &group["evaluateName"]), (&json!("Derived"), &json!("Derived")));
    let statics = stopped.inside(&group).await?;
    assert_eq!(&names(&statics)[..4], ["Label", "counted", "Shared", "Doubled"]);
    assert_eq!(named(&statics, "counted")?["evaluateName"], "Own.counted");
    stopped.lead_back(&statics).await?;
    let doubled = named(&statics, "Doubled")?.clone();
    assert_eq!(doubled["presentationHint"]["lazy"], true);
    let value = stopped.inside(&doubled).await?;
    assert_eq!(value[0]["value"], "14", "{value:?}");
    // A static of the library's that is public, and some that are not.
    named(&statics, "Null")?;
    let source = stopped.rows("source").await?;
    let group = named(&source, "Static members")?.clone();
    let statics = stopped.inside(&group).await?;
    let kept = named(&statics, NON_PUBLIC)?.clone();
    let kept = stopped.inside(&kept).await?;
    assert!(
        !kept.is_empty() && kept.iter().all(|row| row["presentationHint"]["visibility"] != "public"),
        "{kept:?}"
    );
    stopped.editor.finish().await
}

async fn a_group_is_read_in_pages_and_its_rows_are_set(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = GroupsStop::at(runtime, "here").await?;
    let own = stopped.rows("own").await?;
    let group = named(&own, NON_PUBLIC)?["variablesReference"].clone();
    let all = stopped.inside(&json!({ "variablesReference": group })).await?;
    let arguments = json!({ "variablesReference": group, "start": 1, "count": 2 });
    let page = stopped.editor.ok("variables", arguments).await?;
    assert_eq!(names(page["variables"].as_array().context("no page")?), names(&all)[1..3]);
    let set = json!({ "variablesReference": group, "name": "_position", "value": "2" });
    assert_eq!(stopped.editor.ok("setVariable", set).await?["value"], "2");
    assert_eq!(stopped.evaluate("own.ReadByte()").await?["result"], "30");
    stopped.editor.finish().await
}

async fn a_dynamic_object_shows_the_members_it_says_it_has(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = GroupsStop::at(runtime, "here").await?;
    let loose = stopped.rows("loose").await?;
    let view = named(&loose, "Dynamic View")?.clone();
    assert_eq!(view["presentationHint"]["lazy"], true);
    let members = stopped.inside(&view).await?;
    assert_eq!(names(&members), ["Count", "Name", "Where"]);
    assert_eq!(
        [&members[0]["value"], &members[1]["value"], &members[2]["value"]],
        ["3", "\"ann\"", "{Spot}"],
        "{members:?}"
    );
    assert_eq!(names(&stopped.inside(&members[2]).await?)[..2], ["x", "Y"]);
    stopped.lead_back(&members).await?;
    // The view is a copy: writing into it would change nothing.
    let set = json!({ "variablesReference": view["variablesReference"], "name": "Count", "value": "5" });
    assert_eq!(stopped.editor.refused("setVariable", set).await?, "INVALID_PARAMETER");
    let empty = stopped.rows("empty").await?;
    let view = named(&empty, "Dynamic View")?.clone();
    let nothing = stopped.inside(&view).await?;
    assert_eq!((nothing.len(), &nothing[0]["name"]), (1, &json!("…")), "{nothing:?}");
    stopped.editor.finish().await
}

async fn type_variables_are_shown_in_generic_code(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = GroupsStop::at(runtime, "generic").await?;
    let scopes = stopped.editor.ok("scopes", json!({ "frameId": stopped.frame })).await?;
    let locals = stopped.inside(&scopes["scopes"][0]).await?;
    let variables = named(&locals, "Type variables")?.clone();
    assert_eq!(variables["value"], "T = string, U = int");
    let inside = stopped.inside(&variables).await?;
    assert_eq!((names(&inside), &inside[0]["value"]), (vec!["T", "U"], &json!("string")));
    let this = stopped.rows("this").await?;
    let group = named(&this, "Static members")?.clone();
    let statics = stopped.inside(&group).await?;
    assert_eq!((names(&statics), &statics[0]["value"]), (vec!["Last"], &json!("\"held\"")));
    stopped.lead_back(&statics).await?;
    stopped.editor.finish().await
}

async fn an_agent_learns_how_to_look_into_a_group(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let marked = json!({ "sourceFile": fixture::source("groups"), "line": fixture::line("groups", "here") });
    let launch = json!({ "program": fixture::program("groups"), "run": true, "breakpoints": [marked] });
    agent.call("debug_launch", launch).await?;
    let seen = agent.call("debug_variables", json!({ "path": "own" })).await?;
    let rows = seen["variables"].as_array().context("no rows")?;
    let path = named(rows, NON_PUBLIC)?["path"].clone();
    assert_eq!(path, "own,hidden", "{seen}");
    assert!(named(rows, "Length")?["path"].is_null(), "{seen}");
    let all = agent.call("debug_variables", json!({ "path": path })).await?;
    named(all["variables"].as_array().context("no rows")?, "_buffer")?;
    agent.finish().await
}
