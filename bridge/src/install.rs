//! `tandem-mcp install HOST`: writes the bridge into the configuration of an agent's host; `uninstall`
//! removes it again. Both change only entries that `install` wrote: they refuse an entry of the same name
//! from another source, and keep comments and layout. Either every file changes, or none.

mod changes;
mod edit;
mod hosts;
mod record;
mod skill;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

use changes::FileChanges;
use edit::EditOutcome;
pub(crate) use hosts::{ConfigFolders, HOSTS, McpHost};
use record::InstallRecord;

/// Host, file and options of an installation.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Configure this agent; `all` configures each one whose folder exists; without a name, list the agents
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
    /// Write the configuration of the project in this folder instead of your own, if the agent has one
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Use this name for the entry
    #[arg(long, default_value = "tandem")]
    name: String,
    /// Also install the skill, which tells the model when and how to debug
    #[arg(long)]
    skill: bool,
    /// Remove the entry, if it is unchanged, as `uninstall` does
    #[arg(long)]
    remove: bool,
    /// Also configure an agent that does not seem to be installed
    #[arg(long)]
    force: bool,
    /// Print what would be written, without writing it
    #[arg(long)]
    dry_run: bool,
    /// Pass these flags to tandem-mcp when the agent starts it
    #[arg(last = true)]
    args: Vec<String>,
}

/// Host, file and options of a removal.
#[derive(Debug, Clone, Args)]
pub struct UninstallArgs {
    /// Remove the entry of this agent; `all` removes each one that `install` wrote
    #[arg(value_name = "HOST", required = true)]
    hosts: Vec<String>,
    /// Change the configuration of the project in this folder instead of your own
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Remove the entry with this name
    #[arg(long, default_value = "tandem")]
    name: String,
    /// Also remove the skill
    #[arg(long)]
    skill: bool,
    /// Print what would be removed, without removing it
    #[arg(long)]
    dry_run: bool,
}

impl From<UninstallArgs> for InstallArgs {
    fn from(UninstallArgs { hosts, project, name, skill, dry_run }: UninstallArgs) -> Self {
        Self { hosts, project, name, skill, dry_run, remove: true, force: true, args: Vec::new() }
    }
}

/// Plans all changes, then writes them, or prints what it would write.
///
/// # Errors
/// When a host is unknown or not installed, or a file cannot be read, understood or written, or has an entry
/// that this command did not write. Nothing has been changed then.
pub fn run(flags: &InstallArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let places = ConfigFolders::of_this_user()?;
    if flags.hosts.is_empty() {
        for host in &HOSTS {
            let file = host.file(&places);
            let absent = if host.is_here(&places) { "" } else { " (not installed)" };
            writeln!(out, "{:<15} {:<15} {}{absent}", host.id, host.name, file.display())?;
        }
        return Ok(());
    }
    let launch = ServerCommand::of_this_program(&flags.args)?;
    let record_file = places.state.join("tandem/installed.json");
    let mut installation = Installation {
        flags,
        launch,
        record: InstallRecord::load(&record_file)?,
        changes: FileChanges::default(),
        lines: Vec::new(),
    };
    for host in choose_hosts(flags, &places, &installation.record)? {
        let file = match &flags.project {
            Some(folder) => host
                .project_file(folder)
                .with_context(|| format!("{} has no project configuration: omit --project", host.name))?,
            None => host.file(&places),
        };
        installation.plan_host(host, &file)?;
        if flags.skill {
            skill::plan_skill(host, &places, &mut installation)?;
        }
    }
    let Installation { record, mut changes, lines, .. } = installation;
    if !flags.dry_run {
        if let Some(text) = record.changed_text()? {
            changes.write(record_file, text);
        }
        changes.apply()?;
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The hosts with these names, each installed unless `--force` or a project's folder is given.
fn choose_hosts(
    flags: &InstallArgs,
    places: &ConfigFolders,
    record: &InstallRecord,
) -> anyhow::Result<Vec<&'static McpHost>> {
    let mut found = Vec::new();
    for name in &flags.hosts {
        if name == "all" {
            let is_chosen = |host: &&McpHost| match flags.remove {
                true => record.entry(&actual_file(&host.file(places)), &flags.name).is_some(),
                false => host.is_here(places),
            };
            found.extend(HOSTS.iter().filter(is_chosen));
            continue;
        }
        let known = || HOSTS.map(|host| host.id).join(", ");
        let host = HOSTS.iter().find(|host| host.id == name);
        let host = host.with_context(|| format!("unknown host `{name}`; choose from: {}, all", known()))?;
        if !flags.remove && !flags.force && flags.project.is_none() && !host.is_here(places) {
            bail!(
                "{} does not seem to be installed: there is no {}. Install it, or add --force to write its \
                    configuration anyway; nothing was changed",
                host.name,
                host.signs(places)
            );
        }
        found.push(host);
    }
    Ok(found)
}

/// The file that a symbolic link, as in a folder of dot files, leads to: the link stays a link.
fn actual_file(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_path_buf())
}

