//! .NET: servers made from the templates of the SDK, with real requests, and a solution of a program and a
//! library. `check` leaves them out where no SDK 10 is installed.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};

use super::{AgentRun, copy_fetched, fetched_path, request};
use tandem_harness::deadline::deadline_ms;

/// Starts the server of a template with these breakpoints; returns its port.
async fn start_server(template: &str, breakpoints: Value) -> anyhow::Result<(AgentRun, u16)> {
    let folder = PathBuf::from(fetched_path(&format!("/dotnet/{template}"))?);
    let mut visit = AgentRun::begin(&folder).await?;
    let arguments = json!({ "projectPath": folder, "waitFor": "Application started",
        "breakpoints": breakpoints,
        "env": { "ASPNETCORE_URLS": "http://127.0.0.1:0", "ASPNETCORE_ENVIRONMENT": "Production" } });
    let up = visit.launch("debug_launch", arguments).await?;
    // A launch that only waited for the build has read nothing yet.
    let stdout = match up["event"]["output"]["stdout"].as_str() {
        Some(line) => line.to_owned(),
        None => {
            let read =
                json!({ "stream": "stdout", "waitFor": "Application started", "timeoutMs": deadline_ms(50) });
            visit.call("process_read_output", read).await?["stdout"].as_str().unwrap_or_default().to_owned()
        }
    };
    let after = stdout.split("http://127.0.0.1:").nth(1);
    let after = after.with_context(|| format!("it does not listen: {up} {stdout}"))?;
    let port = after.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default().parse()?;
    Ok((visit, port))
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_request_to_a_web_api_gets_what_the_agent_sets() -> anyhow::Result<()> {
    let breakpoints = json!([{ "sourceFile": "Program.cs", "text": "return forecast;" }]);
    let (mut visit, port) = start_server("webapi", breakpoints).await?;
    let response = request(port, "/weatherforecast");
    visit.waits_for("Program.Main.<lambda>()").await?;
    visit
        .check_values(&[
            ("forecast.Length", "5"),
            ("summaries[0]", "\"Freezing\""),
            ("forecast.Count(f => f.Summary is null)", "0"),
        ])
        .await?;
    visit.sets("forecast[0]", "new WeatherForecast(forecast[0].Date, 77, \"set by the agent\")").await?;
    visit.check_values(&[("forecast[0].TemperatureF", "170")]).await?;
    let over = visit.call("debug_step_over", json!({})).await?;
    assert_eq!(over["event"]["source"], "});", "{over}");
    visit.serves(response, "\"temperatureC\":77,\"summary\":\"set by the agent\",\"temperatureF\":170").await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_view_of_a_web_site_is_debugged_as_its_controller_is() -> anyhow::Result<()> {
    let breakpoints = json!([
        { "sourceFile": "Controllers/HomeController.cs", "text": "return View(new ErrorViewModel" },
        { "sourceFile": "Views/Shared/Error.cshtml", "text": "@if (Model.ShowRequestId)" },
    ]);
    let (mut visit, port) = start_server("mvc", breakpoints).await?;
    let response = request(port, "/Home/Error");
    visit.waits_for("HomeController.Error()").await?;
    visit.check_values(&[("Request.Path.Value", "\"/Home/Error\""), ("ViewData.Count", "0")]).await?;
    let seen = visit.call("debug_continue", json!({})).await?;
    visit.hits(&seen, "Views_Shared_Error.ExecuteAsync()")?;
    visit.check_values(&[("Model.ShowRequestId", "true"), ("ViewData[\"Title\"]", "\"Error\"")]).await?;
    visit.sets("Model.RequestId", "\"set by the agent\"").await?;
    let over = visit.call("debug_step_over", json!({ "count": 2 })).await?;
    assert_eq!(over["event"]["line"], 12, "{over}");
    visit.serves(response, "<code>set by the agent</code>").await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_library_of_a_solution_is_debugged_as_its_program_runs() -> anyhow::Result<()> {
    let folder = copy_fetched("/dotnet/solution")?;
    let mut visit = AgentRun::begin(folder.path()).await?;
    let arguments = json!({ "projectPath": folder.path().join("App/App.csproj"), "run": true,
        "breakpoints": [{ "sourceFile": "Orders/Ledger.cs",
            "text": "ArgumentNullException.ThrowIfNull(order);" }] });
    let asks = visit.launch("debug_launch", arguments).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    let order = "{ \"Name\": \"ink\", \"Count\": 3, \"Price\": 2.5 }\n";
    visit.call("process_write_input", json!({ "data": order })).await?;
    visit.waits_for("Orders.Ledger.Add").await?;
    visit.check_values(&[("order.Count", "3"), ("Orders.Count", "0"), ("line.Length", "43")]).await?;
    visit.sets("order", "new Order(order.Name, 4, order.Price)").await?;
    visit.remove_breakpoints().await?;
    visit.call("debug_step_over", json!({ "count": 2 })).await?;
    visit.check_values(&[("Orders[0].Count", "4"), ("Total", "10.0")]).await?;
    let out = visit.call("debug_step_out", json!({})).await?;
    assert!(out["event"]["file"].as_str().is_some_and(|file| file.ends_with("App/Program.cs")), "{out}");
    // The package throws, and the program catches.
    visit.call("debug_set_exception_breakpoints", json!({ "filters": ["all"] })).await?;
    let asks = visit.call("debug_continue", json!({})).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    visit.call("process_write_input", json!({ "data": "no order\n", "closeAfter": true })).await?;
    let thrown = visit.call("debug_wait", json!({})).await?;
    assert_eq!(thrown["event"]["exceptionType"], "Newtonsoft.Json.JsonReaderException", "{thrown}");
    visit.ends(1, "refused: ").await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_rows_of_a_database_are_seen_and_set() -> anyhow::Result<()> {
    let folder = copy_fetched("/dotnet/store")?;
    let mut visit = AgentRun::begin(folder.path()).await?;
    let arguments = json!({ "projectPath": folder.path(), "run": true, "breakpoints": [
        { "sourceFile": "Program.cs", "text": "var total = order.Lines.Sum(",
            "condition": "order.Customer == \"bob\"" },
        { "sourceFile": "Program.cs", "text": "foreach (var order in big)",
            "logMessage": "{big.Count:D2} orders" },
        { "sourceFile": "Program.cs", "text": "Console.WriteLine($\"{row.Customer} {row.N}\");" },
    ] });
    let hit = visit.launch("debug_launch", arguments).await?;
    visit.hits(&hit, "Program.Main")?;
    assert_eq!(hit["event"]["output"]["logged"], json!(["02 orders"]), "{hit}");
    visit
        .check_values(&[("order.Lines[0].What", "\"paper\""), ("order.Lines.Sum(l => l.Count)", "10")])
        .await?;
    // The internals of Entity Framework are not in the way.
    let db = visit.call("debug_variables", json!({ "path": "db" })).await?;
    let names: Vec<&str> =
        db["variables"].as_array().into_iter().flatten().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!((names[0], names.last()), ("Orders", Some(&"Non-Public members")), "{db}");
    visit.sets("order.Lines[0].Count", "100").await?;
    let hit = visit.call("debug_continue", json!({})).await?;
    visit.hits(&hit, "Program.Main")?;
    assert!(
        hit["event"]["output"]["stdout"].as_str().is_some_and(|text| text.contains("bob: 10.0\n")),
        "{hit}"
    );
    // A row of Dapper's is a dictionary.
    let row = "((System.Collections.Generic.IDictionary<string, object>)row)";
    visit.sets(&format!("{row}[\"Customer\"]"), "\"set by the agent\"").await?;
    visit.check_values(&[("typed", "null"), ("rows.Count", "2"), (&format!("{row}[\"N\"]"), "2")]).await?;
    let removed = visit.call("debug_remove_breakpoint", json!({ "all": true })).await?;
    assert_eq!(removed["removed"], 3, "{removed}");
    let asks = visit.call("debug_continue", json!({})).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    let printed = asks["event"]["output"]["stdout"].as_str().unwrap_or_default();
    assert!(printed.contains("set by the agent 2\n") && printed.contains("caught 1\n"), "{asks}");
    visit.call("process_write_input", json!({ "data": "nobody\n" })).await?;
    let thrown = visit.call("debug_wait", json!({})).await?;
    let event = &thrown["event"];
    assert_eq!(
        (&event["isUnhandled"], &event["message"]),
        (&json!(true), &json!("Sequence contains no elements."))
    );
    assert!(event["source"].as_str().is_some_and(|line| line.contains("FirstAsync")), "{thrown}");
    let ended = visit.call("debug_continue", json!({})).await?;
    visit.has_ended(&ended, 134, "Unhandled exception").await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_command_line_asks_maps_and_fails() -> anyhow::Result<()> {
    let folder = copy_fetched("/dotnet/tool")?;
    let mut visit = AgentRun::begin(folder.path()).await?;
    // A resolver that a package calls, from code that it makes.
    let arguments = json!({ "projectPath": folder.path(), "args": ["map"], "run": true,
        "breakpoints": [{ "sourceFile": "Program.cs", "text": "return full;" }] });
    let hit = visit.launch("debug_launch", arguments).await?;
    visit.hits(&hit, "NameResolver.Resolve")?;
    visit.check_values(&[("source.Age", "30"), ("full", "\"Ann Lee\"")]).await?;
    visit.sets("full", "\"set by the agent\"").await?;
    let ended = visit.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["output"]["stdout"], "set by the agent 30\n", "{ended}");
    // An exception that the package catches, and prints.
    let fails = json!({ "projectPath": folder.path(), "args": ["fail"], "noBuild": true, "run": true });
    let thrown = visit.launch("debug_launch", fails).await?;
    let event = &thrown["event"];
    assert_eq!((&event["isUserUnhandled"], &event["message"]), (&json!(true), &json!("no luck")), "{thrown}");
    assert!(event["source"].as_str().is_some_and(|line| line.contains("throw new")), "{thrown}");
    let ended = visit.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["exitCode"], 1, "{ended}");
    // Prompts that take single keys of a terminal.
    let asks =
        json!({ "projectPath": folder.path(), "args": ["ask"], "noBuild": true, "run": true, "pty": true });
    let mut result = visit.launch("debug_launch", asks).await?;
    for (shown, keys) in [("Name?", "ann\n"), ("> apple", "\u{1b}[B"), ("> pear", "\r"), ("Sure?", "n\r")] {
        assert_eq!(result["event"]["type"], "waitingForInput", "{result}");
        assert!(result["event"]["screen"].as_str().is_some_and(|screen| screen.contains(shown)), "{result}");
        visit.call("process_write_input", json!({ "data": keys })).await?;
        result = visit.call("debug_wait", json!({})).await?;
    }
    assert_eq!(result["event"]["exitCode"], 3, "{result}");
    let printed = result["event"]["output"]["stdout"].as_str().unwrap_or_default();
    assert!(printed.contains("ann takes pear: False"), "{result}");
    Ok(())
}
