//! The attribute `sourceLinkOptions`: the addresses from which sources may be fetched. Everything else is
//! refused. Fetches nothing ([`super::source_files`]); [`super::symbol_options`] allows symbol servers.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tandem_download::DownloadUrl;
use tandem_wire::{Failure, types};

/// Most patterns of one session.
const MAX_PATTERNS: usize = 200;

/// Patterns of addresses, and whether each allows or forbids.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceLinkOptions {
    rules: Vec<(UrlPattern, bool)>,
}

/// `*`, or an address with `*` in it. In the host, a `*` does not match `/`, so that no path
/// of another host fits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UrlPattern {
    /// Scheme and host in lower case, and the path; `None` for every address.
    parts: Option<[String; 3]>,
}

impl SourceLinkOptions {
    /// Reads `{ "https://raw.githubusercontent.com/*": { "enabled": true }, "*": { "enabled": false } }`;
    /// `enabled` is true when it is absent.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, naming the invalid part.
    pub(crate) fn parse(attribute: &Value) -> Result<Self, Failure> {
        let map = match attribute {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) if map.len() <= MAX_PATTERNS => map,
            other => return Err(invalid_option(&format!("must map addresses to objects, not {other}"))),
        };
        let mut rules = Vec::new();
        for (pattern, options) in map {
            let enabled = match (options, &options["enabled"]) {
                (Value::Object(_), Value::Null) => true,
                (_, Value::Bool(enabled)) => *enabled,
                _ => {
                    return Err(invalid_option(&format!(
                        "has `{pattern}: {options}`; it must be {{\"enabled\": true}} or false"
                    )));
                }
            };
            let parsed = UrlPattern::parse(pattern).ok_or_else(|| {
                invalid_option(&format!(
                    "has `{pattern}`, which is neither `*` nor an address with `https://`"
                ))
            })?;
            rules.push((parsed, enabled));
        }
        Ok(Self { rules })
    }

    /// Adds rules of a client that arrive while the session runs; each replaces the earlier
    /// rule of the same pattern.
    pub(crate) fn extend(&mut self, more: Self) {
        self.rules.retain(|(pattern, _)| !more.rules.iter().any(|(other, _)| other == pattern));
        self.rules.extend(more.rules);
        self.rules.truncate(MAX_PATTERNS);
    }

    /// Whether fetching from an address is allowed: the longest matching pattern decides. Of two equally long
    /// ones, the one that forbids.
    pub(crate) fn allows(&self, address: &DownloadUrl) -> bool {
        self.is_enabled(address) == Some(true)
    }

    /// Whether fetching from an address is forbidden by a pattern, or in any case.
    pub(crate) fn forbids(&self, url: &str) -> bool {
        DownloadUrl::parse(url).ok().is_none_or(|address| self.is_enabled(&address) == Some(false))
    }

    fn is_enabled(&self, address: &DownloadUrl) -> Option<bool> {
        let fitting = self.rules.iter().filter(|(pattern, _)| pattern.fits(address));
        fitting.max_by_key(|(pattern, enabled)| (pattern.letters(), !enabled)).map(|(_, enabled)| *enabled)
    }
}

/// The pattern that allows all addresses of an address's host.
pub(crate) fn pattern_for(address: &DownloadUrl) -> String {
    let scheme = if address.to_string().starts_with("https:") { "https" } else { "http" };
    format!("{scheme}://{}/*", address.authority())
}

/// The attribute that allows the addresses of a pattern.
pub(crate) fn allowing(pattern: String) -> Value {
    let rules = BTreeMap::from([(pattern, AddressRule { enabled: true })]);
    types::body(&rules)
}

/// What `sourceLinkOptions` says about the addresses of a pattern.
#[derive(Serialize)]
struct AddressRule {
    enabled: bool,
}

fn invalid_option(what: &str) -> Failure {
    Failure::invalid(format!("`sourceLinkOptions` {what}"))
        .hint("for example {\"https://raw.githubusercontent.com/*\": {\"enabled\": true}}")
}

