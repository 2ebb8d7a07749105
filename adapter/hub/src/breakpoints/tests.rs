//! The breakpoints alone: unions, reflections and engine_breakpoints.

use serde_json::{Value, json};

use super::{
    BreakpointScope, BreakpointStore, BreakpointSupport, EchoesMirrors, SetOutcome, joined_conditions, parse,
};
use crate::event::ClientId;
use crate::ids::IdCounter;
use tandem_engine::JoinedConditions;
use tandem_engine::condition_language::ConditionLanguage;

const A: ClientId = ClientId(1);
const B: ClientId = ClientId(2);
const C: ClientId = ClientId(3);

const ALL: BreakpointSupport = BreakpointSupport {
    several: true,
    conditions: true,
    hit_conditions: true,
    log_messages: true,
    filter_options: true,
    language: ConditionLanguage::OTHER,
};
const ONE: BreakpointSupport = BreakpointSupport { several: false, ..ALL };

#[derive(Default)]
struct Store {
    counter: IdCounter,
    breakpoints: BreakpointStore,
}

impl Store {
    fn set(&mut self, client: ClientId, requests: Value) -> SetOutcome {
        self.ask(client, "setBreakpoints", json!({ "source": { "path": "/x.cs" }, "breakpoints": requests }))
    }

    fn ask(&mut self, client: ClientId, command: &str, arguments: Value) -> SetOutcome {
        let requested = parse(command, &arguments).unwrap();
        self.breakpoints.set(&mut self.counter, client, requested, EchoesMirrors::Maybe)
    }

    fn union(&self) -> Value {
        json!(self.breakpoints.requests(&BreakpointScope::of_path("/x.cs")))
    }

    fn engine_breakpoints(
        &mut self,
        scope: &BreakpointScope,
        support: BreakpointSupport,
    ) -> Vec<(usize, Value)> {
        let in_scope = self.breakpoints.scope_mut(scope).unwrap();
        in_scope
            .engine_breakpoints(support, &[])
            .into_iter()
            .map(|sent| (sent.ids.len(), json!(sent.request)))
            .collect()
    }

    fn lines_shown(&mut self, client: ClientId) -> Vec<(&'static str, Value)> {
        let updates = self.breakpoints.updates_for(client);
        updates.into_iter().map(|update| (update.reason, json!(update.body.line))).collect()
    }
}

#[test]
fn one_client_clearing_its_lines_leaves_the_others() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10 }, { "line": 20 }]));
    store.set(B, json!([{ "line": 20, "condition": " " }, { "line": 30 }]));
    assert_eq!(store.union(), json!([{ "line": 10 }, { "line": 20 }, { "line": 30 }]));
    assert!(store.set(A, json!([])).changed);
    assert_eq!(store.union(), json!([{ "line": 20 }, { "line": 30 }]));
    assert_eq!(store.breakpoints.remove_client(B), [BreakpointScope::of_path("/x.cs")]);
    assert_eq!(store.union(), json!([]));
}

#[test]
fn two_spellings_of_a_path_are_one_place_and_each_owner_reads_its_own() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 1 }]));
    let change = store.ask(
        B,
        "setBreakpoints",
        json!({ "source": { "path": "//a/.././x.cs" }, "breakpoints": [{ "line": 1 }] }),
    );
    assert!(!change.changed);
    let in_scope = store.breakpoints.scope(&BreakpointScope::of_path("/x.cs")).unwrap();
    assert_eq!(in_scope.response(B, &change.list)["breakpoints"][0]["source"]["path"], "//a/.././x.cs");
    assert_eq!(in_scope.response(A, &change.list)["breakpoints"][0]["source"]["path"], "/x.cs");
}

