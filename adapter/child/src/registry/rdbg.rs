//! Ruby through the `debug` gem, which runs inside the program: it listens on our socket, and the process
//! that we start is the program itself. Not here: carrying out the corrections of an attach
//! (`session/correcting.rs`).

mod correction;
mod evaluation;
mod unbound;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, Breakpoint, StoppedEventBody};

use super::super::find::{self, AdapterSearch};
use super::super::interpreter_options;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{AttachCorrection, ConditionProfile, Profile};
use super::super::target::Target;
use super::super::test_files::{self, Runner};
use tandem_engine::condition_language::{ConditionLanguage, either};
use tandem_engine::description::{Description, EditorLanguage, Recognition};
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::{ExceptionFilter, LookOnlyRequests};
use tandem_process::SpawnSpec;

/// The code around a condition that makes it hold where it fails. A regular expression in it does not change
/// the program's `$~`.
const GUARD: (&str, &str) = (
    "->(__tandem_match) { begin; (",
    "\n); rescue Exception; Thread.current[:__tandem_condition] = \"#{$!.class}: \
        #{$!.message.lines.first.to_s.chomp}\"; true; ensure; $~ = __tandem_match; end }.($~)",
);
/// The same around one of several.
const GUARD_OF_SEVERAL: (&str, &str) = (
    "(->(__tandem_match) { begin; (",
    "\n); rescue Exception; true; ensure; $~ = __tandem_match; end }.($~))",
);

/// Ruby's conditions, where rdbg continues past one that fails. Zero and empty things are true.
const RUBY: ConditionLanguage = ConditionLanguage {
    name: "Ruby",
    combine: |conditions| {
        Some(either(conditions, |condition| {
            format!("{}{condition}{}", GUARD_OF_SEVERAL.0, GUARD_OF_SEVERAL.1)
        }))
    },
    truth: |text| !matches!(text, "false" | "nil"),
    ..ConditionLanguage::OTHER
};

/// What Ruby loads before the gem. A name of a thread or file with bytes that are not text cannot be written
/// as JSON, which would end the gem's thread: such bytes are escaped. The gem is corrected. Before
/// 1.5 it also loses what `RUBYOPT` said, and has each Ruby that the program starts wait for a debugger. The
/// gem loads its half that speaks DAP when it gets the first message, so its end is waited for.
const PRELUDE: &str = concat!(include_str!("rdbg/corrections.rb"), include_str!("rdbg/prelude.rb"));

/// The gem's variable that has it wait for its client before the program begins. The prelude removes it, so a
/// Ruby that the program starts does not inherit it.
const STOP_AT_LOAD: &str = "RUBY_DEBUG_STOP_AT_LOAD";

/// Arguments of `rdbg` that precede those of Ruby.
const BEFORE_PRELUDE: usize = 3;

/// Metadata of rdbg, known without starting it.
const DESCRIPTION: Description = Description {
    name: "rdbg",
    languages: "Ruby",
    summary: "Ruby: the gem debug.",
    needs: "the gem `debug`",
    stdio: "starts Ruby itself; the adapter lives inside the program",
    recognition: Recognition { extensions: &["rb"], interpreters: &["ruby"], ..Recognition::NONE },
    editor_languages: &[EditorLanguage {
        id: "ruby",
        name: "Ruby",
        projects: &[],
        endings: &["rb"],
        runs_files: true,
    }],
    interpreters: &[("ruby", "ruby")],
    connects: true,
    ..Description::NONE
};

const fn with_condition(filter: &'static str, label: &'static str) -> ExceptionFilter {
    ExceptionFilter { supports_condition: true, ..ExceptionFilter::new(filter, label) }
}

/// How Tandem launches rdbg, and where it differs from other adapters.
pub(super) struct Rdbg;

impl Profile for Rdbg {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn reports_process(&self) -> bool {
        false
    }

