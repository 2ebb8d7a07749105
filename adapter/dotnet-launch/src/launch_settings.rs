//! `Properties/launchSettings.json`: settings that `dotnet run` and the IDEs apply to a program. Attributes
//! of the launch override them.
//!
//! Only profiles that run the project itself are supported; browsers, containers and web servers are not
//! started.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure, environment, types};

/// Largest file read, bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Settings of a profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LaunchSettings {
    /// Its name and file, for people.
    pub origin: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: Option<PathBuf>,
}

/// The file; fields of other tools are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SettingsFile {
    #[serde(deserialize_with = "types::optional")]
    profiles: Option<Map<String, Value>>,
}

/// A profile of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ProfileSettings {
    command_name: Value,
    #[serde(deserialize_with = "types::optional")]
    application_url: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    command_line_args: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    working_directory: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    environment_variables: Option<Map<String, Value>>,
}

impl ProfileSettings {
    fn runs_project(&self) -> bool {
        self.command_name == "Project"
    }
}

/// The profile that the launch requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchProfile<'a> {
    /// The first that runs the project.
    First,
    Named(&'a str),
}

/// Reads a profile of a file; `None` if the first is requested and no profile runs the project.
///
/// # Errors
/// When the file cannot be read, or the named profile does not exist or is of another kind.
pub fn read(file: &Path, profile: LaunchProfile<'_>) -> Result<Option<LaunchSettings>, Failure> {
    let unusable = |reason: String| {
        Failure::new(ErrorCode::LaunchFailed, format!("cannot use `{}`: {reason}", file.display()))
            .hint("correct it, or launch with `launchSettingsProfile: \"\"` to ignore it")
    };
    let size = file.metadata().map_err(|error| unusable(error.to_string()))?.len();
    if size > MAX_FILE_BYTES {
        return Err(unusable(format!("it has {size} bytes")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
    let settings: Value = serde_json::from_str(&strip_comments(&text))
        .map_err(|error| unusable(format!("it is not JSON: {error}")))?;
    let profiles = types::read::<SettingsFile>(&settings).profiles.unwrap_or_default();
    let mut read = profiles.iter().map(|(name, profile)| (name, types::read::<ProfileSettings>(profile)));
    let found = match profile {
        LaunchProfile::First => read.find(|(_, profile)| profile.runs_project()),
        LaunchProfile::Named(name) => {
            let Some((name, profile)) = read.find(|(own, _)| *own == name) else {
                let names: Vec<&str> = profiles.keys().map(String::as_str).collect();
                let names = if names.is_empty() { "none".into() } else { names.join(", ") };
                return Err(unusable(format!("it has no profile `{name}`; there is: {names}")));
            };
            if !profile.runs_project() {
                let kind = profile.command_name;
                return Err(unusable(format!(
                    "profile `{name}` has the `commandName` {kind}, not \"Project\""
                )));
            }
            Some((name, profile))
        }
    };
    let Some((name, profile)) = found else { return Ok(None) };
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let mut env = vec![("DOTNET_LAUNCH_PROFILE".to_owned(), name.clone())];
    if let Some(urls) = filled(profile.application_url) {
        env.push(("ASPNETCORE_URLS".into(), urls));
    }
    for (name, value) in profile.environment_variables.iter().flatten() {
        let value =
            value.as_str().ok_or_else(|| unusable(format!("`{name}` of `{value}` is not a string")))?;
        let value = expand_variables(value);
        environment::check("environmentVariables", name, Some(&value))
            .map_err(|failure| unusable(failure.message))?;
        env.push((name.clone(), value));
    }
    // The file lies in the project's `Properties`.
    let project = file.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    Ok(Some(LaunchSettings {
        origin: format!("`{name}` of `{}`", file.display()),
        args: filled(profile.command_line_args).map(|args| split(&args)).unwrap_or_default(),
        env,
        cwd: filled(profile.working_directory).map(|folder| project.join(expand_variables(&folder))),
    }))
}

/// JSON without the comments, trailing commas and byte order mark that these files may contain.
fn strip_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    let (mut quoted, mut escaped) = (false, false);
    while let Some(letter) = letters.next() {
        if quoted {
            plain.push(letter);
            (quoted, escaped) = (escaped || letter != '"', !escaped && letter == '\\');
            continue;
        }
        match (letter, letters.peek()) {
            ('/', Some('/')) => {
                letters.by_ref().find(|letter| *letter == '\n');
            }
            ('/', Some('*')) => {
                letters.next();
                let mut last = ' ';
                letters
                    .by_ref()
                    .find(|letter| std::mem::replace(&mut last, *letter) == '*' && *letter == '/');
            }
            ('}' | ']', _) => {
                if plain.trim_end().ends_with(',') {
                    plain.truncate(plain.trim_end().len() - 1);
                }
                plain.push(letter);
            }
            _ => {
                quoted = letter == '"';
                plain.push(letter);
            }
        }
    }
    plain
}

/// Replaces `%NAME%` by the value of the variable, if it is set.
fn expand_variables(text: &str) -> String {
    let mut parts = text.split('%');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    // Whether the next part follows a `%` that may open a name.
    let mut open = true;
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let value = std::env::var(part).ok().filter(|_| open && parts.peek().is_some());
        match value {
            Some(value) => {
                whole.push_str(&value);
                open = false;
            }
            None => {
                if open {
                    whole.push('%');
                }
                whole.push_str(part);
                open = true;
            }
        }
    }
    whole
}

/// Arguments of a command line: split at spaces; quotes keep them together, and `\"` is a quote.
pub fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'"') => {
                letters.next();
                word.get_or_insert_default().push('"');
            }
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            letter if letter.is_whitespace() && !quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_split_as_in_a_shell() {
        assert_eq!(
            split(r#" one "two  three" fo"ur" \"x\" "" "#),
            ["one", "two  three", "four", "\"x\"", ""]
        );
    }

    #[test]
    fn comments_and_trailing_commas_are_removed_before_parsing() {
        let text = "\u{feff}{ // one, }\n \"a//b\": [1, 2, ], /* \" , } */ \"c\\\"/*\": {\"d\": 1,}, }";
        let read: Value = serde_json::from_str(&strip_comments(text)).unwrap();
        assert_eq!(read, serde_json::json!({ "a//b": [1, 2], "c\"/*": { "d": 1 } }));
    }

    #[test]
    fn existing_variables_are_expanded() {
        let home = std::env::var("PATH").unwrap();
        assert_eq!(expand_variables("%PATH%:x%"), format!("{home}:x%"));
        assert_eq!(expand_variables("100% of %TANDEM_NO_SUCH% and %%"), "100% of %TANDEM_NO_SUCH% and %%");
        assert_eq!(expand_variables("plain"), "plain");
    }
}
