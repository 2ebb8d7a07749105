//! Record of the entries that `install` wrote, file by file, so that nothing else is ever changed. The record
//! is a file with a version.

use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of the record's format.
const VERSION: u64 = 1;

/// The entries that were written.
#[derive(Debug)]
pub(super) struct InstallRecord {
    entries: Map<String, Value>,
    changed: bool,
}

/// The file of the record. The version is a value of any kind, because another version may have changed it.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredRecord {
    version: Value,
    entries: Value,
}

impl InstallRecord {
    /// Loads the entries that were written so far.
    ///
    /// # Errors
    /// When the file exists and is not a record, or is of a later version.
    pub(super) fn load(file: &Path) -> anyhow::Result<Self> {
        let empty = Self { entries: Map::new(), changed: false };
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(empty),
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", file.display())),
        };
        let found: StoredRecord = serde_json::from_str(&text).with_context(|| {
            format!("`{}` is damaged: remove it; Tandem then treats its entries as yours", file.display())
        })?;
        if found.version != VERSION {
            bail!("`{}` is of another version of tandem-mcp ({})", file.display(), found.version);
        }
        let entries = found.entries.as_object().cloned().unwrap_or_default();
        Ok(Self { entries, ..empty })
    }

    /// The entry as it was written.
    pub(super) fn entry(&self, file: &Path, name: &str) -> Option<&Value> {
        self.entries.get(file.to_str()?)?.get(name)
    }

    /// Records that the entry is written, or removed (`None`).
    pub(super) fn note(&mut self, file: &Path, name: &str, entry: Option<Value>) {
        let of_file =
            self.entries.entry(file.display().to_string()).or_insert_with(|| Value::Object(Map::new()));
        if let Some(names) = of_file.as_object_mut() {
            self.changed |= names.get(name) != entry.as_ref();
            match entry {
                Some(entry) => names.insert(name.to_owned(), entry),
                None => names.shift_remove(name),
            };
        }
    }

    /// The new text of its file; `None` if nothing changed.
    ///
    /// # Errors
    /// When the entries cannot be serialized.
    pub(super) fn changed_text(&self) -> anyhow::Result<Option<String>> {
        let (version, entries) = (VERSION.into(), Value::Object(self.entries.clone()));
        let text = || serde_json::to_string_pretty(&StoredRecord { version, entries });
        Ok(self.changed.then(text).transpose()?)
    }
}
