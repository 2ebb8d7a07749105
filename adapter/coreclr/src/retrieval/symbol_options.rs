//! The attribute `symbolOptions`: further locations of PDBs, and the modules that they apply to. Fetches no
//! PDB ([`super::symbol_files`]).

use std::path::PathBuf;

use serde_json::{Map, Value};
use tandem_download::DownloadUrl;
use tandem_wire::Failure;

use super::source_link_options::glob;

/// Microsoft's symbol server, and the hosts that it redirects to.
const MICROSOFT: (&str, &[&str]) =
    ("https://msdl.microsoft.com/download/symbols", &["*.blob.core.windows.net"]);
/// NuGet's server, in the same form.
const NUGET: (&str, &[&str]) = ("https://symbols.nuget.org/download/symbols", &["globalcdn.nuget.org"]);
/// Most folders and servers, and most modules of a list.
const MAX_ENTRIES: usize = 100;

/// A symbol server, with the hosts that it may redirect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolServer {
    /// Its address, without a slash at the end.
    pub(super) base: String,
    /// Other hosts that it may redirect to.
    redirects: &'static [&'static str],
}

/// The modules whose symbols are searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ModuleFilter {
    /// `loadAllButExcluded`.
    AllBut(Vec<String>),
    /// `loadOnlyIncluded`; for others only symbols next to them, or none.
    Only { included: Vec<String>, beside: bool },
}

/// The locations that are searched for the symbols of one module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymbolSearchScope {
    /// All symbol locations, including servers.
    Everywhere,
    /// Inside it, next to it, and at the path that the compiler wrote.
    Beside,
    /// None: the module is excluded.
    Nowhere,
}

/// Values of the attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolOptions {
    /// Folders of `searchPaths`.
    pub(crate) folders: Vec<PathBuf>,
    /// In the order of requests.
    pub(crate) servers: Vec<SymbolServer>,
    /// `cachePath`: folder of the cache.
    pub(crate) cache: Option<PathBuf>,
    filter: ModuleFilter,
}

impl Default for SymbolOptions {
    fn default() -> Self {
        Self {
            folders: Vec::new(),
            servers: Vec::new(),
            cache: None,
            filter: ModuleFilter::AllBut(Vec::new()),
        }
    }
}

impl SymbolOptions {
    /// Reads the attribute; `ignored` receives unknown names in it.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, naming the invalid part.
    pub(crate) fn parse(attribute: &Value, ignored: &mut Vec<String>) -> Result<Self, Failure> {
        let mut options = Self::default();
        let Some(map) = object("symbolOptions", attribute)? else { return Ok(options) };
        for (name, value) in map {
            match name.as_str() {
                "searchPaths" => {
                    for path in texts("symbolOptions.searchPaths", value)? {
                        options.search(&path)?;
                    }
                }
                "searchMicrosoftSymbolServer" | "searchNuGetOrgSymbolServer" => {}
                "cachePath" => match value {
                    Value::Null => {}
                    Value::String(path) if !path.is_empty() => options.cache = Some(folder(path)),
                    other => return Err(invalid_option("symbolOptions.cachePath", "a folder", other)),
                },
                "moduleFilter" => options.filter = filter(value, ignored)?,
                other => ignored.push(format!("symbolOptions.{other}")),
            }
        }
        // Configured servers are asked first.
        for (name, (base, redirects)) in
            [("searchMicrosoftSymbolServer", MICROSOFT), ("searchNuGetOrgSymbolServer", NUGET)]
        {
            if flag(&format!("symbolOptions.{name}"), &attribute[name], false)? {
                options.servers.push(SymbolServer { base: base.to_owned(), redirects });
            }
        }
        Ok(options)
    }

    /// One of `searchPaths`: a server's address, or a folder.
    fn search(&mut self, path: &str) -> Result<(), Failure> {
        if path.contains("://") {
            let base = path.trim_end_matches('/').to_owned();
            DownloadUrl::parse(&base)
                .map_err(|error| Failure::invalid(format!("`symbolOptions.searchPaths`: {error}")))?;
            self.servers.push(SymbolServer { base, redirects: &[] });
        } else if path.contains('*') {
            return Err(Failure::invalid(format!(
                "`symbolOptions.searchPaths` has `{path}`, which is not a folder"
            ))
            .hint("list the folder of `cache*` and the address of `srv*` separately"));
        } else {
            self.folders.push(folder(path));
        }
        Ok(())
    }

