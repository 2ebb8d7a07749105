//! Tests of CTest and its programs.

use serde_json::json;

use super::listing::CtestItem;
use super::*;

#[test]
fn a_test_of_ctest_is_listed_with_its_place() {
    let graph = json!({ "files": ["/w/CMakeLists.txt"], "nodes": [{ "file": 0 }, { "file": 0, "line": 7,
            "parent": 0 }] });
    let one = json!({ "name": "Cart.Adds", "backtrace": 1, "command": ["/w/build/t",
            "--gtest_filter=Cart.Adds"],
            "properties": [{ "name": "LABELS", "value": ["slow"] }, { "name": "WORKING_DIRECTORY",
                "value": "/w/build" }] });
    let listed = {
        let read = serde_json::from_value::<CtestItem>(one).unwrap();
        CtestEntry::of(read, &serde_json::from_value(graph).unwrap(), Path::new("/b")).unwrap()
    };
    assert_eq!(
        (listed.place.clone(), listed.labels.clone()),
        (Some(("/w/CMakeLists.txt".into(), 7)), vec!["slow".into()])
    );
    assert_eq!(listed.discovered_test(), Some(("/w/build/t".into(), "Cart.Adds".into())));
    assert_eq!(pattern("a.b(1)"), "a\\.b\\(1\\)");
}

#[test]
fn a_disabled_test_is_skipped_and_another_that_did_not_run_has_failed() {
    let outcome = |skipped: Option<&str>| {
        let test = TestItem { skipped: skipped.map(str::to_owned), ..TestItem::default() };
        unrun_result(&test, ProcessExit { code: 3 }).outcome
    };
    assert_eq!(outcome(Some("DISABLED_")), TestStatus::Skipped);
    assert_eq!(outcome(None), TestStatus::Failed);
}
