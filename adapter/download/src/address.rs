//! Addresses from which files may be fetched: `https`, and `http` only on this machine. The caller decides
//! about permission.

use std::net::IpAddr;

use http::Uri;

/// Maximum length of an address, in bytes.
const MAX_LEN: usize = 8 * 1024;

/// A valid address for a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadUrl {
    uri: Uri,
}

/// The reason why a text is not a valid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// A scheme that is not allowed: `http://` to another machine, or for example `file://`.
    #[error("`{0}` is refused: only `https://` addresses are fetched, and `http://` ones of this machine")]
    Scheme(String),
    /// Credentials in the address: `https://name:password@host/`.
    #[error("`{0}` is refused: it contains a user name, and Tandem never sends one")]
    User(String),
    /// No host, or characters that must be escaped.
    #[error("`{0}` is not a valid address")]
    Malformed(String),
}

impl DownloadUrl {
    /// Parses an absolute address, without its fragment (`#…`).
    ///
    /// # Errors
    /// When the address is malformed, or is never fetched.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let shown = || text.chars().take(200).collect::<String>();
        let whole = text.split('#').next().unwrap_or_default();
        let sound = Some(whole).filter(|whole| whole.len() <= MAX_LEN && whole.contains("://"));
        let uri: Option<Uri> = sound.and_then(|whole| whole.parse().ok());
        let uri = uri.ok_or_else(|| UrlError::Malformed(shown()))?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| UrlError::Malformed(shown()))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            // The name may be a secret.
            return Err(UrlError::User(format!("{}://…@{host}", uri.scheme_str().unwrap_or_default())));
        }
        match uri.scheme_str() {
            Some("https") => Ok(Self { uri }),
            Some("http") if is_this_machine(host) => Ok(Self { uri }),
            _ => Err(UrlError::Scheme(shown())),
        }
    }

    /// The address that a redirect with this `Location` leads to (RFC 3986, 5.2, without
    /// removal of dot segments).
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn join(&self, location: &str) -> Result<Self, UrlError> {
        let (scheme, authority) = (self.uri.scheme_str().unwrap_or("https"), self.authority());
        let has_scheme = location.split_once(':').is_some_and(|(scheme, _)| {
            !scheme.is_empty()
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        });
        if has_scheme {
            return Self::parse(location);
        }
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"));
        }
        if location.starts_with('/') {
            return Self::parse(&format!("{scheme}://{authority}{location}"));
        }
        let folder = self.uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        Self::parse(&format!("{scheme}://{authority}{folder}/{location}"))
    }

    /// The host, without a port.
    pub fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    /// The host, with the port if there is one.
    pub fn authority(&self) -> &str {
        self.uri.authority().map_or("", http::uri::Authority::as_str)
    }

    /// Whether the host is this machine.
    pub fn is_this_machine(&self) -> bool {
        is_this_machine(self.host())
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }
}

impl std::fmt::Display for DownloadUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.uri.fmt(formatter)
    }
}

fn is_this_machine(host: &str) -> bool {
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || number.is_ok_and(|number| number.is_loopback())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_https_and_this_machine_are_addresses() {
        for good in [
            "https://raw.example/a/b.cs?x=1#L7",
            "HTTPS://raw.example:8443/",
            "http://127.0.0.1:80/x",
            "http://[::1]/x",
            "http://localhost/x",
        ] {
            assert!(DownloadUrl::parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("http://raw.example/a", "only `https://`"),
            ("http://127.0.0.1.example/a", "only `https://`"),
            ("file:///etc/passwd", "not a valid"),
            ("file://localhost/etc/passwd", "only `https://`"),
            ("ftp://raw.example/a", "only `https://`"),
            ("https://me:secret@raw.example/a", "user name"),
            ("https://raw.example\\@evil.example/", "not a valid"),
            ("https:///a", "not a valid"),
            ("https://raw.example/a b", "not a valid"),
            ("https://raw.example/a\r\nX: y", "not a valid"),
            ("raw.example/a", "not a valid"),
            ("", "not a valid"),
        ] {
            let refused = DownloadUrl::parse(bad).unwrap_err().to_string();
            assert!(refused.contains(why), "{bad}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_redirection_is_followed_from_where_it_was_answered() {
        let from = DownloadUrl::parse("https://host.example:81/a/b?q").unwrap();
        for (location, to) in [
            ("https://other.example/c", Some("https://other.example/c")),
            ("//other.example/c", Some("https://other.example/c")),
            ("/c?d", Some("https://host.example:81/c?d")),
            ("c", Some("https://host.example:81/a/c")),
            ("http://other.example/c", None),
            ("file:///etc/passwd", None),
            ("javascript:x", None),
        ] {
            assert_eq!(from.join(location).ok().map(|to| to.to_string()).as_deref(), to, "{location}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_https_or_this_machine(text in "(https?|file|HTTP)(:|://|:///)[ -~]{0,40}") {
            if let Ok(address) = DownloadUrl::parse(&text) {
                let shown = address.to_string();
                prop_assert!(shown.starts_with("https://") || address.is_this_machine(), "{shown}");
                prop_assert!(!address.authority().contains('@'));
            }
        }
    }
}
