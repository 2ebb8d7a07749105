//! Tests that expect exceptions and pass: when debugged, they do not stop at any exception.
//!
//! Not here: tests that fail ([`super::frameworks`]).

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::fixture;

use super::frameworks::{agent, finished, go_environment, line};
use super::test_projects;

/// Adds a source to a copy of a project, and debugs its one test.
async fn expect_no_stop(
    project: tempfile::TempDir,
    (path, text): (&str, &str),
    filter: impl Into<Option<&str>>,
    subject: Subject,
) -> anyhow::Result<()> {
    let folder = project.path().canonicalize()?;
    std::fs::write(folder.join(path), text)?;
    let packages = fixture::python_packages().display().to_string();
    let environment: &[(&str, String)] = match subject {
        Subject::Python => &[("PYTHONPATH", packages)],
        _ => &[],
    };
    let mut agent = agent(&folder, environment).await?;
    let arguments = subject.with(json!({ "projectPath": ".", "filter": filter.into() }));
    let ended = finished(&mut agent, "debug_launch_test", arguments).await?;
    ensure!(ended["state"] == "exited" && ended["event"]["outcome"] == "passed", "{ended:#}");
    ensure!(ended["event"]["tests"]["passed"] == 1 && ended["event"]["exitCode"] == 0, "{ended:#}");
    ensure!(ended["message"] == Value::Null && ended["event"]["error"] == Value::Null, "{ended:#}");
    agent.finish().await
}

#[tokio::test]
async fn with_pytest() -> anyhow::Result<()> {
    let text = "import contextlib\n\nimport pytest\nfrom cart import price\n\n\ndef test_expects():\n    \
                with pytest.raises(ValueError):\n        price(\"melon\")\n    \
                with contextlib.suppress(ValueError):\n        int(\"x\")\n";
    let project = fixture::test_project("pytest")?;
    expect_no_stop(project, ("tests/test_expects.py", text), "test_expects", Subject::Python).await
}

#[tokio::test]
async fn with_unittest() -> anyhow::Result<()> {
    let text = "import unittest\n\nfrom cart import price\n\n\nclass Expects(unittest.TestCase):\n    \
                def test_expects(self):\n        with self.assertRaises(ValueError):\n            \
                price(\"melon\")\n        \
                self.assertRaises(ValueError, int, \"x\")\n";
    let project = fixture::test_project("unittest")?;
    expect_no_stop(project, ("tests/test_expects.py", text), "test_expects", Subject::Python).await
}

#[tokio::test]
async fn with_minitest() -> anyhow::Result<()> {
    let text = "require \"minitest/autorun\"\nrequire \"cart\"\n\n\
        class ExpectsTest < Minitest::Test\n  def test_expects\n    \
                assert_raises(ArgumentError) { Cart.price(\"melon\") }\n    assert_raises(ArgumentError) { \
                Integer(\"x\") }\n  end\nend\n";
    for subject in [Subject::Rdbg, Subject::Rdbg192] {
        let project = fixture::test_project("minitest")?;
        expect_no_stop(project, ("test/expects_test.rb", text), "ExpectsTest#test_expects", subject).await?;
    }
    Ok(())
}

#[tokio::test]
async fn with_rspec() -> anyhow::Result<()> {
    let text = "RSpec.describe \"Expects\" do\n  it \"refuses text\" do\n    \
                expect { Integer(\"x\") }.to raise_error(ArgumentError)\n  end\nend\n";
    for subject in [Subject::Rdbg, Subject::Rdbg192] {
        let project = fixture::test_project("rspec")?;
        expect_no_stop(project, ("spec/expects_spec.rb", text), "refuses text", subject).await?;
    }
    Ok(())
}

#[tokio::test]
async fn with_jest() -> anyhow::Result<()> {
    let text = "test(\"expects\", async () => {\n  expect(() => { throw new Error(\"x\"); \
        }).toThrow(\"x\");\n  \
                await expect((async () => { throw new Error(\"y\"); })()).rejects.toThrow(\"y\");\n});\n";
    let project = fixture::node_test_project("jest")?;
    expect_no_stop(project, ("test/expects.test.js", text), "test/expects.test.js > expects", Subject::Js)
        .await
}