    /// The locations that are searched for the symbols of a module, by its file name; case-insensitive.
    pub(crate) fn scope_of(&self, module: &str) -> SymbolSearchScope {
        let module = module.to_lowercase();
        let is_in = |list: &[String]| list.iter().any(|pattern| glob(pattern, &module));
        match &self.filter {
            ModuleFilter::AllBut(excluded) if is_in(excluded) => SymbolSearchScope::Nowhere,
            ModuleFilter::Only { included, beside } if !is_in(included) => {
                if *beside {
                    SymbolSearchScope::Beside
                } else {
                    SymbolSearchScope::Nowhere
                }
            }
            _ => SymbolSearchScope::Everywhere,
        }
    }

    /// Whether a server may redirect to an address: to another of these servers, or to one of its own hosts.
    pub(super) fn allows(&self, server: &SymbolServer, address: &DownloadUrl) -> bool {
        let host = address.host().to_ascii_lowercase();
        let is_known = server.redirects.iter().any(|pattern| glob(pattern, &host));
        let is_server = |other: &SymbolServer| {
            DownloadUrl::parse(&other.base)
                .is_ok_and(|other| other.authority().eq_ignore_ascii_case(address.authority()))
        };
        is_known || self.servers.iter().any(is_server)
    }
}

fn filter(value: &Value, ignored: &mut Vec<String>) -> Result<ModuleFilter, Failure> {
    const NAME: &str = "symbolOptions.moduleFilter";
    let Some(map) = object(NAME, value)? else { return Ok(ModuleFilter::AllBut(Vec::new())) };
    let known = ["mode", "excludedModules", "includedModules", "includeSymbolsNextToModules"];
    ignored.extend(
        map.keys().filter(|name| !known.contains(&name.as_str())).map(|name| format!("{NAME}.{name}")),
    );
    let list = |name: &str| -> Result<Vec<String>, Failure> {
        let list = texts(&format!("{NAME}.{name}"), &value[name])?;
        Ok(list.into_iter().map(|module| module.to_lowercase()).collect())
    };
    let mode = &value["mode"];
    match mode.as_str() {
        None if mode.is_null() => Ok(ModuleFilter::AllBut(list("excludedModules")?)),
        Some("loadAllButExcluded") => Ok(ModuleFilter::AllBut(list("excludedModules")?)),
        Some("loadOnlyIncluded") => Ok(ModuleFilter::Only {
            included: list("includedModules")?,
            beside: flag(
                &format!("{NAME}.includeSymbolsNextToModules"),
                &value["includeSymbolsNextToModules"],
                true,
            )?,
        }),
        _ => Err(invalid_option(&format!("{NAME}.mode"), "`loadAllButExcluded` or `loadOnlyIncluded`", mode)),
    }
}

/// A folder, in which `~` is the user's home.
fn folder(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

fn invalid_option(name: &str, should_be: &str, value: &Value) -> Failure {
    Failure::invalid(format!("`{name}` must be {should_be}, not {value}"))
}

fn object<'a>(name: &str, value: &'a Value) -> Result<Option<&'a Map<String, Value>>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::Object(map) => Ok(Some(map)),
        other => Err(invalid_option(name, "an object", other)),
    }
}

fn flag(name: &str, value: &Value, default: bool) -> Result<bool, Failure> {
    match value {
        Value::Null => Ok(default),
        Value::Bool(value) => Ok(*value),
        other => Err(invalid_option(name, "true or false", other)),
    }
}

