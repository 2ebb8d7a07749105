//! Fields that are references (`ref` fields): a value written to one is written to the
//! variable that it refers to.

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

net10_tests! {
    a_ref_field_is_written_through,
}

async fn a_ref_field_is_written_through(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let (thread, frame) = editor.stopped_in_modern("refs", "held").await?;
    let frame = frame["id"].clone();
    for (expression, value, of) in [
        ("holder.Number", "11", "number"),
        ("holder.Number", "holder.Number * 2", "number"),
        ("holder.Text", "\"set\"", "text"),
        ("holder.Text", "text + \"!\"", "text"),
    ] {
        let arguments = json!({ "expression": expression, "value": value, "frameId": frame });
        let set = editor.ok("setExpression", arguments).await?["value"].clone();
        for name in [expression, of] {
            let arguments = json!({ "expression": name, "frameId": frame });
            assert_eq!(
                editor.ok("evaluate", arguments).await?["result"],
                set,
                "{name} after {expression} = {value}"
            );
        }
    }
    for (expression, result) in
        [("holder.Number += 1", "23"), ("number", "23"), ("holder.Number--", "23"), ("number", "22")]
    {
        let arguments = json!({ "expression": expression, "frameId": frame });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], result, "{expression}");
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("exited").await?;
    assert!(editor.output[0].starts_with("22 set!"), "{:?}", editor.output);
    editor.finish().await
}
