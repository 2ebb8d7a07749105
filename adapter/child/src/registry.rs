//! The child adapters that Tandem knows by name: the one table, and a file for each with all that is known of
//! it. Not here: adapters that a launch describes ([`super::custom`]), and the choice of an adapter for a
//! program (`engines/select.rs` of `tandem-dap`).
//!
//! docs/contributing/add-adapter.md says how to add one.

mod bash;
mod debugpy;
mod delve;
mod gdb;
mod js;
mod lldb;
mod netcoredbg;
mod perl;
mod rdbg;

use std::sync::Arc;

use super::profile::Profile;
use tandem_engine::description::Description;
use tandem_engine::result_names::ResultNames;

/// All of them, in the order of the documentation; of two that debug the same the first is chosen.
static ADAPTERS: [fn() -> Arc<dyn Profile>; 9] = [
    || Arc::new(debugpy::Debugpy),
    || Arc::new(lldb::Lldb),
    || Arc::new(gdb::Gdb),
    || Arc::new(delve::Delve),
    || Arc::new(js::Js),
    || Arc::new(rdbg::Rdbg),
    || Arc::new(perl::Perl),
    || Arc::new(bash::Bash),
    || Arc::new(netcoredbg::Netcoredbg),
];

/// The adapter with this name.
pub(super) fn find(name: &str) -> Option<Arc<dyn Profile>> {
    ADAPTERS.iter().map(|adapter| adapter()).find(|adapter| adapter.name() == name)
}

/// Metadata of each adapter, known without starting it.
pub(super) fn descriptions() -> impl Iterator<Item = &'static Description> {
    ADAPTERS.iter().map(|adapter| adapter().description())
}

/// The forms of names of results of all adapters, for one that is not known.
pub(super) fn result_names() -> ResultNames {
    ADAPTERS.iter().map(|adapter| adapter().result_names()).collect()
}

/// The Debian package of an interpreter that adapters or their programs are run by.
pub(super) fn package_of(interpreter: &str) -> Option<&'static str> {
    let mut interpreters = descriptions().flat_map(|adapter| adapter.interpreters);
    interpreters.find(|(name, _)| *name == interpreter).map(|(_, package)| *package)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_adapter_says_what_it_is_for() {
        let mut names = BTreeSet::new();
        for one in descriptions() {
            assert!(names.insert(one.name), "{} is there twice", one.name);
            for text in [one.name, one.languages, one.summary, one.needs, one.stdio] {
                assert!(!text.is_empty(), "{}", one.name);
            }
            assert_eq!(find(one.name).map(|found| found.name().to_owned()).as_deref(), Some(one.name));
        }
    }
}
