//! A repository's own configuration: which of it counts.
//!
//! A configuration can name programs to run and files to read, under keys that no list covers for all
//! versions of git. So git gets a copy with only the keys listed here, none of which names a program or a
//! file. Git itself parses the original, as bytes; a configuration that it cannot parse is rejected.

use std::path::Path;

use tandem_error::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::run::{git_command, run_git};
use crate::bounded;

/// Larger configurations are not read.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// Keys without a subsection that count.
const PLAIN: [(&str, &[&str]); 11] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "symlinks",
            "ignorecase",
            "precomposeunicode",
            "protecthfs",
            "protectntfs",
            "autocrlf",
            "eol",
            "safecrlf",
            "trustctime",
            "checkstat",
            "logallrefupdates",
            "sharedrepository",
            "abbrev",
            "untrackedcache",
            "sparsecheckout",
            "sparsecheckoutcone",
            "compression",
            "bigfilethreshold",
            "whitespace",
            "commentchar",
            "multipackindex",
            "commitgraph",
        ],
    ),
    ("extensions", &["objectformat", "refstorage", "relativeworktrees", "preciousobjects", "noop"]),
    ("user", &["name", "email", "useconfigonly"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("i18n", &["commitencoding"]),
    ("diff", &["algorithm", "renames", "renamelimit", "context", "interhunkcontext", "indentheuristic"]),
    ("status", &["renames", "renamelimit"]),
    ("index", &["version", "sparse"]),
    ("commit", &["cleanup"]),
    ("feature", &["manyfiles"]),
];
/// Keys with a subsection that count.
const WITH_SUBSECTION: [(&str, &[&str]); 2] =
    [("branch", &["remote", "merge"]), ("remote", &["url", "fetch"])];
/// Extensions that are not passed to git, because we implement them or because they do not affect the tools.
const HANDLED: [&str; 2] = ["worktreeconfig", "partialclone"];

/// A configuration key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    section: Vec<u8>,
    subsection: Option<Vec<u8>>,
    name: Vec<u8>,
    /// `None` for a name alone, which means true.
    value: Option<Vec<u8>>,
}

/// Settings from a repository's configuration.
#[derive(Debug, Clone, Default)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Reads a repository's configuration, with that of its working tree.
    ///
    /// # Errors
    /// `COMMAND_FAILED` when git cannot parse it or it is not a file, `UNSUPPORTED` for a format of
    /// repository that is not known.
    pub async fn read(common: &Path, git_dir: &Path, cancel: &CancellationToken) -> Result<Self, Failure> {
        let mut own = Self::of_file(&common.join("config"), cancel).await?;
        if own.flag("extensions", "worktreeconfig") {
            own.0.extend(Self::of_file(&git_dir.join("config.worktree"), cancel).await?.0);
        }
        own.check_format()?;
        Ok(own)
    }

    async fn of_file(file: &Path, cancel: &CancellationToken) -> Result<Self, Failure> {
        let refuse = |why: &str| {
            let message = format!("the repository's configuration `{}` is not read: {why}", file.display());
            Failure::new(ErrorCode::CommandFailed, message)
                .hint("run `git config --list` in a terminal for details")
        };
        let text = match bounded::read(file, MAX_CONFIG_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(refuse(&error.to_string())),
        };
        // Git parses its stdin: exactly the bytes that were read here, without included files.
        let mut command =
            git_command(Path::new("/"), ["config", "--file", "-", "--no-includes", "--null", "--list"])
                .env("GIT_DIR", "/dev/null");
        command.input = text;
        let output = run_git(&command, cancel).await?;
        if !output.ended.success() {
            return Err(refuse(output.err.trim()));
        }
        let records = output.out.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        let settings: Option<Vec<Setting>> = records.map(Setting::parse).collect();
        settings.map(Self).ok_or_else(|| refuse("git lists it in a way that is not known"))
    }

    /// Extensions change what a repository's files mean; with an unknown one, nothing is certain.
    fn check_format(&self) -> Result<(), Failure> {
        let known = |setting: &&Setting| {
            let handled = |name: &[u8]| HANDLED.iter().any(|known| known.as_bytes() == name);
            setting.section != b"extensions" || setting.counts() || handled(&setting.name)
        };
        match self.0.iter().find(|setting| !known(setting)) {
            None => Ok(()),
            Some(unknown) => {
                let message =
                    format!("the repository needs `{}`, which Tandem does not support", unknown.key());
                Err(Failure::new(ErrorCode::Unsupported, message)
                    .hint("with `--allow-commands`, git uses the repository's configuration unchanged"))
            }
        }
    }

    /// A value, the last one of several.
    pub fn value(&self, section: &str, name: &str) -> Option<&[u8]> {
        let is_it = |setting: &&Setting| setting.is(section, name) && setting.subsection.is_none();
        self.0.iter().rfind(is_it)?.value.as_deref()
    }

    /// A setting that says yes.
    pub fn flag(&self, section: &str, name: &str) -> bool {
        let Some(setting) =
            self.0.iter().rfind(|setting| setting.is(section, name) && setting.subsection.is_none())
        else {
            return false;
        };
        let Some(value) = &setting.value else { return true };
        let value = value.to_ascii_lowercase();
        let number = std::str::from_utf8(&value).ok().and_then(|value| value.parse::<i64>().ok());
        matches!(value.as_slice(), b"true" | b"yes" | b"on") || number.is_some_and(|number| number != 0)
    }

    /// Omitted settings that may change how files are stored: filters, and included files.
    pub fn filters(&self) -> Vec<String> {
        let filter = |setting: &&Setting| {
            setting.section == b"filter"
                && ["clean", "smudge", "process"].iter().any(|name| setting.name == name.as_bytes())
        };
        let included = |setting: &&Setting| setting.section == b"include" || setting.section == b"includeif";
        self.0.iter().filter(|setting| filter(setting) || included(setting)).map(Setting::key).collect()
    }

    /// The copy that git is shown.
    pub fn copy(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for setting in self.0.iter().filter(|setting| setting.counts()) {
            setting.write(&mut text);
        }
        text
    }
}