#[test]
fn answers_are_by_position_whatever_is_wanted_twice_or_gone() {
    let mut store = Store::default();
    let change = store.set(A, json!([{ "line": 2 }, { "line": 1 }, { "line": 2 }]));
    store.set(A, json!([{ "line": 1 }]));
    let response =
        store.breakpoints.scope(&BreakpointScope::of_path("/x.cs")).unwrap().response(A, &change.list);
    let list = response["breakpoints"].as_array().unwrap();
    assert_eq!(
        (list.len(), &list[1]["line"], &list[0]["message"]),
        (3, &json!(1), &json!("removed meanwhile"))
    );
    assert_eq!(list[0], list[2]);
}

#[test]
fn mirrored_breakpoint_that_an_editor_sends_back_is_not_its_own_request() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10, "condition": "i == 3" }]));
    assert_eq!(store.lines_shown(B), [("new", json!(10))]);
    let change = store.set(B, json!([{ "line": 5 }, { "line": 10 }]));
    assert!(change.echoed && change.lost.is_empty());
    assert_eq!(store.union(), json!([{ "line": 10, "condition": "i == 3" }, { "line": 5 }]));
    // The agent goes, and its breakpoint with it.
    store.breakpoints.remove_client(A);
    assert_eq!(store.union(), json!([{ "line": 5 }]));
    assert_eq!(store.lines_shown(B), [("removed", Value::Null)]);
}

#[test]
fn a_mirror_that_was_there_and_is_gone_is_removed_for_all() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10, "condition": "i == 3" }, { "line": 11 }]));
    store.lines_shown(B);
    store.lines_shown(C);
    store.set(B, json!([{ "line": 10 }, { "line": 11 }]));
    let change = store.set(B, json!([{ "line": 11 }]));
    assert_eq!(change.lost.iter().map(|(owner, _)| *owner).collect::<Vec<_>>(), [A]);
    assert_eq!(store.union(), json!([{ "line": 11 }]));
    assert_eq!(store.lines_shown(C), [("removed", Value::Null)]);
    assert_eq!(store.lines_shown(B), [("removed", Value::Null)]);
}

#[test]
fn a_client_that_sends_nothing_back_removes_nothing() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10 }]));
    store.lines_shown(B);
    for requests in [json!([{ "line": 7 }]), json!([]), json!([])] {
        assert_eq!(store.set(B, requests).lost, []);
    }
    assert_eq!(store.union(), json!([{ "line": 10 }]));
}

#[test]
fn agents_breakpoint_on_an_editors_line_is_its_own() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10, "condition": "i == 3" }]));
    store.lines_shown(B);
    let plain = json!({ "source": { "path": "/x.cs" }, "breakpoints": [{ "line": 10 }] });
    let requested = parse("setBreakpoints", &plain).unwrap();
    assert!(store.breakpoints.set(&mut store.counter, B, requested, EchoesMirrors::Never).changed);
    store.breakpoints.remove_client(A);
    assert_eq!(store.union(), json!([{ "line": 10 }]));
}

#[test]
fn first_click_on_another_clients_dot_counts_for_a_known_editor() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10 }]));
    store.set(B, json!([{ "line": 5 }]));
    store.lines_shown(B);
    let scope = json!({ "source": { "path": "/x.cs" }, "breakpoints": [{ "line": 5 }, { "line": 6 }] });
    // It was sent before the editor saw the other's: something else changed in it.
    let change = store.breakpoints.set(
        &mut store.counter,
        B,
        parse("setBreakpoints", &scope).unwrap(),
        EchoesMirrors::Always,
    );
    assert_eq!(change.lost, []);
    // Only the dot is gone.
    let change = store.breakpoints.set(
        &mut store.counter,
        B,
        parse("setBreakpoints", &scope).unwrap(),
        EchoesMirrors::Always,
    );
    assert_eq!(change.lost.len(), 1);
}

