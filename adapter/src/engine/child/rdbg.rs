//! Ruby through the `debug` gem, which lives inside the program: it listens on a socket of ours, and what we start is the
//! program itself.

use std::process::Command;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::find::{self, Search};
use super::profile::{Plan, Profile, ProgramIo, Quirks, Transport};
use super::target::Target;
use crate::io::SpawnSpec;

/// What stands around a condition so that it holds where it fails.
const GUARD: (&str, &str) = (
    "begin; (",
    "\n); rescue Exception; Thread.current[:__tandem_condition] = \"#{$!.class}: #{$!.message.lines.first.to_s.chomp}\"; true; end",
);

/// The profile.
pub(super) struct Rdbg;

impl Profile for Rdbg {
    fn name(&self) -> &str {
        "rdbg"
    }

    fn is_in_the_program(&self) -> bool {
        true
    }

    fn own_requests(&self) -> Option<&'static [&'static str]> {
        Some(&["rdbgRecordInspector", "rdbgTraceInspector"])
    }

    /// Without a filter an array is only its class.
    fn hides_elements(&self) -> bool {
        true
    }

    /// It quotes the condition as it got it.
    fn correct_stop(&self, body: &mut Value, _pausing: bool) {
        for key in ["description", "text"] {
            if let Some(shown) = body[key].as_str().and_then(unguarded) {
                body[key] = json!(shown);
            }
        }
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let ruby = find::on_path(&target.variable("PATH").unwrap_or_default(), "ruby")?;
        let check = "begin; RubyVM::InstructionSequence.compile(\"(#{ARGV[0]}\\n)\", '<condition>'); \
                     rescue SyntaxError => wrong; puts wrong.message; end";
        let mut command = Command::new(ruby);
        command.env_remove("RUBYOPT").args(["--disable=gems", "-e", check, "--", condition]);
        Some(command)
    }

    /// It takes what is raised for false, and prints it to the program's stdout. The reason is kept where the program's own
    /// variables are not touched.
    fn guarded_condition(&self, condition: &str) -> String {
        format!("{}{condition}{}", GUARD.0, GUARD.1)
    }

    fn failure_query(&self) -> Option<&'static str> {
        Some("Thread.current[:__tandem_condition].to_s.tap { Thread.current[:__tandem_condition] = nil }")
    }

    fn launch(&self, target: &Target) -> Result<Plan, Failure> {
        let program = target.existing_program()?.display().to_string();
        let own = target.project_folders().into_iter().map(|folder| folder.join("bin/rdbg"));
        let gems = ruby_gems(target);
        let adapter = Search::new("rdbg", "`rdbg`", "gem install debug")
            .given(target)?
            .files(own.collect(), "`bin` of the project")
            .on_path(target, &["rdbg"])
            .files(gems, "Ruby's own gems")
            .end()?;
        // It stops before the first line and waits for somebody; `launch` lets it run on, `attach` does not.
        let stop = target.flag("stopOnEntry", false)?;
        let mut args: Vec<std::ffi::OsString> =
            ["--open", "--sock-path={socket}", "--", &program].map(Into::into).to_vec();
        args.extend(target.args.iter().map(Into::into));
        // It would announce its port on the program's stderr.
        let mut env = vec![("RUBY_DEBUG_LOG_LEVEL".to_owned(), Some("ERROR".to_owned()))];
        env.extend(target.env.iter().cloned());
        Ok(Plan {
            spec: SpawnSpec {
                program: adapter,
                args,
                cwd: target.cwd.clone(),
                env,
                pty: target.pty,
                ends_by_itself: false,
            },
            transport: Transport::ListensLocally,
            program_io: ProgramIo::Inherited,
            adapter_id: "rdbg".into(),
            command: if stop { "attach" } else { "launch" },
            arguments: target.for_adapter(json!({ "localfs": true })),
            launched: true,
            quirks: Quirks { ends_silently: true, ..Quirks::default() },
            opened: None,
        })
    }

    /// It is inside the program already and listens.
    fn attach(&self, target: &Target) -> Result<Plan, Failure> {
        let Some(plan) = Plan::to_running(target, "rdbg", json!({ "localfs": true }))? else {
            let message = "rdbg cannot attach by number: say where the program listens (`connect`)";
            return Err(Failure::invalid(message).hint(
                "start it with `rdbg --open --port 12345 app.rb`, and give `connect: { \"port\": 12345 }`",
            ));
        };
        Ok(Plan { quirks: Quirks { ends_silently: true, ..Quirks::default() }, ..plan })
    }
}

/// A text that quotes a guarded condition, with the condition as it was typed.
fn unguarded(text: &str) -> Option<String> {
    // Several as one are quoted as nobody typed them; the hub says which of them failed.
    if let Some((before, _)) = text.split_once(" if: (begin; (") {
        return Some(before.to_owned());
    }
    let (before, rest) = text.split_once(GUARD.0)?;
    let (condition, after) = rest.split_once(GUARD.1)?;
    Some(format!("{before}{condition}{after}"))
}

/// Debian ships the gem with Ruby but puts no `rdbg` on PATH.
fn ruby_gems(target: &Target) -> Vec<std::path::PathBuf> {
    let roots = ["/usr/lib/ruby/gems", "/var/lib/gems", "/usr/share/rubygems-integration"]
        .map(std::path::PathBuf::from);
    let home = target.variable("HOME").map(|home| std::path::Path::new(&home).join(".local/share/gem/ruby"));
    let below = |folder: &std::path::Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let mut found: Vec<_> = roots
        .into_iter()
        .chain(home)
        .flat_map(|root| below(&root))
        .flat_map(|version| below(&version.join("gems")))
        .filter(|gem| gem.file_name().is_some_and(|name| name.to_string_lossy().starts_with("debug-")))
        .map(|gem| gem.join("exe/rdbg"))
        .collect();
    found.sort();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_quotes_the_condition_as_it_was_typed() {
        let guarded = Rdbg.guarded_condition("i == 2 # two");
        let mut body =
            json!({ "description": format!(" BP - Line a.rb:5 (line) if: {guarded}"), "text": "other" });
        Rdbg.correct_stop(&mut body, false);
        assert_eq!(body["description"], " BP - Line a.rb:5 (line) if: i == 2 # two");
        assert_eq!(body["text"], "other");
    }
}