#[tokio::test]
async fn with_vitest() -> anyhow::Result<()> {
    let text = "import { expect, test } from \"vitest\";\n\ntest(\"expects\", async () => {\n  \
                expect(() => { throw new Error(\"x\"); }).toThrow(\"x\");\n  \
                await expect((async () => { throw new Error(\"y\"); })()).rejects.toThrow(\"y\");\n});\n";
    let project = fixture::node_test_project("vitest")?;
    expect_no_stop(project, ("test/expects.test.ts", text), "test/expects.test.ts > expects", Subject::Js)
        .await
}

/// The name selects tests in each file; in another one a suite's hook fails, which Node 20 runs although none
/// of its tests is selected.
#[tokio::test]
async fn with_node_s_own_runner() -> anyhow::Result<()> {
    let text = "import assert from \"node:assert\";\nimport test from \"node:test\";\n\n\
        test(\"expects\", async () => {\n  \
                assert.throws(() => { throw new Error(\"x\"); });\n  \
                await assert.rejects(async () => { throw new Error(\"y\"); });\n});\n";
    let project = fixture::test_project("node")?;
    expect_no_stop(project, ("test/expects.test.mjs", text), "expects", Subject::Js).await
}

/// A project of Rust that has these functions for tests.
fn of_rust(functions: &str) -> anyhow::Result<tempfile::TempDir> {
    let project = fixture::test_project("cargo")?;
    std::fs::remove_dir_all(project.path().join("tests"))?;
    std::fs::write(project.path().join("src/lib.rs"), functions)?;
    // The manifest names a test in that folder.
    let manifest = std::fs::read_to_string(project.path().join("Cargo.toml"))?;
    let package = manifest.split("[[test]]").next().unwrap_or_default();
    std::fs::write(project.path().join("Cargo.toml"), package)?;
    Ok(project)
}

const PANICS: &str = "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n\n\
    #[test]\n#[should_panic]\nfn panics() {\n    panic!(\"melon\");\n}\n\n\
    #[test]\n#[should_panic(expected = \"plum\")]\nfn panics_with_words() {\n    panic!(\"no plum\");\n}\n";

/// All tests of the project, or those that match part of a name.
#[tokio::test]
async fn with_should_panic() -> anyhow::Result<()> {
    for (filter, passed) in [(None, 3), (Some("panics"), 2), (Some("cart panics"), 1)] {
        let project = of_rust(PANICS)?;
        let mut agent = agent(project.path(), &[]).await?;
        let arguments = Subject::Lldb.with(json!({ "projectPath": ".", "filter": filter }));
        let ended = finished(&mut agent, "debug_launch_test", arguments).await?;
        ensure!(ended["state"] == "exited" && ended["event"]["outcome"] == "passed", "{filter:?}: {ended:#}");
        ensure!(ended["event"]["tests"]["passed"] == passed, "{filter:?}: {ended:#}");
        ensure!(ended["message"] == Value::Null && ended["event"]["error"] == Value::Null, "{ended:#}");
        agent.finish().await?;
    }
    Ok(())
}

/// A panic with another message than the test expects fails the test: there it stops. A test that does not
/// panic has no place to stop at.
#[tokio::test]
async fn other_panics_than_expected_stop() -> anyhow::Result<()> {
    let text = format!(
        "{PANICS}\n#[test]\n#[should_panic(expected = \"plum\")]\n\
            fn wrong() {{\n    panic!(\"no melon\"); // BP wrong\n}}\n\n\
         #[test]\n#[should_panic]\nfn quiet() {{}}\n"
    );
    let project = of_rust(&text)?;
    let mut agent = agent(project.path(), &[]).await?;
    let arguments = |filter| Subject::Lldb.with(json!({ "projectPath": ".", "filter": filter }));
    let stop = finished(&mut agent, "debug_launch_test", arguments("wrong")).await?;
    let source = project.path().join("src/lib.rs");
    ensure!(stop["event"]["line"].as_u64() == Some(line(&source, "wrong")?), "{stop:#}");
    ensure!(stop["event"]["message"].as_str().is_some_and(|text| text.ends_with("no melon")), "{stop:#}");
    agent.call("debug_disconnect", json!({})).await?;
    let quiet = finished(&mut agent, "debug_launch_test", arguments("quiet")).await?;
    ensure!(quiet["event"]["outcome"] == "failed", "{quiet:#}");
    ensure!(quiet["message"].as_str().is_some_and(|text| text.contains("should panic")), "{quiet:#}");
    agent.finish().await
}

