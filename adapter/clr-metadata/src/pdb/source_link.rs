//! Source Link: where the sources of an assembly can be fetched, by rules that its compiler put into the PDB
//! (<https://github.com/dotnet/designs/blob/main/accepted/2020/diagnostics/source-link.md>). Only computes
//! addresses: the caller decides whether to fetch from them.

use super::Pdb;
use crate::tables::table;

/// Kind of CustomDebugInformation with the rules: {CC110556-A091-4D38-9FEC-25AB9A351A6A}.
const SOURCE_LINK: [u8; 16] =
    [0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a];
/// Maximum size of a record, in bytes.
const MAX_JSON_LEN: usize = 4 * 1024 * 1024;
/// Maximum number of rules of one PDB.
const MAX_RULES: usize = 10_000;
/// Maximum length of an address, in bytes.
const MAX_URL_LEN: usize = 8 * 1024;

/// One rule: the path of a document or a prefix of such paths, and the address.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceLinkRule {
    /// The path or prefix, without the `*`.
    path: String,
    /// The parts of the address before and after the `*`. The second part is absent in a
    /// rule for one document.
    url: (String, Option<String>),
}

/// The rules of one PDB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceLink {
    /// The most specific first.
    rules: Vec<SourceLinkRule>,
}

impl SourceLink {
    /// Reads the JSON of a record: `{ "documents": { "C:\\src\\*": "https://host/commit/*" } }`. Ignores
    /// invalid rules; `None` if no rule is valid.
    pub fn parse(json: &[u8]) -> Option<Self> {
        let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
        (json.len() <= MAX_JSON_LEN).then_some(())?;
        let read: serde_json::Value = serde_json::from_slice(json).ok()?;
        let documents = read.get("documents")?.as_object()?;
        let sound = documents.iter().filter_map(|(path, url)| SourceLinkRule::parse(path, url.as_str()?));
        let mut rules: Vec<SourceLinkRule> = sound.take(MAX_RULES).collect();
        // A rule for one document is more specific than one with a `*`, and a longer one is more specific
        // than a shorter one. Of equal rules the first applies.
        rules.sort_by_key(|rule| (rule.url.1.is_some(), std::cmp::Reverse(rule.path.len())));
        (!rules.is_empty()).then_some(Self { rules })
    }

    /// The address of a document, by its path on the machine of the compiler. `None` if no rule matches, or
    /// if `..` in the path would leave the folder of the rule.
    pub fn url(&self, document: &str) -> Option<String> {
        let (rule, rest) = self.rules.iter().find_map(|rule| Some((rule, rule.rest_of(document)?)))?;
        let url = match &rule.url {
            (url, None) => url.clone(),
            (before, Some(after)) => format!("{before}{}{after}", percent_encode_path(rest)?),
        };
        (url.len() <= MAX_URL_LEN).then_some(url)
    }
}

impl SourceLinkRule {
    fn parse(path: &str, url: &str) -> Option<Self> {
        match (path.split_once('*'), url.split_once('*')) {
            (None, None) => Some(Self { path: path.to_owned(), url: (url.to_owned(), None) }),
            // One `*` each, at the end of the path and anywhere in the address.
            (Some((path, "")), Some((before, after))) if !after.contains('*') => {
                Some(Self { path: path.to_owned(), url: (before.to_owned(), Some(after.to_owned())) })
            }
            _ => None,
        }
    }

    /// The part of a document's path that the `*` of the rule matches. Ignores case.
    fn rest_of<'a>(&self, document: &'a str) -> Option<&'a str> {
        let mut rest = document.chars();
        for expected in self.path.chars() {
            let found = rest.next()?;
            if found != expected && !found.to_lowercase().eq(expected.to_lowercase()) {
                return None;
            }
        }
        let rest = rest.as_str();
        (self.url.1.is_some() || rest.is_empty()).then_some(rest)
    }
}

