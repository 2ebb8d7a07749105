//! Refuses programs that are older than their sources, or that were built from another checkout.
//!
//! The package of the tests does not depend on `tandem-dap` and `tandem-mcp`, so cargo does not rebuild them
//! for a run of tests. Cargo writes beside each program the list of the sources that it was built from
//! (`tandem-dap.d`), and the check reads only that list. Like cargo, the check compares times. It does not
//! notice a new version of a crate from a registry, because no source in the list changes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};

/// Programs that this process has checked. An edit during a run does not stop the rest of the same process.
static CHECKED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Checks each program once per process.
///
/// # Errors
/// The same as those of [`check`].
pub fn check_once(program: &Path, checkout: &Path) -> anyhow::Result<()> {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    let checked = checked.get_or_insert_default();
    if !checked.contains(program) {
        check(program, checkout)?;
        checked.insert(program.to_owned());
    }
    Ok(())
}

/// Compares a program with the sources that cargo lists next to it. A program without a list
/// is a copy and not checked.
///
/// # Errors
/// When a source is newer, does not exist any more or is in another checkout.
pub fn check(program: &Path, checkout: &Path) -> anyhow::Result<()> {
    let list = program.with_extension("d");
    let text = match std::fs::read_to_string(&list) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        read => read.with_context(|| list.display().to_string())?,
    };
    let built = changed(program).with_context(|| program.display().to_string())?;
    let profile = program.parent().unwrap_or(checkout);
    let remedy = build_command(profile);
    for source in sources(&text) {
        // Paths are relative when `build.dep-info-basedir` is set. Outputs of build
        // scripts are next to the program.
        let source = checkout.join(source);
        ensure!(
            source.starts_with(checkout) || source.starts_with(profile),
            "`{}` was built from another checkout: its source {} is not in {}. {remedy}",
            program.display(),
            source.display(),
            checkout.display(),
        );
        match changed(&source) {
            Ok(time) if time <= built => {}
            Ok(_) => bail!("`{}` is older than its source {}. {remedy}", program.display(), source.display()),
            Err(_) => bail!(
                "`{}` was built from {}, which does not exist any more. {remedy}",
                program.display(),
                source.display(),
            ),
        }
    }
    Ok(())
}

fn changed(file: &Path) -> std::io::Result<SystemTime> {
    std::fs::metadata(file)?.modified()
}

/// The command that builds the programs of this folder of `target`.
fn build_command(profile: &Path) -> String {
    let folder = profile.file_name().unwrap_or_default().to_string_lossy();
    match &*folder {
        "debug" => "Run `cargo build --workspace`".to_owned(),
        "release" => "Run `cargo build --workspace --release`".to_owned(),
        other => format!("Run `cargo build --workspace --profile {other}`"),
    }
}

/// The paths after the colon of `PROGRAM: SOURCE SOURCE …`. Cargo writes a space in a path as `\ `.
fn sources(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in list.lines() {
        let Some((_, after)) = line.split_once(": ") else { continue };
        let kept = after.replace("\\ ", "\0");
        found.extend(kept.split_whitespace().map(|path| path.replace('\0', " ")));
    }
    found
}
