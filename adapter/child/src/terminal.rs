//! Tandem's own answer to `runInTerminal`: the program gets our pipes (or our terminal), and the adapter its
//! pid. Only makes the command; `session/reverse.rs` starts it.

use std::path::PathBuf;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, RunInTerminalRequestArguments};

use super::target::Target;
use tandem_process::SpawnSpec;

/// The command that the adapter asks to start. Its environment is the adapter's own, then `env` of the
/// launch, then that of the request: some adapters omit variables that they need.
///
/// # Errors
/// `INVALID_PARAMETER` when there is nothing to start.
pub(super) fn spec(request: &Value, target: &Target, adapter: &SpawnSpec) -> Result<SpawnSpec, Failure> {
    let given: RunInTerminalRequestArguments = types::read(request);
    let words = given.args;
    let Some((program, args)) = words.split_first() else {
        return Err(Failure::invalid(format!("`runInTerminal` without a command: {request}")));
    };
    let cwd = Some(given.cwd).filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
    let mut env = adapter.env.clone();
    env.extend(target.env.iter().cloned());
    for (name, value) in given.env.iter().filter_map(Value::as_object).flatten() {
        env.push((name.clone(), value.as_str().map(str::to_owned)));
    }
    let shell = given.args_can_be_interpreted_by_shell == Some(true);
    Ok(SpawnSpec {
        program: if shell { "/bin/sh".into() } else { program.into() },
        args: if shell {
            vec!["-c".into(), format!("exec {}", words.join(" ")).into()]
        } else {
            args.iter().map(Into::into).collect()
        },
        cwd: cwd.filter(|cwd| cwd.is_dir()).unwrap_or_else(|| target.cwd.clone()),
        env,
        pty: target.pty,
        ends_by_itself: false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use tandem_process::terminal::Pty;

    #[test]
    fn the_environment_merges_that_of_adapter_launch_and_request_in_this_order() {
        let target = Target::parse(&json!({ "env": { "A": "2", "B": "2" }, "cwd": "/" })).unwrap();
        let adapter = SpawnSpec {
            program: "/bin/adapter".into(),
            args: vec![],
            cwd: "/".into(),
            env: vec![("A".into(), Some("1".into())), ("LD_LIBRARY_PATH".into(), Some("/private".into()))],
            pty: Pty::No,
            ends_by_itself: false,
        };
        let arguments =
            json!({ "args": ["/bin/echo", "a b"], "cwd": "/nowhere", "env": { "B": null, "C": "3" } });
        let spec = spec(&arguments, &target, &adapter).unwrap();
        assert_eq!((spec.program, spec.args), ("/bin/echo".into(), vec!["a b".into()]));
        assert_eq!(spec.cwd, PathBuf::from("/"));
        let seen = |name: &str| {
            spec.env.iter().rev().find(|(key, _)| key == name).and_then(|(_, value)| value.clone())
        };
        assert_eq!(
            ["A", "B", "C", "LD_LIBRARY_PATH"].map(seen),
            [Some("2".into()), None, Some("3".into()), Some("/private".into())]
        );
    }

    #[test]
    fn a_request_without_a_command_is_refused() {
        let target = Target::parse(&json!({})).unwrap();
        let adapter = SpawnSpec::default();
        for arguments in [json!({}), json!({ "args": [] }), json!({ "args": [1] })] {
            assert!(spec(&arguments, &target, &adapter).is_err(), "{arguments}");
        }
    }
}
