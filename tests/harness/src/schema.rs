//! Validation of answers against the output schemas of their tools: the part of JSON Schema that
//! `tandem-mcp` uses. So every test that calls a tool also checks that its schema is correct.

use std::collections::HashMap;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// Output schemas by tool.
#[derive(Debug, Default)]
pub struct Schemas(HashMap<String, Value>);

impl Schemas {
    /// Reads the schemas in the result of `tools/list`.
    ///
    /// # Errors
    /// When a tool has none.
    pub fn of(listed: &Value) -> anyhow::Result<Self> {
        let mut all = HashMap::new();
        for tool in listed["tools"].as_array().context("no tools are listed")? {
            let name = tool["name"].as_str().context("a tool without a name")?;
            ensure!(tool["outputSchema"]["type"] == "object", "`{name}` has no output schema");
            all.insert(name.to_owned(), tool["outputSchema"].clone());
        }
        Ok(Self(all))
    }

    /// Checks the result of `tools/call`: structured as its schema requires, repeated as text, and
    /// errors in their one form.
    ///
    /// # Errors
    /// If the result violates a rule; names it.
    pub fn check(&self, tool: &str, result: &Value) -> anyhow::Result<()> {
        let answer = &result["structuredContent"];
        let text = result["content"][0]["text"].as_str().context("no text")?;
        ensure!(
            serde_json::from_str::<Value>(text)? == *answer,
            "`{tool}` says another thing as text: {text}"
        );
        let good = answer["success"].as_bool().context("an answer without `success`")?;
        ensure!(good != (result["isError"] == true), "`{tool}`: `success` and `isError` disagree: {result}");
        if !good {
            let error = &answer["error"];
            ensure!(
                error["code"].is_string() && error["message"].is_string(),
                "`{tool}` fails without a reason"
            );
        }
        // A tool that is not offered refuses without having been listed.
        if let Some(schema) = self.0.get(tool) {
            holds(schema, answer)
                .with_context(|| format!("`{tool}` does not answer as its schema says: {answer}"))?;
        }
        Ok(())
    }
}

fn holds(schema: &Value, value: &Value) -> anyhow::Result<()> {
    let right = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some(other) => bail!("a type `{other}`"),
        None => true,
    };
    ensure!(right, "{value} is not of type {}", schema["type"]);
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        ensure!(value.get(name).is_some(), "no `{name}`");
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(part) = value.get(name) {
            holds(schema, part).with_context(|| format!("at `{name}`"))?;
        }
    }
    for part in value.as_array().into_iter().flatten().filter(|_| schema["items"].is_object()) {
        holds(&schema["items"], part)?;
    }
    Ok(())
}
