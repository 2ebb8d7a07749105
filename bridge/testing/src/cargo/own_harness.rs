//! Test programs with `harness = false`, which Cargo builds without libtest. One that lists its tests as
//! libtest does is treated like those of libtest; any other one is a single test, which passes if the program
//! succeeds.
//!
//! Not here: how it is run ([`super::execution`]) and what it prints ([`super::libtest`]).

use std::path::Path;

use tandem_workspace::bounded;
use toml_edit::{DocumentMut, TableLike};

/// A larger manifest is not read, bytes.
const MAX_MANIFEST: u64 = 4 << 20;

/// The name of the only test of such a program: its function.
pub(super) const ONLY_TEST: &str = "main";

/// Whether the manifest of a package says that a target has a harness that is not libtest. `kind` is Cargo's,
/// such as `test` or `lib`. Messages of Cargo and its metadata do not say it.
pub(super) fn is_in(manifest: &Path, kind: &str, name: &str) -> bool {
    let text = bounded::read(manifest, MAX_MANIFEST).unwrap_or_default();
    is_declared(&String::from_utf8_lossy(&text), kind, name)
}

fn is_declared(manifest: &str, kind: &str, name: &str) -> bool {
    let Ok(manifest) = manifest.parse::<DocumentMut>() else { return false };
    let is_off =
        |target: &dyn TableLike| target.get("harness").and_then(|harness| harness.as_bool()) == Some(false);
    let is_named = |target: &dyn TableLike| target.get("name").and_then(|own| own.as_str()) == Some(name);
    match kind {
        "test" | "bin" | "example" | "bench" => manifest
            .get(kind)
            .and_then(|targets| targets.as_array_of_tables())
            .is_some_and(|targets| targets.iter().any(|target| is_named(target) && is_off(target))),
        _ => manifest.get("lib").and_then(|target| target.as_table_like()).is_some_and(is_off),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_says_which_targets_have_their_own_harness() {
        let manifest = "[package]\nname = \"calc\"\n[lib]\nharness = false\n[[test]]\nname = \"own\"\n\
                        harness = false\n[[test]]\nname = \"usual\"\n[[bench]]\nname = \"own\"\n";
        for (kind, name, expected) in [
            ("test", "own", true),
            ("test", "usual", false),
            ("test", "undeclared", false),
            ("bench", "own", false),
            ("bin", "own", false),
            ("lib", "calc", true),
            ("proc-macro", "calc", true),
        ] {
            assert_eq!(is_declared(manifest, kind, name), expected, "{kind} {name}");
        }
        assert!(!is_declared("[lib", "lib", "calc"), "not TOML");
        assert!(!is_in(Path::new("/no/such"), "lib", "calc"));
    }
}
