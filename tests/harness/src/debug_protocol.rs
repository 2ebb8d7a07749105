//! The official schema of the Debug Adapter Protocol, read from the declarations that npm's
//! `@vscode/debugprotocol` ships (`lib/debugProtocol.d.ts`): which requests, events and types there are, and
//! which fields each has.
//!
//! No package registry has the protocol's JSON schema. [`ADDED`] has the protocol's additions since the
//! newest package. Types of fields are not read.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};

use crate::fixture;

/// The version of the protocol that the schema describes together with [`ADDED`].
pub const VERSION: &str = "1.71";

/// Fields in [`VERSION`] that the newest package lacks (1.68, published after 1.69 was drafted).
const ADDED: [(&str, &str); 1] = [("StartDebuggingRequestArguments", "outputPresentation")];

/// One interface of the declarations.
#[derive(Debug, Default)]
pub struct Interface {
    /// The interface that it extends; empty if none.
    pub base: String,
    /// Its fields without inherited ones, in order. Those of an unnamed type follow
    /// its field as `body.reason`.
    pub fields: Vec<String>,
    /// DAP `command` or `event`, of a request or an event.
    pub name: Option<String>,
}

/// The protocol's interfaces by their names.
#[derive(Debug)]
pub struct Schema(BTreeMap<String, Interface>);

impl Schema {
    /// The schema of the package that set-up has downloaded.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn official() -> anyhow::Result<Self> {
        let path = fixture::debug_protocol();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
        let mut schema = Self::parse(&text);
        ensure!(schema.0.len() > 150, "{} interfaces are in {path:?}", schema.0.len());
        for (interface, field) in ADDED {
            let found = schema.0.get_mut(interface).with_context(|| format!("no {interface}"))?;
            ensure!(
                !found.fields.iter().any(|known| known == field),
                "{interface}.{field} is in the package now"
            );
            found.fields.push(field.to_owned());
        }
        Ok(schema)
    }

    /// Reads the declarations of a `.d.ts` file.
    pub fn parse(text: &str) -> Self {
        let mut interfaces = BTreeMap::new();
        let mut current: Option<(String, Interface)> = None;
        // The fields whose unnamed types are open.
        let mut open: Vec<String> = Vec::new();
        let mut in_comment = false;
        for line in text.lines().map(str::trim) {
            if in_comment || line.starts_with("/*") {
                in_comment = !line.ends_with("*/");
                continue;
            }
            let declared = line.strip_prefix("export ").unwrap_or(line).strip_prefix("interface ");
            if let Some(words) = declared {
                let mut words = words.split_whitespace();
                let name = words.next().unwrap_or_default().to_owned();
                let base = words.skip_while(|word| *word != "extends").nth(1).unwrap_or_default().to_owned();
                current = Some((name, Interface { base, ..Interface::default() }));
                continue;
            }
            let Some((_, interface)) = &mut current else { continue };
            let named = line.strip_prefix("// command: '").or_else(|| line.strip_prefix("// event: '"));
            if let Some(name) = named {
                interface.name = name.split('\'').next().map(str::to_owned);
            } else if line.starts_with('}') {
                if open.pop().is_none() {
                    interfaces.extend(current.take());
                }
            } else if let Some((field, kind)) = line.split_once(':') {
                let field = [&open[..], &[field.trim_end_matches('?').trim_matches('\'').to_owned()]]
                    .concat()
                    .join(".");
                // `[key: string]: …` is not a field.
                if !field.contains('[') {
                    interface.fields.push(field.clone());
                }
                if kind.trim_end().ends_with('{') {
                    open = vec![field];
                }
            }
        }
        Self(interfaces)
    }

    /// An interface by its name.
    pub fn get(&self, name: &str) -> Option<&Interface> {
        self.0.get(name)
    }

    /// The fields of an interface at the level of its name, with those of what it extends.
    ///
    /// # Errors
    /// When there is no such interface.
    pub fn fields(&self, name: &str) -> anyhow::Result<BTreeSet<String>> {
        let interface = self.0.get(name).with_context(|| format!("the schema has no {name}"))?;
        let own = interface.fields.iter().filter(|field| !field.contains('.')).cloned();
        let mut all: BTreeSet<String> = own.collect();
        if !interface.base.is_empty() {
            all.extend(self.fields(&interface.base)?);
        }
        Ok(all)
    }

    /// Requests: DAP `command` and the interface's name without `Request`.
    pub fn requests(&self) -> BTreeMap<&str, &str> {
        self.named("Request")
    }

    /// Events: DAP `event` and the interface's name without `Event`.
    pub fn events(&self) -> BTreeMap<&str, &str> {
        self.named("Event")
    }

    fn named<'all>(&'all self, base: &'all str) -> BTreeMap<&'all str, &'all str> {
        let of_base = self.0.iter().filter(|(_, interface)| interface.base == base);
        of_base
            .filter_map(|(name, interface)| Some((interface.name.as_deref()?, name.strip_suffix(base)?)))
            .collect()
    }
}
