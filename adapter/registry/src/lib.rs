//! The folder that lists running sessions: `ID.json` and `ID.sock` for each, both removed when it ends.
//!
//! Hosts publish sessions here ([`PublishedSession`]) and keep files of adapters ([`ScratchFolder`]); both
//! programs read the list ([`live`]). A user who can write to the folder could make Tandem connect to a false
//! session, so no file is trusted by its name alone. The folder and every file must belong to this user and
//! be private. No link is followed, and any other file is neither read nor removed.
//!
//! Programs of different releases share the folder, so each file contains the release that wrote it and the
//! protocol of its host.
//!
//! Not here: the protocol on the sockets.

mod publish;
mod reserved;
mod scratch;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

pub use publish::PublishedSession;
pub use reserved::ReservedId;
pub use scratch::ScratchFolder;

/// Maximum size of `ID.json`, in bytes.
const MAX_FILE_LEN: u64 = 64 * 1024;
/// Age at which a file that was not renamed to its final name counts as left over.
const MAX_PARTIAL_FILE_AGE: Duration = Duration::from_secs(60);

/// The version of the protocol between a host and its clients beyond DAP: the fields of [`SessionRecord`],
/// custom requests and events. A release that removes one or changes its meaning raises it; an addition does
/// not. Older protocols are supported.
pub const PROTOCOL: u32 = 1;

/// The client that launched a session or attached, for display.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLauncher {
    /// The name that the client gave, or one that its session made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Whether it is an `editor` or an `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// The content of `ID.json`. Fields of a newer version are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The id of the session, short and easy to type.
    pub id: String,
    /// Process id of the host.
    pub pid: u32,
    /// The title that clients show in lists.
    pub title: String,
    /// The program that is debugged.
    pub program: String,
    /// Name of the engine that debugs the program.
    pub engine: String,
    /// The working directory of the program.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The release of Tandem of the host; empty from a host that did not write it.
    #[serde(default)]
    pub version: String,
    /// The [`PROTOCOL`] of that host; 0 from a host that did not write it.
    #[serde(default)]
    pub protocol: u32,
    /// Start time in seconds since 1970.
    #[serde(default)]
    pub started: u64,
    /// The socket at which clients join.
    pub socket: PathBuf,
    /// The client that launched or attached.
    #[serde(flatten)]
    pub launched_by: SessionLauncher,
    /// The session whose program started this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl SessionRecord {
    /// The reason why this release cannot join the session; `None` if it can.
    pub fn join_obstacle(&self) -> Option<String> {
        let newer = self.protocol > PROTOCOL;
        newer.then(|| {
            format!(
                "Tandem {} started it, with protocol {} for sessions, and this is Tandem {}, which knows \
                    protocol {PROTOCOL}",
                self.version,
                self.protocol,
                env!("CARGO_PKG_VERSION"),
            )
        })
    }
}

/// The possible folders of sessions, the best one first: `$XDG_RUNTIME_DIR/tandem`, `tandem-UID` in the
/// temporary folder, and `tandem/sessions` in the user's state folder, which is used if another user
/// has created the second.
pub fn folders() -> Vec<PathBuf> {
    let runtime = variable("XDG_RUNTIME_DIR").map(|runtime| runtime.join("tandem"));
    let temporary = std::env::temp_dir().join(format!("tandem-{}", user()));
    runtime.into_iter().chain([temporary]).chain(last_folder()).collect()
}

/// `tandem/sessions` in the user's state folder, where no other user creates anything.
fn last_folder() -> Option<PathBuf> {
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")))?;
    Some(state.join("tandem").join("sessions"))
}

/// The folder that a variable names. A relative one is invalid (XDG Base Directory Specification): it would
/// be another one for each process.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// The folder of this user's next session: the first one that exists and is safe, otherwise the best one.
pub fn folder() -> PathBuf {
    let mut all = folders();
    let safe = all.iter().position(|folder| check(folder).is_ok()).unwrap_or(0);
    all.swap_remove(safe)
}

/// Creates or checks these folders in turn, until one can be used. Returns it, and the reasons why those
/// before it cannot be used.
///
/// # Errors
/// The reason why the last folder cannot be used, if none can.
pub fn prepare_one(folders: &[PathBuf]) -> anyhow::Result<(PathBuf, Vec<anyhow::Error>)> {
    let mut refused = Vec::new();
    for folder in folders {
        match prepare(folder) {
            Ok(()) => return Ok((folder.clone(), refused)),
            Err(error) => refused.push(error),
        }
    }
    Err(refused.pop().unwrap_or_else(|| anyhow::anyhow!("there is no place for the session folder")))
}

/// Creates the folder, or checks that it is a real folder of this user that no other user may enter.
///
/// # Errors
/// When the folder cannot be created or is not safe.
pub fn prepare(folder: &Path) -> anyhow::Result<()> {
    // A state folder may not exist yet. The check of the last folder detects parents that other users
    // created.
    if let Some(above) = folder.parent().filter(|above| above.ends_with("tandem")) {
        drop(std::fs::DirBuilder::new().recursive(true).mode(0o700).create(above));
    }
    let made = std::fs::DirBuilder::new().recursive(false).mode(0o700).create(folder);
    if let Err(error) = made
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(error).with_context(|| format!("cannot make the session folder `{}`", folder.display()));
    }
    check(folder)
}

