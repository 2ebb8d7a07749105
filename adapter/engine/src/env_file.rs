//! `envFile`: variables for the program from a file of `NAME=VALUE` lines. What `env` says wins. Nothing is
//! expanded.
//!
//! Not here: the variables of a launch profile (`coreclr::launch_settings`).

use std::path::Path;

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

/// Largest file read, bytes.
const MAX_FILE_LEN: u64 = 1024 * 1024;

/// The attributes with the variables of their `envFile` in `env`. `say` gets what is wrong with single lines.
///
/// # Errors
/// When the file cannot be read.
pub fn merge(arguments: &Value, say: &mut dyn FnMut(&str)) -> Result<Value, Failure> {
    let mut whole = arguments.clone();
    let text = |key: &str| match &arguments[key] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        other => Err(Failure::invalid(format!("`{key}` must be a string, not {other}"))),
    };
    let Some(file) = text("envFile")? else { return Ok(whole) };
    let file = text("cwd")?.map_or_else(|| file.into(), |cwd| Path::new(cwd).join(file));
    let unusable = |reason: String| {
        Failure::new(
            ErrorCode::LaunchFailed,
            format!("cannot use the `envFile` `{}`: {reason}", file.display()),
        )
        .hint("correct it, or launch without `envFile`")
    };
    let found = file.metadata().map_err(|error| unusable(error.to_string()))?;
    if !found.is_file() || found.len() > MAX_FILE_LEN {
        return Err(unusable(format!("it is not a file of at most {MAX_FILE_LEN} bytes")));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| unusable(error.to_string()))?;
    let (variables, wrong) = parse(&text);
    if !wrong.is_empty() {
        let (file, lines) = (file.display(), wrong.join(", "));
        say(&format!("`{file}` has lines that are not NAME=VALUE; they are ignored: {lines}"));
    }
    // Other types of `env` are refused where the attribute is read.
    let env = whole.as_object_mut().map(|whole| whole.entry("env").or_insert(Value::Null));
    if let Some(env) = env.filter(|env| env.is_null() || env.is_object()) {
        let mut all = env.as_object().cloned().unwrap_or_default();
        for (name, value) in variables {
            all.entry(name).or_insert_with(|| value.into());
        }
        *env = Value::Object(all);
    }
    Ok(whole)
}

/// The variables, of several of one name the last; and the numbers of invalid lines.
fn parse(text: &str) -> (std::collections::BTreeMap<String, String>, Vec<String>) {
    let (mut variables, mut wrong) = (std::collections::BTreeMap::new(), Vec::new());
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if !name.is_empty() && !format!("{name}{value}").contains('\0') => {
                let quoted =
                    ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
                variables.insert(name.to_owned(), quoted.unwrap_or(value).to_owned());
            }
            _ => wrong.push((at + 1).to_string()),
        }
    }
    (variables, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_variables_and_other_lines_are_reported() {
        let text = "\u{feff}A=1\r\n# no\n\nexport B = \"two words\" \nC=a=b\nD=\nnothing\n=x\nA='2'\nE=\"";
        let (variables, wrong) = parse(text);
        let pairs: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("A", "2"), ("B", "two words"), ("C", "a=b"), ("D", ""), ("E", "\"")]);
        assert_eq!(wrong, ["7", "8"]);
    }
}