impl Setting {
    /// `section.subsection.name LF value`, as `git config --null` lists it.
    fn parse(record: &[u8]) -> Option<Self> {
        let (key, value) = match record.iter().position(|byte| *byte == b'\n') {
            Some(at) => (record.get(..at)?, Some(record.get(at + 1..)?.to_owned())),
            None => (record, None),
        };
        let first = key.iter().position(|byte| *byte == b'.')?;
        let last = key.iter().rposition(|byte| *byte == b'.')?;
        let subsection = if first < last { Some(key.get(first + 1..last)?.to_owned()) } else { None };
        Some(Self {
            section: key.get(..first)?.to_owned(),
            subsection,
            name: key.get(last + 1..)?.to_owned(),
            value,
        })
    }

    fn is(&self, section: &str, name: &str) -> bool {
        self.section == section.as_bytes() && self.name == name.as_bytes()
    }

    fn counts(&self) -> bool {
        let listed = |table: &[(&str, &[&str])]| {
            table.iter().any(|(section, names)| names.iter().any(|name| self.is(section, name)))
        };
        match &self.subsection {
            None => listed(&PLAIN),
            Some(_) => listed(&WITH_SUBSECTION),
        }
    }

    /// Returns the key in its usual spelling.
    fn key(&self) -> String {
        let mut key = self.section.clone();
        for part in self.subsection.iter().chain([&self.name]) {
            key.push(b'.');
            key.extend_from_slice(part);
        }
        crate::quoted_path::quote(&key)
    }

    /// Writes the setting for git to read. Only listed keys occur, so section and name need no quoting.
    fn write(&self, text: &mut Vec<u8>) {
        text.push(b'[');
        text.extend_from_slice(&self.section);
        if let Some(subsection) = &self.subsection {
            text.extend_from_slice(b" \"");
            for byte in subsection {
                if matches!(byte, b'"' | b'\\') {
                    text.push(b'\\');
                }
                text.push(*byte);
            }
            text.push(b'"');
        }
        text.extend_from_slice(b"]\n");
        text.extend_from_slice(&self.name);
        if let Some(value) = &self.value {
            text.extend_from_slice(b" = \"");
            for byte in value {
                match byte {
                    b'\n' => text.extend_from_slice(b"\\n"),
                    b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                    other => text.push(*other),
                }
            }
            text.push(b'"');
        }
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8]) -> Result<Settings, Failure> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), text).unwrap();
        Settings::read(folder.path(), folder.path(), &CancellationToken::new()).await
    }

    #[tokio::test]
    async fn only_listed_keys_are_copied_and_they_come_back_as_they_were() {
        let text = b"[core]\nbare = false\nfsmonitor = ./x\nhooksPath = h\npager = p\nexcludesFile = /e\n\
            [filter \"x\xff\xfe\"]\nclean = touch y\n[include]\npath = z\n[alias]\nst = !x\n[diff \"a\"]\n\
            textconv = t\n\
            [branch \"a\\\"b\\\\c\xff\"]\nremote = origin\nmerge = refs/heads/x\nvscode-merge-base = no\n\
            [user]\nname = \"A \\\"B\\\" \\\\ \xe4 ; # \"\nuseConfigOnly\n[remote \"origin\"]\n\
            uploadpack = x\nurl = u\n";
        let settings = read(text).await.unwrap();
        assert_eq!(settings.filters(), ["\"filter.x\\377\\376.clean\"", "include.path"]);
        let copy = settings.copy();
        let again = read(&copy).await.unwrap();
        let counting: Vec<Setting> = settings.0.iter().filter(|one| one.counts()).cloned().collect();
        assert_eq!(again.0, counting);
        assert_eq!(counting.len(), 5);
        assert_eq!(again.value("user", "name"), Some(&b"A \"B\" \\ \xe4 ; # "[..]));
        assert!(again.flag("user", "useconfigonly") && !again.flag("core", "bare"));
    }

    #[tokio::test]
    async fn invalid_and_unknown_configurations_are_refused() {
        let failure = read(b"[core\nbare = x").await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::CommandFailed, "{failure}");
        let failure =
            read(b"[core]\nrepositoryformatversion = 1\n[extensions]\nnew = 1\n").await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::Unsupported, "{failure}");
        assert!(read(b"[extensions]\npartialClone = origin\nworktreeConfig = true\n").await.is_ok());
    }
}
