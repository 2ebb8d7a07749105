//! Choice of the SDK whose compiler is used: the installed SDKs, the newest first, or a configured one.
//! Starts no compiler ([`super::connection`]).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::Failure;

/// The launch attribute `expressionCompiler`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum CompilerChoice {
    /// The newest that exists.
    #[default]
    Auto,
    /// No compiler: expressions that need one are refused.
    Off,
    /// The SDK in this folder.
    In(PathBuf),
}

impl CompilerChoice {
    /// # Errors
    /// `INVALID_PARAMETER` for any other value.
    pub(super) fn parse(attribute: &Value) -> Result<Self, Failure> {
        match attribute {
            Value::Null => Ok(Self::Auto),
            Value::String(text) if text == "auto" || text.is_empty() => Ok(Self::Auto),
            Value::String(text) if text == "off" => Ok(Self::Off),
            Value::String(text) if Path::new(text).is_absolute() => Ok(Self::In(text.into())),
            other => Err(Failure::invalid(format!(
                "`expressionCompiler` must be \"auto\", \"off\" or the absolute path of a .NET SDK's \
                    folder, not {other}"
            ))),
        }
    }
}

/// An SDK with a C# compiler and a runtime to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompilerSdk {
    /// Its own version, for example `10.0.401`.
    pub(super) version: String,
    /// The `dotnet` that runs it.
    pub(super) dotnet: PathBuf,
    /// The folder of `csc.dll`.
    pub(super) compiler: PathBuf,
    /// The folder of the runtime that runs it, whose name is its version.
    pub(super) runtime: PathBuf,
}

/// A `runtimeconfig.json`: the runtime of an assembly.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuntimeSettings {
    pub(super) runtime_options: RuntimeOptions,
}

/// The part of a `runtimeconfig.json` that the host of .NET reads.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuntimeOptions {
    pub(super) framework: FrameworkReference,
    #[serde(default)]
    pub(super) config_properties: Map<String, Value>,
}

/// A framework and its version.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FrameworkReference {
    #[serde(default)]
    pub(super) name: String,
    pub(super) version: String,
}

impl CompilerSdk {
    /// The SDK in a folder such as `/usr/lib/dotnet/sdk/10.0.401`; `None` without a
    /// compiler or a runtime for it.
    fn of(folder: &Path) -> Option<Self> {
        let compiler = folder.join("Roslyn/bincore");
        let settings = std::fs::read_to_string(compiler.join("csc.runtimeconfig.json")).ok()?;
        compiler.join("csc.dll").is_file().then_some(())?;
        let root = folder.parent()?.parent()?;
        let settings: RuntimeSettings = serde_json::from_str(&settings).ok()?;
        let required = settings.runtime_options.framework.version;
        Some(Self {
            version: folder.file_name()?.to_str()?.to_owned(),
            dotnet: Some(root.join("dotnet")).filter(|dotnet| dotnet.is_file())?,
            compiler,
            runtime: runtime_for(&root.join("shared/Microsoft.NETCore.App"), &required)?,
        })
    }
}

/// The newest runtime of the same major version, else the oldest of a later one.
fn runtime_for(folder: &Path, required: &str) -> Option<PathBuf> {
    let required = Version::of(required)?;
    let mut all: Vec<(Version, PathBuf)> = versions(folder);
    all.retain(|(version, _)| *version >= required || version.major() == required.major());
    let nearest = all.iter().map(|(version, _)| version.major()).min()?;
    all.into_iter().find(|(version, _)| version.major() == nearest).map(|(_, path)| path)
}

/// A version of a runtime or SDK; a preview precedes its release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Version(Vec<u32>, bool, String);

impl Version {
    fn of(text: &str) -> Option<Self> {
        let (numbers, preview) = text.split_once('-').unwrap_or((text, ""));
        let numbers = numbers.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
        Some(Self(numbers, preview.is_empty(), preview.to_owned()))
    }

    fn major(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }
}

/// The folders named after a version, the newest first.
fn versions(folder: &Path) -> Vec<(Version, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<(Version, PathBuf)> =
        entries.filter_map(|entry| Some((Version::of(entry.file_name().to_str()?)?, entry.path()))).collect();
    all.sort();
    all.reverse();
    all
}

/// Folders that may contain a `dotnet` and SDKs, by the values of variables.
pub(super) fn roots(variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let named = variable("DOTNET_ROOT").map(PathBuf::from);
    let path = variable("PATH").unwrap_or_default();
    let home = variable("HOME").map(|home| Path::new(&home).join(".dotnet"));
    let usual = ["/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet"].map(PathBuf::from);
    let all = named.into_iter().chain(std::env::split_paths(&path)).chain(home).chain(usual);
    let mut roots: Vec<PathBuf> = Vec::new();
    // A compiler is code: relative folders are not searched.
    for folder in all.filter(|folder| folder.is_absolute()) {
        // On PATH there is usually a link.
        let Ok(dotnet) = folder.join("dotnet").canonicalize() else { continue };
        let Some(root) = dotnet.parent().filter(|_| dotnet.is_file()) else { continue };
        if !roots.iter().any(|known| known == root) {
            roots.push(root.to_owned());
        }
    }
    roots
}

