//! Launches programs of `fixtures/programs/modern`.

use serde_json::{Value, json};

use crate::client::DapClient;
use crate::fixture;

impl DapClient {
    /// Launches a program in current C# and waits for a stop at a marker; returns the
    /// thread and its top frame.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn stopped_in_modern(&mut self, program: &str, marker: &str) -> anyhow::Result<(i64, Value)> {
        self.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launch = self.send("launch", json!({ "program": fixture::modern_program(program) })).await?;
        self.initialized(launch).await?;
        let place = json!({ "path": fixture::modern_source(program) });
        let line = fixture::modern_line(program, marker);
        self.ok("setBreakpoints", json!({ "source": place, "breakpoints": [{ "line": line }] })).await?;
        self.ok("configurationDone", json!({})).await?;
        anyhow::ensure!(self.response(launch).await?.success, "the launch failed");
        self.stop().await
    }
}
