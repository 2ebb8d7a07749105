//! The bearer token of the HTTP transport: given by variable or file, else made once, shown once, and kept in
//! a file that only its owner can read.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use subtle::ConstantTimeEq;
use tandem_workspace::process::TOKEN_VARIABLE;

/// Shorter ones can be guessed.
const MIN_LEN: usize = 16;
/// Longer ones do not fit a header comfortably.
const MAX_LEN: usize = 1024;

/// The token. Its `Debug` hides it.
pub struct BearerToken(String);

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("BearerToken(hidden)")
    }
}

impl BearerToken {
    /// Reads the token from the variable `TANDEM_MCP_TOKEN`, else from the file, which is created if it is
    /// missing. Prints the token's file on stderr, and a new token itself.
    ///
    /// # Errors
    /// When a token is too short, or its file is unreadable, or readable by other users.
    pub fn find(file: Option<PathBuf>) -> anyhow::Result<Self> {
        if let Some(given) = std::env::var_os(TOKEN_VARIABLE).filter(|given| !given.is_empty()) {
            let given = given.into_string().ok().with_context(|| format!("{TOKEN_VARIABLE} is not text"))?;
            return Self::validate(&given)
                .with_context(|| format!("the token in {TOKEN_VARIABLE} cannot be used"));
        }
        let file = match file {
            Some(file) => file,
            None => default_file()?,
        };
        let (token, new) = Self::load_or_create(&file)
            .with_context(|| format!("the token file `{}` cannot be used", file.display()))?;
        if new {
            let (kept, token) = (file.display(), &token.0);
            tandem_log::say(&format!("tandem-mcp: new token (shown once, kept in {kept}): {token}"));
        } else {
            tandem_log::say(&format!("tandem-mcp: the token is in {}", file.display()));
        }
        Ok(token)
    }

    /// Whether this is it; takes as long for any other of the same length.
    pub fn is(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }

    fn validate(text: &str) -> anyhow::Result<Self> {
        let text = text.trim();
        ensure!(text.len() >= MIN_LEN, "it is shorter than {MIN_LEN} characters");
        ensure!(text.len() <= MAX_LEN, "it is longer than {MAX_LEN} characters");
        ensure!(
            text.bytes().all(|byte| byte.is_ascii_graphic()),
            "it has characters other than visible ASCII"
        );
        Ok(Self(text.to_owned()))
    }

    /// Reads the token of the file, or creates a new one in it.
    fn load_or_create(file: &Path) -> anyhow::Result<(Self, bool)> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(file);
        match opened {
            Ok(opened) => {
                let metadata = opened.metadata()?;
                ensure!(metadata.is_file(), "it is not a file");
                ensure!(metadata.uid() == rustix::process::getuid().as_raw(), "it belongs to another user");
                ensure!(metadata.mode() & 0o077 == 0, "others can read it; chmod 600 it");
                let mut text = String::new();
                opened.take(2 * MAX_LEN as u64).read_to_string(&mut text)?;
                Ok((Self::validate(&text)?, false))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((Self::make(file)?, true)),
            Err(error) => Err(error.into()),
        }
    }

    fn make(file: &Path) -> anyhow::Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).ok().context("the system returns no random bytes")?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        made.write_all(text.as_bytes())?;
        made.sync_all()?;
        Ok(Self(text))
    }
}

/// `$XDG_STATE_HOME/tandem/mcp-token`, else in `~/.local/state`.
fn default_file() -> anyhow::Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    match state {
        Some(state) => Ok(state.join("tandem/mcp-token")),
        None => {
            bail!("there is no home folder for the token; set one with --http-token-file or {TOKEN_VARIABLE}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_kept_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/token");
        let (made, new) = BearerToken::load_or_create(&file).unwrap();
        assert!(new && made.0.len() == 64);
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(file.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
        let (again, new) = BearerToken::load_or_create(&file).unwrap();
        assert!(!new && again.0 == made.0);
        assert!(again.is(made.0.as_bytes()) && !again.is(b"") && !again.is(&[b'0'; 64]));
        assert!(!format!("{made:?}").contains(&made.0));

        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(BearerToken::load_or_create(&file).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(BearerToken::load_or_create(&link).is_err());
        for bad in ["", "short", "with a space in the middle", &"x".repeat(2000)] {
            assert!(BearerToken::validate(bad).is_err(), "{bad}");
        }
    }
}