/// Converts a relative path to a part of an address: `/` between its names, and each name percent-encoded
/// (RFC 3986, unreserved). `None` if a name is `.` or `..`.
pub fn percent_encode_path(path: &str) -> Option<String> {
    let mut url = String::with_capacity(path.len());
    for (at, name) in path.split(['/', '\\']).enumerate() {
        if matches!(name, "." | "..") {
            return None;
        }
        if at > 0 {
            url.push('/');
        }
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                url.push(char::from(byte));
            } else {
                url.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    Some(url)
}

impl Pdb {
    /// The Source Link rules; `None` when no rule is valid.
    pub fn source_link(&self) -> Option<&SourceLink> {
        let read = || {
            let cell = |row, column| self.tables.cell(table::CUSTOM_DEBUG, row, column);
            let row = (1..=self.tables.rows(table::CUSTOM_DEBUG))
                .find(|row| self.tables.guid(cell(*row, 1)) == SOURCE_LINK)?;
            SourceLink::parse(self.tables.blob(cell(row, 2)))
        };
        self.source_link.get_or_init(read).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(json: &str) -> Option<SourceLink> {
        SourceLink::parse(json.as_bytes())
    }

    #[test]
    fn the_most_specific_rule_holds_whatever_the_order() {
        let link = rules(
            r#"{"documents": {
                "C:\\src\\*": "http://default.example/src/*",
                "C:\\src\\foo\\*": "http://foo.example/src/*",
                "C:\\src\\foo\\specific.txt": "http://specific.example/specific.txt",
                "/_/*": "https://raw.example/me/it/0123abcd/*?raw=1" }}"#,
        )
        .unwrap();
        for (document, url) in [
            ("C:\\src\\a\\b c.cs", Some("http://default.example/src/a/b%20c.cs")),
            ("c:\\SRC\\Foo\\x.cs", Some("http://foo.example/src/x.cs")),
            ("C:\\src\\foo\\specific.txt", Some("http://specific.example/specific.txt")),
            ("C:\\src\\foo\\specific.txt2", Some("http://foo.example/src/specific.txt2")),
            ("/_/src/C#/å+%.cs", Some("https://raw.example/me/it/0123abcd/src/C%23/%C3%A5%2B%25.cs?raw=1")),
            ("/elsewhere/x.cs", None),
            ("/_", None),
        ] {
            assert_eq!(link.url(document).as_deref(), url, "{document}");
        }
    }

    #[test]
    fn a_path_that_leads_out_of_its_folder_has_no_address() {
        let link = rules(r#"{"documents": {"/_/*": "https://raw.example/0123/*"}}"#).unwrap();
        for document in ["/_/../secret", "/_/a/../../b.cs", "/_/..", "/_/a\\..\\b.cs", "/_/./a.cs"] {
            assert_eq!(link.url(document), None, "{document}");
        }
        assert_eq!(link.url("/_/..a/b..cs").as_deref(), Some("https://raw.example/0123/..a/b..cs"));
    }

    #[test]
    fn rules_that_are_not_sound_are_left_out() {
        let link = rules(
            r#"{"documents": {"a*b": "x*", "*a*": "x*", "/a/*": "https://x/", "/b/": "https://x/*",
                "/c/*": "https://*/*", "/d/*": 7, "/e/*": "https://e/*"}, "other": 1}"#,
        )
        .unwrap();
        assert_eq!(link.rules.len(), 1);
        assert_eq!(link.url("/e/f").as_deref(), Some("https://e/f"));
        for nothing in [
            "",
            "{}",
            "[]",
            r#"{"documents": []}"#,
            r#"{"documents": {}}"#,
            r#"{"documents": {"a*b": "x*"}}"#,
        ] {
            assert_eq!(rules(nothing), None, "{nothing}");
        }
        assert!(SourceLink::parse(b"\xef\xbb\xbf{\"documents\":{\"/a/*\":\"https://a/*\"}}").is_some());
        let huge =
            format!(r#"{{"documents": {{"/a/*": "https://a/*", "x": "{}"}}}}"#, "y".repeat(MAX_JSON_LEN));
        assert_eq!(rules(&huge), None);
    }

    proptest! {
        #[test]
        fn whatever_a_record_holds_reading_it_ends(json: Vec<u8>, document in ".{0,60}") {
            let read = SourceLink::parse(&json);
            let url = read.and_then(|link| link.url(&document));
            prop_assert!(url.is_none_or(|url| url.len() <= MAX_URL_LEN));
        }

        #[test]
        fn an_address_stays_below_what_the_rule_says(document in "[ -~/\\\\.]{0,60}") {
            let link = rules(r#"{"documents": {"/*": "https://raw.example/top/*"}}"#).unwrap();
            if let Some(url) = link.url(&format!("/{document}")) {
                prop_assert!(url.starts_with("https://raw.example/top/"));
                prop_assert!(!url.split('/').any(|part| part == ".." || part == "."));
                prop_assert!(url.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
