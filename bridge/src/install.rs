//! `tandem-mcp install HOST`: writes the bridge into the configuration of an agent's host, and removes it
//! again. It changes only entries that it wrote: it refuses an entry of the same name from another source,
//! and keeps comments and layout.

mod edit;
mod hosts;
mod record;
mod skill;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

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
    /// Remove the entry, if it is unchanged
    #[arg(long)]
    remove: bool,
    /// Print what would be written, without writing it
    #[arg(long)]
    dry_run: bool,
    /// Pass these flags to tandem-mcp when the agent starts it
    #[arg(last = true)]
    args: Vec<String>,
}

/// Writes the configurations, or prints what it would write.
///
/// # Errors
/// When a host is unknown, or a file cannot be read, understood or written, or has an entry that this command
/// did not write. Hosts before it have been done by then.
pub fn run(flags: &InstallArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let places = ConfigFolders::of_this_user()?;
    if flags.hosts.is_empty() {
        for host in &HOSTS {
            writeln!(out, "{:<15} {:<15} {}", host.id, host.name, host.file(&places).display())?;
        }
        return Ok(());
    }
    let launch = ServerCommand::of_this_program(&flags.args)?;
    let mut record = InstallRecord::load(&places.state.join("tandem/installed.json"))?;
    for host in choose_hosts(&flags.hosts, &places)? {
        let file = match &flags.project {
            Some(folder) => host
                .project_file(folder)
                .with_context(|| format!("{} has no project configuration: omit --project", host.name))?,
            None => host.file(&places),
        };
        install_host(host, &file, flags, &launch, &mut record, out)?;
        if flags.skill {
            skill::install_skill(host, &places, flags, &mut record, out)?;
        }
    }
    Ok(())
}

fn choose_hosts(names: &[String], places: &ConfigFolders) -> anyhow::Result<Vec<&'static McpHost>> {
    let mut found = Vec::new();
    for name in names {
        if name == "all" {
            found.extend(HOSTS.iter().filter(|host| host.is_here(places)));
            continue;
        }
        let known = || HOSTS.map(|host| host.id).join(", ");
        let host = HOSTS.iter().find(|host| host.id == name);
        found.push(host.with_context(|| format!("unknown host `{name}`; choose from: {}, all", known()))?);
    }
    Ok(found)
}

fn install_host(
    host: &McpHost,
    file: &Path,
    flags: &InstallArgs,
    launch: &ServerCommand,
    record: &mut InstallRecord,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    // A symbolic link, as in a folder of dot files, stays a link.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", file.display())),
    };
    let ours = record.entry(&file, &flags.name).cloned();
    let entry = host.entry(&launch.command, &launch.args);
    let outcome = if flags.remove {
        edit::take(host.form, &text, &flags.name, ours.as_ref())
    } else {
        edit::put(host.form, &text, &flags.name, &entry, ours.as_ref())
    };
    let outcome = outcome.with_context(|| format!("`{}` was not changed", file.display()))?;
    let shown = file.display();
    let (done, would) = if flags.remove { ("removed", "remove") } else { ("wrote", "write") };
    match outcome {
        EditOutcome::Same if flags.remove => {
            writeln!(out, "{}: `{}` is not in {shown}", host.name, flags.name)?
        }
        EditOutcome::Same => {
            if !flags.dry_run {
                record.note(&file, &flags.name, Some(entry))?;
            }
            writeln!(out, "{}: `{}` is in {shown} already", host.name, flags.name)?;
        }
        EditOutcome::Foreign(existing) => bail!(
            "`{}` was not changed: it has a `{}` that this command did not write ({existing}). Remove it \
                there, or choose another \
             --name",
            file.display(),
            flags.name
        ),
        EditOutcome::Changed(_) if flags.dry_run => {
            writeln!(out, "{}: would {would} `{}` in {shown}: {entry}", host.name, flags.name)?;
        }
        EditOutcome::Changed(new) => {
            replace(&file, &new).with_context(|| format!("cannot write `{}`", file.display()))?;
            record.note(&file, &flags.name, (!flags.remove).then_some(entry))?;
            writeln!(out, "{}: {done} `{}` in {shown}. {}", host.name, flags.name, host.then)?;
        }
    }
    Ok(())
}

/// Replaces the file atomically and keeps its permissions. A new file is readable by its user alone, because
/// it may later hold secrets of other servers.
fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().context("it is in no folder")?;
    std::fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    if let Ok(old) = std::fs::metadata(file) {
        new.as_file().set_permissions(old.permissions())?;
    }
    new.persist(file)?;
    Ok(())
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
