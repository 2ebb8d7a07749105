//! Tests of .NET as they lie in real folders: projects of a solution that share the names of their tests, a
//! project for two target frameworks, settings files, and assertions that fail together.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use super::editor_tests;
use super::frameworks::{finished, line};
use tandem_harness::projects::{refused, restores_from_the_feed, says};

/// An agent in a folder, whose SDK leaves nothing in the user's home.
pub(crate) async fn agent(folder: &Path) -> anyhow::Result<Agent> {
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.current_dir(folder).envs(Runtime::Net10.environment().context("no .NET 10")?);
    // Tests for another version than the newest run on that.
    command.env_remove("DOTNET_ROLL_FORWARD").env("HOME", fixture::cache().join("home"));
    Agent::spawn("agent", command, &Transcript::default()).await
}

/// A solution of these projects of `fixtures/tests/dotnet`, as set-up has built them.
fn solution(projects: &[&str]) -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let built = fixture::dotnet_test_projects();
    let mut text = String::from("<Solution>\n");
    for name in projects {
        std::os::unix::fs::symlink(built.join(name), folder.path().join(name))?;
        text.push_str(&format!("  <Project Path=\"{name}/{name}.csproj\" />\n"));
    }
    let properties = "Directory.Build.props";
    std::os::unix::fs::symlink(built.join(properties), folder.path().join(properties))?;
    std::fs::write(folder.path().join("all.slnx"), text + "</Solution>\n")?;
    // `dotnet test` would not run tests of VSTest then.
    let runner = json!({ "test": { "runner": "Microsoft.Testing.Platform" } });
    std::fs::write(folder.path().join("global.json"), runner.to_string())?;
    Ok(folder)
}

/// The same solution in the older format (`.sln`).
fn older(folder: &Path, projects: &[&str]) -> anyhow::Result<()> {
    let mut text = String::from("Microsoft Visual Studio Solution File, Format Version 12.00\n");
    let (mut configured, own) = (String::new(), "Debug|Any CPU");
    for (number, name) in projects.iter().enumerate() {
        let id = format!("{{11111111-2222-3333-4444-55555555555{number}}}");
        text.push_str(&format!(
            "Project(\"{{FAE04EC0-301F-11D3-BF4B-00C04F79EFBC}}\") = \"{name}\", \"{name}\\{name}.csproj\", \
                \"{id}\"\nEndProject\n"
        ));
        configured.push_str(&format!("{id}.{own}.ActiveCfg = {own}\n{id}.{own}.Build.0 = {own}\n"));
    }
    text.push_str(&format!(
        "Global\nGlobalSection(SolutionConfigurationPlatforms) = preSolution\n{own} = {own}\n\
            EndGlobalSection\n\
         GlobalSection(ProjectConfigurationPlatforms) = postSolution\n{configured}EndGlobalSection\n\
         EndGlobal\n"
    ));
    std::fs::remove_file(folder.join("all.slnx"))?;
    Ok(std::fs::write(folder.join("all.sln"), text)?)
}

/// A project of tests with this text, for these target frameworks.
pub(crate) fn project(
    name: &str,
    frameworks: &str,
    packages: &[(&str, &str)],
    text: &str,
) -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    restores_from_the_feed(folder.path())?;
    let references: String = packages
        .iter()
        .map(|(name, version)| format!("<PackageReference Include=\"{name}\" Version=\"{version}\" />"))
        .collect();
    let properties = format!(
        "{frameworks}<ImplicitUsings>enable</ImplicitUsings><RunAnalyzers>false</RunAnalyzers>\
         <InvariantGlobalization>true</InvariantGlobalization><NoWarn>NU1603</NoWarn>"
    );
    let written = format!(
        "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup>{properties}</PropertyGroup>\
         <ItemGroup>{references}</ItemGroup></Project>"
    );
    std::fs::write(folder.path().join(format!("{name}.csproj")), written)?;
    std::fs::write(folder.path().join("Tests.cs"), text)?;
    Ok(folder)
}

