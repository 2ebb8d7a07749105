//! Go beyond a program and its package ([`super::child_programs`]): the tests of a package.

use std::collections::HashMap;

use serde_json::json;
use tandem_tests::child::Subject;
use tandem_tests::client::DapClient;
use tandem_tests::transcript::Transcript;

use super::child_programs::with_tools;

const TESTED: &str = "package p\n\nfunc double(n int) int {\n\treturn 2 * n\n}\n";
const TESTS: &str = r#"package p

import (
	"os"
	"testing"
)

func TestDouble(t *testing.T) {
	folder, _ := os.Getwd()
	println(folder)
	if doubled := double(21); doubled != 42 {
		t.Fatal(doubled)
	}
}

func TestOther(t *testing.T) {
	t.Fatal("not asked for")
}
"#;

/// The file alone would lack what it tests; all of the package is built, and what is run is said as `go test` has it.
#[tokio::test]
async fn a_go_test_file_runs_the_tests_of_its_package() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("go.mod"), "module p\n\ngo 1.20\n")?;
    std::fs::write(path("p.go"), TESTED)?;
    std::fs::write(path("p_test.go"), TESTS)?;
    let args = ["-test.run", "TestDouble$"];
    let given = Subject::Delve.with(json!({ "program": path("p_test.go"), "args": args }));
    let ways = [
        (path("p_test.go"), json!(null)),
        (path("p_test.go"), json!("auto")),
        (path("p_test.go"), json!("test")),
        (path("p.go"), json!("test")),
        (folder.path().to_owned(), json!("test")),
    ];
    for (program, mode) in ways {
        let mut launch = with_tools(given.clone())?;
        launch["program"] = json!(program);
        launch["mode"] = mode;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.launch_child(launch, &path("p.go"), &[4]).await?;
        let (thread, frame) = editor.stop().await?;
        let asked = json!({ "expression": "n", "frameId": frame["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", asked).await?["result"], "21");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 0);
        editor.event("terminated").await?;
        assert_eq!(editor.output[0], "PASS\n");
        assert_eq!(editor.output[1].trim_end(), folder.path().canonicalize()?.display().to_string());
        editor.finish().await?;
    }

    std::fs::write(path("p_test.go"), TESTS.replace("t.Fatal(doubled)", "t.Fatal(nothing)"))?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let mut launch = with_tools(given)?;
    launch["mode"] = json!("test");
    let refused = editor.ask("launch", launch).await?;
    let error = &refused.body["error"];
    assert_eq!(error["variables"]["code"], "BUILD_FAILED", "{error}");
    let first = &error["data"]["diagnostics"][0];
    assert_eq!((&first["file"], &first["line"]), (&json!(path("p_test.go")), &json!(12)), "{error}");
    editor.finish().await
}
