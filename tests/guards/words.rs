//! Words that the project no longer uses: the list is `docs/contributing/words.txt`, with what to write
//! instead and where a word is right after all. Files are those that git knows; `docs/contributing/words.md`
//! says how to write.

use std::str::Utf8Error;

use anyhow::{Context, ensure};
use regex::Regex;

use crate::sources::root;

const LIST: &str = "docs/contributing/words.txt";
/// These quote the words.
const ABOUT: [&str; 3] = [LIST, "docs/contributing/words.md", "tests/guards/words.rs"];
/// Characters of the next line that may belong to a phrase that begins in this one.
const WRAPPED: usize = 60;

/// A word or phrase that is no longer used.
struct RetiredWord {
    pattern: Regex,
    instead: String,
    exceptions: Vec<WordException>,
}

/// A path where such a word is correct, or the beginning of paths before a `*`.
struct WordException {
    path: String,
    used: bool,
}

impl WordException {
    fn covers(&self, path: &str) -> bool {
        self.path.strip_suffix('*').map_or(path == self.path, |start| path.starts_with(start))
    }
}

fn retired(list: &str) -> anyhow::Result<Vec<RetiredWord>> {
    let mut found: Vec<RetiredWord> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(exception) = line.strip_prefix("  except ") {
            let (path, reason) = exception.split_once(": ").with_context(|| format!("no reason: {line}"))?;
            ensure!(!reason.is_empty(), "no reason: {line}");
            let last = found.last_mut().with_context(|| format!("an exception of nothing: {line}"))?;
            last.exceptions.push(WordException { path: path.to_owned(), used: false });
        } else {
            let (word, instead) = line.split_once(" => ").with_context(|| format!("no `=>`: {line}"))?;
            // Boundaries of ASCII: those of Unicode cost ten times as much.
            let pattern = format!(r"(?-u:\b)(?:{word})(?-u:\b)");
            let pattern = Regex::new(&pattern).with_context(|| line.to_owned())?;
            found.push(RetiredWord { pattern, instead: instead.to_owned(), exceptions: Vec::new() });
        }
    }
    Ok(found)
}

/// Lower-case words with a space between them: `WishList`, `wish_list` and "wish `list`" are all `wish list`.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for character in text.chars() {
        let is_letter = character.is_alphanumeric();
        let is_hump = character.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit());
        let is_mark = matches!(character, '_' | '-' | '`' | '*' | '"' | '\'' | '/' | '\\');
        if (is_hump || !is_letter && (is_mark || character.is_whitespace())) && !plain.ends_with(' ') {
            plain.push(' ');
        }
        if !is_mark && !character.is_whitespace() {
            plain.extend(character.to_lowercase());
        }
        before = character;
    }
    plain
}

/// A line without what begins a line of a comment, a list or a quotation.
fn content(line: &str) -> &str {
    line.trim_start().trim_start_matches(['/', '!', '#', '*', '>', '-', '|']).trim_start()
}

/// The uses of retired words in a file, each as `path:line: …`. Line 0 is its path.
fn uses(path: &str, text: &str, words: &mut [RetiredWord]) -> Vec<String> {
    let mut found = Vec::new();
    let whole_text =
        format!("{}\n{}", plain(path), plain(&text.lines().map(content).collect::<Vec<_>>().join(" ")));
    if !words.iter().any(|word| word.pattern.is_match(&whole_text)) {
        return found;
    }
    let lines: Vec<&str> = text.lines().collect();
    let own = [path].into_iter().chain(lines.iter().copied());
    for (number, line) in own.enumerate() {
        let line = plain(line);
        let next =
            lines.get(number).filter(|_| number > 0).map(|line| plain(content(line))).unwrap_or_default();
        let next: String = next.chars().take(WRAPPED).collect();
        let whole = format!("{} {next}", line.trim_end());
        for word in &mut *words {
            let starts = word.pattern.find_iter(&whole).filter(|hit| hit.start() < line.len());
            for hit in starts {
                let lawful = word.exceptions.iter_mut().find(|exception| exception.covers(path));
                match lawful {
                    Some(exception) => exception.used = true,
                    None => found.push(format!("{path}:{number}: `{}`: {}", hit.as_str(), word.instead)),
                }
            }
        }
    }
    found
}

/// The text of a file, or where it is not UTF-8; `None` for a binary file, which has a NUL byte.
fn text_of(bytes: &[u8]) -> Option<Result<&str, Utf8Error>> {
    (!bytes.contains(&0)).then(|| std::str::from_utf8(bytes))
}

#[test]
fn words_that_are_retired_are_not_used() -> anyhow::Result<()> {
    let mut words = retired(&std::fs::read_to_string(root().join(LIST))?)?;
    let listed = std::process::Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output()?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let mut found = Vec::new();
    let mut read = 0;
    for path in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let is_history = path.ends_with("CHANGELOG.md") || path.ends_with(".lock");
        if is_history || ABOUT.contains(&path) {
            continue;
        }
        // A deleted file that is not committed yet has no words.
        let Ok(bytes) = std::fs::read(root().join(path)) else { continue };
        match text_of(&bytes) {
            Some(Ok(text)) => {
                read += 1;
                found.append(&mut uses(path, text, &mut words));
            }
            Some(Err(invalid)) => {
                found.push(format!("{path}: not UTF-8 after byte {}", invalid.valid_up_to()))
            }
            None => {}
        }
    }
    ensure!(read > 1000, "only {read} files were read");
    ensure!(found.is_empty(), "see {LIST}:\n{}", found.join("\n"));
    let unused = words.iter().flat_map(|word| {
        word.exceptions
            .iter()
            .filter(|exception| !exception.used)
            .map(|one| format!("{}: {}", word.pattern, one.path))
    });
    let unused: Vec<String> = unused.collect();
    ensure!(unused.is_empty(), "these exceptions of {LIST} are no longer needed:\n{}", unused.join("\n"));
    Ok(())
}

#[test]
fn a_retired_word_is_found_in_every_spelling() -> anyhow::Result<()> {
    let list = "# a comment\nwish|wishe[sd] => want\n  except old/*: names of then\nlet it go => resume\n";
    let words = || retired(list);
    for text in [
        "a wish",
        "struct WishList;",
        "fn wished_by()",
        "`wish`",
        "let old_wishes = 1;",
        "/// it was let\n/// it go",
        "row! { wish => 1 }",
        "r#\"a wish\"#",
        "/* outer /* a wish */ */",
    ] {
        let found = uses("src/new.rs", text, &mut words()?);
        ensure!(found.len() == 1 || text.contains("let\n"), "{text}: {found:?}");
    }
    ensure!(
        uses("a.rs", "x\n/// nobody may let it\n/// go now", &mut words()?)
            == ["a.rs:2: `let it go`: resume"]
    );
    ensure!(uses("src/wish_list.rs", "", &mut words()?) == ["src/wish_list.rs:0: `wish`: want"]);
    for text in ["wishful", "swish", "outlet it goes", "let it\n\ngone"] {
        ensure!(uses("a.rs", text, &mut words()?).is_empty(), "{text}");
    }
    let mut lawful = words()?;
    ensure!(uses("old/a.rs", "a wish", &mut lawful).is_empty() && lawful[0].exceptions[0].used);
    ensure!(text_of(b"a wish").is_some_and(|text| text.is_ok()) && text_of(b"PE\0\xff").is_none());
    ensure!(
        text_of(b"a \xff wish").is_some_and(|text| text.is_err_and(|invalid| invalid.valid_up_to() == 2))
    );
    ensure!(retired("wish").is_err() && retired("wish => want\n  except a.rs").is_err());
    Ok(())
}
