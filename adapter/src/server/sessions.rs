//! `tandem-dap sessions`: the list of live sessions, for people and for scripts. Writes to stdout.
//!
//! Not here: the folder with the list (`tandem-registry`).

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Lists live sessions, oldest first: a table, or as JSON an array of the session files' objects.
///
/// # Errors
/// When stdout is closed.
pub fn list(json: bool) -> anyhow::Result<()> {
    let entries = tandem_registry::all();
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &entries)?;
        writeln!(out)?;
        return Ok(());
    }
    if entries.is_empty() {
        writeln!(out, "no live sessions")?;
        return Ok(());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let head = ["SESSION", "ENGINE", "STARTED", "HOST", "PROGRAM"].map(str::to_owned);
    let rows = entries.iter().map(|entry| {
        [
            entry.id.clone(),
            plain(&entry.engine),
            age(now.saturating_sub(entry.started)),
            entry.pid.to_string(),
            plain(&entry.program),
        ]
    });
    let table: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        table.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    for [id, engine, started, host, program] in &table {
        let [first, second, third, fourth] = widths;
        writeln!(out, "{id:<first$}  {engine:<second$}  {started:<third$}  {host:<fourth$}  {program}")?;
    }
    Ok(())
}

/// A program's name may hold anything, also what a terminal obeys.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