    /// As it is from 1.6 on; an older one announces what it has besides.
    fn exception_filters(&self) -> &'static [ExceptionFilter] {
        const FILTERS: [ExceptionFilter; 2] = [
            with_condition("any", "rescue any exception"),
            with_condition("RuntimeError", "rescue RuntimeError"),
        ];
        &FILTERS
    }

    /// It calls `inspect`, and evaluates the receiver of what is completed.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&["source"])
    }

    /// A step stops before the method returns.
    fn result_names(&self) -> ResultNames {
        ResultNames::new([ResultName::Own("%return"), ResultName::Own("_return")])
    }

    fn is_in_the_program(&self) -> bool {
        true
    }

    fn correction(&self, capabilities: &Value) -> Option<AttachCorrection> {
        Some(correction::of_gem(capabilities))
    }

    fn own_requests(&self) -> Option<&'static [&'static str]> {
        Some(&["rdbgRecordInspector", "rdbgTraceInspector"])
    }

    /// Its signal is ignored while the program has not left the debugger.
    fn misses_pauses(&self) -> bool {
        true
    }

    /// From 1.6 on, `configurationDone` after attaching reports the stop at a breakpoint
    /// that was hit meanwhile.
    fn repeats_stops(&self) -> bool {
        true
    }

    /// Without a filter an array is only its class.
    fn hides_elements(&self) -> bool {
        true
    }

    /// It quotes the condition as it got it.
    fn correct_stop(&self, stop: &mut StoppedEventBody, _pausing: bool) {
        for text in [&mut stop.description, &mut stop.text] {
            if let Some(shown) = text.as_deref().and_then(unguard) {
                *text = Some(shown);
            }
        }
    }

    /// It reports each as verified and does not look at the file.
    fn correct_breakpoints(&self, source: &Path, lines: &[i64], breakpoints: &mut [Breakpoint]) {
        unbound::mark(source, lines, breakpoints);
    }

    fn adapt_request(&self, command: &str, arguments: &mut Value) {
        if command == "evaluate" {
            evaluation::guard(arguments);
        }
    }

    fn failure_in_answer(&self, command: &str, answer: &Value) -> Option<Failure> {
        evaluation::failure(answer).filter(|_| command == "evaluate")
    }

    fn runner_of_tests(&self, target: &Target) -> Option<Runner> {
        test_files::ruby(target)
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let program = target.existing_program()?.display().to_string();
        let own = target.project_folders().into_iter().map(|folder| folder.join("bin/rdbg"));
        let gems = ruby_gems(target);
        let adapter = AdapterSearch::new("rdbg", "`rdbg`", "gem install debug")
            .with_engine_path(target)?
            .files(own.collect(), "`bin` of the project")
            .on_path(target, &["rdbg"])
            .files(gems, "Ruby's own gems")
            .end()?;
        // It waits for a client in the event of the first line; `launch` resumes it, `attach` does not.
        let stop = target.flag("stopOnEntry", false)?;
        let mut args: Vec<std::ffi::OsString> =
            ["--open", "--sock-path={socket}", "--", "-r{socket}.rb"].map(Into::into).to_vec();
        args.extend(
            interpreter_options::of_launch(target, "rubyArgs")?
                .unwrap_or_default()
                .into_iter()
                .map(Into::into),
        );
        args.push(program.into());
        args.extend(target.args.iter().map(Into::into));
        // It would announce its port on the program's stderr.
        let mut env = vec![("RUBY_DEBUG_LOG_LEVEL".to_owned(), Some("ERROR".to_owned()))];
        if let Some(options) = target.variable("RUBYOPT").filter(|options| !options.trim().is_empty()) {
            // Before 1.5 the gem puts its own in the place of these.
            let words = options.split_ascii_whitespace().map(Into::into);
            args.splice(BEFORE_PRELUDE..BEFORE_PRELUDE, words);
            env.push(("TANDEM_RUBYOPT".to_owned(), Some(options)));
        }
        if !stop {
            // A breakpoint in the first line would miss an event that has begun, so the gem waits earlier.
            env.push((STOP_AT_LOAD.to_owned(), Some("true".to_owned())));
        }
        env.extend(target.env.iter().cloned());
        Ok(LaunchPlan {
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
            arguments: target.for_adapter(types::body(&LOCAL_FILES)),
            launched: true,
            quirks: Quirks { ends_silently: true, socket_script: Some(PRELUDE), ..Quirks::default() },
            opened: None,
        })
    }

    /// It is inside the program already and listens.
    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let Some(plan) = LaunchPlan::to_running(target, "rdbg", types::body(&LOCAL_FILES))? else {
            let message =
                "rdbg cannot attach by process id: set `connect` to the address where the program listens";
            return Err(Failure::invalid(message).hint(
                "start it with `rdbg --open --port 12345 app.rb`, and set `connect: { \"port\": 12345 }`",
            ));
        };
        Ok(LaunchPlan { quirks: Quirks { ends_silently: true, ..Quirks::default() }, ..plan })
    }
}

/// The attributes that Tandem sets.
#[derive(Debug, Serialize)]
struct RdbgAttributes {
    localfs: bool,
}

/// The program's sources are on this machine.
const LOCAL_FILES: RdbgAttributes = RdbgAttributes { localfs: true };