/// The projects of these rows, in the order of the alphabet.
fn projects(rows: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        rows.as_array().into_iter().flatten().filter_map(|row| row["project"].as_str()).collect();
    names.sort_unstable();
    names
}

const TWO_FRAMEWORKS: &str = "using Microsoft.VisualStudio.TestTools.UnitTesting;

namespace Tests;

[TestClass]
public class Own
{
    public TestContext TestContext { get; set; }

    [TestMethod]
    public void Version()
    {
        int major = Environment.Version.Major;
        Assert.AreEqual(0, major); // BP version
    }

    [TestMethod]
    public void Settings() => Assert.AreEqual(\"nowhere\", TestContext.Properties[\"city\"]);
}
";

const SETTINGS: &str = "<RunSettings><TestRunParameters><Parameter name=\"city\" value=\"Pisa\" />\
    </TestRunParameters></RunSettings>\n";

const TOGETHER: &str = "using NUnit.Framework;

namespace Tests;

public class Own
{
    [Test]
    public void Several()
    {
        int sum = 3;
        Assert.Multiple(() => // BP several
        {
            Assert.That(sum, Is.EqualTo(4));
            Assert.That(sum, Is.EqualTo(5));
        });
    }

    [Test]
    public void Throws()
    {
        string name = \"melon\";
        Assert.Multiple(() =>
        {
            Assert.That(name, Is.EqualTo(\"plum\"));
            throw new InvalidOperationException(\"no \" + name); // BP throws
        });
    }

    [Test]
    public void Scoped()
    {
        int sum = 3;
        using (Assert.EnterMultipleScope())
        {
            Assert.That(sum, Is.EqualTo(4));
            Assert.That(sum, Is.EqualTo(5));
        } // BP scoped
    }
}
";

mod on_net10 {
    use super::*;

    #[tokio::test]
    async fn tests_of_a_solution_are_told_apart_by_their_project() -> anyhow::Result<()> {
        let names = ["mstest-platform", "nunit-vstest", "xunit3"];
        let folder = solution(&names)?;
        let mut agent = agent(folder.path()).await?;
        let list = json!({ "noBuild": true, "filter": "Tests.CartTests.Adds" });
        let same = finished(&mut agent, "list_tests", list).await?;
        let files = names.map(|name| format!("{name}/{name}.csproj"));
        ensure!(same["total"] == 3 && projects(&same["tests"]) == files, "{same:#}");
        // Traits of each framework; a name that one project alone has needs no more.
        let slow =
            finished(&mut agent, "list_tests", json!({ "noBuild": true, "filter": "TestCategory=slow" }))
                .await?;
        ensure!(slow["total"] == 4 && slow["tests"][0]["traits"] == json!(["slow"]), "{slow:#}");
        for (chosen, total, failed) in [
            (json!({ "trait": "slow" }), 6, 3),
            (json!({ "trait": ["speed=slow"] }), 2, 1),
            (json!({ "file": "xunit3/CartTests.cs", "filter": "Tests.CartTests.Fails" }), 1, 1),
            (json!({ "tests": ["Tests.CartTests.Rows(text: \"é&~!\", number: 2)"] }), 1, 0),
        ] {
            let mut arguments = chosen.clone();
            arguments["noBuild"] = json!(true);
            let ran = finished(&mut agent, "run_tests", arguments).await?;
            ensure!(ran["tests"]["total"] == total && ran["tests"]["failed"] == failed, "{chosen}: {ran:#}");
        }
        let all = json!({ "noBuild": true, "tests": ["Tests.CartTests.Fails"] });
        let ran = finished(&mut agent, "run_tests", all).await?;
        ensure!(ran["tests"]["failed"] == 3 && projects(&ran["tests"]["failures"]) == files, "{ran:#}");
        let wrong = json!({ "noBuild": true, "framework": "net8.0" });
        let none = finished(&mut agent, "run_tests", wrong).await?;
        ensure!(none["error"]["code"] == "NOT_FOUND", "{none:#}");
        ensure!(none["error"]["hint"] == "`framework` may be net10.0", "{none:#}");
        agent.finish().await
    }

    #[tokio::test]
    async fn tests_of_a_solution_are_debugged_one_project_after_the_other() -> anyhow::Result<()> {
        let names = ["nunit-vstest", "xunit3"];
        let folder = solution(&names)?;
        older(folder.path(), &names)?;
        let mut agent = agent(folder.path()).await?;
        let arguments =
            json!({ "projectPath": "all.sln", "noBuild": true, "filter": "Tests.CartTests.Fails" });
        let mut stop = finished(&mut agent, "debug_launch_test", arguments).await?;
        for name in names {
            let source = fixture::dotnet_test_projects().join(name).join("CartTests.cs");
            ensure!(stop["state"] == "stopped" && stop["event"]["file"] == json!(source), "{stop:#}");
            ensure!(stop["event"]["line"].as_u64() == Some(line(&source, "fails")?), "{stop:#}");
            stop = finished(&mut agent, "debug_continue", json!({})).await?;
        }
        let tests = &stop["event"]["tests"];
        ensure!(stop["state"] == "exited" && tests["failed"] == 2, "{stop:#}");
        let files = names.map(|name| format!("{name}/{name}.csproj"));
        ensure!(projects(&tests["failures"]) == files, "{stop:#}");
        agent.finish().await?;
        // In an editor a person chooses one of them.
        let launch = json!({ "program": folder.path().join("all.sln"), "noBuild": true });
        let events = refused(Runtime::Net10, launch).await?;
        let expected = "only projects of tests: nunit-vstest/nunit-vstest.csproj, xunit3/xunit3.csproj";
        says(&events, "LAUNCH_FAILED", expected);
        ensure!(events["data"]["programs"].as_array().is_some_and(|all| all.len() == 2), "{events}");
        Ok(())
    }

    /// A filter must be named; the folder is still the solution's.
    #[tokio::test]
    async fn tests_of_a_solution_filter_are_those_of_its_projects() -> anyhow::Result<()> {
        let folder = solution(&["nunit-vstest", "xunit3"])?;
        let filter = |projects: &[&str]| json!({ "solution": { "path": "all.slnx", "projects": projects } });
        let some = filter(&["xunit3/xunit3.csproj"]);
        std::fs::write(folder.path().join("some.slnf"), some.to_string())?;
        let mut agent = agent(folder.path()).await?;
        let arguments = |more: Value| {
            let mut arguments = json!({ "noBuild": true, "filter": "Tests.CartTests.Fails" });
            more.as_object().into_iter().flatten().for_each(|(key, value)| arguments[key] = value.clone());
            arguments
        };
        let both = finished(&mut agent, "list_tests", arguments(json!({}))).await?;
        ensure!(both["total"] == 2, "{both:#}");
        let one = arguments(json!({ "projectPath": "some.slnf" }));
        let listed = finished(&mut agent, "list_tests", one.clone()).await?;
        let source = fixture::dotnet_test_projects().join("xunit3/CartTests.cs");
        ensure!(listed["total"] == 1 && listed["tests"][0]["file"] == json!(source), "{listed:#}");
        let ran = finished(&mut agent, "run_tests", one.clone()).await?;
        ensure!(ran["tests"]["failed"] == 1 && ran["tests"]["total"] == 1, "{ran:#}");
        let stop = finished(&mut agent, "debug_launch_test", one).await?;
        ensure!(stop["event"]["line"].as_u64() == Some(line(&source, "fails")?), "{stop:#}");
        agent.call("debug_disconnect", json!({})).await?;
        // A project that is not in the solution.
        let wrong = filter(&["tunit/tunit.csproj"]);
        std::fs::write(folder.path().join("some.slnf"), wrong.to_string())?;
        let broken = finished(&mut agent, "list_tests", json!({ "projectPath": "some.slnf" })).await?;
        ensure!(broken["error"]["code"] == "BUILD_FAILED", "{broken:#}");
        ensure!(broken.to_string().contains("tunit.csproj"), "{broken:#}");
        agent.finish().await
    }

    #[tokio::test]
    async fn settings_lie_beside_the_solution_and_are_refused_by_what_knows_none() -> anyhow::Result<()> {
        for (name, takes) in [("mstest-platform", true), ("xunit3", false)] {
            let folder = solution(&[name])?;
            std::fs::write(folder.path().join("city.runsettings"), SETTINGS)?;
            let mut agent = agent(folder.path()).await?;
            for named in [
                json!({ "runsettings": "city.runsettings" }),
                json!({ "args": ["--settings", "city.runsettings"] }),
            ] {
                let mut arguments = named.clone();
                arguments["noBuild"] = json!(true);
                arguments["tests"] = json!(["Tests.CartTests.Adds"]);
                let ran = finished(&mut agent, "run_tests", arguments).await?;
                if takes {
                    ensure!(ran["tests"]["passed"] == 1, "{named}: {ran:#}");
                } else {
                    let message = ran["error"]["message"].as_str().unwrap_or_default();
                    ensure!(ran["error"]["code"] == "INVALID_PARAMETER", "{named}: {ran:#}");
                    ensure!(message.ends_with("Unknown option '--settings'"), "{named}: {ran:#}");
                }
            }
            let missing = json!({ "noBuild": true, "runsettings": "nowhere.runsettings" });
            let missing = finished(&mut agent, "run_tests", missing).await?;
            let message = missing["error"]["message"].as_str().unwrap_or_default();
            ensure!(missing["error"]["code"] == "INVALID_PARAMETER", "{missing:#}");
            ensure!(message.contains("nowhere.runsettings` cannot be read"), "{missing:#}");
            agent.finish().await?;
        }
        Ok(())
    }

    #[tokio::test]
    async fn a_project_for_two_frameworks_has_its_tests_in_each() -> anyhow::Result<()> {
        let packages = [
            ("Microsoft.NET.Test.Sdk", "18.11.0"),
            ("MSTest.TestFramework", "4.5.2"),
            ("MSTest.TestAdapter", "4.5.2"),
        ];
        let frameworks = "<TargetFrameworks>net8.0;net10.0</TargetFrameworks>";
        let folder = project("frames", frameworks, &packages, TWO_FRAMEWORKS)?;
        std::fs::write(folder.path().join("city.runsettings"), SETTINGS)?;
        let mut agent = agent(folder.path()).await?;
        let all = finished(&mut agent, "list_tests", json!({})).await?;
        let listed = all["tests"].as_array().context("no list")?;
        let of = |framework: &str| listed.iter().filter(|test| test["framework"] == framework).count();
        ensure!(all["total"] == 4 && of("net8.0") == 2 && of("net10.0") == 2, "{all:#}");
        let arguments = |more: Value| {
            let mut arguments = json!({ "noBuild": true, "filter": "Tests.Own.Version" });
            more.as_object().into_iter().flatten().for_each(|(key, value)| arguments[key] = value.clone());
            arguments
        };
        let both = finished(&mut agent, "run_tests", arguments(json!({}))).await?;
        ensure!(both["tests"]["failed"] == 2, "{both:#}");
        let older = finished(&mut agent, "run_tests", arguments(json!({ "framework": "net8.0" }))).await?;
        let failure = &older["tests"]["failures"][0];
        ensure!(older["tests"]["total"] == 1 && failure["framework"] == "net8.0", "{older:#}");
        ensure!(failure["message"].as_str().is_some_and(|text| text.contains("actual:   8")), "{older:#}");
        let none = finished(&mut agent, "run_tests", arguments(json!({ "framework": "net9.0" }))).await?;
        ensure!(none["error"]["hint"] == "`framework` may be net10.0, net8.0", "{none:#}");
        let stop =
            finished(&mut agent, "debug_launch_test", arguments(json!({ "framework": "net8.0" }))).await?;
        let expected = line(&folder.path().join("Tests.cs"), "version")?;
        ensure!(stop["state"] == "stopped" && stop["event"]["line"].as_u64() == Some(expected), "{stop:#}");
        let major = agent.call("debug_evaluate", json!({ "expression": "major" })).await?;
        ensure!(major["result"] == "8", "{major}");
        agent.call("debug_disconnect", json!({})).await?;
        // Parameters of a settings file reach the test, debugged or not.
        let settings = json!({ "framework": "net10.0", "filter": "Tests.Own.Settings",
            "runsettings": "city.runsettings" });
        let ran = finished(&mut agent, "run_tests", arguments(settings.clone())).await?;
        ensure!(ran["tests"]["failures"][0].to_string().contains("Pisa"), "{ran:#}");
        let stop = finished(&mut agent, "debug_launch_test", arguments(settings)).await?;
        ensure!(stop["event"]["message"].as_str().is_some_and(|text| text.contains("Pisa")), "{stop:#}");
        agent.call("debug_disconnect", json!({})).await?;
        agent.finish().await?;
        // The events name the framework that a test runs for, from its start.
        let env = Runtime::Net10.environment().context("no .NET 10")?;
        let arguments = json!({ "action": "run", "noBuild": true, "tests": ["Tests.Own.Version"] });
        let (events, _) = editor_tests::events(folder.path(), arguments, &env).await?;
        for name in ["started", "finished"] {
            let own = events.iter().filter(|event| event["event"] == name);
            let mut frameworks: Vec<&str> = own.filter_map(|event| event["framework"].as_str()).collect();
            frameworks.sort_unstable();
            ensure!(frameworks == ["net10.0", "net8.0"], "{events:#?}");
        }
        // A solution that is built, and has nothing but this.
        let solution = folder.path().join("all.slnx");
        std::fs::write(&solution, "<Solution><Project Path=\"frames.csproj\" /></Solution>")?;
        let events = refused(Runtime::Net10, json!({ "program": solution })).await?;
        says(&events, "LAUNCH_FAILED", "it has no program, only projects of tests: frames.csproj");
        Ok(())
    }

    #[tokio::test]
    async fn assertions_that_fail_together_stop_where_they_end() -> anyhow::Result<()> {
        let packages =
            [("Microsoft.NET.Test.Sdk", "18.11.0"), ("NUnit", "5.0.0"), ("NUnit3TestAdapter", "6.3.1")];
        let framework = "<TargetFramework>net10.0</TargetFramework>";
        let folder = project("together", framework, &packages, TOGETHER)?;
        let source = folder.path().join("Tests.cs");
        let mut agent = agent(folder.path()).await?;
        // The first launch builds.
        for (name, marker, local, built) in [
            ("Several", "several", ("sum", "3"), false),
            ("Throws", "throws", ("name", "\"melon\""), true),
            ("Scoped", "scoped", ("sum", "3"), true),
        ] {
            let arguments = json!({ "filter": format!("Tests.Own.{name}"), "noBuild": built });
            let stop = finished(&mut agent, "debug_launch_test", arguments).await?;
            ensure!(stop["event"]["line"].as_u64() == Some(line(&source, marker)?), "{stop:#}");
            let mut locals = stop["event"]["locals"].as_array().into_iter().flatten();
            ensure!(locals.any(|row| row["name"] == local.0 && row["value"] == local.1), "{stop:#}");
            let both = ["Is.EqualTo(4)", "Is.EqualTo(5)"];
            let message = stop["event"]["message"].as_str().unwrap_or_default();
            ensure!(marker == "throws" || both.iter().all(|one| message.contains(one)), "{stop:#}");
            let end = agent.call("debug_continue", json!({})).await?;
            let message = end["event"]["tests"]["failures"][0]["message"].as_str().unwrap_or_default();
            let expected = if marker == "throws" { ["Is.EqualTo(\"plum\")", "no melon"] } else { both };
            ensure!(expected.iter().all(|one| message.contains(one)), "{end:#}");
            agent.call("debug_disconnect", json!({})).await?;
        }
        agent.finish().await
    }
}