/// The changes of one run, and the lines that report them.
struct Installation<'a> {
    flags: &'a InstallArgs,
    launch: ServerCommand,
    record: InstallRecord,
    changes: FileChanges,
    lines: Vec<String>,
}

impl Installation<'_> {
    fn plan_host(&mut self, host: &McpHost, file: &Path) -> anyhow::Result<()> {
        let InstallArgs { name, remove, dry_run, .. } = self.flags;
        let file = actual_file(file);
        let text = self.changes.read(&file)?.unwrap_or_default();
        let ours = self.record.entry(&file, name).cloned();
        let entry = host.entry(&self.launch.command, &self.launch.args);
        let outcome = if *remove {
            edit::take(host.form, &text, name, ours.as_ref())
        } else {
            edit::put(host.form, &text, name, &entry, ours.as_ref())
        };
        let shown = file.display();
        let outcome = outcome.with_context(|| format!("`{shown}` was not changed"))?;
        let (done, would) = if *remove { ("removed", "remove") } else { ("wrote", "write") };
        self.lines.push(match outcome {
            EditOutcome::Same if *remove => format!("{}: `{name}` is not in {shown}", host.name),
            EditOutcome::Same => {
                self.record.note(&file, name, Some(entry));
                format!("{}: `{name}` is in {shown} already", host.name)
            }
            EditOutcome::Foreign(existing) => bail!(
                "`{shown}` was not changed: it has a `{name}` that this command did not write ({existing}). \
                    Remove it there, or choose another --name"
            ),
            EditOutcome::Changed(_) if *dry_run => {
                format!("{}: would {would} `{name}` in {shown}: {entry}", host.name)
            }
            EditOutcome::Changed(new) => {
                let line = format!("{}: {done} `{name}` in {shown}. {}", host.name, host.then);
                self.record.note(&file, name, (!remove).then_some(entry));
                self.changes.write(file, new);
                line
            }
        });
        Ok(())
    }
}

/// The command with which a host starts the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServerCommand {
    command: String,
    args: Vec<String>,
}

impl ServerCommand {
    fn of_this_program(args: &[String]) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("cannot find the program itself")?;
        let launcher = std::env::var("TANDEM_LAUNCHER").ok();
        Ok(Self::of(&own.display().to_string(), launcher.as_deref(), args))
    }

    /// A package runner (`npx`, `uvx`, `dnx`) may empty its cache, so the configuration names the runner
    /// instead of the cached program.
    fn of(own: &str, launcher: Option<&str>, args: &[String]) -> Self {
        // The links next to the store survive an update of the tool; the files in the store do not.
        let linked = own.split_once("/.store/tandem/").map(|(folder, _)| format!("{folder}/tandem-mcp"));
        let (command, mut before) = if let Some(linked) = &linked {
            (linked.as_str(), Vec::new())
        } else if launcher == Some("npx") || own.contains("/_npx/") {
            ("npx", vec!["-y".to_owned(), "tandem-mcp".to_owned()])
        } else if own.contains("/uv/archive-") || own.contains("/uv/environments-") {
            ("uvx", vec!["tandem-mcp".to_owned()])
        } else if own.contains("/.nuget/packages/") {
            ("dnx", vec!["tandem".to_owned(), "--yes".to_owned(), "--".to_owned()])
        } else {
            (own, Vec::new())
        };
        before.extend(args.iter().cloned());
        Self { command: command.to_owned(), args: before }
    }
}

/// The entry named `name` in the host's own configuration.
pub(crate) fn entry_in(host: &McpHost, places: &ConfigFolders, name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(host.file(places)).ok()?;
    edit::get(host.form, &text, name).ok().flatten()
}

#[cfg(test)]
mod tests;
