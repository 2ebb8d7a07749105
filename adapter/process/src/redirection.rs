//! Redirection of stdio to files (`stdio` of a launch): one that the program's stdin is read from, and copies
//! of what it prints. The broker still owns all three streams: clients receive the output as usual.
//!
//! Parses the attribute and opens the files; [`super::file_input`] passes on the input,
//! [`super::output_copy`] writes the copies.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde_json::Value;
use tandem_error::{ErrorCode, Failure};

use super::output_copy::OutputCopy;

/// The streams, in the order of a list.
const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];
const WRITE: &str = "write the program's output to";

/// The file of each stream; `None`: only clients read or write it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redirection {
    stdin: Option<PathBuf>,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
}

/// The opened files of one start of the program.
#[derive(Debug, Default)]
pub(super) struct RedirectedFiles {
    pub(super) stdin: Option<File>,
    pub(super) copies: [Option<OutputCopy>; 2],
}

impl Redirection {
    /// Reads `stdio`: a list of stdin, stdout and stderr, which may be shorter, or an object with these
    /// names; each a path or null. A relative path begins in `base`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for any other shape of the attribute.
    pub fn parse(stdio: &Value, base: &Path) -> Result<Self, Failure> {
        let wrong = |what: &Value| {
            Failure::invalid(format!("`stdio` has {what}, which is not the path of a file"))
                .hint("write `[\"input.txt\", null, \"errors.txt\"]` or `{ \"stdin\": \"input.txt\" }`")
        };
        let named = |stream: usize| -> Result<Option<PathBuf>, Failure> {
            let value = match stdio {
                Value::Array(list) => list.get(stream).unwrap_or(&Value::Null),
                value => STREAMS.get(stream).map_or(&Value::Null, |name| &value[*name]),
            };
            match value {
                Value::Null => Ok(None),
                Value::String(path) if !path.is_empty() => Ok(Some(base.join(path))),
                value => Err(wrong(value)),
            }
        };
        let is_readable = match stdio {
            Value::Null => true,
            Value::Array(list) => list.len() <= STREAMS.len(),
            Value::Object(fields) => fields.keys().all(|key| STREAMS.contains(&key.as_str())),
            _ => false,
        };
        if !is_readable {
            return Err(wrong(stdio));
        }
        Ok(Self { stdin: named(0)?, stdout: named(1)?, stderr: named(2)? })
    }

    /// Whether no stream has a file.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Opens the files: the input from its beginning, the copies empty.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, with the file and the reason.
    pub(super) fn open(&self) -> Result<RedirectedFiles, Failure> {
        let input = || OpenOptions::new().read(true).clone();
        let output = || OpenOptions::new().write(true).create(true).truncate(true).clone();
        let open = |path: &Option<PathBuf>, how: OpenOptions, what| {
            path.as_deref()
                .map(|path| open_file(path, how).map_err(|error| open_failure(what, path, &error)))
                .transpose()
        };
        let stdin = open(&self.stdin, input(), "read the program's stdin from")?;
        let copy = |path: &Option<PathBuf>, stream| -> Result<Option<OutputCopy>, Failure> {
            let file = open(path, output(), WRITE)?;
            Ok(file.zip(path.clone()).map(|(file, path)| OutputCopy::new(file, path, stream)))
        };
        let stdout = copy(&self.stdout, "stdout")?;
        let stderr = match (&stdout, &self.stdout) {
            // Two descriptors of one file would write over each other.
            (Some(copy), Some(path)) if self.stderr == self.stdout => {
                Some(copy.shared_by("stderr").map_err(|error| open_failure(WRITE, path, &error))?)
            }
            _ => copy(&self.stderr, "stderr")?,
        };
        Ok(RedirectedFiles { stdin, copies: [stdout, stderr] })
    }
}

/// Opens a file without blocking: a named pipe would hold up all others.
fn open_file(path: &Path, mut how: OpenOptions) -> std::io::Result<File> {
    // Opening a named pipe waits for its other end.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = how.custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_char_device() {
        return Ok(file);
    }
    Err(std::io::Error::other("it is not a file"))
}

fn open_failure(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(ErrorCode::LaunchFailed, format!("cannot {what} `{}`: {error}", path.display()))
        .hint("correct `stdio` in the launch")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(stdio: Value) -> Result<Redirection, String> {
        Redirection::parse(&stdio, Path::new("/w")).map_err(|failure| failure.message)
    }

    #[test]
    fn a_list_and_an_object_mean_the_same() {
        let both =
            Redirection { stdin: Some("/w/in.txt".into()), stdout: None, stderr: Some("/tmp/err".into()) };
        assert_eq!(parsed(json!(["in.txt", null, "/tmp/err"])), Ok(both.clone()));
        assert_eq!(parsed(json!({ "stdin": "in.txt", "stderr": "/tmp/err" })), Ok(both));
        for nothing in [json!(null), json!([]), json!([null, null, null]), json!({})] {
            assert_eq!(parsed(nothing.clone()), Ok(Redirection::default()), "{nothing}");
        }
    }

    #[test]
    fn redirection_without_a_file_is_refused() {
        for wrong in
            [json!("in.txt"), json!([1]), json!([""]), json!([null, null, null, null]), json!({ "in": "x" })]
        {
            assert!(parsed(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_file_for_both_outputs_has_all_of_both() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let redirection = Redirection::parse(&json!([null, "all", "all"]), folder.path())?;
        let [mut stdout, mut stderr] = redirection.open()?.copies.map(Option::unwrap);
        stdout.write(b"out\n").unwrap();
        stderr.write(b"err\n").unwrap();
        stdout.write(b"more\n").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("all"))?, "out\nerr\nmore\n");
        Ok(())
    }
}