fn texts(name: &str, value: &Value) -> Result<Vec<String>, Failure> {
    let wrong = || invalid_option(name, &format!("an array of at most {MAX_ENTRIES} texts"), value);
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) if list.len() <= MAX_ENTRIES => {
            list.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> SymbolOptions {
        SymbolOptions::parse(value, &mut Vec::new()).unwrap()
    }

    #[test]
    fn folders_and_servers_are_distinguished_and_named_servers_come_first() {
        let options = read(&json!({ "searchMicrosoftSymbolServer": true, "searchNuGetOrgSymbolServer": true,
            "searchPaths": ["/symbols", "https://symbols.example/x/", "http://localhost:80"],
            "cachePath": "/cache" }));
        assert_eq!(options.folders, [PathBuf::from("/symbols")]);
        let bases: Vec<&str> = options.servers.iter().map(|server| server.base.as_str()).collect();
        assert_eq!(bases, ["https://symbols.example/x", "http://localhost:80", MICROSOFT.0, NUGET.0]);
        assert_eq!(options.cache, Some("/cache".into()));
        assert_eq!(read(&Value::Null), SymbolOptions::default());
        assert_eq!(read(&json!({ "searchMicrosoftSymbolServer": false })), SymbolOptions::default());
    }

    #[test]
    fn server_redirects_only_to_its_hosts_and_to_other_servers() {
        let options =
            read(&json!({ "searchMicrosoftSymbolServer": true, "searchPaths": ["https://symbols.example"] }));
        let allows = |server: usize, to: &str| {
            options.allows(&options.servers[server], &DownloadUrl::parse(to).unwrap())
        };
        assert!(allows(1, "https://vsblob1.blob.core.windows.net/x?sig=1"));
        assert!(!allows(0, "https://vsblob1.blob.core.windows.net/x"));
        assert!(allows(0, "https://msdl.microsoft.com/x"));
        assert!(!allows(1, "https://blob.core.windows.net.example/x"));
        assert!(!allows(1, "https://example/x.blob.core.windows.net"));
    }

    #[test]
    fn filter_selects_the_modules_with_symbols() {
        let scope = |filter: Value, module: &str| read(&json!({ "moduleFilter": filter })).scope_of(module);
        let but = json!({ "mode": "loadAllButExcluded", "excludedModules": ["My.*.dll", "other.dll"] });
        assert_eq!(scope(but.clone(), "my.Library.DLL"), SymbolSearchScope::Nowhere);
        assert_eq!(scope(but, "Mine.dll"), SymbolSearchScope::Everywhere);
        let only = json!({ "mode": "loadOnlyIncluded", "includedModules": ["My.*"] });
        assert_eq!(scope(only.clone(), "My.Library.dll"), SymbolSearchScope::Everywhere);
        assert_eq!(scope(only, "System.Text.Json.dll"), SymbolSearchScope::Beside);
        let strict = json!({ "mode": "loadOnlyIncluded", "includeSymbolsNextToModules": false });
        assert_eq!(scope(strict, "x.dll"), SymbolSearchScope::Nowhere);
        assert_eq!(scope(json!({ "excludedModules": ["*"] }), "x.dll"), SymbolSearchScope::Nowhere);
    }

    #[test]
    fn invalid_values_are_refused_by_name_and_unknown_names_are_reported() {
        for (value, named) in [
            (json!([]), "`symbolOptions`"),
            (json!({ "searchPaths": "/x" }), "`symbolOptions.searchPaths`"),
            (json!({ "searchPaths": [1] }), "`symbolOptions.searchPaths`"),
            (json!({ "searchPaths": ["http://symbols.example"] }), "http://symbols.example"),
            (json!({ "searchPaths": ["file:///symbols"] }), "`symbolOptions.searchPaths`"),
            (json!({ "searchPaths": ["srv*/cache*https://x"] }), "`symbolOptions.searchPaths`"),
            (json!({ "searchPaths": ["srv*/cache*/x"] }), "not a folder"),
            (json!({ "searchMicrosoftSymbolServer": "yes" }), "`symbolOptions.searchMicrosoftSymbolServer`"),
            (json!({ "cachePath": 1 }), "`symbolOptions.cachePath`"),
            (json!({ "moduleFilter": 1 }), "`symbolOptions.moduleFilter`"),
            (json!({ "moduleFilter": { "mode": "all" } }), "`symbolOptions.moduleFilter.mode`"),
            (json!({ "moduleFilter": { "excludedModules": "x" } }), "excludedModules`"),
        ] {
            let refused = SymbolOptions::parse(&value, &mut Vec::new()).unwrap_err().message;
            assert!(refused.contains(named), "{refused}");
        }
        let mut ignored = Vec::new();
        let odd = json!({ "searchPath": [], "moduleFilter": { "modules": [] } });
        SymbolOptions::parse(&odd, &mut ignored).unwrap();
        assert_eq!(ignored, ["symbolOptions.searchPath", "symbolOptions.moduleFilter.modules"]);
    }
}
