//! Metadata of an engine, known without starting it. Detection (`engine: auto`), the list of engines, the
//! extension's manifest
//! and the documentation's tables are made from it.
//!
//! Not what an adapter does once it runs: that is its `Profile`.

use std::fs::File;
use std::path::Path;

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

use super::kind;

#[derive(Debug)]
pub struct Description {
    /// The launch attribute `engine`.
    pub name: &'static str,
    /// The languages it is for, for people.
    pub languages: &'static str,
    /// One line for an editor's list of engines.
    pub summary: &'static str,
    /// Requirements to install, as Markdown.
    pub needs: &'static str,
    /// How the program's stdin, stdout and stderr come to be Tandem's, as Markdown.
    pub stdio: &'static str,
    /// How a program for it is recognised.
    pub recognition: Recognition,
    /// The languages of VS Code that it debugs.
    pub editor_languages: &'static [EditorLanguage],
    /// Further languages of VS Code in which breakpoints can be set, by identifier.
    pub breakpoints_in: &'static [&'static str],
    /// Interpreters of its adapter or its programs, with Debian's package of each.
    pub interpreters: &'static [(&'static str, &'static str)],
    /// It attaches to a debugger that listens (`connect`).
    pub connects: bool,
    /// It reads core files (`coreFile`).
    pub reads_cores: bool,
}

impl Description {
    /// One of which nothing is known; for the rest of a description.
    pub const NONE: Self = Self {
        name: "",
        languages: "",
        summary: "",
        needs: "",
        stdio: "",
        recognition: Recognition::NONE,
        editor_languages: &[],
        breakpoints_in: &[],
        interpreters: &[],
        connects: false,
        reads_cores: false,
    };

    /// Refuses ways to attach that the engine does not have.
    ///
    /// # Errors
    /// `UNSUPPORTED`, naming the engine.
    pub fn check_attach(&self, attributes: &Value) -> Result<(), Failure> {
        let refused =
            |what: &str| Failure::new(ErrorCode::Unsupported, format!("the engine `{}` {what}", self.name));
        if !attributes["connect"].is_null() && !self.connects {
            return Err(refused("attaches to no debugger that listens")
                .hint("set `processId`, or start the program with `launch`"));
        }
        if !attributes["coreFile"].is_null() && !self.reads_cores {
            return Err(refused("reads no core file").hint("omit `engine`; Tandem then chooses one"));
        }
        Ok(())
    }

    /// Refuses a running process of another language, which the engine would harm or show wrongly.
    ///
    /// # Errors
    /// `NOT_DEBUGGABLE`, naming the program.
    pub fn check_process(&self, pid: u64) -> Result<(), Failure> {
        let process = Path::new("/proc").join(pid.to_string());
        // Engines report other reasons why it cannot be read.
        let Ok(executable) = std::fs::read_link(process.join("exe")) else { return Ok(()) };
        if self.recognition.fits(&process, &executable) {
            return Ok(());
        }
        let program = executable.display();
        let message = format!(
            "process {pid} runs `{program}`, which is not a program for the engine `{}` ({})",
            self.name, self.languages
        );
        Err(Failure::new(ErrorCode::NotDebuggable, message)
            .hint("check the process id, or omit `engine`: Tandem then chooses one by the program"))
    }
}

/// How a program is recognised as one for an engine.
#[derive(Debug)]
pub struct Recognition {
    /// Endings of its files, without the dot.
    pub extensions: &'static [&'static str],
    /// Files that a project's folder has; `*.csproj` matches any with this ending.
    pub project_files: &'static [(&'static str, Evidence)],
    /// Programs that the first line of a script names; `python*` matches any that begins so.
    pub interpreters: &'static [&'static str],
    /// Executables of running processes, as above.
    pub processes: &'static [&'static str],
    /// Parts of the paths of what a running process has loaded.
    pub loaded: &'static [&'static str],
    /// The same for programs of other languages that have its language inside.
    pub embedded: &'static [&'static str],
    /// Sections of an ELF executable.
    pub sections: &'static [(&'static str, Evidence)],
    /// Launch attributes that replace `program`.
    pub launch_attributes: &'static [&'static str],
    /// Attach attributes that replace `processId`.
    pub attach_attributes: &'static [&'static str],
}

impl Recognition {
    /// A recognition that matches no program.
    pub const NONE: Self = Self {
        extensions: &[],
        project_files: &[],
        interpreters: &[],
        processes: &[],
        loaded: &[],
        embedded: &[],
        sections: &[],
        launch_attributes: &[],
        attach_attributes: &[],
    };

