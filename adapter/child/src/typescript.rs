//! TypeScript as a program. Node runs what it was compiled to, which is found by its source map; or the
//! source itself, where Node is new enough to strip types, or the project has `tsx` or `ts-node`. Nothing is
//! compiled here.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use serde::Deserialize;
use tandem_wire::{ErrorCode, Failure, types};

use tandem_engine::builds::command;

/// Extensions of sources and of the files that they are compiled to.
const ENDINGS: [(&str, &str); 4] = [("ts", "js"), ("tsx", "js"), ("mts", "mjs"), ("cts", "cjs")];
/// Usual output folders of projects, tried if the configuration names none.
const USUAL: [&str; 4] = ["dist", "build", "out", "lib"];
/// How much of a file is read to find its source map.
const MAX_FILE_LEN: u64 = 64 * 1024 * 1024;

/// The file and the arguments with which Node runs a source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NodeCommand {
    pub(super) program: PathBuf,
    /// Arguments of Node's own.
    pub(super) runtime_args: Vec<String>,
}

/// Whether the file is a TypeScript source.
pub(super) fn is_source(program: &Path) -> bool {
    compiled_ending(program).is_some()
}

/// How to run a source. `folders` are those in which the project may keep its own tools.
/// Runs `node --version`.
///
/// # Errors
/// `LAUNCH_FAILED` when Node cannot run the source.
pub(super) fn run(program: &Path, folders: &[PathBuf], node: &Path) -> Result<NodeCommand, Failure> {
    let compiled = find_compiled(program, folders);
    if let Some(program) = compiled.clone().filter(|compiled| !is_older(compiled, program)) {
        return Ok(NodeCommand { program, runtime_args: Vec::new() });
    }
    let version = version_of(node);
    let tool = |inside: &str| {
        folders.iter().map(|folder| folder.join("node_modules").join(inside)).find(|file| file.is_file())
    };
    let shown = |file: PathBuf| file.display().to_string();
    let plain = program.extension().is_none_or(|ending| ending != "tsx");
    let runtime_args = if let Some(arguments) = version.filter(|_| plain).and_then(stripping) {
        arguments
    } else if let Some(loader) = tool("tsx/dist/loader.mjs") {
        vec!["--import".to_owned(), format!("file://{}", shown(loader))]
    } else if let Some(register) = tool("ts-node/register/index.js") {
        vec!["--require".to_owned(), shown(register)]
    } else if let Some(program) = compiled {
        // Older than its source: better than nothing, and js-debug still shows the source.
        return Ok(NodeCommand { program, runtime_args: Vec::new() });
    } else {
        return Err(no_runner_failure(program, version));
    };
    Ok(NodeCommand { program: program.to_path_buf(), runtime_args })
}

fn no_runner_failure(program: &Path, version: Option<(u64, u64)>) -> Failure {
    let node =
        version.map_or_else(|| "this Node".to_owned(), |(major, minor)| format!("Node {major}.{minor}"));
    let message = format!(
        "`{}` is TypeScript, which {node} does not run, and no compiled file with a source map that names \
            it was found beside \
         it, in the `outDir` of a tsconfig.json, or in {}",
        program.display(),
        USUAL.join(", ")
    );
    Failure::new(ErrorCode::LaunchFailed, message).hint(
        "compile it with source maps (`npx tsc --sourceMap`), or install `tsx` in the project, or use Node \
            22.18 or later; \
         or name the compiled file as `program`",
    )
}

/// The arguments with which Node of this version runs TypeScript itself; `None` if it cannot.
fn stripping(version: (u64, u64)) -> Option<Vec<String>> {
    match version {
        (24.., _) | (23, 6..) | (22, 18..) => Some(Vec::new()),
        (23, _) | (22, 6..) => Some(vec!["--experimental-strip-types".to_owned()]),
        _ => None,
    }
}

fn version_of(node: &Path) -> Option<(u64, u64)> {
    let mut version_query = Command::new(node);
    version_query.arg("--version");
    let resolved = command::first_line(version_query)?;
    let mut numbers = resolved.trim_start_matches('v').split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn is_older(file: &Path, than: &Path) -> bool {
    let changed = |file: &Path| std::fs::metadata(file).and_then(|found| found.modified()).ok();
    changed(file).zip(changed(than)).is_some_and(|(file, than)| file < than)
}

fn compiled_ending(program: &Path) -> Option<&'static str> {
    let ending = program.extension()?.to_str()?;
    ENDINGS.iter().find(|(source, _)| *source == ending).map(|(_, compiled)| *compiled)
}

/// The compiled file of a source, found by its source map.
pub(super) fn find_compiled(program: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let name = program.with_extension(compiled_ending(program)?);
    let mut candidates = vec![name.clone()];
    for folder in folders.iter().filter(|folder| program.starts_with(folder)) {
        let out_folder = compiler_options(folder).out_dir.map(|out| folder.join(out));
        let usual = USUAL.iter().map(|usual| folder.join(usual));
        for out in out_folder.into_iter().chain(usual).filter(|out| out.is_dir()) {
            // Below it lies what lies below `rootDir`, which is by default the deepest folder with all
            // sources.
            let Ok(inside) = name.strip_prefix(folder) else { continue };
            let parts: Vec<Component<'_>> = inside.components().collect();
            candidates
                .extend((0..parts.len()).map(|at| out.join(parts.iter().skip(at).collect::<PathBuf>())));
        }
    }
    candidates.into_iter().find(|file| file.is_file() && source_map_names(file, program))
}

