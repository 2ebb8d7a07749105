//! `tandem-dap sessions`: what lives, for people and for scripts. The only command that writes to stdout.

use std::io::Write;

use super::registry;

/// Lists live sessions, oldest first.
///
/// # Errors
/// When stdout is closed.
pub fn list(json: bool) -> anyhow::Result<()> {
    let entries = registry::live(&registry::folder());
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &entries)?;
        writeln!(out)?;
        return Ok(());
    }
    if entries.is_empty() {
        writeln!(out, "no live sessions")?;
    }
    for entry in entries {
        writeln!(out, "{:<8} {:<10} {} (process {})", entry.id, entry.engine, entry.program, entry.pid)?;
    }
    Ok(())
}