#[tokio::test]
async fn with_googletest() -> anyhow::Result<()> {
    let text = "#include <gtest/gtest.h>\n\n#include <cstdlib>\n#include <stdexcept>\n\n\
                static int price() { throw std::invalid_argument(\"melon\"); }\n\n\
                TEST(Expects, Throws) {\n  EXPECT_THROW(price(), std::invalid_argument);\n  \
                ASSERT_ANY_THROW(price());\n}\n\n\
                TEST(Expects, Catches) {\n  try {\n    price();\n  } catch (const std::exception&) {\n  }\n\
                }\n\n\
                TEST(ExpectsDeathTest, Dies) {\n  EXPECT_DEATH(std::abort(), \"\");\n  \
                EXPECT_EXIT(std::exit(3), testing::ExitedWithCode(3), \"\");\n}\n\n\
                TEST(ExpectsDeathTest, DiesAlone) {\n  GTEST_FLAG_SET(death_test_style, \"threadsafe\");\n  \
                EXPECT_DEATH(std::abort(), \"\");\n}\n";
    let project = fixture::test_project("googletest")?;
    std::fs::write(project.path().join("cart_test.cc"), text)?;
    let cmake = fixture::tool("cmake");
    let folder = cmake.parent().context("no folder")?.display();
    let path = format!("{folder}:{}", std::env::var("PATH")?);
    let mut agent = agent(project.path(), &[("PATH", path)]).await?;
    let arguments = Subject::Lldb.with(json!({ "projectPath": ".", "filter": "Expects" }));
    let ended = finished(&mut agent, "debug_launch_test", arguments).await?;
    ensure!(ended["state"] == "exited" && ended["event"]["outcome"] == "passed", "{ended:#}");
    ensure!(ended["event"]["tests"]["passed"] == 4, "{ended:#}");
    agent.finish().await
}

#[tokio::test]
async fn with_recover_of_go() -> anyhow::Result<()> {
    let text = "package shop\n\nimport \"testing\"\n\nfunc TestExpects(t *testing.T) {\n\tdefer func() {\n\
        \t\t\
                if recover() == nil {\n\t\t\tt.Error(\"no panic\")\n\t\t}\n\t}()\n\tpanic(\"melon\")\n}\n";
    let project = fixture::test_project("go")?;
    std::fs::write(project.path().join("expects_test.go"), text)?;
    let mut agent = agent(project.path(), &go_environment()?).await?;
    let arguments = Subject::Delve.with(json!({ "projectPath": ".", "filter": "TestExpects" }));
    let ended = finished(&mut agent, "debug_launch_test", arguments).await?;
    ensure!(ended["state"] == "exited" && ended["event"]["outcome"] == "passed", "{ended:#}");
    ensure!(ended["event"]["tests"]["passed"] == 1, "{ended:#}");
    agent.finish().await
}

const OWN: &str = "namespace Tests;

static class Own
{
    public static int Price(string name) => throw new ArgumentException(\"no price for \" + name);

    public static async Task<int> PriceLater(string name)
    {
        await Task.Yield();
        return Price(name);
    }
}
";

/// Checks expected exceptions of .NET tests with each framework's assertion, for
/// net10.0. It runs the whole class.
async fn of_dotnet(packages: &[(&str, &str)], more: &str, tests: &str) -> anyhow::Result<()> {
    let properties = format!("<TargetFramework>net10.0</TargetFramework>{more}");
    let folder = test_projects::project("expects", &properties, packages, tests)?;
    std::fs::write(folder.path().join("Own.cs"), OWN)?;
    let mut agent = test_projects::agent(folder.path()).await?;
    let ended = finished(&mut agent, "debug_launch_test", json!({})).await?;
    ensure!(ended["state"] == "exited" && ended["event"]["outcome"] == "passed", "{ended:#}");
    ensure!(ended["event"]["tests"]["passed"] == 2 && ended["message"] == Value::Null, "{ended:#}");
    agent.finish().await
}

mod on_net10 {
    use super::*;

