//! Ruby through the `debug` gem, which lives inside the program: it listens on a socket of ours, and what we start is the
//! program itself.

use std::process::Command;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::super::find::{self, Search};
use super::super::profile::{Plan, Profile, ProgramIo, Quirks, Transport};
use super::super::target::Target;
use super::super::test_files::{self, Runner};
use crate::engine::LookOnlyRequests;
use crate::engine::condition_language::{ConditionLanguage, either};
use crate::engine::description::{Description, EditorLanguage, Recognition};
use crate::io::SpawnSpec;

/// The code around a condition that makes it hold where it fails.
const GUARD: (&str, &str) = (
    "begin; (",
    "\n); rescue Exception; Thread.current[:__tandem_condition] = \"#{$!.class}: #{$!.message.lines.first.to_s.chomp}\"; true; end",
);

/// Ruby's conditions, where rdbg continues past one that fails. Zero and empty things are true.
const RUBY: ConditionLanguage = ConditionLanguage {
    name: "Ruby",
    combine: |conditions| {
        Some(either(conditions, |condition| format!("(begin; ({condition}\n); rescue Exception; true; end)")))
    },
    truth: |text| !matches!(text, "false" | "nil"),
};

/// What Ruby loads before the gem, to correct five things in it. A name of a thread or file with bytes that are not text cannot be written as
/// JSON, which would end the gem's thread: such bytes are escaped. Before 1.5 the gem only adds breakpoints and exception filters: what a
/// request replaces is deleted here. It also ignores the conditions of filters, loses what `RUBYOPT` said, and has each Ruby that the program
/// starts wait for a debugger. The gem loads its half that speaks DAP when it gets the first message, so its end is waited for.
const FIXES: &str = r#"
plain = lambda do |value|
  case value
  when String
    binary = [Encoding::UTF_8, Encoding::US_ASCII, Encoding::BINARY].include?(value.encoding)
    text = binary ? value.dup.force_encoding(Encoding::UTF_8) : value.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    text.valid_encoding? ? text : text.scrub { |bytes| bytes.unpack("C*").map { |byte| format("\\x%02X", byte) }.join }
  when Hash then value.transform_values(&plain)
  when Array then value.map(&plain)
  else value
  end
end
given = ENV.delete("TANDEM_RUBYOPT")
ENV["RUBYOPT"] = given if ENV["RUBYOPT"]&.match?(%r{\A-r \S+/debug/(open|start)\z}) && !ENV["RUBY_DEBUG_ADDED_RUBYOPT"]
replaced = lambda do |request|
  set = DEBUGGER__::SESSION.instance_variable_get(:@bps)
  gone =
    case request["command"]
    when "setBreakpoints"
      path = request.dig("arguments", "source", "path").to_s
      paths = [path, File.exist?(path) ? File.realpath(path) : File.expand_path(path)]
      set.keys.select { |key| key.is_a?(Array) && paths.include?(key[0]) && key[1].is_a?(Integer) }
    when "setExceptionBreakpoints"
      filters, options = %w[filters filterOptions].map { |name| request["arguments"][name] || [] }
      Thread.current[:__tandem_conditions] = filters.map { nil } + options.map { |option| option["condition"] }
      set.keys.select { |key| key.is_a?(Array) && key[0] == :catch }
    else []
    end
  gone.each { |key| set.delete(key).delete }
end
module_name = Module.instance_method(:name)
ends = TracePoint.new(:end) do |point|
  dap = point.self
  next unless Module === dap && module_name.bind(dap).call == "DEBUGGER__::UI_DAP" && dap.instance_methods(false).include?(:send)
  ends.disable
  original = dap.instance_method(:send)
  dap.send(:remove_method, :send)
  dap.send(:define_method, :send) { |**told| original.bind(self).call(**plain.call(told)) }
  next if DEBUGGER__::Session.method_defined?(:clear_line_breakpoints) || !dap.method_defined?(:recv_request)
  DEBUGGER__::Session.prepend(Module.new do
    def add_catch_breakpoint(pattern)
      condition = Thread.current[:__tandem_conditions]&.shift
      condition ? add_bp(DEBUGGER__::CatchBreakpoint.new(pattern, cond: condition)) : super
    end
  end)
  receive = dap.instance_method(:recv_request)
  dap.send(:remove_method, :recv_request)
  dap.send(:define_method, :recv_request) { receive.bind(self).call.tap { |request| replaced.call(request) if request } }
end
ends.enable
"#;

/// Arguments of `rdbg` that precede those of Ruby.
const BEFORE_PRELUDE: usize = 3;

/// What is known of it without starting it.
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

/// How Tandem launches rdbg, and where it differs from other adapters.
pub(super) struct Rdbg;

impl Profile for Rdbg {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// As it is from 1.5 on; what an older one has besides comes with its own word.
    fn exception_filters(&self) -> Value {
        json!([
            { "filter": "any", "label": "rescue any exception", "supportsCondition": true },
            { "filter": "RuntimeError", "label": "rescue RuntimeError", "supportsCondition": true }
        ])
    }

    /// It calls `inspect`, and evaluates the receiver of what is completed.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&["source"])
    }

    fn condition_language(&self) -> ConditionLanguage {
        RUBY
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

    fn runner_of_tests(&self, target: &Target) -> Option<Runner> {
        test_files::ruby(target)
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
        // It stops before the first line and waits for a client; `launch` resumes it, `attach` does not.
        let stop = target.flag("stopOnEntry", false)?;
        let mut args: Vec<std::ffi::OsString> =
            ["--open", "--sock-path={socket}", "--", "-r{socket}.rb", &program].map(Into::into).to_vec();
        args.extend(target.args.iter().map(Into::into));
        // It would announce its port on the program's stderr.
        let mut env = vec![("RUBY_DEBUG_LOG_LEVEL".to_owned(), Some("ERROR".to_owned()))];
        if let Some(options) = target.variable("RUBYOPT").filter(|options| !options.trim().is_empty()) {
            // Before 1.5 the gem puts its own in the place of these.
            let words = options.split_ascii_whitespace().map(Into::into);
            args.splice(BEFORE_PRELUDE..BEFORE_PRELUDE, words);
            env.push(("TANDEM_RUBYOPT".to_owned(), Some(options)));
        }
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
            quirks: Quirks { ends_silently: true, beside_socket: Some(FIXES), ..Quirks::default() },
            opened: None,
        })
    }

    /// It is inside the program already and listens.
    fn attach(&self, target: &Target) -> Result<Plan, Failure> {
        let Some(plan) = Plan::to_running(target, "rdbg", json!({ "localfs": true }))? else {
            let message =
                "rdbg cannot attach by process id: give the address where the program listens (`connect`)";
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
    fn a_comment_does_not_hide_the_other_conditions() {
        let combined = RUBY.any_of(&["a # //", "b"]).unwrap_or_default();
        assert!(combined.contains("(a # //\n)"), "{combined}");
    }

    #[test]
    fn only_nil_and_false_do_not_hold() {
        assert!(RUBY.is_true("0") && RUBY.is_true("[]") && !RUBY.is_true(" nil") && !RUBY.is_true("false"));
    }

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
