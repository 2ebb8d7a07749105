//! Lambdas in queries of a database: the database evaluates them, and inspection does not change the
//! entities that the program tracks.

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

net10_tests! {
    a_lambda_on_a_query_is_worked_out_by_the_database,
}

async fn a_lambda_on_a_query_is_worked_out_by_the_database(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let source = std::path::PathBuf::from(fixture::modern_source("database"));
    let stop = editor.launch_to(&fixture::modern_program("database"), (source, "stored"), json!({})).await?;
    let tracked = ("db.ChangeTracker.Entries().Count()", "1");
    let expected = [
        tracked,
        ("counted", "2"),
        ("db.Orders.Where(o => o.Lines.Any(l => l.Count > 3)).Count()", "2"),
        ("db.Orders.Count(o => o.Lines.Any(l => l.Count > least))", "2"),
        ("await db.Orders.CountAsync(o => o.Lines.Sum(l => l.Count) > least)", "2"),
        (
            "(from o in db.Orders where o.Lines.Count > 1 orderby o.Customer descending select \
                o.Customer).First()",
            "\"cyd\"",
        ),
        (
            "db.Orders.Select(o => new { o.Customer, Sum = o.Lines.Sum(l => l.Count) }).OrderBy(o => \
                o.Sum).Last().Sum",
            "13",
        ),
        ("db.Orders.Where(o => o.Id > least).ToQueryString().Contains(\"WHERE\")", "true"),
        // An expression can turn tracking off, as in the program.
        (
            "db.Orders.AsNoTracking().Include(o => o.Lines).First(o => o.Customer == \"ann\").Lines.Sum(l \
                => l.Count)",
            "6",
        ),
        tracked,
        ("db.Orders.Where(o => o.Customr == \"x\").Count()", "! CS1061"),
        tracked,
    ];
    editor.check_results(&stop.frame, &expected).await?;
    editor.ok("continue", json!({ "threadId": stop.thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0, "{:?}", editor.output);
    assert!(editor.output[0].ends_with("2 bob\n1\n"), "{:?}", editor.output);
    editor.finish().await
}