    /// Delegates of any type, which are called by reflection.
    #[tokio::test]
    async fn with_nunit() -> anyhow::Result<()> {
        let packages =
            [("Microsoft.NET.Test.Sdk", "18.11.0"), ("NUnit", "5.0.0"), ("NUnit3TestAdapter", "6.3.1")];
        let tests = "using NUnit.Framework;\n\nnamespace Tests;\n\npublic class Expects\n{\n\
            [Test]\npublic void AtOnce()\n{\n\
            Assert.That(() => Own.Price(\"melon\"), Throws.ArgumentException);\n\
            Assert.That(() => { Own.Price(\"melon\"); }, Throws.TypeOf<ArgumentException>());\n\
            Assert.That(() => int.Parse(\"x\"), Throws.Exception.With.Message.Contains(\"x\"));\n\
            Action action = () => Own.Price(\"plum\");\nAssert.That(action, \
            Throws.InstanceOf<Exception>());\n\
            Assert.Throws<ArgumentException>(() => Own.Price(\"melon\"));\n\
            Assert.Catch(() => Own.Price(\"melon\"));\n}\n\n\
            [Test]\npublic void Later()\n{\n\
            Assert.That(async () => await Own.PriceLater(\"melon\"), Throws.ArgumentException);\n\
            Assert.ThrowsAsync<ArgumentException>(async () => await Own.PriceLater(\"melon\"));\n}\n}\n";
        of_dotnet(&packages, "", tests).await
    }

    #[tokio::test]
    async fn with_xunit_v3() -> anyhow::Result<()> {
        let tests = "using Xunit;\n\nnamespace Tests;\n\npublic class Expects\n{\n\
            [Fact]\npublic void AtOnce()\n{\n\
            Assert.Throws<ArgumentException>(() => { Own.Price(\"melon\"); });\n\
            Assert.ThrowsAny<Exception>(() => int.Parse(\"x\"));\n\
            Assert.NotNull(Record.Exception(() => { Own.Price(\"melon\"); }));\n}\n\n\
            [Fact]\npublic async Task Later()\n{\n\
            await Assert.ThrowsAsync<ArgumentException>(() => Own.PriceLater(\"melon\"));\n}\n}\n";
        of_dotnet(&[("xunit.v3", "4.0.2")], "<OutputType>Exe</OutputType>", tests).await
    }

    #[tokio::test]
    async fn with_mstest() -> anyhow::Result<()> {
        let packages = [
            ("Microsoft.NET.Test.Sdk", "18.11.0"),
            ("MSTest.TestFramework", "4.5.2"),
            ("MSTest.TestAdapter", "4.5.2"),
        ];
        let tests = "using Microsoft.VisualStudio.TestTools.UnitTesting;\n\nnamespace Tests;\n\n\
            [TestClass]\npublic class Expects\n{\n\
            [TestMethod]\npublic void AtOnce()\n{\n\
            Assert.Throws<Exception>(() => Own.Price(\"melon\"));\n\
            Assert.ThrowsExactly<ArgumentException>(() => Own.Price(\"melon\"));\n}\n\n\
            [TestMethod]\npublic async Task Later()\n{\n\
            await Assert.ThrowsAsync<ArgumentException>(() => Own.PriceLater(\"melon\"));\n}\n}\n";
        of_dotnet(&packages, "", tests).await
    }

    #[tokio::test]
    async fn with_tunit() -> anyhow::Result<()> {
        let packages = [("TUnit.Engine", "1.81.10"), ("TUnit.Assertions", "1.81.10")];
        let tests = "using TUnit.Core;\nusing TUnit.Assertions;\nusing TUnit.Assertions.Extensions;\n\n\
            namespace Tests;\n\npublic class Expects\n{\n\
            [Test]\npublic async Task AtOnce()\n{\n\
            await Assert.That(() => { Own.Price(\"melon\"); }).Throws<ArgumentException>();\n}\n\n\
            [Test]\npublic async Task Later()\n{\n\
            await Assert.ThrowsAsync<ArgumentException>(() => Own.PriceLater(\"melon\"));\n}\n}\n";
        of_dotnet(&packages, "<OutputType>Exe</OutputType>", tests).await
    }
}