/// Whether the folder is a real folder of this user that no other user may enter.
fn check(folder: &Path) -> anyhow::Result<()> {
    let found = std::fs::symlink_metadata(folder)
        .with_context(|| format!("cannot look at the session folder `{}`", folder.display()))?;
    if !found.is_dir() || found.uid() != user() {
        bail!("the session folder `{}` is not a folder of this user; remove it", folder.display());
    }
    if found.permissions().mode() & 0o077 != 0 {
        bail!("others may enter the session folder `{}`; make it private with `chmod 700`", folder.display());
    }
    Ok(())
}

/// All running sessions, oldest first; none if the folder is not safe. Removes files of crashed hosts.
pub fn live(folder: &Path) -> Vec<SessionRecord> {
    let files = match check(folder) {
        Ok(()) => std::fs::read_dir(folder).into_iter().flatten().flatten(),
        Err(_) => return Vec::new(),
    };
    let mut entries = Vec::new();
    for file in files {
        let path = file.path();
        let name = file.file_name();
        let Some((id, ending)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        if is_id(id) && ending == "d" {
            scratch::sweep(&path);
        }
        if !is_id(id) || !is_own_private_file(&path) {
            continue;
        }
        let socket = folder.join(format!("{id}.sock"));
        match ending {
            "json" => match read(&path, id) {
                Some(entry) if has_listener(&socket) => entries.push(SessionRecord { socket, ..entry }),
                // The host of another release may write a file that this one cannot read.
                None if has_listener(&socket) => {}
                _ => sweep([&path, &socket]),
            },
            // A host may have been killed before it wrote its second file. Its socket listened before it got
            // this name.
            "sock" if !path.with_extension("json").exists() && !has_listener(&path) => sweep([&path]),
            "lock" => reserved::sweep(&path),
            "json.new" | "sock.new" | "lock.new" if is_older(&path, MAX_PARTIAL_FILE_AGE) => sweep([&path]),
            _ => {}
        }
    }
    entries.sort_by(|one, other| one.started.cmp(&other.started).then_with(|| one.id.cmp(&other.id)));
    entries
}

/// All running sessions of this user, oldest first, from the current folder and from the last folder, which
/// is used if no other can be.
pub fn all() -> Vec<SessionRecord> {
    let now = folder();
    let last = last_folder().filter(|last| *last != now);
    let mut entries: Vec<SessionRecord> = [now].iter().chain(&last).flat_map(|folder| live(folder)).collect();
    entries.sort_by(|one, other| one.started.cmp(&other.started).then_with(|| one.id.cmp(&other.id)));
    entries
}

/// The session with this name, if it is running.
pub fn find(id: &str) -> Option<SessionRecord> {
    all().into_iter().find(|entry| entry.id == id)
}

fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Whether a text is an id that Tandem assigns: it cannot leave the folder, and is not a hidden file.
fn is_id(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Whether the path is a plain file or socket of this user that no other user may write to. A
/// link is not followed.
fn is_own_private_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| {
        let kind = found.file_type();
        (kind.is_file() || kind.is_socket()) && found.uid() == user() && found.mode() & 0o022 == 0
    })
}

fn is_older(path: &Path, age: Duration) -> bool {
    let changed = std::fs::symlink_metadata(path).and_then(|found| found.modified());
    changed.ok().and_then(|changed| changed.elapsed().ok()).is_some_and(|elapsed| elapsed > age)
}

/// Whether a process listens on the socket. Without a listener, the host of the socket has ended.
fn has_listener(socket: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(socket)
        .is_ok_and(|found| found.file_type().is_socket() && found.uid() == user());
    is_socket && matches!(connect(socket), Ok(_) | Err(Errno::AGAIN))
}

/// Connects to a Unix socket without waiting; the stream is non-blocking.
///
/// # Errors
/// `AGAIN` if the process accepts no connections and its queue is full, where a plain `connect` would wait
/// forever; `CONNREFUSED` if there is no listener.
pub fn connect(socket: &Path) -> Result<UnixStream, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&stream, &SocketAddrUnix::new(socket)?)?;
    Ok(stream.into())
}

fn read(path: &Path, id: &str) -> Option<SessionRecord> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(i32::try_from(flags.bits()).ok()?).open(path).ok()?;
    let mut text = Vec::new();
    file.take(MAX_FILE_LEN).read_to_end(&mut text).ok()?;
    serde_json::from_slice::<SessionRecord>(&text).ok().filter(|entry| entry.id == id)
}

fn sweep<const N: usize>(files: [&PathBuf; N]) {
    for file in files {
        // Another process may have removed it first.
        drop(std::fs::remove_file(file));
    }
}
