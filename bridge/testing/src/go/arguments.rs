//! Arguments of `go test`, divided for `go test -c` and the test program that it builds, which knows the
//! flags of tests only by their long names (`-test.run`). Not here: running either ([`super`]).

/// Flags of tests, without values.
const TEST_SWITCHES: &[&str] = &["benchmem", "failfast", "fullpath", "short", "v", "artifacts"];
/// Flags of tests, with a value.
const TEST_VALUES: &[&str] = &[
    "bench",
    "benchtime",
    "blockprofile",
    "blockprofilerate",
    "count",
    "coverprofile",
    "cpu",
    "cpuprofile",
    "fuzz",
    "fuzzminimizetime",
    "fuzztime",
    "list",
    "memprofile",
    "memprofilerate",
    "mutexprofile",
    "mutexprofilefraction",
    "outputdir",
    "parallel",
    "run",
    "shuffle",
    "skip",
    "timeout",
    "trace",
];
/// Flags of the build, without values.
const BUILD_SWITCHES: &[&str] =
    &["a", "asan", "buildvcs", "cover", "linkshared", "modcacherw", "msan", "race", "trimpath", "work", "x"];
/// Flags of the build, with a value.
const BUILD_VALUES: &[&str] = &[
    "asmflags",
    "buildmode",
    "compiler",
    "covermode",
    "coverpkg",
    "gccgoflags",
    "gcflags",
    "installsuffix",
    "ldflags",
    "mod",
    "modfile",
    "overlay",
    "p",
    "pgo",
    "pkgdir",
    "tags",
    "toolexec",
    "vet",
];

/// Arguments of `go test`, by what takes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GoTestArguments {
    /// Flags that decide what is built, such as `-tags` and `-race`.
    pub build: Vec<String>,
    /// Flags of tests with their long names, and what the tests read themselves.
    pub program: Vec<String>,
}

impl GoTestArguments {
    /// Divides the arguments; what `go test` does not know, it passes to the program, as after `-args`.
    pub(super) fn read(words: &[String]) -> Self {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
                read.program.push(word.clone());
                continue;
            };
            let (name, is_complete) = flag.split_once('=').map_or((flag, false), |(name, _)| (name, true));
            let mut with_value = |list: &mut Vec<String>, word: String, takes_value: bool| {
                list.push(word);
                if takes_value && !is_complete {
                    list.extend(words.next().cloned());
                }
            };
            let is_one_of = |names: &[&str]| names.contains(&name);
            if name == "args" {
                read.program.extend(words.by_ref().cloned());
            } else if is_one_of(TEST_SWITCHES) || is_one_of(TEST_VALUES) {
                with_value(&mut read.program, format!("-test.{flag}"), is_one_of(TEST_VALUES));
            } else if is_one_of(BUILD_SWITCHES) || is_one_of(BUILD_VALUES) {
                with_value(&mut read.build, word.clone(), is_one_of(BUILD_VALUES));
            } else {
                read.program.push(word.clone());
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_go_test_go_to_the_build_or_to_the_test_program() {
        let read = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let GoTestArguments { build, program } = GoTestArguments::read(&words);
            (build.join(" "), program.join(" "))
        };
        for (given, build, program) in [
            ("-v -count=1", "", "-test.v -test.count=1"),
            ("-run TestA/b --bench . -benchmem", "", "-test.run TestA/b -test.bench . -test.benchmem"),
            ("-race -tags=a,b -tags c", "-race -tags=a,b -tags c", ""),
            ("-test.v -word=hi -flag x", "", "-test.v -word=hi -flag x"),
            ("-short -args -race -run", "", "-test.short -race -run"),
            ("-tags", "-tags", ""),
        ] {
            assert_eq!(read(given), (build.to_owned(), program.to_owned()), "{given}");
        }
    }
}
