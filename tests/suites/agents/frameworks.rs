//! Tests of every framework, listed, run and debugged by an agent. Each has a project of the same dozen in
//! `fixtures/tests`: some pass, fail, throw, wait, have data with odd names, lack their fixture, are skipped,
//! print ten megabytes, read, hang or crash.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

mod suite;

use suite::{Extent, Suite};
pub(crate) use suite::{agent, finished, line};

/// For each framework two tests over one project: the first lists, runs and debugs, the second handles
/// every case.
macro_rules! framework_tests {
    ($($framework:ident: $core:ident $whole:ident)*) => { $(
        #[tokio::test]
        async fn $core() -> anyhow::Result<()> {
            $framework(Extent::Core).await
        }

        #[tokio::test]
        async fn $whole() -> anyhow::Result<()> {
            $framework(Extent::Whole).await
        }
    )* };
}

framework_tests! {
    pytest: tests_of_pytest_are_listed_run_and_debugged every_case_of_pytest_is_handled
    unittest: tests_of_unittest_are_listed_run_and_debugged every_case_of_unittest_is_handled
    cargo: tests_of_cargo_are_listed_run_and_debugged every_case_of_cargo_is_handled
    go: tests_of_go_are_listed_run_and_debugged every_case_of_go_is_handled
    minitest: tests_of_minitest_are_listed_run_and_debugged every_case_of_minitest_is_handled
    minitest_1_9_2: tests_of_minitest_are_listed_run_and_debugged_with_debug_1_9_2
        every_case_of_minitest_is_handled_with_debug_1_9_2
    rspec: tests_of_rspec_are_listed_run_and_debugged every_case_of_rspec_is_handled
    rspec_1_9_2: tests_of_rspec_are_listed_run_and_debugged_with_debug_1_9_2
        every_case_of_rspec_is_handled_with_debug_1_9_2
    googletest: tests_of_googletest_are_listed_run_and_debugged every_case_of_googletest_is_handled
    jest: tests_of_jest_are_listed_run_and_debugged every_case_of_jest_is_handled
    vitest: tests_of_vitest_are_listed_run_and_debugged every_case_of_vitest_is_handled
    mocha: tests_of_mocha_are_listed_run_and_debugged every_case_of_mocha_is_handled
    node: tests_of_node_s_own_runner_are_listed_run_and_debugged every_case_of_node_s_own_runner_is_handled
}

/// Projects of .NET, as set-up has built them.
async fn dotnet(name: &'static str) -> anyhow::Result<(Agent, Suite)> {
    let folder = fixture::dotnet_test_projects();
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.current_dir(&folder).envs(Runtime::Net10.environment().context("no .NET 10")?);
    let agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    let row = match name.split('-').next() {
        Some("xunit2" | "xunit3") => r#"Tests.CartTests.Rows(text: "a,b \"quoted\" (x) = y|z", number: 1)"#,
        Some("tunit") => r#"Tests.CartTests.Rows(a,b "quoted" (x) = y|z, 1)"#,
        _ => r#"Tests.CartTests.Rows("a,b \"quoted\" (x) = y|z",1)"#,
    };
    let says = match name.split('-').next() {
        Some("xunit2" | "xunit3") => "Expected: 4\nActual:   3",
        Some("tunit") => "Expected to be 4",
        Some("nunit") => "Expected: 4\n  But was:  3",
        _ => "expected: 4\nactual:   3",
    };
    // Two platforms run the same sources.
    let sources = match name {
        "xunit2" => "xunit3",
        "nunit-platform" => "nunit-vstest",
        "mstest-platform" => "mstest-vstest",
        name => name,
    };
    let suite = Suite {
        tool: "dotnet",
        arguments: json!({ "projectPath": name, "noBuild": true }),
        debug: json!({}),
        count: 13,
        sane: (json!({ "class": "CartTests" }), [10, 4, 5, 1]),
        fails: (
            "Tests.CartTests.Fails",
            folder.join(sources).join("CartTests.cs"),
            "fails",
            says,
            ("sum", "3"),
        ),
        row,
        hangs: ("Tests.BadTests.Hangs", json!({})),
        crashes: ("Tests.BadTests.Crashes", json!({})),
        reads: Some("Tests.CartTests.ReadsInput"),
    };
    Ok((agent, suite))
}

