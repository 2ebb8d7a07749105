//! The ledger alone: unions, reflections and slots.

use serde_json::{Value, json};

use super::{Abilities, Change, Joining, Ledger, Place, Reflects, wished};
use crate::hub::event::ClientId;
use crate::hub::ids::IdCounter;

const A: ClientId = ClientId(1);
const B: ClientId = ClientId(2);
const C: ClientId = ClientId(3);

const ALL: Abilities = Abilities {
    several: true,
    conditions: true,
    hit_conditions: true,
    log_messages: true,
    filter_options: true,
    joining: Joining::Never,
};
const ONE: Abilities = Abilities { several: false, ..ALL };

#[derive(Default)]
struct Desk {
    counter: IdCounter,
    ledger: Ledger,
}

impl Desk {
    fn set(&mut self, client: ClientId, wishes: Value) -> Change {
        self.ask(client, "setBreakpoints", json!({ "source": { "path": "/x.cs" }, "breakpoints": wishes }))
    }

    fn ask(&mut self, client: ClientId, command: &str, arguments: Value) -> Change {
        let wished = wished(command, &arguments).unwrap();
        self.ledger.set(&mut self.counter, client, wished, Reflects::Perhaps)
    }

    fn union(&self) -> Value {
        json!(self.ledger.wishes(&Place::of_path("/x.cs")))
    }

    fn slots(&mut self, place: &Place, abilities: Abilities) -> Vec<(usize, Value)> {
        let sheet = self.ledger.sheet_mut(place).unwrap();
        sheet.slots(abilities, &[]).into_iter().map(|slot| (slot.ids.len(), slot.wish)).collect()
    }

    fn lines_shown(&mut self, client: ClientId) -> Vec<(&'static str, Value)> {
        let news = self.ledger.news_for(client);
        news.into_iter().map(|news| (news.reason, news.body["line"].clone())).collect()
    }
}

#[test]
fn one_client_clearing_its_lines_leaves_the_others() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10 }, { "line": 20 }]));
    desk.set(B, json!([{ "line": 20, "condition": " " }, { "line": 30 }]));
    assert_eq!(desk.union(), json!([{ "line": 10 }, { "line": 20 }, { "line": 30 }]));
    assert!(desk.set(A, json!([])).changed);
    assert_eq!(desk.union(), json!([{ "line": 20 }, { "line": 30 }]));
    assert_eq!(desk.ledger.forget(B), [Place::of_path("/x.cs")]);
    assert_eq!(desk.union(), json!([]));
}

#[test]
fn two_spellings_of_a_path_are_one_place_and_each_owner_reads_its_own() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 1 }]));
    let change = desk.ask(
        B,
        "setBreakpoints",
        json!({ "source": { "path": "//a/.././x.cs" }, "breakpoints": [{ "line": 1 }] }),
    );
    assert!(!change.changed);
    let sheet = desk.ledger.sheet(&Place::of_path("/x.cs")).unwrap();
    assert_eq!(sheet.answer(B, &change.list)["breakpoints"][0]["source"]["path"], "//a/.././x.cs");
    assert_eq!(sheet.answer(A, &change.list)["breakpoints"][0]["source"]["path"], "/x.cs");
}

#[test]
fn answers_are_by_position_whatever_is_wanted_twice_or_gone() {
    let mut desk = Desk::default();
    let change = desk.set(A, json!([{ "line": 2 }, { "line": 1 }, { "line": 2 }]));
    desk.set(A, json!([{ "line": 1 }]));
    let answer = desk.ledger.sheet(&Place::of_path("/x.cs")).unwrap().answer(A, &change.list);
    let list = answer["breakpoints"].as_array().unwrap();
    assert_eq!(
        (list.len(), &list[1]["line"], &list[0]["message"]),
        (3, &json!(1), &json!("removed meanwhile"))
    );
    assert_eq!(list[0], list[2]);
}

#[test]
fn what_an_editor_sends_back_is_no_wish_of_its_own() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10, "condition": "i == 3" }]));
    assert_eq!(desk.lines_shown(B), [("new", json!(10))]);
    let change = desk.set(B, json!([{ "line": 5 }, { "line": 10 }]));
    assert!(change.reflected && change.lost.is_empty());
    assert_eq!(desk.union(), json!([{ "line": 10, "condition": "i == 3" }, { "line": 5 }]));
    // The agent goes, and its breakpoint with it.
    desk.ledger.forget(A);
    assert_eq!(desk.union(), json!([{ "line": 5 }]));
    assert_eq!(desk.lines_shown(B), [("removed", Value::Null)]);
}

