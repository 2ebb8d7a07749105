//! Tests that the sources of a package declare, and where: `go test` reports no place of a test that fails
//! without a message.

use std::path::Path;

use tandem_workspace::bounded;

use crate::results::TestPlace;

/// A larger source is not read.
const MAX_SOURCE: u64 = 8 << 20;
/// Sources of a package that are searched.
const MAX_SOURCES: usize = 1000;

/// The test that a line declares: `func TestX(t *testing.T)`, `func FuzzX`, an example that has an output.
pub(super) fn declared_test<'l>(line: &'l str, rest: &[&str]) -> Option<&'l str> {
    let name = line.strip_prefix("func ")?.split('(').next()?.trim();
    let is = |start: &str| {
        let after = name.strip_prefix(start)?;
        (!after.starts_with(|letter: char| letter.is_lowercase())).then_some(name)
    };
    let test = is("Test").filter(|name| *name != "TestMain").or_else(|| is("Fuzz"));
    let checked = || {
        let body = rest.iter().take_while(|line| **line != "}");
        body.into_iter().any(|line| line.trim_start().to_lowercase().replace(' ', "").contains("output:"))
    };
    test.or_else(|| is("Example").filter(|_| checked()))
}

/// The text of a source; empty if it cannot be read.
pub(super) fn source_text(file: &Path) -> String {
    String::from_utf8_lossy(&bounded::read(file, MAX_SOURCE).unwrap_or_default()).into_owned()
}

/// Where the function of a test is declared, in the sources of tests of this folder. A subtest has the place
/// of its test.
pub(super) fn find(folder: &Path, test: &str) -> Option<TestPlace> {
    let start = format!("func {}(", test.split('/').next().unwrap_or_default());
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut sources = files.filter(|file| file.to_string_lossy().ends_with("_test.go")).take(MAX_SOURCES);
    sources.find_map(|file| {
        let at = source_text(&file).lines().position(|line| line.starts_with(&start))?;
        Some((file.display().to_string(), u32::try_from(at + 1).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_what_go_takes_for_tests() {
        for (line, name) in [
            ("func TestAdds(t *testing.T) {", Some("TestAdds")),
            ("func Test_é(t *testing.T) {", Some("Test_é")),
            ("func Testing(t *testing.T) {", None),
            ("func TestMain(m *testing.M) {", None),
            ("func (s *S) TestX() {", None),
            ("func FuzzParse(f *testing.F) {", Some("FuzzParse")),
            ("func BenchmarkX(b *testing.B) {", None),
        ] {
            assert_eq!(declared_test(line, &[]), name, "{line}");
        }
        assert_eq!(
            declared_test("func ExampleA() {", &["func ExampleA() {", "\t// Output: 3", "}"]),
            Some("ExampleA")
        );
        assert_eq!(declared_test("func ExampleA() {", &["func ExampleA() {", "}", "// Output: 3"]), None);
    }

    #[test]
    fn a_subtest_has_the_place_of_its_function() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.go"), "func TestAdds() {}\n").unwrap();
        let file = folder.path().join("a_test.go");
        std::fs::write(&file, "package a\n\nfunc TestAddsAll() {}\nfunc TestAdds(t *testing.T) {}\n")
            .unwrap();
        let place = Some((file.display().to_string(), 4));
        assert_eq!(
            (find(folder.path(), "TestAdds/a_b"), find(folder.path(), "TestAdds")),
            (place.clone(), place)
        );
        assert_eq!(find(folder.path(), "TestOther"), None);
    }
}