/// Tests that wait and throw stop where they do, though the frames have ended when the framework knows.
async fn check_stops_at_throws(agent: &mut Agent, suite: &Suite) -> anyhow::Result<()> {
    let folder = fixture::dotnet_test_projects();
    let (awaits, cart) = (suite.fails.1.clone(), folder.join("Cart.cs"));
    for (id, file, marker) in [
        ("Tests.CartTests.AwaitsAndFails", &awaits, "awaits"),
        ("Tests.CartTests.Throws", &cart, "throws"),
        ("Tests.CartTests.AwaitsAndThrows", &cart, "throws"),
    ] {
        let stop = suite.debug(agent, json!({ "filter": id })).await?;
        suite.is_stopped_at(&stop, file, marker)?;
        let name = if marker == "awaits" { ("sum", "3") } else { ("name", "\"melon\"") };
        let mut locals = stop["event"]["locals"].as_array().into_iter().flatten();
        ensure!(locals.any(|row| row["name"] == name.0 && row["value"] == name.1), "{stop:#}");
        agent.call("debug_disconnect", json!({})).await?;
    }
    Ok(())
}

async fn whole_of_dotnet(name: &'static str) -> anyhow::Result<()> {
    let (mut agent, suite) = dotnet(name).await?;
    suite.check(&mut agent, Extent::Whole).await?;
    check_stops_at_throws(&mut agent, &suite).await?;
    agent.finish().await
}

mod on_net10 {
    use super::*;

    #[tokio::test]
    async fn tests_of_xunit_v3_are_listed_and_run_on_their_own_platform() -> anyhow::Result<()> {
        let (mut agent, suite) = dotnet("xunit3").await?;
        suite.lists(&mut agent).await?;
        suite.runs(&mut agent).await?;
        agent.finish().await
    }

    #[tokio::test]
    async fn tests_of_xunit_v3_are_debugged_in_the_process_that_runs_them() -> anyhow::Result<()> {
        let (mut agent, suite) = dotnet("xunit3").await?;
        suite.debugs(&mut agent).await?;
        agent.finish().await
    }

    #[tokio::test]
    async fn tests_of_xunit_2_are_run_by_vstest_and_debugged_in_its_host() -> anyhow::Result<()> {
        let (mut agent, suite) = dotnet("xunit2").await?;
        let row = suite.run(&mut agent, json!({ "tests": [suite.row] })).await?;
        ensure!(row["tests"]["failed"] == 1 && row["tests"]["total"] == 1, "{row:#}");
        let (id, file, marker, ..) = &suite.fails;
        let stop = suite.debug(&mut agent, json!({ "filter": id })).await?;
        suite.is_stopped_at(&stop, file, marker)?;
        let end = agent.call("debug_continue", json!({})).await?;
        ensure!(end["event"]["tests"]["failed"] == 1 && end["event"]["exitCode"] == 1, "{end:#}");
        agent.finish().await
    }

    macro_rules! long_of_dotnet {
        ($($test:ident $name:literal)*) => { $(
            #[tokio::test]
            #[ignore = "long: a minute each; `./check --long` runs it"]
            async fn $test() -> anyhow::Result<()> {
                whole_of_dotnet($name).await
            }
        )* };
    }

    long_of_dotnet! {
        long_tests_of_xunit_v3_are_listed_run_and_debugged "xunit3"
        long_tests_of_xunit_2_are_listed_run_and_debugged "xunit2"
        long_tests_of_nunit_are_listed_run_and_debugged "nunit-vstest"
        long_tests_of_nunit_s_own_runner_are_listed_run_and_debugged "nunit-platform"
        long_tests_of_mstest_are_listed_run_and_debugged "mstest-vstest"
        long_tests_of_mstest_s_own_runner_are_listed_run_and_debugged "mstest-platform"
        long_tests_of_tunit_are_listed_run_and_debugged "tunit"
    }
}

