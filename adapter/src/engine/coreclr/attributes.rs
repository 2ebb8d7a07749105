//! The attributes of a launch or attach that mean something here, and those of an editor's own bookkeeping; whatever else a
//! configuration has is named to its author. Not their values: who uses an attribute checks it.

use serde_json::Value;

/// What docs/launch-configuration.md describes, for any engine: a configuration may be one for several.
const KNOWN: [&str; 50] = [
    "agentAccess",
    "args",
    "buildArguments",
    "code",
    "configuration",
    "connect",
    "console",
    "consoleInputPrefix",
    "cwd",
    "enableStepFiltering",
    "engine",
    "engineOptions",
    "enginePath",
    "env",
    "envFile",
    "expressionEvaluationOptions",
    "framework",
    "handOver",
    "justMyCode",
    "launchProfile",
    "launchSettingsFilePath",
    "launchSettingsProfile",
    "localRoot",
    "module",
    "noBuild",
    "noDebug",
    "outputBufferBytes",
    "pathMappings",
    "processId",
    "program",
    "project",
    "pty",
    "python",
    "pythonArgs",
    "remoteRoot",
    "runtimeIdentifier",
    "session",
    "sourceFileMap",
    "sourceMap",
    "stopAtEntry",
    "stopOnEntry",
    "substitutePath",
    "symbolPaths",
    "terminateTimeout",
    "token",
    // What other editors and their plug-ins add.
    "adapter",
    "build",
    "label",
    "order",
    "restart",
];

/// What VS Code itself uses of a configuration.
const EDITORS: [&str; 18] = [
    "type",
    "name",
    "request",
    "preLaunchTask",
    "postDebugTask",
    "preRestartTask",
    "postRestartTask",
    "internalConsoleOptions",
    "serverReadyAction",
    "presentation",
    "debugServer",
    "suppressMultipleSessionWarning",
    "windows",
    "linux",
    "osx",
    "hidden",
    "parentSession",
    "trace",
];

/// One message that names the attributes which mean nothing; none when all mean something.
pub(super) fn complaint(arguments: &Value) -> Option<String> {
    let is_unknown = |name: &&String| {
        !name.starts_with("__") && !KNOWN.contains(&name.as_str()) && !EDITORS.contains(&name.as_str())
    };
    let given = arguments.as_object()?.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
    let unknown: Vec<String> = given.filter(is_unknown).take(MOST).map(|name| format!("`{name}`")).collect();
    let (are, them) = match unknown.len() {
        0 => return None,
        1 => ("attribute means", "it is"),
        _ => ("attributes mean", "they are"),
    };
    Some(format!("{}: the {are} nothing to the .NET engine; {them} ignored", unknown.join(", ")))
}

/// Most attributes that are named.
const MOST: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn attributes_that_mean_nothing_are_named_and_no_others() {
        let sound = json!({ "program": "a.dll", "type": "coreclr", "__sessionId": "1", "preLaunchTask": "build",
            "stopAtEntry": true, "requireExactSource": null });
        assert_eq!(complaint(&sound), None);
        let odd = json!({ "program": "a.dll", "stopOnEntri": true, "requireExactSource": false });
        let told = complaint(&odd).unwrap();
        assert!(
            told.starts_with("`stopOnEntri`, `requireExactSource`: the attributes mean nothing"),
            "{told}"
        );
        let one = complaint(&json!({ "pipeTransport": {} })).unwrap();
        assert_eq!(one, "`pipeTransport`: the attribute means nothing to the .NET engine; it is ignored");
    }

    #[test]
    fn every_attribute_that_is_documented_is_known() {
        let documented = include_str!("../../../../docs/launch-configuration.md");
        let rows = documented.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        for name in rows.flat_map(|cell| cell.split('`').step_by(2)) {
            assert_eq!(complaint(&json!({ name: 1 })), None);
        }
    }
}
