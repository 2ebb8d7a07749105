//! .NET: servers made from the templates of the SDK, with real requests, and a solution of a program and a library. `check` leaves them out where no SDK 10 is installed.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};

use super::{Visit, copied, fetched, request};

/// Starts the server of a template with these breakpoints; gives its port.
async fn up(template: &str, breakpoints: Value) -> anyhow::Result<(Visit, u16)> {
    let folder = PathBuf::from(fetched(&format!("/dotnet/{template}"))?);
    let mut visit = Visit::begin(&folder).await?;
    let asked = json!({ "projectPath": folder, "waitFor": "Application started", "breakpoints": breakpoints,
        "env": { "ASPNETCORE_URLS": "http://127.0.0.1:0", "ASPNETCORE_ENVIRONMENT": "Production" } });
    let up = visit.launch("debug_launch", asked).await?;
    // A launch that only waited for the build has read nothing yet.
    let said = match up["event"]["output"]["stdout"].as_str() {
        Some(said) => said.to_owned(),
        None => {
            let read = json!({ "stream": "stdout", "waitFor": "Application started", "timeoutMs": 50_000 });
            visit.call("process_read_output", read).await?["stdout"].as_str().unwrap_or_default().to_owned()
        }
    };
    let after = said.split("http://127.0.0.1:").nth(1);
    let after = after.with_context(|| format!("it does not listen: {up} {said}"))?;
    let port = after.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default().parse()?;
    Ok((visit, port))
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_request_to_a_web_api_gets_what_the_agent_sets() -> anyhow::Result<()> {
    let breakpoints = json!([{ "sourceFile": "Program.cs", "text": "return forecast;" }]);
    let (mut visit, port) = up("webapi", breakpoints).await?;
    let asked = request(port, "/weatherforecast");
    visit.waits_for("Program.Main.<lambda>()").await?;
    visit
        .shows(&[
            ("forecast.Length", "5"),
            ("summaries[0]", "\"Freezing\""),
            ("forecast.Count(f => f.Summary is null)", "0"),
        ])
        .await?;
    visit.sets("forecast[0]", "new WeatherForecast(forecast[0].Date, 77, \"set by the agent\")").await?;
    visit.shows(&[("forecast[0].TemperatureF", "170")]).await?;
    let over = visit.call("debug_step_over", json!({})).await?;
    assert_eq!(over["event"]["source"], "});", "{over}");
    visit.serves(asked, "\"temperatureC\":77,\"summary\":\"set by the agent\",\"temperatureF\":170").await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_view_of_a_web_site_is_debugged_as_its_controller_is() -> anyhow::Result<()> {
    let breakpoints = json!([
        { "sourceFile": "Controllers/HomeController.cs", "text": "return View(new ErrorViewModel" },
        { "sourceFile": "Views/Shared/Error.cshtml", "text": "@if (Model.ShowRequestId)" },
    ]);
    let (mut visit, port) = up("mvc", breakpoints).await?;
    let asked = request(port, "/Home/Error");
    visit.waits_for("HomeController.Error()").await?;
    visit.shows(&[("Request.Path.Value", "\"/Home/Error\""), ("ViewData.Count", "0")]).await?;
    let seen = visit.call("debug_continue", json!({})).await?;
    visit.hits(&seen, "Views_Shared_Error.ExecuteAsync()")?;
    visit.shows(&[("Model.ShowRequestId", "true"), ("ViewData[\"Title\"]", "\"Error\"")]).await?;
    visit.sets("Model.RequestId", "\"set by the agent\"").await?;
    let over = visit.call("debug_step_over", json!({ "count": 2 })).await?;
    assert_eq!(over["event"]["line"], 12, "{over}");
    visit.serves(asked, "<code>set by the agent</code>").await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_library_of_a_solution_is_debugged_as_its_program_runs() -> anyhow::Result<()> {
    let folder = copied("/dotnet/solution")?;
    let mut visit = Visit::begin(folder.path()).await?;
    let asked = json!({ "projectPath": folder.path().join("App/App.csproj"), "run": true,
        "breakpoints": [{ "sourceFile": "Orders/Ledger.cs", "text": "ArgumentNullException.ThrowIfNull(order);" }] });
    let asks = visit.launch("debug_launch", asked).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    let order = "{ \"Name\": \"ink\", \"Count\": 3, \"Price\": 2.5 }\n";
    visit.call("process_write_input", json!({ "data": order })).await?;
    visit.waits_for("Orders.Ledger.Add").await?;
    visit.shows(&[("order.Count", "3"), ("Orders.Count", "0"), ("line.Length", "43")]).await?;
    visit.sets("order", "new Order(order.Name, 4, order.Price)").await?;
    visit.lets_go().await?;
    visit.call("debug_step_over", json!({ "count": 2 })).await?;
    visit.shows(&[("Orders[0].Count", "4"), ("Total", "10.0")]).await?;
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
