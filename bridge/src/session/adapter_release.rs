//! The check that the debug adapter is of a release that this bridge can drive: another installation may put
//! its `tandem-dap` first on PATH.
//!
//! Not here: sessions that a host of another release runs, which [`super`] refuses to join.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tandem_wire::{ErrorCode, Failure};

/// How long the adapter may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Adapters that fit: each is queried once.
static CHECKED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Refuses an adapter of a release whose protocol differs. One that prints no version, or that cannot be
/// started, passes: starting it shows the reason.
///
/// # Errors
/// `UNSUPPORTED`, naming both versions.
pub(super) async fn check(adapter: &Path) -> Result<(), Failure> {
    if CHECKED.lock().unwrap_or_else(PoisonError::into_inner).contains(adapter) {
        return Ok(());
    }
    let mut query = tokio::process::Command::new(adapter);
    query
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(VERSION_TIMEOUT, query.output()).await;
    let Ok(Ok(output)) = output else { return Ok(()) };
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(found) = text.trim().strip_prefix("tandem-dap ")
        && !fits(found, env!("CARGO_PKG_VERSION"))
    {
        let (adapter, own) = (adapter.display(), env!("CARGO_PKG_VERSION"));
        let message = format!("`{adapter}` is of release {found}, and this tandem-mcp is of release {own}");
        return Err(Failure::new(ErrorCode::Unsupported, message).hint(
            "install both programs from one release, or name its tandem-dap with `tandem-mcp --adapter`",
        ));
    }
    CHECKED.lock().unwrap_or_else(PoisonError::into_inner).insert(adapter.to_path_buf());
    Ok(())
}

/// Whether an adapter of the release `found` serves a bridge of the release `own`. Before 1.0 a minor release
/// may change the protocol's extensions, afterwards only a major one; a newer minor release keeps what an
/// older bridge uses.
fn fits(found: &str, own: &str) -> bool {
    let numbers = |version: &str| {
        let mut parts = version.split(['.', '-', '+']).map(str::parse::<u64>);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    match (numbers(found), numbers(own)) {
        (Some(found), Some(own)) => {
            found.0 == own.0 && if own.0 == 0 { found == own } else { found.1 >= own.1 }
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn releases_fit_by_their_major_and_minor_numbers() {
        for (found, own, expected) in [
            ("0.1.9", "0.1.0", true),
            ("0.2.0", "0.1.0", false),
            ("0.1.0", "0.2.0", false),
            ("1.4.0", "1.2.0", true),
            ("1.1.0", "1.2.0", false),
            ("2.0.0-rc.1", "1.2.0", false),
            ("unknown", "0.1.0", true),
        ] {
            assert_eq!(fits(found, own), expected, "{found} for {own}");
        }
    }

    #[tokio::test]
    async fn an_adapter_of_another_release_is_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let adapter = |name: &str, line: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, format!("#!/bin/sh\necho '{line}'\n")).expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("changed");
            file
        };
        let refused =
            check(&adapter("newer", "tandem-dap 9.8.7")).await.expect_err("it is of another release");
        assert_eq!(refused.code, ErrorCode::Unsupported);
        assert!(refused.message.contains("of release 9.8.7"), "{refused}");
        let own = format!("tandem-dap {}", env!("CARGO_PKG_VERSION"));
        assert_eq!(check(&adapter("own", &own)).await, Ok(()));
        assert_eq!(check(&adapter("other", "another adapter 9.8.7")).await, Ok(()));
        assert_eq!(check(Path::new("/no/such/tandem-dap")).await, Ok(()));
    }
}
