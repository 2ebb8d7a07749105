//! The skill: recipes for debugging that an agent's host offers to its model, and the folder that each host
//! reads skills from. Not here: the plugin that has the same skill with a subagent and a hook (`plugin/`).

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Map, Value};

use super::{ConfigFolders, Installation, McpHost, actual_file};

/// The skill's name, and its folder's.
const NAME: &str = "tandem";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../plugin/skills/tandem/", $name)))),*]
    };
}

/// Its files: path in the folder, text.
pub(super) const FILES: &[(&str, &str)] = files![
    "SKILL.md",
    "references/dotnet.md",
    "references/go.md",
    "references/javascript.md",
    "references/native.md",
    "references/python.md",
    "references/ruby.md",
    "references/scripts.md",
];

/// The skill's folder where a host reads skills.
///
/// # Errors
/// When the host's documentation names no such folder.
fn folder(host: &McpHost, places: &ConfigFolders, project: Option<&Path>) -> anyhow::Result<PathBuf> {
    let (own, of_project) = host.skills.with_context(|| {
        format!("{} is not known to read skills from a folder: leave out --skill", host.name)
    })?;
    let skills = match project {
        Some(project) => project.join(of_project),
        None => places.home.join(own),
    };
    Ok(skills.join(NAME))
}

/// Plans to write the skill, or to remove it.
///
/// # Errors
/// When the host reads no skills, or when a file of the skill was changed by others, or cannot be read.
pub(super) fn plan_skill(
    host: &McpHost,
    places: &ConfigFolders,
    installation: &mut Installation<'_>,
) -> anyhow::Result<()> {
    let Installation { flags, record, changes, lines, .. } = installation;
    let folder = actual_file(&folder(host, places, flags.project.as_deref())?);
    let shown = folder.display();
    let written = record.entry(&folder, NAME).cloned().unwrap_or_default();
    let (mut found, mut current) = (0, 0);
    for (name, text) in FILES {
        match changes.read(&folder.join(name))? {
            None => {}
            Some(there) if there == *text => (found, current) = (found + 1, current + 1),
            Some(there) if written[*name].as_str() == Some(there.as_str()) => found += 1,
            Some(_) => bail!(
                "the skill in `{shown}` was not changed: this command did not write its `{name}`. Remove or \
                    rename that folder"
            ),
        }
    }
    let does_nothing = if flags.remove { found == 0 } else { current == FILES.len() };
    lines.push(match (flags.remove, does_nothing) {
        (true, true) => format!("{}: the skill is not in {shown}", host.name),
        (false, true) => format!("{}: the skill is in {shown} already", host.name),
        _ if flags.dry_run => {
            let what = if flags.remove { "remove" } else { "write" };
            format!("{}: would {what} the skill in {shown}", host.name)
        }
        (true, false) => {
            FILES.iter().for_each(|(name, _)| changes.remove(folder.join(name)));
            changes.remove_if_empty(folder.join("references"));
            changes.remove_if_empty(folder.clone());
            format!("{}: removed the skill from {shown}", host.name)
        }
        (false, false) => {
            FILES.iter().for_each(|(name, text)| changes.write(folder.join(name), (*text).to_owned()));
            format!("{}: wrote the skill to {shown}", host.name)
        }
    });
    let files: Map<String, Value> =
        FILES.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    record.note(&folder, NAME, (!flags.remove).then_some(Value::Object(files)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::FILES;
    use crate::catalog::GROUPS;

    const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugin");

    fn read(path: &str) -> String {
        std::fs::read_to_string(format!("{PLUGIN}/{path}")).unwrap()
    }

    #[test]
    fn the_skill_has_its_name_and_all_its_files_and_links_to_each() {
        let (_, main) = FILES[0];
        let mut lines = main.lines();
        assert_eq!((lines.next(), lines.next()), (Some("---"), Some("name: tandem")));
        // The length that hosts allow, in characters.
        let about = lines.next().and_then(|line| line.strip_prefix("description: ")).unwrap();
        assert!((1..=1024).contains(&about.chars().count()), "{}", about.len());
        let references = std::fs::read_dir(format!("{PLUGIN}/skills/tandem/references")).unwrap();
        let mut there: Vec<String> = references
            .map(|entry| format!("references/{}", entry.unwrap().file_name().to_str().unwrap()))
            .collect();
        there.sort();
        let known: Vec<&str> = FILES[1..].iter().map(|(name, _)| *name).collect();
        assert_eq!(known, there);
        for name in known {
            assert!(main.contains(&format!("]({name})")), "{name} is not linked to");
        }
    }

    #[test]
    fn skill_and_subagent_name_tools_that_exist() {
        let tools: Vec<&str> = GROUPS.iter().flat_map(|group| group.tools).map(|tool| tool.name).collect();
        let subagent = read("agents/debugger.md");
        for (file, text) in FILES.iter().copied().chain([("debugger.md", subagent.as_str())]) {
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let named =
                |word: &&str| ["debug_", "process_", "run_"].iter().any(|start| word.starts_with(start));
            for word in words.filter(named) {
                assert!(tools.contains(&word), "{file}: `{word}`");
            }
        }
    }

    #[test]
    fn the_plugin_has_this_version_and_a_hook_that_this_program_understands() {
        let manifest: Value = serde_json::from_str(&read(".claude-plugin/plugin.json")).unwrap();
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
        let market: Value = serde_json::from_str(&read("../.claude-plugin/marketplace.json")).unwrap();
        assert_eq!(market["plugins"][0]["name"], manifest["name"]);
        assert_eq!(market["plugins"][0]["source"], "./plugin");
        let hooks: Value = serde_json::from_str(&read("hooks/hooks.json")).unwrap();
        let command = hooks["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(command.contains("tandem-mcp status --stops;"), "{command}");
        let servers: Value = serde_json::from_str(&read(".mcp.json")).unwrap();
        assert!(servers["mcpServers"]["tandem"]["command"].is_string());
    }
}
