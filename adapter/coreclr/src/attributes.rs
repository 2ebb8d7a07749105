//! Launch and attach attributes with a meaning here, and those of editors; Tandem names all others to the
//! author of the configuration. Does not check values: the user of an attribute does.

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, environment, types};

/// Attributes in docs/launch-configuration.md, of any engine: a configuration may be
/// shared by several engines.
const KNOWN: [&str; 63] = [
    "agentAccess",
    "args",
    "buildArguments",
    "code",
    "configuration",
    "connect",
    "console",
    "consoleInputPrefix",
    "cwd",
    "decompiler",
    "enableStepFiltering",
    "engine",
    "engineOptions",
    "enginePath",
    "env",
    "envFile",
    "expressionCompiler",
    "expressionEvaluationOptions",
    "followChildren",
    "framework",
    "handOver",
    "justMyCode",
    "launchProfile",
    "launchSettingsFilePath",
    "launchSettingsProfile",
    "localRoot",
    "logging",
    "module",
    "noBuild",
    "noDebug",
    "outputBufferBytes",
    "pathMappings",
    "pipeTransport",
    "processId",
    "processName",
    "program",
    "project",
    "pty",
    "python",
    "pythonArgs",
    "remoteRoot",
    "requireExactSource",
    "runtimeIdentifier",
    "session",
    "sourceFileMap",
    "sourceLinkOptions",
    "sourceMap",
    "stdio",
    "stopAtEntry",
    "stopOnEntry",
    "substitutePath",
    "suppressJITOptimizations",
    "symbolOptions",
    "symbolPaths",
    "targetArchitecture",
    "terminalSize",
    "terminateTimeout",
    "token",
    // Added by other editors and their plug-ins.
    "adapter",
    "build",
    "label",
    "order",
    "restart",
];

/// Attributes that VS Code itself uses.
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

/// One message that names the attributes without a meaning; `None` if there are none.
pub(super) fn complaint(arguments: &Value) -> Option<String> {
    let is_unknown = |name: &&String| {
        !name.starts_with("__") && !KNOWN.contains(&name.as_str()) && !EDITORS.contains(&name.as_str())
    };
    let given = arguments.as_object()?.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
    let unknown: Vec<String> =
        given.filter(is_unknown).take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    let (are, them) = match unknown.len() {
        0 => return None,
        1 => ("attribute means", "it is"),
        _ => ("attributes mean", "they are"),
    };
    Some(format!("{}: the {are} nothing to the .NET engine; {them} ignored", unknown.join(", ")))
}

/// The attributes that may request what is not possible.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RefusedAttributes {
    pipe_transport: Value,
    target_architecture: Value,
    env: Value,
}

/// Refuses attributes that request missing features, and without which the configuration
/// would mean something else, and variables that no process can have.
///
/// # Errors
/// `UNSUPPORTED` or `INVALID_PARAMETER` naming the attribute.
pub(super) fn refuse(arguments: &Value) -> Result<(), Failure> {
    let RefusedAttributes { pipe_transport, target_architecture, env } = types::read(arguments);
    // A launch reads them; an attach may share its configuration.
    environment::read("env", &env)?;
    if !pipe_transport.is_null() {
        let message = "`pipeTransport` is not offered: Tandem debugs programs of the machine it runs on";
        return Err(Failure::new(ErrorCode::Unsupported, message).hint(
            "open the folder there with the editor's own remote support (SSH, containers), or connect \
                to `tandem-dap --listen` there",
        ));
    }
    match target_architecture.as_str() {
        _ if target_architecture.is_null() => Ok(()),
        Some("x86_64" | "x64" | "amd64") => Ok(()),
        _ => {
            let message = format!(
                "`targetArchitecture` is {target_architecture}; the .NET engine debugs x86_64 programs"
            );
            Err(Failure::new(ErrorCode::Unsupported, message)
                .hint("omit it; Tandem determines it from the program"))
        }
    }
}

/// Most attributes that are named.
const MAX_NAMED: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_unknown_attributes_are_reported() {
        let sound = json!({ "program": "a.dll", "type": "coreclr", "__sessionId": "1",
            "preLaunchTask": "build",
            "stopAtEntry": true, "requireExact": null });
        assert_eq!(complaint(&sound), None);
        let odd = json!({ "program": "a.dll", "stopOnEntri": true, "requireExact": false });
        let message = complaint(&odd).unwrap();
        assert!(
            message.starts_with("`stopOnEntri`, `requireExact`: the attributes mean nothing"),
            "{message}"
        );
        let one = complaint(&json!({ "checkForDevCert": true })).unwrap();
        assert_eq!(one, "`checkForDevCert`: the attribute means nothing to the .NET engine; it is ignored");
    }

    #[test]
    fn unsupported_attributes_are_refused_by_name() {
        for fine in [json!({}), json!({ "targetArchitecture": "x86_64", "pipeTransport": null })] {
            assert_eq!(refuse(&fine), Ok(()));
        }
        for (wrong, named) in [
            (json!({ "pipeTransport": { "pipeProgram": "ssh" } }), "`pipeTransport`"),
            (json!({ "targetArchitecture": "arm64" }), "`targetArchitecture` is \"arm64\""),
            (json!({ "targetArchitecture": 64 }), "`targetArchitecture` is 64"),
        ] {
            let refused = refuse(&wrong).unwrap_err();
            assert!(refused.code == ErrorCode::Unsupported && refused.message.contains(named), "{refused}");
        }
        // Also of an attach, which sets none.
        let refused = refuse(&json!({ "env": { "A=B": "" } })).unwrap_err();
        assert!(refused.code == ErrorCode::InvalidParameter && refused.message.contains("`A=B` of `env`"));
    }

    #[test]
    fn every_documented_attribute_is_known() {
        // Attributes of other debuggers are translated before.
        let documented = include_str!("../../../docs/launch-configuration.md");
        let (documented, _theirs) = documented.split_once("<!-- configurations -->").unwrap();
        let rows = documented.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        for name in rows.flat_map(|cell| cell.split('`').step_by(2)) {
            assert_eq!(complaint(&json!({ name: 1 })), None);
        }
    }
}
