//! Tables elsewhere that say what the engines' descriptions say: the extension's manifest and languages, the
//! documentation.
//!
//! `INSTA_UPDATE=always cargo test -p tandem-adapter --lib tables` regenerates them.

use serde_json::{Map, Value};

use super::catalog;
use tandem_engine::description::{Description, EditorLanguage};

/// A file of the repository with its new text, both by what it has now.
fn compare(path: &str, expected: impl Fn(&str) -> String) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(&file).expect("the file is there");
    let expected = expected(&text);
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(&file, expected).expect("it is written");
    } else {
        assert!(text == expected, "{path} is out of date: run this test with INSTA_UPDATE=always");
    }
}

/// The text with `expected` between the first `before` and the `after` behind it.
fn between(text: &str, before: &str, after: &str, expected: &str) -> String {
    let (head, rest) = text.split_once(before).unwrap_or_else(|| panic!("no `{before}`"));
    let (_, tail) = rest.split_once(after).unwrap_or_else(|| panic!("no `{after}`"));
    format!("{head}{before}{expected}{after}{tail}")
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn languages() -> impl Iterator<Item = &'static EditorLanguage> {
    catalog::engines().flat_map(|engine| engine.editor_languages)
}

#[test]
fn the_documentation_has_every_engine() {
    compare("docs/engines.md", |text| {
        let mut rows = String::from(
            "| `engine` | languages | needs | how Tandem gets the program's stdio |\n|---|---|---|---|\n",
        );
        for Description { name, languages, needs, stdio, .. } in catalog::engines() {
            rows.push_str(&format!("| `{name}` | {languages} | {needs} | {stdio} |\n"));
        }
        between(text, "<!-- engines -->\n", "| `{ \"command\"", &rows)
    });
    let names = quoted(catalog::engines().map(|engine| engine.name));
    compare("docs/launch-configuration.md", |text| {
        between(text, "| `engine` | `auto`, ", ", or `{ \"command\"", &names)
    });
}

#[test]
fn an_agent_learns_what_connects() {
    let names: Vec<&str> =
        catalog::engines().filter(|engine| engine.connects).map(|engine| engine.name).collect();
    compare("bridge/src/tools/attach.rs", |text| {
        between(text, "description = \"of connect: ", "\"", &names.join(", "))
    });
}

#[test]
fn the_extension_has_every_engine_and_language() {
    compare("vscode-extension/package.json", |text| {
        let mut manifest: Value = serde_json::from_str(text).expect("it is JSON");
        let tandem = &mut manifest["contributes"]["debuggers"][0];
        tandem["languages"] = languages().map(|language| language.id).collect();
        let names = || std::iter::once("auto").chain(catalog::engines().map(|engine| engine.name));
        for request in ["launch", "attach"] {
            let choice = &mut tandem["configurationAttributes"][request]["properties"]["engine"]["anyOf"][0];
            choice["enum"] = names().collect();
            choice["enumDescriptions"] = names().map(|name| format!("%launch.engine.{name}%")).collect();
        }
        let debugged = catalog::engines().flat_map(|engine| {
            let languages = engine.editor_languages.iter().map(|language| language.id);
            languages.chain(engine.breakpoints_in.iter().copied())
        });
        manifest["contributes"]["breakpoints"] =
            debugged.map(|id| Value::from_iter([("language", id)])).collect();
        pretty(&manifest)
    });
    compare("vscode-extension/package.nls.json", |text| {
        let texts: Map<String, Value> = serde_json::from_str(text).expect("it is JSON");
        let mut expected = Map::new();
        for (key, value) in texts {
            // The descriptions of an engine object and of the default are written by hand.
            let by_hand = |name: &str| ["auto", "command", "args"].contains(&name);
            if key.strip_prefix("launch.engine.").is_some_and(|name| !by_hand(name)) {
                continue;
            }
            let is_first = key == "launch.engine.auto";
            expected.insert(key, value);
            if is_first {
                for engine in catalog::engines() {
                    expected.insert(format!("launch.engine.{}", engine.name), engine.summary.into());
                }
            }
        }
        pretty(&Value::Object(expected))
    });
    compare("vscode-extension/src/languages.ts", |text| {
        let row = |language: &EditorLanguage| {
            let EditorLanguage { id, name, projects, endings, runs_files } = language;
            let list = |words: &[&str]| {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                words.join(", ")
            };
            format!(
                "  {{ id: \"{id}\", name: \"{name}\", projects: [{}], endings: [{}], runsFiles: \
                    {runs_files} }},\n",
                list(projects),
                list(endings)
            )
        };
        let rows: String = languages().map(row).collect();
        between(text, "export const LANGUAGES: readonly Language[] = [\n", "];", &rows)
    });
}

fn pretty(value: &Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).expect("JSON is written"))
}
