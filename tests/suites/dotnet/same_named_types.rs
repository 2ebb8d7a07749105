//! Assemblies with types of the same names, and two assemblies with the same name and version: a name means
//! what the code at the stop means by it.

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use super::compiled::Expected;

net10_tests! {
    names_mean_types_of_the_assembly_at_the_stop,
}

async fn names_mean_types_of_the_assembly_at_the_stop(runtime: Runtime) -> anyhow::Result<()> {
    let folder = fixture::root().join("fixtures/programs/modern/twins");
    let (own, other) = (folder.join("Program.cs"), folder.join("other/Other.cs"));
    // In the program, in its library, in a copy of the program in another load context, and back in the
    // program.
    let stops: [(_, Expected); 5] = [
        (
            (own.clone(), "own"),
            &[
                ("Settings.Level", "14"),
                ("Settings.Name", "\"twins\""),
                ("Library.Level", "34"),
                ("new Item().Number + Item.Made", "29"),
                ("(Mode)4", "4"),
                ("5.Marked()", "\"twins5\""),
                ("new[] { 1 }.Select(n => n + Settings.Level).First()", "15"),
            ],
        ),
        (
            (other.clone(), "other"),
            &[
                ("Settings.Level", "20"),
                ("Twins.Settings.Name", "\"other\""),
                ("global::Twins.Settings.Level", "20"),
                ("new Item().Number + Item.Made", "41"),
                ("(Mode)4", "Slow"),
                ("5.Marked()", "\"other5\""),
                ("item is Item { Number: 20 }", "true"),
                ("((Point)point).X", "3"),
                ("((Point)point).ToString()", "\"other3\""),
                ("item", "other 20"),
                ("typeof(Item).Assembly.GetName().Name", "\"other\""),
                ("new List<Item> { new Item() }[0].Number", "20"),
                ("new[] { 1 }.Select(n => n + Settings.Level).First()", "21"),
                ("new[] { 1 }.Select(n => n.Marked()).First()", "\"other1\""),
                ("Settings.Level = 21", "21"),
            ],
        ),
        (
            (own.clone(), "own"),
            &[
                ("context + Program.Context", "\"the copythe copy\""),
                ("Settings.Level", "18"),
                ("Library.Level", "38"),
                ("Settings.Level = 19", "19"),
                ("Library.Level = 39", "39"),
            ],
        ),
        ((other, "other"), &[("Settings.Level", "20"), ("Library.Level", "39")]),
        ((own, "end"), &[("Program.Context", "\"main\""), ("Settings.Level", "14"), ("Library.Level", "34")]),
    ];
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let mut stop = None;
    for (number, (place, expected)) in stops.into_iter().enumerate() {
        let stop = match &mut stop {
            None => {
                let program = fixture::modern_program("twins");
                stop.insert(editor.launch_to(&program, place, json!({})).await?)
            }
            Some(stop) => {
                editor.continue_to(stop, place).await?;
                stop
            }
        };
        let checked = editor.check_results(&stop.frame, expected).await;
        anyhow::Context::with_context(checked, || format!("at stop {number}"))?;
    }
    let thread = stop.map(|stop| stop.thread);
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    let printed = editor.ok("processReadOutput", json!({ "stream": "stdout" })).await?;
    let printed = printed["stdout"].as_str().unwrap_or_default().to_owned();
    editor.finish().await?;
    assert!(printed.contains("other 21\n") && printed.ends_with("14 34 main\ndone\n"), "{printed}");
    Ok(())
}
