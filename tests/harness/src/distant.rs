//! The fixture `distant`: a program with a library in the form of a package, whose sources and symbols are
//! elsewhere. Each test has separate copies of both, a cache and a home folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use serde_json::{Value, json};

use crate::client::DapClient;
use crate::fixture::{self, Runtime};
use crate::transcript::Transcript;
use crate::web::{WebServer, proxy_to};

/// The path of the library's source as its compiler saw it.
pub const COMPILED: &str = "/_/distant/Library/Counter.cs";
/// The path under which Source Link has it on `sources.example`.
pub const SERVED: &str = "/repo/0123abcd/Library/Counter.cs";

/// Copies of the program and the library, and where a session finds them.
pub struct DistantSources {
    folder: tempfile::TempDir,
    runtime: Runtime,
    /// Variables of the session.
    pub environment: HashMap<String, String>,
}

impl DistantSources {
    /// Makes the copies. Without a server, Source Link's host is not reached by anything.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn new(runtime: Runtime) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let bin = PathBuf::from(fixture::program("distant"));
        let bin = bin.parent().context("no folder")?;
        for (name, from) in [("bin", bin.to_path_buf()), ("made", bin.join("made"))] {
            std::fs::create_dir(folder.path().join(name))?;
            for file in std::fs::read_dir(from)?.flatten().filter(|file| file.path().is_file()) {
                std::fs::copy(file.path(), folder.path().join(name).join(file.file_name()))?;
            }
        }
        let mut environment = runtime.environment().context("no runtime")?;
        for (name, below) in [("XDG_CACHE_HOME", "cache"), ("HOME", "home"), ("TMPDIR", "tmp")] {
            std::fs::create_dir(folder.path().join(below))?;
            environment.insert(name.into(), folder.path().join(below).display().to_string());
        }
        environment.insert("https_proxy".into(), "http://127.0.0.1:9".into());
        Ok(Self { folder, runtime, environment })
    }

    /// As [`new`](Self::new); a proxy routes every `https` address to this server.
    ///
    /// # Errors
    /// When they cannot be made.
    pub async fn with_sources(runtime: Runtime, web: &WebServer) -> anyhow::Result<Self> {
        let mut distant = Self::new(runtime)?;
        let proxy = proxy_to(web.port(), Arc::new(Mutex::new(Vec::new()))).await?;
        let roots = fixture::root().join("fixtures/tls/roots.pem").display().to_string();
        distant.environment.insert("https_proxy".into(), format!("http://127.0.0.1:{proxy}"));
        distant.environment.insert("SSL_CERT_FILE".into(), roots);
        Ok(distant)
    }

    /// A file or folder of this test.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The library's PDB beside it.
    pub fn pdb(&self) -> PathBuf {
        self.path("bin/distantlib.pdb")
    }

    /// Removes the library's PDB and returns its bytes.
    ///
    /// # Errors
    /// When it is gone already.
    pub fn take_pdb(&self) -> anyhow::Result<Vec<u8>> {
        let bytes = std::fs::read(self.pdb())?;
        std::fs::remove_file(self.pdb())?;
        Ok(bytes)
    }

    /// Every file in the session's cache, and what a decompiler left in its temporary folder.
    pub fn cached_files(&self) -> Vec<PathBuf> {
        let temporary = std::fs::read_dir(self.path("tmp")).into_iter().flatten().flatten();
        let left =
            temporary.filter(|entry| entry.file_name().to_string_lossy().starts_with("tandem-decompiler"));
        let mut found: Vec<PathBuf> = left.map(|entry| entry.path()).collect();
        let mut open = vec![self.path("cache")];
        while let Some(folder) = open.pop() {
            for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                if path.is_dir() { open.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }

    /// Launches the program with breakpoints at markers of its source, and configures it so that it runs.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn launch(&self, markers: &[&str], more: Value) -> anyhow::Result<DapClient> {
        let mut editor = DapClient::start_in("editor", self.environment.clone(), &Transcript::default())?;
        let announced = json!({ "clientID": "test", "supportsInvalidatedEvent": true });
        editor.ok("initialize", announced).await?;
        let launch = editor.send("launch", self.arguments(more)).await?;
        editor.initialized(launch).await?;
        if !markers.is_empty() {
            editor.break_at("distant", markers).await?;
        }
        editor.ok("configurationDone", Value::Null).await?;
        let launched = editor.response(launch).await?;
        anyhow::ensure!(launched.success, "launch failed: {}", launched.body);
        Ok(editor)
    }

    /// The attributes of a launch, with `justMyCode` off.
    pub fn arguments(&self, more: Value) -> Value {
        let mut arguments = json!({ "program": self.path("bin/distant.dll"), "justMyCode": false });
        if let (Some(arguments), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
            arguments.extend(more.clone());
        }
        arguments
    }

    /// A client of this session's runtime that has launched nothing.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn client(&self) -> anyhow::Result<DapClient> {
        DapClient::start("editor", self.runtime, &Transcript::default())
    }
}

/// The text of the library's source.
pub fn text() -> String {
    std::fs::read_to_string(source()).unwrap_or_default()
}

/// The fixture's folder in this repository.
pub fn source() -> PathBuf {
    fixture::root().join("fixtures/programs/dotnet/distant/Library/Counter.cs")
}

/// The line (from 1) of the library's source with `// BP marker`.
pub fn line(marker: &str) -> i64 {
    let ending = format!("// BP {marker}");
    let at = text().lines().position(|line| line.ends_with(&ending));
    at.and_then(|at| i64::try_from(at).ok()).map_or(0, |at| at + 1)
}

/// A PDB with the id of another one, as a decompiler or a liar makes it.
///
/// # Errors
/// When one of them is not a PDB.
pub fn with_id_of(own: &[u8], other: &[u8]) -> anyhow::Result<Vec<u8>> {
    let parse = |bytes: &[u8]| clr_metadata::pdb::Pdb::parse(bytes.to_vec()).context("no PDB");
    let place =
        |bytes: &[u8]| Ok::<_, anyhow::Error>(parse(bytes)?.parts_around_id(bytes).context("no id")?.0.len());
    let (to, from) = (place(own)?, place(other)?);
    let id = other.get(from..from + 20).context("no id")?;
    let mut changed = own.to_vec();
    changed.get_mut(to..to + 20).context("no id")?.copy_from_slice(id);
    Ok(changed)
}

/// A value that a server's answers share with the test.
#[derive(Clone, Default)]
pub struct Shared<T>(Arc<Mutex<T>>);

impl<T: Clone> Shared<T> {
    /// Wraps a value, to share it with a server.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// A copy of the current value.
    pub fn get(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the value for all later answers.
    pub fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

/// Whether a path is below another one.
pub fn is_below(path: &Value, folder: &Path) -> bool {
    path.as_str().is_some_and(|path| Path::new(path).starts_with(folder))
}
