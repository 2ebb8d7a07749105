//! Ruby through the `debug` gem, which lives inside the program: it listens on a socket of ours, and what we start is the
//! program itself.

use dap_wire::Failure;
use serde_json::json;

use super::find::Search;
use super::profile::{Plan, Profile, ProgramIo, Quirks, Transport};
use super::target::Target;
use crate::io::SpawnSpec;

/// The profile.
pub(super) struct Rdbg;

impl Profile for Rdbg {
    fn name(&self) -> &str {
        "rdbg"
    }

    fn own_requests(&self) -> Option<&'static [&'static str]> {
        Some(&["rdbgRecordInspector", "rdbgTraceInspector"])
    }

    /// Without a filter an array is only its class.
    fn hides_elements(&self) -> bool {
        true
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