async fn pytest(extent: Extent) -> anyhow::Result<()> {
    let project = fixture::test_project("pytest")?;
    let packages = fixture::python_packages().display().to_string();
    let mut agent = agent(project.path(), &[("PYTHONPATH", packages)]).await?;
    let suite = Suite {
        tool: "pytest",
        arguments: json!({}),
        debug: Subject::Python.with(json!({ "projectPath": "." })),
        count: 13,
        sane: (json!({ "filter": "not hangs and not crashes" }), [11, 4, 6, 1]),
        fails: (
            "tests/test_cart.py::test_fails",
            project.path().join("tests/test_cart.py"),
            "fails",
            "assert 3 == 4",
            ("sum", "3"),
        ),
        row: "tests/test_cart.py::test_rows[a,b \"quoted\" (x) = y|z-1]",
        hangs: ("tests/test_bad.py::test_hangs", json!({})),
        crashes: ("tests/test_bad.py::test_crashes", json!({})),
        reads: Some("tests/test_cart.py::test_reads_input"),
    };
    suite.check(&mut agent, extent).await?;
    agent.finish().await
}

async fn unittest(extent: Extent) -> anyhow::Result<()> {
    let project = fixture::test_project("unittest")?;
    let mut agent = agent(project.path(), &[]).await?;
    let suite = Suite {
        tool: "unittest",
        arguments: json!({ "projectPath": "." }),
        debug: Subject::Python.with(json!({})),
        count: 12,
        sane: (json!({ "file": "tests/test_cart.py" }), [10, 3, 6, 1]),
        fails: (
            "tests.test_cart.CartTests.test_fails",
            project.path().join("tests/test_cart.py"),
            "fails",
            "3 != 4",
            ("sum", "3"),
        ),
        row: "tests.test_cart.CartTests.test_rows",
        hangs: ("tests.test_bad.BadTests.test_hangs", json!({})),
        crashes: ("tests.test_bad.BadTests.test_crashes", json!({})),
        reads: Some("tests.test_cart.CartTests.test_reads_input"),
    };
    suite.check(&mut agent, extent).await?;
    agent.finish().await
}

async fn cargo(extent: Extent) -> anyhow::Result<()> {
    let project = fixture::test_project("cargo")?;
    let mut agent = agent(project.path(), &[]).await?;
    let suite = Suite {
        tool: "cargo",
        arguments: json!({}),
        debug: Subject::Lldb.with(json!({ "projectPath": "." })),
        count: 14,
        sane: (json!({ "class": "cart::tests" }), [8, 4, 3, 1]),
        fails: (
            "cart tests::fails",
            project.path().join("src/lib.rs"),
            "fails",
            "left: 3\n right: 4",
            ("sum", "3"),
        ),
        row: "cart tests::rows::a_1",
        hangs: ("cart::bad hangs", json!({})),
        crashes: ("cart::bad crashes", json!({})),
        reads: Some("cart tests::reads_input"),
    };
    suite.check(&mut agent, extent).await?;
    if extent == Extent::Core {
        return agent.finish().await;
    }
    // An example in the documentation, and an error that panics nowhere.
    let documented = suite.run(&mut agent, json!({ "tests": ["doc src/lib.rs - total (line 5)"] })).await?;
    ensure!(documented["tests"]["passed"] == 1, "{documented:#}");
    for (args, total) in [("--doc", 1), ("--lib", 10), ("--test bad", 0), ("--test bad bad -- --skip s", 0)] {
        let args: Vec<&str> = args.split(' ').collect();
        let ran = suite.run(&mut agent, json!({ "args": args, "filter": "t" })).await?;
        ensure!(ran["tests"]["total"].as_i64().unwrap_or(0) == total, "{args:?}: {ran:#}");
    }
    // A program without libtest is one test.
    for chosen in [json!({ "filter": "own main" }), json!({ "args": ["--test", "own"] })] {
        let passed = suite.run(&mut agent, chosen).await?;
        ensure!(passed["tests"]["passed"] == 1 && passed["tests"]["total"] == 1, "{passed:#}");
    }
    let own = json!({ "tests": ["cart::own main"], "env": { "OWN_FAILS": "1" } });
    let failed = suite.run(&mut agent, own).await?;
    let failure = &failed["tests"]["failures"][0];
    ensure!(failure["file"] == "tests/own.rs" && failure["line"] == 8, "{failure:#}");
    let own = json!({ "filter": "cart::own main", "env": { "OWN_FAILS": "1" } });
    let failed = suite.debug(&mut agent, own).await?;
    ensure!(failed["event"]["source"] == "assert_eq!(sum, 4, \"the total is wrong\");", "{failed:#}");
    let failed = suite.run(&mut agent, json!({ "tests": ["cart tests::returns_an_error"] })).await?;
    let failure = &failed["tests"]["failures"][0];
    ensure!(failure["file"] == "src/lib.rs" && failure["line"].is_u64(), "{failure:#}");
    let returned = suite.debug(&mut agent, json!({ "filter": "cart tests::returns_an_error" })).await?;
    ensure!(returned["event"]["outcome"] == "failed", "{returned:#}");
    ensure!(returned["message"].as_str().is_some_and(|text| text.contains("does not panic")), "{returned:#}");
    agent.finish().await
}

