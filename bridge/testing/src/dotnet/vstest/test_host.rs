//! The process with the tests, which VSTest lets us start, so that a debugger can start it.
//!
//! Not here: the messages about it ([`super::connection`]).

use std::path::Path;

use tandem_wire::Failure;
use tandem_workspace::build::RUN_TIMEOUT;
use tandem_workspace::process::output::CapturedOutput;
use tandem_workspace::process::{ProcessCommand, ProcessExit};
use tokio_util::sync::CancellationToken;

use super::messages::HostLaunch;
use crate::host::{BoxFuture, ProcessLaunch, ProcessLauncher};

/// Bytes that are kept of a debugged host's output.
const MAX_HOST_OUTPUT_BYTES: usize = 1 << 20;

/// The process until its end, and its output.
pub(super) type HostedProcess<'a> = BoxFuture<'a, (Result<ProcessExit, Failure>, CapturedOutput)>;

/// The command that VSTest asks us to run, with the environment of the call.
pub(super) fn command(
    asked: &HostLaunch,
    project_folder: &Path,
    env: &[(String, Option<String>)],
) -> ProcessCommand {
    let folder = asked.working_directory.as_deref().map_or(project_folder, Path::new);
    let program = asked.file_name.as_deref().unwrap_or("dotnet");
    let mut command = ProcessCommand::new(program, folder).args(words(&asked.arguments));
    for (name, value) in &asked.environment_variables {
        command = command.env(name, value.as_str().unwrap_or_default());
    }
    command.envs(env)
}

/// Starts the process under this launcher.
pub(super) fn run(
    launcher: &dyn ProcessLauncher,
    launch: ProcessLaunch,
    cancel: CancellationToken,
) -> HostedProcess<'_> {
    Box::pin(async move {
        let mut printed = CapturedOutput::new(MAX_HOST_OUTPUT_BYTES, MAX_HOST_OUTPUT_BYTES);
        let ended = launcher.run(launch, &mut printed, RUN_TIMEOUT * 48, &cancel).await;
        (ended, printed)
    })
}

/// Arguments as .NET writes them in one text: in double quotes where they have spaces.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'"') => word.extend(letters.next()),
            '"' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            letter => word.push(letter),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_of_dotnet_is_taken_apart() {
        assert_eq!(
            words(r#"exec --depsfile "/a b/x.json" "" --port 1 a\"b"#),
            ["exec", "--depsfile", "/a b/x.json", "", "--port", "1", "a\"b"]
        );
    }
}
