//! Perl through `Perl::LanguageServer`, whose debugger runs inside the program and connects back to the
//! adapter.
//!
//! The adapter starts programs with its own pipes and keeps their output; it cannot pass input on. So it is
//! started with [`ADAPTER`] before its own code: it then asks for the program (`runInTerminal`), as others
//! do. The program loads the debugger and then [`PROGRAM`]. Both replace methods, by name, that are broken in
//! version 2.5; each says why. [`crate::terminal`] answers `runInTerminal`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tandem_wire::Failure;

use super::super::find::{self, AdapterSearch};
use super::super::interpreter_options;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ConditionProfile, ExpressionAssignment, IdlePause, Profile};
use super::super::target::Target;
use tandem_engine::LookOnlyRequests;
use tandem_engine::builds::command;
use tandem_engine::condition_language::{ConditionLanguage, either};
use tandem_engine::description::{Description, EditorLanguage, Recognition};
use tandem_process::SpawnSpec;

/// Metadata of `Perl::LanguageServer`, known without starting it.
const DESCRIPTION: Description = Description {
    name: "perl",
    languages: "Perl",
    summary: "Perl: Perl::LanguageServer.",
    needs: "the module `Perl::LanguageServer` in the program's Perl (`apt-get install \
        libperl-languageserver-perl`)",
    stdio: "Tandem makes the adapter ask it to start the program",
    recognition: Recognition { extensions: &["pl", "t"], interpreters: &["perl*"], ..Recognition::NONE },
    editor_languages: &[EditorLanguage {
        id: "perl",
        name: "Perl",
        projects: &[],
        endings: &["pl"],
        runs_files: true,
    }],
    interpreters: &[("perl", "perl")],
    ..Description::NONE
};

/// The command that installs the adapter.
const INSTALL: &str = "apt-get install libperl-languageserver-perl";

/// Perl code that runs in the adapter before its own code.
const ADAPTER: &str = include_str!("perl/adapter.pl");

/// What loads the debugger in the program, for perl's variable `PERL5DB`. One line each, so
/// nothing in it is a comment:
///
/// - SIGINT is the program's again; SIGURG, which programs ignore, pauses it. The handler serves the adapter
///   itself: so a program that waits in a `read` also stops, and breakpoints are set meanwhile. It must not
///   touch `$/`, which a `read` may be using. A signal that arrives while the debugger itself runs takes
///   effect as soon as the program runs.
/// - `DB::cont` and the like set flags that single-step the debugger's own code when it runs in that handler:
///   they are set at its end.
/// - A step out is steps until fewer functions are called: the debugger's own knows only calls that were
///   stepped into.
/// - A process that the program forks runs on without a debugger: it has the same connection.
/// - The debugger waits for its client in the event of the first line. Before it resumes, it looks whether
///   there is a breakpoint by now (`begin`): that event does not come again.
/// - An expression that fails does not run the program's handlers `__DIE__` and `__WARN__`, which may end it.
/// - Errors are errors, not values; elements are in their order and in pages; values other than scalars,
///   arrays and hashes are shown; bytes that are UTF-8 are text; keys with quotes are found again.
/// - Modules that were loaded by a relative path are known by the whole one.
/// - A path is bytes for Perl, and text for the adapter.
/// - A condition leaves the program's `$@` as it is.
/// - A character that is not valid Unicode, such as half a surrogate pair, is written out: the adapter cannot
///   read a message that has one.
const PROGRAM: &str = include_str!("perl/program.pl");

/// Perl's conditions, where the debugger continues past one that fails.
const PERL: ConditionLanguage = ConditionLanguage {
    name: "Perl",
    combine: |conditions| {
        // A comment ends with its line.
        let each = |condition: &str| {
            format!("(do {{ local ($@, $SIG{{__DIE__}}); eval {{ ({condition}\n) ? 1 : 0 }} // 1 }})")
        };
        Some(either(conditions, each))
    },
    truth: |text| !matches!(text, "" | "undef" | "0" | "''"),
    ..ConditionLanguage::OTHER
};

/// How Tandem launches Perl::LanguageServer, and where it differs from other adapters.
pub(super) struct Perl;