    /// Whether a running process may be one for the engine: any, if nothing distinguishes its processes.
    fn fits(&self, process: &Path, executable: &Path) -> bool {
        let certain = || self.sections.iter().filter(|(_, evidence)| *evidence == Evidence::Certain);
        if self.processes.is_empty() && self.loaded.is_empty() && certain().next().is_none() {
            return true;
        }
        let name = executable.file_name().unwrap_or_default().to_string_lossy();
        if self.processes.iter().any(|one| matches(one, &name)) {
            return true;
        }
        let file = File::open(process.join("exe")).ok();
        let sections = file.and_then(|file| kind::section_names(&file)).unwrap_or_default();
        let maps = std::fs::read_to_string(process.join("maps")).unwrap_or_default();
        certain().any(|(section, _)| kind::has(&sections, section))
            || self.loaded.iter().chain(self.embedded).any(|part| maps.contains(part))
    }
}

/// The strength of a sign; if signs of several engines are found, the strongest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Only programs for this engine have it; a file of this kind names the project as `program`, too.
    Certain,
    /// A program for this engine that has nothing above.
    EntryPoint,
    /// Often there for a project's tools alone.
    Tools,
    /// Any language may have it.
    Any,
}

/// A language as VS Code knows it.
#[derive(Debug)]
pub struct EditorLanguage {
    /// VS Code's language identifier, such as `csharp`.
    pub id: &'static str,
    /// Its name, for people.
    pub name: &'static str,
    /// Files that make a folder a project of it, as in [`Recognition::project_files`].
    pub projects: &'static [&'static str],
    /// Endings by which a folder without a project is known to have programs of it, without the dot.
    pub endings: &'static [&'static str],
    /// Whether a single file can be run.
    pub runs_files: bool,
}

/// Whether `pattern` matches `name`: a `*` at its end, or at its beginning, matches anything.
pub fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_has_one_star_at_most() {
        assert!(matches("python*", "python3.11") && !matches("python*", "ruby"));
        assert!(matches("*.csproj", "a.csproj") && !matches("*.csproj", "a.cs"));
        assert!(matches("node", "node") && !matches("node", "nodejs"));
    }

    #[test]
    fn a_process_of_another_language_is_refused() {
        let own = u64::from(std::process::id());
        let with = |recognition: Recognition| Description {
            name: "delve",
            languages: "Go",
            recognition,
            ..Description::NONE
        };
        let refused = [
            Recognition { processes: &["python*"], embedded: &["/libpython"], ..Recognition::NONE },
            Recognition { sections: &[(".go.buildinfo", Evidence::Certain)], ..Recognition::NONE },
            Recognition { loaded: &["libcoreclr.so"], ..Recognition::NONE },
        ];
        for recognition in refused {
            let failure = with(recognition).check_process(own).unwrap_err();
            assert_eq!(failure.code, ErrorCode::NotDebuggable);
            assert!(failure.message.ends_with("is not a program for the engine `delve` (Go)"), "{failure}");
        }
        let fitting = [
            Recognition::NONE,
            Recognition { sections: &[(".debug_info", Evidence::Any)], ..Recognition::NONE },
            Recognition { sections: &[(".text", Evidence::Certain)], ..Recognition::NONE },
            Recognition { processes: &["tandem_engine*"], ..Recognition::NONE },
            Recognition { processes: &["python*"], embedded: &["/libc."], ..Recognition::NONE },
        ];
        for recognition in fitting {
            assert_eq!(with(recognition).check_process(own), Ok(()));
        }
        let other = Recognition { processes: &["python*"], ..Recognition::NONE };
        assert_eq!(with(other).check_process(u64::MAX), Ok(()), "no such process");
    }

    #[test]
    fn a_way_to_attach_that_an_engine_does_not_have_is_refused() {
        let engine = Description { name: "bash", ..Description::NONE };
        for (attributes, part) in [
            (json!({ "connect": { "port": 1 } }), "`bash` attaches to no debugger that listens"),
            (json!({ "coreFile": "/core" }), "`bash` reads no core file"),
        ] {
            let failure = engine.check_attach(&attributes).unwrap_err();
            assert_eq!(failure.code, ErrorCode::Unsupported);
            assert!(failure.message.contains(part), "{failure}");
        }
        assert_eq!(engine.check_attach(&json!({ "processId": 1 })), Ok(()));
    }
}
