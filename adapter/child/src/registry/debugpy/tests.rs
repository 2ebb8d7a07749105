//! Tests of the launch through the adapter, and of values.

use super::*;

#[test]
fn a_value_without_code_is_refused() {
    let kept = |value| Debugpy.kept_value(value).unwrap().keep;
    for blank in ["", "  ", "# comment", "\n # one\n\t# two\n"] {
        assert!(kept(blank).ends_with("'tandem_value', eval(''))"), "{}", kept(blank));
    }
    for value in ["1, 2", "()", "# first\n5", "'#'"] {
        assert!(kept(value).ends_with(&format!("'tandem_value', ({value}\n))")), "{}", kept(value));
    }
}

#[test]
fn the_adapter_is_not_configured_where_it_only_runs_the_program() {
    let skips = |command, no_debug| {
        let attributes = serde_json::json!({ "program": "/bin/ls", "noDebug": no_debug });
        let target = Target::parse(&attributes).unwrap();
        let python = interpreter::Python { interpreter: "/bin/sh".into(), debugpy: Vec::new() };
        let plan = through_adapter(&target, &python, command, usual_attributes(&target)).unwrap();
        plan.quirks.skips_initialized_without_debug
    };
    assert!(skips("launch", true));
    assert!(!skips("launch", false) && !skips("attach", true));
}