/// The file tsconfig.json.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TypescriptConfiguration {
    #[serde(deserialize_with = "types::optional")]
    compiler_options: Option<CompilerOptions>,
}

/// `compilerOptions` of tsconfig.json.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CompilerOptions {
    #[serde(deserialize_with = "types::optional")]
    out_dir: Option<String>,
}

/// `compilerOptions` of a folder's tsconfig.json.
fn compiler_options(folder: &Path) -> CompilerOptions {
    let text = std::fs::read_to_string(folder.join("tsconfig.json")).unwrap_or_default();
    let parsed: Option<TypescriptConfiguration> = serde_json::from_str(&without_comments(&text)).ok();
    parsed.unwrap_or_default().compiler_options.unwrap_or_default()
}

/// Parses JSON as in tsconfig.json: with comments, and commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            string_length(rest)
        } else if rest.starts_with("//") {
            rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
            continue;
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, behind)| behind);
            continue;
        } else {
            if matches!(first, '}' | ']') {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
            }
            first.len_utf8()
        };
        let (token, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        plain.push_str(token);
        rest = behind;
    }
    plain
}

/// The length of the string that a text begins with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether the source map of a compiled file names this source.
fn source_map_names(file: &Path, source: &Path) -> bool {
    let Some(map) = source_map(file) else { return false };
    let base = file.parent().unwrap_or(file).join(map.source_root.unwrap_or_default());
    let sources = map.sources.iter().flatten().flatten().map(String::as_str);
    let source_path = source.canonicalize().unwrap_or_else(|_| source.to_path_buf());
    let is_it = |named: &str| {
        let path = base.join(named.strip_prefix("file://").unwrap_or(named));
        path.canonicalize().is_ok_and(|path| path == source_path)
    };
    sources.into_iter().any(is_it)
}

/// The fields of a source map that name its sources; a source may be null.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SourceMap {
    #[serde(deserialize_with = "types::optional")]
    source_root: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    sources: Option<Vec<Option<String>>>,
}

/// The source map that the last line of a compiled file names, or holds.
fn source_map(file: &Path) -> Option<SourceMap> {
    let small = |file: &Path| std::fs::metadata(file).is_ok_and(|found| found.len() <= MAX_FILE_LEN);
    let text = small(file).then(|| std::fs::read_to_string(file).ok()).flatten()?;
    let (_, named) = text.rsplit_once("//# sourceMappingURL=")?;
    let named = named.lines().next().unwrap_or_default().trim();
    let map = match named.strip_prefix("data:").and_then(|data| data.split_once("base64,")) {
        Some((_, data)) => base64::engine::general_purpose::STANDARD.decode(data).ok()?,
        None => {
            let map = file.parent()?.join(named);
            small(&map).then(|| std::fs::read(&map).ok()).flatten()?
        }
    };
    serde_json::from_slice(&map).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(file: &Path, text: &str) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    #[test]
    fn compiled_file_is_found_by_its_source_map_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let source = root.join("src/deep/shop.ts");
        write(&source, "let a: number = 1;\n");
        let folders = vec![root.join("src/deep"), root.join("src"), root.to_path_buf()];
        assert_eq!(find_compiled(&source, &folders), None);
        let text = "{ // where to\n \"compilerOptions\": { \"outDir\": \"./o\\\"//ut\", /* x */ }, }";
        write(&root.join("tsconfig.json"), text);
        assert_eq!(compiler_options(root).out_dir.as_deref(), Some("./o\"//ut"));
        write(&root.join("tsconfig.json"), "{ \"compilerOptions\": { \"outDir\": \"made\" } }");
        let made = root.join("made/deep/shop.js");
        write(&made, "var a = 1;\n");
        assert_eq!(find_compiled(&source, &folders), None, "without a map it may come from anywhere");
        write(&made, "var a = 1;\n//# sourceMappingURL=shop.js.map\n");
        write(&root.join("made/deep/shop.js.map"), &json!({ "sources": ["../../src/other.ts"] }).to_string());
        assert_eq!(find_compiled(&source, &folders), None);
        let map = json!({ "sourceRoot": "../../src/", "sources": ["deep/shop.ts"] }).to_string();
        write(&root.join("made/deep/shop.js.map"), &map);
        assert_eq!(find_compiled(&source, &folders), Some(made));
        let map =
            base64::engine::general_purpose::STANDARD.encode(json!({ "sources": ["shop.ts"] }).to_string());
        let beside = source.with_extension("js");
        write(&beside, &format!("x\n//# sourceMappingURL=data:application/json;base64,{map}"));
        assert_eq!(find_compiled(&source, &folders), Some(beside));
    }

    #[test]
    fn node_strips_types_by_itself_from_22_6_on() {
        assert_eq!(stripping((24, 1)), Some(vec![]));
        assert_eq!(stripping((22, 18)), Some(vec![]));
        assert_eq!(stripping((22, 7)).map(|arguments| arguments.len()), Some(1));
        assert_eq!(stripping((20, 20)), None);
    }

    #[test]
    fn error_without_a_typescript_runner_has_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.ts");
        write(&source, "");
        let folders = [folder.path().to_path_buf()];
        let failure = run(&source, &folders, Path::new("/no/such/node")).unwrap_err();
        assert_eq!(failure.code, ErrorCode::LaunchFailed);
        assert!(failure.message.contains("TypeScript"), "{failure}");
        write(&folder.path().join("node_modules/tsx/dist/loader.mjs"), "");
        let found = run(&source, &folders, Path::new("/no/such/node")).unwrap();
        assert_eq!((found.program, found.runtime_args.len()), (source, 2));
    }
}
