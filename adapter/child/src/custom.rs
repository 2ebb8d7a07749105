//! A DAP adapter that the launch describes, by `engine: { command, args?, connection?, adapterID? }`.
//! Attributes reach it unchanged, except for `{stdin}`, `{stdout}` and `{stderr}`, which Tandem replaces by
//! its pipes: many adapters let the user redirect the program's stdio. Not here: adapters that Tandem knows
//! by name ([`super::registry`]).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};

use super::find;
use super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport, contains_pipe_name};
use super::profile::{ConditionProfile, Profile};
use super::registry;
use super::target::Target;
use tandem_engine::description::Description;
use tandem_engine::result_names::ResultNames;
use tandem_process::SpawnSpec;

/// An adapter the user describes.
#[derive(Debug, Clone)]
pub(super) struct Custom {
    command: String,
    args: Vec<String>,
    transport: Transport,
    adapter_id: String,
}

/// The attribute `engine` that describes an adapter.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EngineAttribute {
    #[serde(deserialize_with = "types::optional")]
    command: Option<String>,
    args: Value,
    #[serde(deserialize_with = "types::optional")]
    connection: Option<String>,
    #[serde(rename = "adapterID", deserialize_with = "types::optional")]
    adapter_id: Option<String>,
}

/// The attribute `console`, which an adapter may spell as Tandem does.
#[derive(Debug, Serialize)]
struct ConsoleAttribute<'a> {
    #[serde(skip_serializing_if = "Value::is_null")]
    console: &'a Value,
}

impl Custom {
    /// Reads the attribute. `connection` is `stdio` (the default), `listen` (it listens on the port that
    /// `{port}` in `args` stands for) or `dial` (it connects to that port).
    ///
    /// # Errors
    /// `INVALID_PARAMETER` naming the field that is missing or has the wrong type.
    pub(super) fn parse(engine: &Value) -> Result<Self, Failure> {
        let EngineAttribute { command, args, connection, adapter_id } = types::read(engine);
        let Some(command) = command.filter(|command| !command.is_empty()) else {
            return Err(Failure::invalid("`engine.command` is missing: the adapter's executable"));
        };
        let args = Option::<Vec<String>>::deserialize(args)
            .map_err(|_| Failure::invalid("`engine.args` must be an array of strings"))?
            .unwrap_or_default();
        let transport = match connection.as_deref() {
            None | Some("stdio") => Transport::Stdio,
            Some("listen") => Transport::Listens,
            Some("dial") => Transport::DialsBack,
            Some(other) => {
                return Err(Failure::invalid(format!(
                    "`engine.connection` is `{other}`; it must be `stdio`, `listen` or `dial`"
                )));
            }
        };
        if transport != Transport::Stdio && !args.iter().any(|argument| argument.contains("{port}")) {
            return Err(Failure::invalid(
                "`engine.args` must have `{port}` in it, for the port Tandem chose",
            ));
        }
        let adapter_id = adapter_id.unwrap_or_else(|| "tandem".into());
        Ok(Self { command, args, transport, adapter_id })
    }

    fn plan(&self, target: &Target, command: &'static str, ours: Value) -> Result<LaunchPlan, Failure> {
        let path = target.variable("PATH").unwrap_or_default();
        let program = if self.command.contains('/') {
            Some(target.cwd.join(&self.command)).filter(|file| file.is_file())
        } else {
            find::on_path(&path, &self.command)
        };
        let program: PathBuf = program.ok_or_else(|| {
            let (looked, unusable) = if self.command.contains('/') {
                ("the file system", target.unusable_file(&self.command))
            } else {
                ("PATH", find::unusable_on_path(&path, &self.command))
            };
            let failure = match unusable {
                Some(reason) => {
                    let message = format!("cannot start the adapter {reason}");
                    Failure::new(ErrorCode::EngineNotFound, message)
                }
                None => find::missing(&self.command, &format!("`{}`", self.command), &[looked.into()]),
            };
            failure.hint("correct `engine.command`, or give its absolute path")
        })?;
        let arguments = target.for_adapter(ours);
        let pipes = command == "launch"
            && (contains_pipe_name(&arguments)
                || self.args.iter().any(|argument| argument.contains("{stdout}")));
        Ok(LaunchPlan {
            spec: SpawnSpec {
                program,
                args: self.args.iter().map(Into::into).collect(),
                cwd: target.cwd.clone(),
                ..SpawnSpec::default()
            },
            transport: self.transport.clone(),
            program_io: if pipes { ProgramIo::PipePaths } else { ProgramIo::OutputEvents },
            adapter_id: self.adapter_id.clone(),
            command,
            arguments,
            launched: command == "launch",
            quirks: Quirks { accepts_pipe_paths: true, ..Quirks::default() },
            opened: None,
        })
    }
}

impl Profile for Custom {
    /// The user describes the adapter in the launch attributes.
    fn description(&self) -> &'static Description {
        const { &Description { connects: true, reads_cores: true, ..Description::NONE } }
    }

    fn name(&self) -> &str {
        &self.command
    }

    /// It may be one of those that Tandem knows, under another path.
    fn result_names(&self) -> ResultNames {
        registry::result_names()
    }

    /// As DAP defines `terminate`.
    fn ends_gently(&self, _arguments: &Value) -> bool {
        true
    }

    fn sends_initialized(&self) -> bool {
        false
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let ours = ConsoleAttribute { console: target.attribute("console") };
        self.plan(target, "launch", types::body(&ours))
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        match LaunchPlan::to_running(target, &self.adapter_id, types::empty())? {
            Some(plan) => Ok(plan),
            None => self.plan(target, "attach", types::empty()),
        }
    }
}

impl ConditionProfile for Custom {
    fn has_own_hit_conditions(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_that_cannot_work_is_refused_with_what_is_wrong() {
        for (engine, part) in [
            (json!({}), "engine.command"),
            (json!({ "command": "x", "args": "y" }), "engine.args"),
            (json!({ "command": "x", "connection": "udp" }), "engine.connection"),
            (json!({ "command": "x", "connection": "dial" }), "{port}"),
        ] {
            let failure = Custom::parse(&engine).unwrap_err();
            assert!(failure.message.contains(part), "{failure}");
        }
    }
}
