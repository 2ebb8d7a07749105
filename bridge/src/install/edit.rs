//! Adds one entry to the text of a configuration, or removes it; all else stays
//! unchanged. It touches no file.

use anyhow::{Context, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::hosts::ConfigFormat;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum EditOutcome {
    /// The entry exists already.
    Same,
    /// The new text of the file.
    Changed(String),
    /// An entry of this name that this command did not write.
    Foreign(Value),
}

/// Writes the entry; it replaces one that equals `ours`.
///
/// # Errors
/// When the text is not in its form, or has something else where the servers should be.
pub(super) fn put(
    form: ConfigFormat,
    text: &str,
    name: &str,
    entry: &Value,
    ours: Option<&Value>,
) -> anyhow::Result<EditOutcome> {
    let existing = get(form, text, name)?;
    match &existing {
        Some(existing) if existing == entry => return Ok(EditOutcome::Same),
        Some(existing) if Some(existing) != ours => return Ok(EditOutcome::Foreign(existing.clone())),
        _ => {}
    }
    Ok(EditOutcome::Changed(match form {
        ConfigFormat::Json(key) => {
            let root = json_root(text)?;
            let servers = json_root_object(&root)?
                .object_value_or_create(key)
                .with_context(|| format!("its `{key}` is not an object"))?;
            match servers.get(name) {
                Some(property) => property.set_value(input(entry)),
                None => {
                    servers.append(name, input(entry));
                }
            }
            let mut text = root.to_string();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text
        }
        ConfigFormat::Toml(key) => {
            let mut document = toml_document(text)?;
            let servers = document.entry(key).or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
            let servers =
                servers.as_table_like_mut().with_context(|| format!("its `{key}` is not a table"))?;
            let mut table = Table::new();
            for (name, part) in entry.as_object().into_iter().flatten() {
                table.insert(name, toml_value(part));
            }
            servers.insert(name, Item::Table(table));
            document.to_string()
        }
    }))
}

/// Removes the entry if it equals `ours`.
///
/// # Errors
/// The errors of [`put`]: the text is not in its form.
pub(super) fn take(
    form: ConfigFormat,
    text: &str,
    name: &str,
    ours: Option<&Value>,
) -> anyhow::Result<EditOutcome> {
    match get(form, text, name)? {
        None => return Ok(EditOutcome::Same),
        Some(existing) if Some(&existing) != ours => return Ok(EditOutcome::Foreign(existing)),
        Some(_) => {}
    }
    Ok(EditOutcome::Changed(match form {
        ConfigFormat::Json(key) => {
            let root = json_root(text)?;
            if let Some(property) =
                json_root_object(&root)?.object_value(key).and_then(|servers| servers.get(name))
            {
                property.remove();
            }
            root.to_string()
        }
        ConfigFormat::Toml(key) => {
            let mut document = toml_document(text)?;
            if let Some(servers) = document.get_mut(key).and_then(Item::as_table_like_mut) {
                servers.remove(name);
            }
            document.to_string()
        }
    }))
}

/// The entry of this name, as JSON.
///
/// # Errors
/// When the text is not in its form.
pub(super) fn get(form: ConfigFormat, text: &str, name: &str) -> anyhow::Result<Option<Value>> {
    Ok(match form {
        ConfigFormat::Json(key) => {
            let root = json_root(text)?;
            let servers = json_root_object(&root)?.object_value(key);
            let property = servers.and_then(|servers| servers.get(name));
            property
                .and_then(|property| property.value())
                .map(|found| found.to_serde_value().unwrap_or(Value::Null))
        }
        ConfigFormat::Toml(key) => {
            let document = toml_document(text)?;
            document.get(key).and_then(|servers| servers.get(name)).map(json_of)
        }
    })
}

fn json_root(text: &str) -> anyhow::Result<CstRootNode> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| anyhow::anyhow!("it is not JSON: {error}"))
}

fn json_root_object(root: &CstRootNode) -> anyhow::Result<CstObject> {
    root.object_value().context("it is not a JSON object")
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

fn toml_document(text: &str) -> anyhow::Result<DocumentMut> {
    match text.parse() {
        Ok(document) => Ok(document),
        Err(error) => bail!("it is not TOML: {error}"),
    }
}

fn toml_value(part: &Value) -> Item {
    match part {
        Value::String(text) => value(text.as_str()),
        Value::Bool(flag) => value(*flag),
        Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<toml_edit::Array>()),
        other => value(other.to_string()),
    }
}

/// Converts a TOML table to JSON; values of types that JSON lacks become strings.
fn json_of(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(table.iter().map(|(name, part)| (name.to_owned(), json_of(part))).collect());
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => json!(text.value()),
        Some(toml_edit::Value::Boolean(flag)) => json!(flag.value()),
        Some(toml_edit::Value::Integer(number)) => json!(number.value()),
        Some(toml_edit::Value::Array(items)) => {
            items.iter().map(|item| json_of(&Item::Value(item.clone()))).collect()
        }
        _ => json!(item.to_string()),
    }
}
