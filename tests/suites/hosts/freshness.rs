//! Check that the programs under test are not older than their sources.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tandem_harness::fixture;
use tandem_harness::freshness::{check, check_once};

/// A checkout with one source, and a program that is a minute newer than it.
struct Checkout {
    folder: tempfile::TempDir,
    source: PathBuf,
    program: PathBuf,
}

const SPACED: &str = "adapter/src/a file.rs";

impl Checkout {
    fn built() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (source, program) = (folder.path().join(SPACED), folder.path().join("target/debug/tandem-dap"));
        for (file, age) in [(&source, 120), (&program, 60)] {
            std::fs::create_dir_all(file.parent().unwrap_or(file))?;
            File::create(file)?.set_modified(SystemTime::now() - Duration::from_secs(age))?;
        }
        let checkout = Self { folder, source, program };
        checkout.list(&checkout.source)?;
        Ok(checkout)
    }

    /// Writes the list as cargo does.
    fn list(&self, source: &Path) -> anyhow::Result<()> {
        let escaped = source.display().to_string().replace(' ', "\\ ");
        std::fs::write(self.program.with_extension("d"), format!("{}: {escaped}\n", self.program.display()))?;
        Ok(())
    }

    fn refusal(&self) -> String {
        check(&self.program, self.folder.path()).map_or_else(|error| format!("{error:#}"), |()| String::new())
    }
}

#[test]
fn program_newer_than_its_sources_runs() -> anyhow::Result<()> {
    assert_eq!(Checkout::built()?.refusal(), "");
    Ok(())
}

#[test]
fn program_older_than_a_source_is_refused() -> anyhow::Result<()> {
    let checkout = Checkout::built()?;
    File::options().append(true).open(&checkout.source)?.set_modified(SystemTime::now())?;
    let expected = format!(
        "`{}` is older than its source {}. Run `cargo build --workspace`",
        checkout.program.display(),
        checkout.source.display(),
    );
    assert_eq!(checkout.refusal(), expected);
    Ok(())
}

#[test]
fn program_with_a_removed_source_is_refused() -> anyhow::Result<()> {
    let checkout = Checkout::built()?;
    std::fs::remove_file(&checkout.source)?;
    assert!(
        checkout.refusal().contains("a file.rs, which does not exist any more"),
        "{}",
        checkout.refusal()
    );
    Ok(())
}

#[test]
fn program_of_another_checkout_is_refused() -> anyhow::Result<()> {
    let (checkout, other) = (Checkout::built()?, Checkout::built()?);
    checkout.list(&other.source)?;
    assert!(checkout.refusal().contains("was built from another checkout"), "{}", checkout.refusal());
    Ok(())
}

#[test]
fn list_with_relative_paths_is_of_this_checkout() -> anyhow::Result<()> {
    let checkout = Checkout::built()?;
    checkout.list(Path::new(SPACED))?;
    assert_eq!(checkout.refusal(), "");
    std::fs::remove_file(&checkout.source)?;
    assert!(checkout.refusal().contains("does not exist any more"), "{}", checkout.refusal());
    Ok(())
}

#[test]
fn program_without_a_list_is_not_checked() -> anyhow::Result<()> {
    let checkout = Checkout::built()?;
    std::fs::remove_file(checkout.program.with_extension("d"))?;
    std::fs::remove_file(&checkout.source)?;
    assert_eq!(checkout.refusal(), "");
    Ok(())
}

#[test]
fn edit_during_a_run_does_not_stop_it() -> anyhow::Result<()> {
    let checkout = Checkout::built()?;
    check_once(&checkout.program, checkout.folder.path())?;
    std::fs::remove_file(&checkout.source)?;
    check_once(&checkout.program, checkout.folder.path())
}

#[test]
fn cargo_lists_the_sources_of_every_program() -> anyhow::Result<()> {
    for (name, source) in [("tandem-dap", "adapter/src/main.rs"), ("tandem-mcp", "bridge/src/main.rs")] {
        let list = std::fs::read_to_string(fixture::binary(name).with_extension("d"))?;
        let main = fixture::root().join(source);
        assert!(list.contains(&main.display().to_string()), "{name} was not built from {source}");
    }
    Ok(())
}