#[test]
fn edited_mirror_becomes_an_own_breakpoint_and_the_others_returns_when_it_is_removed() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10 }]));
    store.lines_shown(B);
    store.set(B, json!([{ "line": 10, "condition": "i > 1" }]));
    assert_eq!(store.union(), json!([{ "line": 10 }, { "line": 10, "condition": "i > 1" }]));
    // One dot per line: dape removes its own when it is notified of another there.
    assert_eq!(store.lines_shown(B), []);
    store.set(B, json!([]));
    assert_eq!(store.union(), json!([{ "line": 10 }]));
    assert_eq!(store.lines_shown(B), [("new", json!(10))]);
}

#[test]
fn left_breakpoint_belongs_to_the_client_that_sets_it_again() {
    let mut store = Store::default();
    store.set(A, json!([{ "line": 10 }, { "line": 20 }]));
    store.breakpoints.keep(A);
    store.set(B, json!([{ "line": 10 }]));
    store.set(B, json!([]));
    assert_eq!(store.union(), json!([{ "line": 20 }]));
}

#[test]
fn an_engine_that_keeps_one_per_line_gets_one_and_the_hub_evaluates() {
    let mut store = Store::default();
    let scope = BreakpointScope::of_path("/x.cs");
    store.set(A, json!([{ "line": 1, "condition": "a" }, { "line": 2, "hitCondition": "3" }]));
    store.set(B, json!([{ "line": 1, "logMessage": "x" }, { "line": 1, "column": 4 }]));
    let separate = store.engine_breakpoints(&scope, ALL);
    assert!(separate.len() == 4 && !store.breakpoints.need_hub());
    let merged = store.engine_breakpoints(&scope, ONE);
    assert_eq!(
        merged,
        [
            (2, json!({ "line": 1 })),
            (1, json!({ "line": 2, "hitCondition": "3" })),
            (1, json!({ "line": 1, "column": 4 }))
        ]
    );
    assert!(store.breakpoints.need_hub());
    let blunt = store.engine_breakpoints(&scope, BreakpointSupport { hit_conditions: false, ..ONE });
    assert_eq!(blunt[1], (1, json!({ "line": 2 })));
}

#[test]
fn conditions_on_one_location_are_joined_where_the_engine_takes_conditions() {
    let mut store = Store::default();
    let scope = BreakpointScope::of_path("/x.cs");
    let lldb = BreakpointSupport { language: ConditionLanguage::NATIVE, ..ONE };
    store.set(
        A,
        json!([{ "line": 1, "condition": "a" }, { "line": 1, "condition": "b", "hitCondition": "2" }]),
    );
    let list = store.breakpoints.scope_mut(&scope).unwrap().engine_breakpoints(lldb, &[]);
    let expected = JoinedConditions { index: 0, conditions: vec!["a".into(), "b".into()] };
    assert_eq!(joined_conditions(&list), [expected]);
    let joined = json!({ "line": 1, "condition": "(a) || (b)" });
    assert_eq!(store.engine_breakpoints(&scope, lldb), [(2, joined)]);
    assert_eq!(store.engine_breakpoints(&scope, ONE), [(2, json!({ "line": 1 }))]);
    let blunt = BreakpointSupport { conditions: false, ..lldb };
    assert_eq!(store.engine_breakpoints(&scope, blunt), [(2, json!({ "line": 1 }))]);
    // Another client wants each hit.
    store.set(B, json!([{ "line": 1, "logMessage": "x" }]));
    assert_eq!(store.engine_breakpoints(&scope, lldb), [(3, json!({ "line": 1 }))]);
}

#[test]
fn a_condition_is_looked_at_again_when_the_engine_has_just_got_it() {
    let mut store = Store::default();
    let scope = BreakpointScope::of_path("/x.cs");
    store.set(A, json!([{ "line": 1, "condition": "a" }]));
    store.set(B, json!([{ "line": 1 }]));
    store.engine_breakpoints(&scope, ONE);
    store.set(B, json!([]));
    assert_eq!(store.engine_breakpoints(&scope, ONE), [(1, json!({ "line": 1, "condition": "a" }))]);
    // A stop of the plain breakpoint may be on its way.
    let candidates = store.breakpoints.hit_at("/x.cs", 1);
    let open: Vec<_> =
        candidates.iter().map(|candidate| (candidate.by_hub, json!(candidate.request))).collect();
    assert_eq!(open, [(true, json!({ "condition": "a" }))]);
    assert!(store.breakpoints.need_hub());
}

