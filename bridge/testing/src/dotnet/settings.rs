//! Run settings (`.runsettings`), as VSTest and the runners that are bridged to it read them.
//!
//! Not here: the arguments of `dotnet test` ([`super::build::DotnetArguments`]).

use std::path::{Path, PathBuf};

use quick_xml::escape::escape;
use tandem_wire::Failure;
use tandem_workspace::bounded;

use super::build::{DotnetArguments, DotnetTest, DotnetTestKey, TestProject};
use crate::model::TestItem;
use crate::run::FrameworkRun;

/// A larger settings file is not read.
const MAX_SETTINGS: u64 = 1 << 20;

/// The settings file of a call, from `runsettings` or from the arguments of `dotnet test`. Its path is
/// relative to the project of the call, not to the working folder of a program.
pub(super) fn settings_file(run: &FrameworkRun<'_>) -> Option<PathBuf> {
    let in_arguments = || DotnetArguments::read(&run.options.arguments).settings;
    run.options.settings.clone().or_else(in_arguments).map(|file| run.project.folder.join(file))
}

/// The text of a settings file.
///
/// # Errors
/// `INVALID_PARAMETER` when it cannot be read.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    let bytes = bounded::read(file, MAX_SETTINGS).map_err(|error| {
        Failure::invalid(format!("the run settings `{}` cannot be read: {error}", file.display()))
            .hint("name the file in `runsettings`, with a path that begins at the project's folder")
    })?;
    Ok(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
}

/// The settings of a run: those of the person, what editors set, and other elements.
///
/// # Errors
/// `INVALID_PARAMETER` when a settings file cannot be read.
pub(super) fn of(run: &FrameworkRun<'_>, project: &TestProject, others: &str) -> Result<String, Failure> {
    let arguments = DotnetArguments::read(&run.options.arguments);
    let own = match settings_file(run).or_else(|| project.settings.clone()) {
        Some(file) => read(&file)?,
        None => "<RunSettings></RunSettings>".to_owned(),
    };
    let batch = "<BatchSize>1</BatchSize>";
    let mut configuration = format!(
        "<DesignMode>true</DesignMode><CollectSourceInformation>true</CollectSourceInformation>{batch}"
    );
    configuration.push_str(&format!(
        "<ResultsDirectory>{}</ResultsDirectory>",
        escape(run.scratch.display().to_string())
    ));
    for pair in &arguments.program {
        if let Some((name, value)) = pair.split_once('=')
            && let Some(name) = name.strip_prefix("RunConfiguration.")
        {
            configuration.push_str(&format!("<{name}>{}</{name}>", escape(value)));
        }
    }
    let collectors: String = arguments
        .collectors
        .iter()
        .map(|name| format!("<DataCollector friendlyName=\"{}\" enabled=\"True\"/>", escape(name)))
        .collect();
    let collectors = match collectors.is_empty() {
        true => String::new(),
        false => format!(
            "<DataCollectionRunSettings><DataCollectors>{collectors}</DataCollectors>\
             </DataCollectionRunSettings>"
        ),
    };
    Ok(merge_settings(&own, &configuration, &format!("{others}{collectors}")))
}

/// Settings with more elements: those of the person come last, and win.
fn merge_settings(own: &str, configuration: &str, others: &str) -> String {
    let inside = |text: &str, tag: &str, more: &str| -> Option<String> {
        let at = text.find(&format!("<{tag}"))?;
        let end = at + text.get(at..)?.find('>')?;
        let (head, tail) = (text.get(..end)?, text.get(end..)?);
        match head.strip_suffix('/') {
            Some(head) => Some(format!("{head}>{more}</{tag}{tail}")),
            None => Some(format!("{head}>{more}{}", tail.get(1..)?)),
        }
    };
    let filled = inside(own, "RunConfiguration", configuration);
    let wrapped =
        || inside(own, "RunSettings", &format!("<RunConfiguration>{configuration}</RunConfiguration>"));
    let text = filled.or_else(wrapped).unwrap_or_else(|| {
        format!("<RunSettings><RunConfiguration>{configuration}</RunConfiguration></RunSettings>")
    });
    match others.is_empty() {
        true => text,
        false => inside(&text, "RunSettings", others).unwrap_or(text),
    }
}

/// NUnit's own filter for these tests. Its runner does not find ids of tests with a quote in their arguments.
/// The filter drops spaces from the names that it compares, so a pattern names a test with spaces.
pub(super) fn nunit_where(tests: &[TestItem]) -> String {
    let quoted = |test: &TestItem| {
        let uid = test.handle.get::<DotnetTest>().and_then(|handle| match &handle.key {
            DotnetTestKey::Platform { uid, .. } => uid.as_str(),
            DotnetTestKey::Vstest(_) => None,
        });
        let uid = uid.unwrap_or_default();
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
        match uid.contains(char::is_whitespace) {
            true => format!("test =~ '{}'", quoted(&exact_pattern(uid))),
            false => format!("test == '{}'", quoted(uid)),
        }
    };
    let names: Vec<String> = tests.iter().map(quoted).collect();
    format!("<NUnit><Where>{}</Where></NUnit>", escape(names.join(" or ")))
}

/// A regular expression of .NET that matches this text only, and has no space.
fn exact_pattern(text: &str) -> String {
    let mut pattern = String::from("^");
    for letter in text.chars() {
        if letter.is_alphanumeric() || letter == '_' {
            pattern.push(letter);
        } else {
            let mut units = [0; 2];
            letter
                .encode_utf16(&mut units)
                .iter()
                .for_each(|unit| pattern.push_str(&format!("\\u{unit:04x}")));
        }
    }
    pattern + r"\z"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TestHandle;

    #[test]
    fn settings_of_a_person_are_kept() {
        let plain = merge_settings("<RunSettings></RunSettings>", "<A>1</A>", "<D/>");
        assert_eq!(plain, "<RunSettings><D/><RunConfiguration><A>1</A></RunConfiguration></RunSettings>");
        let own = "<?xml version=\"1.0\"?>\n<RunSettings>\n\
            <RunConfiguration><B>2</B></RunConfiguration></RunSettings>";
        assert!(
            merge_settings(own, "<A>1</A>", "")
                .contains("<RunConfiguration><A>1</A><B>2</B></RunConfiguration>")
        );
        assert!(
            merge_settings("<RunSettings/>", "<A/>", "")
                .contains("<RunSettings><RunConfiguration><A/></RunConfiguration></RunSettings>")
        );
    }

    #[test]
    fn names_with_quotes_and_spaces_are_exact_in_nunit_s_filter() {
        let test = |uid: &str| {
            let key = DotnetTestKey::Platform { uid: uid.into(), shown: String::new() };
            let handle = TestHandle::new(DotnetTest { project: TestProject::default(), key });
            TestItem { handle, ..TestItem::default() }
        };
        let expected = r#"test == 'R(&quot;a\\&quot;b&quot;,\&apos;c\&apos;)'"#;
        let filter = nunit_where(&[test(r#"R("a\"b",'c')"#), test("A.it's \"é\"")]);
        assert!(filter.contains(&expected.replace("'R", "&apos;R").replace(")'", ")&apos;")), "{filter}");
        let spaces = r"^A\\u002eit\\u0027s\\u0020\\u0022é\\u0022\\z";
        assert!(filter.contains(&format!(" or test =~ &apos;{spaces}&apos;")), "{filter}");
    }
}