impl UrlPattern {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self { parts: None });
        }
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        matches!(scheme.as_str(), "https" | "http").then_some(())?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_host = !host.is_empty() && !host.contains(['@', '\\', '?', '#']);
        is_host.then(|| Self { parts: Some([scheme, host.to_ascii_lowercase(), format!("/{path}")]) })
    }

    fn fits(&self, address: &DownloadUrl) -> bool {
        let Some([scheme, host, path]) = &self.parts else { return true };
        let text = address.to_string();
        let Some((own_scheme, rest)) = text.split_once("://") else { return false };
        let (own_host, own_path) = rest.split_once('/').unwrap_or((rest, ""));
        let ends_at_once = path == "/" && own_path.is_empty();
        own_scheme.eq_ignore_ascii_case(scheme)
            && glob(host, &own_host.to_ascii_lowercase())
            && (ends_at_once || glob(path, &format!("/{own_path}")))
    }

    /// How specific the pattern is: its characters without `*`.
    fn letters(&self) -> usize {
        let count = |parts: &[String; 3]| {
            parts.iter().map(|part| part.chars().filter(|letter| *letter != '*').count()).sum()
        };
        self.parts.as_ref().map_or(0, count)
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn allows(options: &Value, address: &str) -> bool {
        SourceLinkOptions::parse(options).unwrap().allows(&DownloadUrl::parse(address).unwrap())
    }

    #[test]
    fn nothing_is_allowed_by_default_and_the_most_specific_pattern_wins() {
        let github = "https://raw.githubusercontent.com/me/it/0123/a.cs";
        assert!(!allows(&Value::Null, github));
        assert!(!allows(&json!({}), github));
        assert!(allows(&json!({ "*": { "enabled": true } }), github));
        assert!(allows(&json!({ "https://raw.githubusercontent.com/*": {} }), github));
        assert!(allows(&json!({ "HTTPS://RAW.githubusercontent.com/me/*": {} }), github));
        let two = json!({ "https://raw.githubusercontent.com/me/*": { "enabled": true }, "*": {
            "enabled": false } });
        assert!(allows(&two, github));
        assert!(!allows(&two, "https://raw.githubusercontent.com/you/it/0123/a.cs"));
        let forbidden = json!({ "https://*.githubusercontent.com/*": { "enabled": false }, "*": {} });
        assert!(!allows(&forbidden, github));
        assert!(allows(&forbidden, "https://git.example/a.cs"));
        let forbidden = SourceLinkOptions::parse(&forbidden).unwrap();
        assert!(forbidden.forbids(github) && forbidden.forbids("http://git.example/a.cs"));
        assert!(
            !forbidden.forbids("https://git.example/a.cs") && !SourceLinkOptions::default().forbids(github)
        );
    }

    #[test]
    fn pattern_for_one_host_matches_no_other() {
        let one = json!({ "https://*.example.com/*": {}, "https://exact.example.org/*": {},
            "https://bare.example.net": {} });
        for (address, allowed) in [
            ("https://a.example.com/x", true),
            ("https://evil.test/a.example.com/x", false),
            ("https://evil.test/https://a.example.com/x", false),
            ("https://example.com.evil.test/x", false),
            ("https://exact.example.org/a/b?c=d", true),
            ("https://exact.example.org:8443/a", false),
            ("https://exact.example.org.evil.test/a", false),
            ("https://bare.example.net", true),
            ("https://bare.example.net/x", false),
            ("http://localhost/exact.example.org/a", false),
        ] {
            assert_eq!(allows(&one, address), allowed, "{address}");
        }
        let local = DownloadUrl::parse("http://127.0.0.1:81/a").unwrap();
        assert!(allows(&json!({ pattern_for(&local): {} }), "http://127.0.0.1:81/b/c"));
        assert!(!allows(&json!({ pattern_for(&local): {} }), "http://127.0.0.1:82/b/c"));
    }

    #[test]
    fn invalid_pattern_is_refused_by_name() {
        for (wrong, named) in [
            (json!([]), "must map"),
            (json!({ "*": true }), "`*: true`"),
            (json!({ "*": { "enabled": "yes" } }), "enabled"),
            (json!({ "raw.githubusercontent.com": {} }), "`raw.githubusercontent.com`"),
            (json!({ "file:///*": {} }), "`file:///*`"),
            (json!({ "https://": {} }), "`https://`"),
            (json!({ "https://me@host/*": {} }), "`https://me@host/*`"),
        ] {
            let refused = SourceLinkOptions::parse(&wrong).unwrap_err().message;
            assert!(refused.contains("`sourceLinkOptions`") && refused.contains(named), "{refused}");
        }
    }

    #[test]
    fn later_rule_replaces_an_earlier_one() {
        let mut options =
            SourceLinkOptions::parse(&json!({ "https://a.example/*": { "enabled": false } })).unwrap();
        let address = DownloadUrl::parse("https://a.example/x").unwrap();
        assert!(!options.allows(&address));
        options.extend(SourceLinkOptions::parse(&json!({ "https://a.example/*": {} })).unwrap());
        assert!(options.allows(&address));
    }

    #[test]
    fn star_matches_any_text() {
        for (pattern, text, fits) in [
            ("a*c", "abbc", true),
            ("a*c", "ac", true),
            ("a*", "a", true),
            ("*a*b*", "xaybz", true),
            ("*a*b*", "xbya", false),
            ("a*a", "a", false),
            ("", "", true),
            ("a", "ab", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