impl Profile for Perl {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// It turns objects into text, which may be overloaded.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&[])
    }

    fn is_in_the_program(&self) -> bool {
        true
    }

    /// A signal is handled between two of Perl's operations.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::Deferred("it is in a call that has not returned to Perl")
    }

    fn mixes_children(&self) -> bool {
        false
    }

    /// An assignment to a list, which any place can be in.
    fn expression_assignment(&self) -> Option<ExpressionAssignment> {
        Some(ExpressionAssignment::Evaluated)
    }

    /// It announces requests that it has no code for, and answers `breakpointLocations` with the first line.
    fn complete_capabilities(&self, capabilities: &mut Value) {
        for name in [
            "supportsCancelRequest",
            "supportsTerminateThreadsRequest",
            "supportsModulesRequest",
            "supportsSetExpression",
            "supportsBreakpointLocationsRequest",
        ] {
            capabilities[name] = json!(false);
        }
    }

    fn version(&self, target: &Target) -> Option<String> {
        let mut query = Command::new(find_perl(target).ok()?);
        query.args(["-MPerl::LanguageServer", "-e", "print $Perl::LanguageServer::VERSION"]);
        find::printed_version(query)
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let program = target.existing_program()?.display().to_string();
        let perl = find_perl(target)?;
        let switches = interpreter_options::of_launch(target, "perlArgs")?.unwrap_or_default();
        let command: Vec<String> = std::iter::once(perl.display().to_string()).chain(switches).collect();
        let debug = if target.no_debug { json!(null) } else { json!(PROGRAM.trim_end().replace('\n', " ")) };
        let own = json!({ "perl": command, "debug": debug, "entry": target.flag("stopOnEntry", false)? });
        let args = ["-e", ADAPTER, "--", &own.to_string(), "--port", "{port}", "--nostdio"];
        Ok(LaunchPlan {
            spec: SpawnSpec {
                program: perl,
                args: args.map(Into::into).to_vec(),
                cwd: target.cwd.clone(),
                ..SpawnSpec::default()
            },
            transport: Transport::Listens,
            program_io: ProgramIo::Terminal,
            adapter_id: "perl".into(),
            command: "launch",
            arguments: target
                .for_adapter(json!({ "program": program, "cwd": target.cwd, "args": target.args, "env": {},
                    "stopOnEntry": false })),
            launched: true,
            quirks: Quirks {
                skips_initialized_without_debug: target.no_debug,
                reuses_address: true,
                ..Quirks::default()
            },
            opened: None,
        })
    }
}

impl ConditionProfile for Perl {
    fn condition_language(&self) -> ConditionLanguage {
        PERL
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let check = "my $c = shift; eval \"no strict; sub { ($c\\n) }\"; $@ =~ s/ at \\(eval \\d+\\) line \
            \\d+//g; print $@";
        let mut command = Command::new(find::on_path(&target.variable("PATH").unwrap_or_default(), "perl")?);
        command.env_remove("PERL5OPT").env_remove("PERL5DB").args(["-e", check, "--", condition]);
        Some(command)
    }

    /// It takes what dies for false, and a text for the number that it begins with.
    fn guarded_condition(&self, condition: &str) -> String {
        format!(
            "(do {{ local ($@, $SIG{{__DIE__}}); eval {{ ({condition}\n) ? 1 : 0 }} // \
             do {{ $DB::tandem_failed = $@; 1 }} }})"
        )
    }

    fn failure_query(&self) -> Option<&'static str> {
        Some(
            "my $told = $DB::tandem_failed // ''; undef $DB::tandem_failed; $told =~ s/ at \\S+ line \
                \\d+//; $told",
        )
    }
}

/// A Perl that has the adapter's module.
fn find_perl(target: &Target) -> Result<std::path::PathBuf, Failure> {
    let perl = AdapterSearch::new("perl", "`perl` with the module `Perl::LanguageServer`", INSTALL)
        .with_engine_path(target)?
        .on_path(target, &["perl"])
        .end()?;
    if has_module(&perl, target) {
        return Ok(perl);
    }
    let looked = format!("the modules of {}", perl.display());
    let what = "the Perl module `Perl::LanguageServer`";
    Err(find::missing("perl", what, &[looked]).hint(format!(
        "install it: `{INSTALL}` or `cpan Perl::LanguageServer`; or set `enginePath` to another perl"
    )))
}

/// Looks in the folders of modules; loading the module would take a second.
fn has_module(perl: &Path, target: &Target) -> bool {
    let look = "for (@INC) { exit 0 if -e \"$_/Perl/LanguageServer.pm\" } exit 1";
    let mut query = Command::new(perl);
    query.args(["-e", look]);
    if let Some(library) = target.variable("PERL5LIB") {
        query.env("PERL5LIB", library);
    }
    command::succeeds(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_hide_the_other_conditions() {
        let combined = PERL.any_of(&["$a # //", "$b"]).unwrap_or_default();
        assert!(combined.contains("($a # //\n)"), "{combined}");
    }

    #[test]
    fn only_what_perl_holds_for_false_does_not_hold() {
        for text in ["undef", "0", "''", " 0 "] {
            assert!(!PERL.is_true(text), "{text}");
        }
        for text in ["1", "'0.0'", "0.0", "[]", "{}", "'false'"] {
            assert!(PERL.is_true(text), "{text}");
        }
    }

    #[test]
    fn program_code_has_no_comments_or_placeholders() {
        assert!(!PROGRAM.lines().any(|line| line.trim_start().starts_with('#') || line.contains(" # ")));
        assert!(!PROGRAM.contains("{port}") && !ADAPTER.contains("{port}"));
    }
}