#[test]
fn a_shadow_that_was_there_and_is_gone_is_removed_for_all() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10, "condition": "i == 3" }, { "line": 11 }]));
    desk.lines_shown(B);
    desk.lines_shown(C);
    desk.set(B, json!([{ "line": 10 }, { "line": 11 }]));
    let change = desk.set(B, json!([{ "line": 11 }]));
    assert_eq!(change.lost.iter().map(|(owner, _)| *owner).collect::<Vec<_>>(), [A]);
    assert_eq!(desk.union(), json!([{ "line": 11 }]));
    assert_eq!(desk.lines_shown(C), [("removed", Value::Null)]);
    assert_eq!(desk.lines_shown(B), [("removed", Value::Null)]);
}

#[test]
fn a_client_that_sends_nothing_back_removes_nothing() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10 }]));
    desk.lines_shown(B);
    for wishes in [json!([{ "line": 7 }]), json!([]), json!([])] {
        assert_eq!(desk.set(B, wishes).lost, []);
    }
    assert_eq!(desk.union(), json!([{ "line": 10 }]));
}

#[test]
fn what_an_agent_sets_where_an_editor_has_something_is_its_own() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10, "condition": "i == 3" }]));
    desk.lines_shown(B);
    let plain = json!({ "source": { "path": "/x.cs" }, "breakpoints": [{ "line": 10 }] });
    let wished = wished("setBreakpoints", &plain).unwrap();
    assert!(desk.ledger.set(&mut desk.counter, B, wished, Reflects::Never).changed);
    desk.ledger.forget(A);
    assert_eq!(desk.union(), json!([{ "line": 10 }]));
}

#[test]
fn the_first_click_on_a_dot_of_somebody_else_counts_for_an_editor_that_is_known() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10 }]));
    desk.set(B, json!([{ "line": 5 }]));
    desk.lines_shown(B);
    let place = json!({ "source": { "path": "/x.cs" }, "breakpoints": [{ "line": 5 }, { "line": 6 }] });
    // It was sent before the editor saw the other's: something else changed in it.
    let change =
        desk.ledger.set(&mut desk.counter, B, wished("setBreakpoints", &place).unwrap(), Reflects::Surely);
    assert_eq!(change.lost, []);
    // Only the dot is gone.
    let change =
        desk.ledger.set(&mut desk.counter, B, wished("setBreakpoints", &place).unwrap(), Reflects::Surely);
    assert_eq!(change.lost.len(), 1);
}

#[test]
fn who_edits_what_it_was_shown_has_its_own_and_sees_the_others_again_when_it_goes() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10 }]));
    desk.lines_shown(B);
    desk.set(B, json!([{ "line": 10, "condition": "i > 1" }]));
    assert_eq!(desk.union(), json!([{ "line": 10 }, { "line": 10, "condition": "i > 1" }]));
    // One dot per line: dape takes its own away when it is told of another there.
    assert_eq!(desk.lines_shown(B), []);
    desk.set(B, json!([]));
    assert_eq!(desk.union(), json!([{ "line": 10 }]));
    assert_eq!(desk.lines_shown(B), [("new", json!(10))]);
}

#[test]
fn what_was_left_behind_belongs_to_who_sets_it_again() {
    let mut desk = Desk::default();
    desk.set(A, json!([{ "line": 10 }, { "line": 20 }]));
    desk.ledger.keep(A);
    desk.set(B, json!([{ "line": 10 }]));
    desk.set(B, json!([]));
    assert_eq!(desk.union(), json!([{ "line": 20 }]));
}