/// The SDKs whose compiler can be used, the first choice first.
///
/// # Errors
/// The folders searched, for people, if none was found.
pub(super) fn find(choice: &CompilerChoice, roots: &[PathBuf]) -> Result<Vec<CompilerSdk>, String> {
    let below = |root: &Path| versions(&root.join("sdk"));
    let (mut all, looked) = match choice {
        CompilerChoice::Off => return Err("`expressionCompiler` is \"off\"".into()),
        CompilerChoice::In(folder) => {
            let folder = folder.canonicalize().map_err(|error| {
                format!("`expressionCompiler` is `{}`, which cannot be used: {error}", folder.display())
            })?;
            let own = (Version(Vec::new(), true, String::new()), folder.clone());
            (std::iter::once(own).chain(below(&folder)).collect(), vec![folder])
        }
        CompilerChoice::Auto => {
            (roots.iter().flat_map(|root| below(root)).collect::<Vec<_>>(), roots.to_vec())
        }
    };
    // A stable sort: equal versions stay in the order of their roots.
    all.sort_by(|one, other| other.0.cmp(&one.0));
    let sdks: Vec<CompilerSdk> = all.iter().filter_map(|(_, folder)| CompilerSdk::of(folder)).collect();
    if sdks.is_empty() {
        let looked: Vec<String> = looked.iter().map(|folder| format!("`{}`", folder.display())).collect();
        return Err(match looked.is_empty() {
            true => "no `dotnet` was found in DOTNET_ROOT, on PATH, or in the usual places".into(),
            false => format!("no .NET SDK with a C# compiler was found in {}", looked.join(", ")),
        });
    }
    Ok(sdks)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn install(root: &Path, sdk: &str, runtimes: &[&str], wants: &str) {
        let compiler = root.join("sdk").join(sdk).join("Roslyn/bincore");
        std::fs::create_dir_all(&compiler).unwrap();
        std::fs::write(root.join("dotnet"), "").unwrap();
        std::fs::write(compiler.join("csc.dll"), "").unwrap();
        let settings = json!({ "runtimeOptions": { "framework": { "version": wants } } });
        std::fs::write(compiler.join("csc.runtimeconfig.json"), settings.to_string()).unwrap();
        for runtime in runtimes {
            std::fs::create_dir_all(root.join("shared/Microsoft.NETCore.App").join(runtime)).unwrap();
        }
    }

    #[test]
    fn newest_sdk_with_a_runtime_is_the_first_choice() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        install(one.path(), "9.0.100", &["9.0.1", "9.0.11"], "9.0.0");
        install(other.path(), "10.0.100", &["10.0.0"], "10.0.0");
        install(other.path(), "10.0.200-preview.1", &[], "10.0.0");
        install(other.path(), "11.0.100", &[], "11.0.0");
        std::fs::create_dir_all(other.path().join("sdk/12.0.100")).unwrap();
        let roots = [one.path().to_owned(), other.path().to_owned()];
        let found = find(&CompilerChoice::Auto, &roots).unwrap();
        let versions: Vec<&str> = found.iter().map(|sdk| sdk.version.as_str()).collect();
        assert_eq!(versions, ["10.0.200-preview.1", "10.0.100", "9.0.100"]);
        assert!(found[2].runtime.ends_with("9.0.11"), "{:?}", found[2].runtime);
        let named = one.path().join("sdk/9.0.100");
        assert_eq!(find(&CompilerChoice::In(named), &roots).unwrap()[0].version, "9.0.100");
        assert_eq!(find(&CompilerChoice::In(other.path().to_owned()), &[]).unwrap()[1].version, "10.0.100");
    }

    #[test]
    fn missing_sdk_error_lists_the_searched_folders() {
        let empty = tempfile::tempdir().unwrap();
        let reason = find(&CompilerChoice::Auto, &[empty.path().to_owned()]).unwrap_err();
        assert!(reason.contains(&empty.path().display().to_string()), "{reason}");
        assert!(find(&CompilerChoice::Auto, &[]).unwrap_err().contains("DOTNET_ROOT"));
        assert!(find(&CompilerChoice::Off, &[]).unwrap_err().contains("off"));
        assert!(find(&CompilerChoice::In("/nowhere/at/all".into()), &[]).unwrap_err().contains("/nowhere"));
    }

    #[test]
    fn attribute_accepts_a_keyword_or_a_folder() {
        assert_eq!(CompilerChoice::parse(&Value::Null), Ok(CompilerChoice::Auto));
        assert_eq!(CompilerChoice::parse(&json!("off")), Ok(CompilerChoice::Off));
        assert_eq!(CompilerChoice::parse(&json!("/sdk")), Ok(CompilerChoice::In("/sdk".into())));
        for wrong in [json!("on"), json!(true), json!("sdk/10")] {
            assert!(CompilerChoice::parse(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn versions_compare_by_their_numbers() {
        let sorted =
            ["2.1.5", "10.0.0-preview.7", "10.0.0", "10.0.12"].map(|text| Version::of(text).unwrap());
        assert!(sorted.is_sorted());
        assert_eq!(Version::of("metadata"), None);
    }
}