/// The environment of the tests' own Go, which uses neither the user's home nor a network.
pub(crate) fn go_environment() -> anyhow::Result<[(&'static str, String); 7]> {
    let go = fixture::tool("go");
    let folder = go.parent().context("no folder")?.display();
    Ok([
        ("PATH", format!("{folder}:{}", std::env::var("PATH")?)),
        ("GOCACHE", fixture::cache().join("go-build").display().to_string()),
        ("GOPATH", fixture::cache().join("home/go").display().to_string()),
        ("GOTOOLCHAIN", "local".into()),
        ("GOPROXY", "off".into()),
        ("GOFLAGS", "-buildvcs=false".into()),
        // The variables that Debian's Delve reads.
        ("GOEXPERIMENT", "nodwarf5".into()),
    ])
}

/// Ends the agent, and checks that no temporary file is left of its runs, except jest's cache and the folder
/// of live sessions.
async fn finish(agent: Agent, temporary: &Path) -> anyhow::Result<()> {
    agent.finish().await?;
    let left = std::fs::read_dir(temporary)?.flatten().map(|entry| entry.file_name());
    let is_kept = |name: &str| ["jest_", "tandem-"].iter().any(|prefix| name.starts_with(prefix));
    let left: Vec<_> = left.filter(|name| !is_kept(&name.to_string_lossy())).collect();
    ensure!(left.is_empty(), "{left:?} is left behind");
    Ok(())
}

async fn go(extent: Extent) -> anyhow::Result<()> {
    let project = fixture::test_project("go")?;
    let temporary = tempfile::tempdir()?;
    let folder = ("TMPDIR", temporary.path().display().to_string());
    let environment: Vec<_> = go_environment()?.into_iter().chain([folder]).collect();
    let mut agent = agent(project.path(), &environment).await?;
    let suite = Suite {
        tool: "go",
        arguments: json!({}),
        debug: Subject::Delve.with(json!({ "projectPath": "." })),
        count: 14,
        // A panic ends the program of its package, so this test is excluded.
        sane: (
            json!({ "filter": concat!(
                "^(TestAdds|TestFails|TestIsFatal|TestAwaitsAndFails|TestSkipped|TestRows|TestPrintsALot",
                "|TestReadsInput|TestNeedsFixture|ExampleTotal)$",
            ) }),
            [13, 6, 6, 1],
        ),
        fails: (
            "example.com/shop TestFails",
            project.path().join("cart_test.go"),
            "fails",
            "got 3, want 4",
            ("sum", "3"),
        ),
        row: r#"example.com/shop TestRows/a,b_"quoted"_(x)_=_y|z"#,
        hangs: ("example.com/shop TestHangs", json!({ "env": { "HANG": "1" } })),
        crashes: ("example.com/shop TestCrashes", json!({ "env": { "CRASH": "1" } })),
        reads: Some("example.com/shop TestReadsInput"),
    };
    suite.check(&mut agent, extent).await?;
    if extent == Extent::Core {
        return finish(agent, temporary.path()).await;
    }
    let throws = suite.debug(&mut agent, json!({ "filter": "example.com/shop TestThrows" })).await?;
    suite.is_stopped_at(&throws, &project.path().join("cart.go"), "throws")?;
    finish(agent, temporary.path()).await
}

async fn minitest(extent: Extent) -> anyhow::Result<()> {
    with_minitest(Subject::Rdbg, extent).await
}

async fn minitest_1_9_2(extent: Extent) -> anyhow::Result<()> {
    with_minitest(Subject::Rdbg192, extent).await
}

async fn with_minitest(subject: Subject, extent: Extent) -> anyhow::Result<()> {
    let project = fixture::test_project("minitest")?;
    let mut agent = agent(project.path(), &[]).await?;
    let suite = Suite {
        tool: "minitest",
        arguments: json!({ "projectPath": "." }),
        debug: subject.with(json!({})),
        count: 11,
        sane: (json!({ "file": "test/cart_test.rb" }), [9, 4, 4, 1]),
        fails: (
            "CartTest#test_fails",
            project.path().join("test/cart_test.rb"),
            "fails",
            "Expected: 4",
            ("sum", "3"),
        ),
        row: r#"CartTest#test_rows a,b "quoted" (x) = y|z"#,
        hangs: ("BadTest#test_hangs", json!({})),
        crashes: ("BadTest#test_crashes", json!({})),
        reads: Some("CartTest#test_reads_input"),
    };
    suite.check(&mut agent, extent).await?;
    if extent == Extent::Core {
        return agent.finish().await;
    }
    // Another exception is known after a first run.
    let throws = suite.debug(&mut agent, json!({ "filter": "CartTest#test_throws" })).await?;
    suite.is_stopped_at(&throws, &project.path().join("lib/cart.rb"), "throws")?;
    ensure!(throws["message"].as_str().is_some_and(|text| text.contains("run twice")), "{throws:#}");
    agent.finish().await
}

async fn rspec(extent: Extent) -> anyhow::Result<()> {
    with_rspec(Subject::Rdbg, extent).await
}

async fn rspec_1_9_2(extent: Extent) -> anyhow::Result<()> {
    with_rspec(Subject::Rdbg192, extent).await
}

async fn with_rspec(subject: Subject, extent: Extent) -> anyhow::Result<()> {
    let project = fixture::test_project("rspec")?;
    let mut agent = agent(project.path(), &[]).await?;
    let suite = Suite {
        tool: "rspec",
        arguments: json!({ "projectPath": "." }),
        debug: subject.with(json!({})),
        count: 11,
        sane: (json!({ "file": "spec/cart_spec.rb" }), [9, 4, 4, 1]),
        fails: (
            "spec/cart_spec.rb::Cart fails",
            project.path().join("spec/cart_spec.rb"),
            "fails",
            "expected: 4",
            ("sum", "3"),
        ),
        row: r#"spec/cart_spec.rb::Cart has the row a,b "quoted" (x) = y|z"#,
        hangs: ("spec/bad_spec.rb::Bad hangs", json!({})),
        crashes: ("spec/bad_spec.rb::Bad crashes", json!({})),
        reads: Some("spec/cart_spec.rb::Cart reads input"),
    };
    suite.check(&mut agent, extent).await?;
    agent.finish().await
}

async fn googletest(extent: Extent) -> anyhow::Result<()> {
    let project = fixture::test_project("googletest")?;
    let cmake = fixture::tool("cmake");
    let folder = cmake.parent().context("no folder")?.display();
    let mut agent =
        agent(project.path(), &[("PATH", format!("{folder}:{}", std::env::var("PATH")?))]).await?;
    let suite = Suite {
        tool: "cmake",
        arguments: json!({}),
        debug: Subject::Lldb.with(json!({ "projectPath": "." })),
        count: 13,
        sane: (json!({ "filter": "CartTest|CartRows|Fixture" }), [10, 4, 4, 2]),
        fails: (
            "cart CartTest.Fails",
            project.path().join("cart_test.cc"),
            "fails",
            "Which is: 3",
            ("sum", "3"),
        ),
        row: "cart All/CartRows.AreTwo/0",
        hangs: ("cart BadTest.Hangs", json!({})),
        crashes: ("cart BadTest.Crashes", json!({})),
        reads: Some("cart CartTest.ReadsInput"),
    };
    suite.check(&mut agent, extent).await?;
    if extent == Extent::Core {
        return agent.finish().await;
    }
    // An exception, and a test of ctest alone.
    let throws = suite.debug(&mut agent, json!({ "filter": "cart CartTest.Throws" })).await?;
    suite.is_stopped_at(&throws, &project.path().join("cart_test.cc"), "throws")?;
    let plain = suite.run(&mut agent, json!({ "filter": "plain" })).await?;
    ensure!(plain["tests"]["failures"][0]["name"] == "plain", "{plain:#}");
    agent.finish().await
}

/// A project of Node in its three shapes: the ids, and the words of the messages, differ little.
async fn tests_of_node(
    project: tempfile::TempDir,
    tool: &'static str,
    source: &str,
    (row, says): (&'static str, &'static str),
    ids: [&'static str; 4],
    sane: [u64; 4],
    extent: Extent,
) -> anyhow::Result<()> {
    let folder = project.path().canonicalize()?;
    let temporary = tempfile::tempdir()?;
    let mut agent = agent(&folder, &[("TMPDIR", temporary.path().display().to_string())]).await?;
    let [fails, hangs, crashes, reads] = ids;
    let suite = Suite {
        tool,
        arguments: json!({ "projectPath": "." }),
        debug: Subject::Js.with(json!({})),
        count: sane[0] + 2,
        sane: (json!({ "file": source }), sane),
        fails: (fails, folder.join(source), "fails", says, ("sum", "3")),
        row,
        hangs: (hangs, json!({})),
        crashes: (crashes, json!({})),
        reads: Some(reads).filter(|id| !id.is_empty()),
    };
    suite.check(&mut agent, extent).await?;
    if extent == Extent::Core {
        return finish(agent, temporary.path()).await;
    }
    let throws = suite.debug(&mut agent, json!({ "filter": fails.replace("fails", "throws") })).await?;
    let cart = ["src/cart.js", "src/cart.ts", "src/cart.mjs"].map(|name| folder.join(name));
    let cart = cart.iter().find(|file| file.is_file()).context("no cart")?;
    suite.is_stopped_at(&throws, cart, "throws")?;
    // The filter of the runner leaves out the other tests. A part of an id is none of its filters.
    for filter in ["adds", "Cart > adds"] {
        let part = suite.run(&mut agent, json!({ "filter": filter })).await?;
        ensure!(part["tests"]["passed"] == 1 && part["success"] == true, "{filter}: {part:#}");
    }
    // A filter that matches nothing, and an id that does not exist beside one that does.
    let none = suite.run(&mut agent, json!({ "filter": "no_such_test" })).await?;
    ensure!(none["error"]["code"] == "NOT_FOUND", "{none:#}");
    let ids = ["adds", "no_such_test"].map(|name| fails.replace("fails", name));
    let unknown = suite.run(&mut agent, json!({ "tests": ids })).await?;
    ensure!(unknown["error"]["code"] == "NOT_FOUND", "{unknown:#}");
    ensure!(unknown["tests"]["passed"] == 1, "{unknown:#}");
    // A configuration that cannot be read: neither a run nor a list succeeds without tests.
    if let Some(name) = configuration(tool) {
        std::fs::write(folder.join(name), "throw new Error('no settings');\n")?;
        for call in ["run_tests", "list_tests"] {
            let broken = suite::finished(&mut agent, call, json!({ "projectPath": "." })).await?;
            ensure!(broken["error"]["code"] == "BUILD_FAILED", "{call}: {broken:#}");
        }
        std::fs::remove_file(folder.join(name))?;
    }
    // A source that cannot be read.
    std::fs::write(folder.join(source), "// node:test\nconst = ;\n")?;
    let broken = suite.run(&mut agent, json!({ "file": source })).await?;
    ensure!(broken["error"]["code"] == "BUILD_FAILED", "{broken:#}");
    ensure!(broken["diagnostics"][source][0]["range"]["start"]["line"] == 1, "{broken:#}");
    finish(agent, temporary.path()).await
}

/// The file with the settings of a runner.
fn configuration(tool: &str) -> Option<&'static str> {
    let names = [("jest", "jest.config.js"), ("mocha", ".mocharc.cjs"), ("vitest", "vitest.config.mjs")];
    names.into_iter().find_map(|(name, file)| (name == tool).then_some(file))
}

/// jest and mocha have the same tests, and differ in the message of a failed check.
async fn javascript(name: &'static str, says: &'static str, extent: Extent) -> anyhow::Result<()> {
    let ids = [
        "test/cart.test.js > Cart > fails",
        "test/bad.test.js > Bad > hangs",
        "test/bad.test.js > Bad > crashes",
        "test/cart.test.js > Cart > reads input",
    ];
    let row = r#"test/cart.test.js > Cart > row a,b "quoted" (x) = y|z"#;
    let project = fixture::node_test_project(name)?;
    tests_of_node(project, name, "test/cart.test.js", (row, says), ids, [11, 4, 6, 1], extent).await
}

async fn jest(extent: Extent) -> anyhow::Result<()> {
    javascript("jest", "Expected: 4\nReceived: 3", extent).await
}

async fn mocha(extent: Extent) -> anyhow::Result<()> {
    javascript("mocha", "3 == 4", extent).await
}

async fn vitest(extent: Extent) -> anyhow::Result<()> {
    let ids = [
        "test/cart.test.ts > Cart > fails",
        "test/bad.test.ts > Bad > hangs",
        "test/bad.test.ts > Bad > crashes",
        "",
    ];
    let row = r#"test/cart.test.ts > Cart > row a,b "quoted" (x) = y|z"#;
    let project = fixture::node_test_project("vitest")?;
    tests_of_node(
        project,
        "vitest",
        "test/cart.test.ts",
        (row, "expected 3 to be 4"),
        ids,
        [10, 3, 6, 1],
        extent,
    )
    .await
}

async fn node(extent: Extent) -> anyhow::Result<()> {
    let ids = [
        "test/cart.test.mjs > Cart > fails",
        "test/bad.test.cjs > Bad > hangs",
        "test/bad.test.cjs > Bad > crashes",
        "test/cart.test.mjs > Cart > reads input",
    ];
    let row = r#"test/cart.test.mjs > Cart > row a,b "quoted" (x) = y|z"#;
    let project = fixture::test_project("node")?;
    tests_of_node(project, "node", "test/cart.test.mjs", (row, "3 !== 4"), ids, [11, 4, 6, 1], extent).await
}

/// The documentation's last table names the tests of each framework in its first. Neither side may lack one.
#[test]
fn every_row_of_the_table_in_the_documentation_has_its_tests() -> anyhow::Result<()> {
    let folder = fixture::root();
    let page = std::fs::read_to_string(folder.join("docs/testing-frameworks.md"))?;
    let own = std::fs::read_to_string(folder.join("tests/suites/agents/frameworks.rs"))?;
    let rows = |head: &str| {
        let rows = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
        rows.take_while(|line| line.starts_with('|')).collect::<Vec<_>>()
    };
    let framework = |row: &&str| row.split(" | ").next().unwrap_or_default().to_owned();
    let listed = rows("| framework | tests |");
    let described: Vec<String> = rows("| framework | id |").iter().map(framework).collect();
    ensure!(described == listed.iter().map(framework).collect::<Vec<_>>(), "the two tables differ");
    let mut named = Vec::new();
    for row in listed {
        let tests = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let tests: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        ensure!(!tests.is_empty(), "no test for {row}");
        for test in tests {
            let declared = [format!("fn {test}("), format!(": {test}"), format!("        {test} \"")];
            ensure!(declared.iter().any(|text| own.contains(text)), "there is no test `{test}`: {row}");
            named.push(test.to_owned());
        }
    }
    // The macros declare a test per line, after the name of its framework or before its project.
    let tests = own
        .lines()
        .map(str::trim)
        .filter(|line| line.contains(": tests_of_") || line.starts_with("long_tests_of_"));
    let tests = tests.map(|line| line.split_once(": ").map_or(line, |(_, test)| test));
    let whole = tests.filter(|name| name.contains("listed_run_and_debugged"));
    for name in whole.filter_map(|name| name.split(['(', ' ']).next()) {
        ensure!(named.iter().any(|known| known == name), "`{name}` is in no row of the table");
    }
    Ok(())
}