#[test]
fn an_engine_that_keeps_one_per_line_gets_one_and_the_hub_judges() {
    let mut desk = Desk::default();
    let place = Place::of_path("/x.cs");
    desk.set(A, json!([{ "line": 1, "condition": "a" }, { "line": 2, "hitCondition": "3" }]));
    desk.set(B, json!([{ "line": 1, "logMessage": "x" }, { "line": 1, "column": 4 }]));
    let apart = desk.slots(&place, ALL);
    assert!(apart.len() == 4 && !desk.ledger.judges());
    let merged = desk.slots(&place, ONE);
    assert_eq!(
        merged,
        [
            (2, json!({ "line": 1 })),
            (1, json!({ "line": 2, "hitCondition": "3" })),
            (1, json!({ "line": 1, "column": 4 }))
        ]
    );
    assert!(desk.ledger.judges());
    let blunt = desk.slots(&place, Abilities { hit_conditions: false, ..ONE });
    assert_eq!(blunt[1], (1, json!({ "line": 2 })));
}

#[test]
fn conditions_on_one_spot_are_joined_where_the_engine_can_be_told() {
    let mut desk = Desk::default();
    let place = Place::of_path("/x.cs");
    let lldb = Abilities { joining: Joining::Native, ..ONE };
    desk.set(
        A,
        json!([{ "line": 1, "condition": "a" }, { "line": 1, "condition": "b", "hitCondition": "2" }]),
    );
    let joined = json!({ "line": 1, "condition": "(a) || (b)", "joinedConditions": ["a", "b"] });
    assert_eq!(desk.slots(&place, lldb), [(2, joined)]);
    assert_eq!(desk.slots(&place, ONE), [(2, json!({ "line": 1 }))]);
    let blunt = Abilities { conditions: false, ..lldb };
    assert_eq!(desk.slots(&place, blunt), [(2, json!({ "line": 1 }))]);
    // Somebody wants each hit.
    desk.set(B, json!([{ "line": 1, "logMessage": "x" }]));
    assert_eq!(desk.slots(&place, lldb), [(3, json!({ "line": 1 }))]);
}

#[test]
fn a_condition_is_looked_at_again_when_the_engine_has_just_got_it() {
    let mut desk = Desk::default();
    let place = Place::of_path("/x.cs");
    desk.set(A, json!([{ "line": 1, "condition": "a" }]));
    desk.set(B, json!([{ "line": 1 }]));
    desk.slots(&place, ONE);
    desk.set(B, json!([]));
    assert_eq!(desk.slots(&place, ONE), [(1, json!({ "line": 1, "condition": "a" }))]);
    // A stop of the plain breakpoint may be on its way.
    let suspects = desk.ledger.hit_at("/x.cs", 1);
    let open: Vec<_> = suspects.iter().map(|suspect| (suspect.judged, suspect.wish.clone())).collect();
    assert_eq!(open, [(true, json!({ "condition": "a" }))]);
    assert!(desk.ledger.judges());
}

#[test]
fn data_breakpoints_merge_what_they_watch_for() {
    let mut desk = Desk::default();
    for (client, access) in [(A, "read"), (B, "write")] {
        let wish = json!({ "breakpoints": [{ "dataId": "d", "accessType": access }] });
        desk.ask(client, "setDataBreakpoints", wish);
    }
    assert_eq!(desk.slots(&Place::Data, ONE), [(2, json!({ "dataId": "d", "accessType": "readWrite" }))]);
}

#[test]
fn exception_filters_are_a_union_and_the_plain_one_wins_where_one_is_kept() {
    let mut desk = Desk::default();
    let option = |condition: &str| json!({ "filterId": "all", "condition": condition });
    desk.ask(
        A,
        "setExceptionBreakpoints",
        json!({ "filters": ["unhandled"], "filterOptions": [option("X")] }),
    );
    desk.ask(B, "setExceptionBreakpoints", json!({ "filters": [], "filterOptions": [option("Y")] }));
    desk.ask(C, "setExceptionBreakpoints", json!({ "filters": [] }));
    let sheet = desk.ledger.sheet_mut(&Place::Exceptions).unwrap();
    let arguments = |sheet: &mut super::Sheet, abilities| {
        let slots = sheet.slots(abilities, &[]);
        sheet.arguments(&slots)
    };
    assert_eq!(
        arguments(sheet, ALL),
        json!({ "filters": ["unhandled"], "filterOptions": [option("X"), option("Y")] })
    );
    assert_eq!(arguments(sheet, ONE), json!({ "filters": ["unhandled", "all"] }));
    let poor = Abilities { filter_options: false, ..ALL };
    assert_eq!(arguments(sheet, poor), json!({ "filters": ["unhandled", "all"] }));
}