#[test]
fn data_breakpoints_merge_what_they_watch_for() {
    let mut store = Store::default();
    for (client, access) in [(A, "read"), (B, "write")] {
        let request = json!({ "breakpoints": [{ "dataId": "d", "accessType": access }] });
        store.ask(client, "setDataBreakpoints", request);
    }
    assert_eq!(
        store.engine_breakpoints(&BreakpointScope::Data, ONE),
        [(2, json!({ "dataId": "d", "accessType": "readWrite" }))]
    );
}

#[test]
fn exception_filters_are_a_union_and_the_plain_one_wins_where_one_is_kept() {
    let mut store = Store::default();
    let option = |condition: &str| json!({ "filterId": "all", "condition": condition });
    store.ask(
        A,
        "setExceptionBreakpoints",
        json!({ "filters": ["unhandled"], "filterOptions": [option("X")] }),
    );
    store.ask(B, "setExceptionBreakpoints", json!({ "filters": [], "filterOptions": [option("Y")] }));
    store.ask(C, "setExceptionBreakpoints", json!({ "filters": [] }));
    let in_scope = store.breakpoints.scope_mut(&BreakpointScope::Exceptions).unwrap();
    let arguments = |in_scope: &mut super::ScopeBreakpoints, support| {
        let engine_breakpoints = in_scope.engine_breakpoints(support, &[]);
        in_scope.arguments(&engine_breakpoints)
    };
    assert_eq!(
        arguments(in_scope, ALL),
        json!({ "filters": ["unhandled"], "filterOptions": [option("X"), option("Y")] })
    );
    assert_eq!(arguments(in_scope, ONE), json!({ "filters": ["unhandled", "all"] }));
    let poor = BreakpointSupport { filter_options: false, ..ALL };
    assert_eq!(arguments(in_scope, poor), json!({ "filters": ["unhandled", "all"] }));
}

#[test]
fn engine_gets_a_hit_condition_that_nobody_understands_and_says_why() {
    let mut store = Store::default();
    let request = json!({ "line": 3, "hitCondition": "often" });
    store.set(A, json!([request]));
    let support = BreakpointSupport { hit_conditions: false, ..ONE };
    let sent = store.engine_breakpoints(&BreakpointScope::of_path("/x.cs"), support);
    assert_eq!(sent, [(1, request)]);
}

#[test]
fn children_get_each_request_that_the_engine_gets_merged() {
    let mut store = Store::default();
    let scope = BreakpointScope::of_path("/x.cs");
    let requests = json!([
        { "line": 1, "logMessage": "x" },
        { "line": 1, "condition": "a", "hitCondition": "2" },
        { "line": 2, "logMessage": "y" },
        { "line": 3, "trace": { "expressions": ["z"] } },
    ]);
    store.set(A, requests.clone());
    let in_scope = store.breakpoints.scope_mut(&scope).unwrap();
    let support = BreakpointSupport { log_messages: false, ..ONE };
    let mut list = in_scope.engine_breakpoints(support, &[]);
    let merged = json!([{ "line": 1 }, { "line": 2 }, { "line": 3 }]);
    assert_eq!(in_scope.arguments(&list)["breakpoints"], merged);
    // Rows of a trace go to its owner's session.
    assert_eq!(
        in_scope.requested_arguments(&list)["breakpoints"],
        json!([requests[0], requests[1], requests[2]])
    );
    list.remove(0);
    assert_eq!(in_scope.requested_arguments(&list)["breakpoints"], json!([requests[2]]));
    assert_eq!(in_scope.requested_arguments(&list)["source"], in_scope.arguments(&list)["source"]);
}