impl ConditionProfile for Rdbg {
    fn condition_language(&self) -> ConditionLanguage {
        RUBY
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let ruby = find::on_path(&target.variable("PATH").unwrap_or_default(), "ruby")?;
        let check = "begin; RubyVM::InstructionSequence.compile(\"(#{ARGV[0]}\\n)\", '<condition>'); \
                     rescue SyntaxError => wrong; puts wrong.message; end";
        let mut command = Command::new(ruby);
        command.env_remove("RUBYOPT").args(["--disable=gems", "-e", check, "--", condition]);
        Some(command)
    }

    /// It takes what is raised for false, and prints it to the program's stdout. The reason is kept where the
    /// program's own variables are not touched.
    fn guarded_condition(&self, condition: &str) -> String {
        format!("{}{condition}{}", GUARD.0, GUARD.1)
    }

    fn failure_query(&self) -> Option<&'static str> {
        Some("Thread.current[:__tandem_condition].to_s.tap { Thread.current[:__tandem_condition] = nil }")
    }
}

/// A text that quotes a guarded condition, with the condition as it was typed.
fn unguard(text: &str) -> Option<String> {
    // rdbg quotes joined conditions in a form that no client typed; the hub reports which of them failed.
    if let Some((before, _)) = text.split_once(&format!(" if: {}", GUARD_OF_SEVERAL.0)) {
        return Some(before.to_owned());
    }
    let (before, rest) = text.split_once(GUARD.0)?;
    let (condition, after) = rest.split_once(GUARD.1)?;
    Some(format!("{before}{condition}{after}"))
}

/// Debian ships the gem with Ruby but puts no `rdbg` on PATH.
fn ruby_gems(target: &Target) -> Vec<PathBuf> {
    let roots = ["/usr/lib/ruby/gems", "/var/lib/gems", "/usr/share/rubygems-integration"].map(PathBuf::from);
    let home = target.variable("HOME").map(|home| Path::new(&home).join(".local/share/gem/ruby"));
    let below = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let found = roots
        .into_iter()
        .chain(home)
        .flat_map(|root| below(&root))
        .flat_map(|version| below(&version.join("gems")))
        .collect();
    newest_first(found).into_iter().map(|gem| gem.join("exe/rdbg")).collect()
}

/// The folders of the gem `debug` among these, by their versions.
fn newest_first(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let version = |folder: PathBuf| Some((version_of(folder.file_name()?.to_str()?)?, folder));
    let mut gems: Vec<_> = folders.into_iter().filter_map(version).collect();
    gems.sort();
    gems.into_iter().rev().map(|(_, folder)| folder).collect()
}

/// The numbers in the name of a folder of the gem `debug`, and whether it is a release: `debug-1.0.0.rc1`
/// comes before `debug-1.0.0`.
fn version_of(folder: &str) -> Option<(Vec<u64>, bool)> {
    let parts: Vec<Option<u64>> =
        folder.strip_prefix("debug-")?.split('.').map(|part| part.parse().ok()).collect();
    let mut numbers: Vec<u64> = parts.iter().copied().map_while(|part| part).collect();
    let is_release = numbers.len() == parts.len();
    if numbers.is_empty() {
        return None;
    }
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    Some((numbers, is_release))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_hide_the_other_conditions() {
        let combined = RUBY.any_of(&["a # //", "b"]).unwrap_or_default();
        assert!(combined.contains("(a # //\n)"), "{combined}");
    }

    #[test]
    fn folders_of_the_gem_are_sorted_by_version_numbers() {
        let names = [
            "debug-1.9.2",
            "debug-1.11.1",
            "debug-1.0.0.rc1",
            "debug-1.0.0",
            "debug-inspector",
            "rdoc-6.4.1",
            "debug-1.4.0",
        ];
        let folders = newest_first(names.map(PathBuf::from).to_vec());
        let sorted = ["debug-1.11.1", "debug-1.9.2", "debug-1.4.0", "debug-1.0.0", "debug-1.0.0.rc1"];
        assert_eq!(folders, sorted.map(PathBuf::from));
    }

    #[test]
    fn only_nil_and_false_do_not_hold() {
        assert!(RUBY.is_true("0") && RUBY.is_true("[]") && !RUBY.is_true(" nil") && !RUBY.is_true("false"));
    }

    #[test]
    fn a_stop_quotes_the_condition_as_it_was_typed() {
        let guarded = Rdbg.guarded_condition("i == 2 # two");
        let mut stop = StoppedEventBody {
            description: Some(format!(" BP - Line a.rb:5 (line) if: {guarded}")),
            text: Some("other".into()),
            ..StoppedEventBody::default()
        };
        Rdbg.correct_stop(&mut stop, false);
        assert_eq!(stop.description.as_deref(), Some(" BP - Line a.rb:5 (line) if: i == 2 # two"));
        assert_eq!(stop.text.as_deref(), Some("other"));
    }
}
