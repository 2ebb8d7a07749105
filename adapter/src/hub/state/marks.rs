//! Breakpoints and exception filters: everybody's wishes together are what the engine gets, and who is told of what.
//!
//! Per place one list is on its way to the engine, and the latest wins. Who asked is answered in its own order with the
//! list that has its wishes in it; then the others are told.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::{ENGINE_DEADLINE, State};
use crate::hub::breakpoints::{Abilities, Joining, Marked, Owed, Place, Reflects, Wished, wished};
use crate::hub::clients::{Client, Kind, Stage};
use crate::hub::event::ClientId;
use crate::hub::pending::{Asked, Waiter};

/// Clients known to keep what they are shown in their own list; the others show it.
const REFLECTING: [&str; 3] = ["vscode", "neovim", "dape"];

impl State {
    /// `setBreakpoints` and its kin: replaces what this client wants at one place.
    pub(super) fn set_breakpoints(&mut self, asked: Asked, mut arguments: Value) {
        let Some(client) = self.clients.get(asked.client) else { return };
        let known = client.introduction["clientID"].as_str().is_some_and(|id| REFLECTING.contains(&id));
        let reflects = match client.kind {
            Kind::Agent => Reflects::Never,
            Kind::Editor if known || client.reflects => Reflects::Surely,
            Kind::Editor => Reflects::Perhaps,
        };
        let source = arguments.get_mut("source").map_or(Ok(()), |source| client.ids.to_engine(source));
        let wished = source.and_then(|()| wished(&asked.command, &arguments)).and_then(|wished| {
            self.can_hold(&wished.place, wished.list.is_empty())?;
            Ok(wished)
        });
        let wished = match wished {
            Ok(wished) => self.without_stale_data(wished),
            Err(failure) => return self.refuse(&asked, failure),
        };
        let place = wished.place.clone();
        // Who never spoke of exceptions has the defaults, so the first word is a change, whatever it is.
        let first = place == Place::Exceptions && !self.ledger.has_set(&place, asked.client);
        let change = self.ledger.set(&mut self.counter, asked.client, wished, reflects);
        self.tell_marks(asked.client, &change.marks);
        if change.reflected
            && let Some(client) = self.clients.get_mut(asked.client)
        {
            client.reflects = true;
        }
        if change.changed {
            self.changed_by.insert(asked.client);
        }
        let takes = self.takes_breakpoints();
        let Some(sheet) = self.ledger.sheet_mut(&place) else { return };
        sheet.push.set(change.changed || first);
        let mut lost = change.lost;
        lost.retain(|(owner, id)| !sheet.push.lose(*owner, *id));
        if !takes || sheet.push.is_settled() {
            let answer = sheet.answer(asked.client, &change.list);
            self.answer_breakpoints(&asked, answer);
            self.tell_lost(&lost);
            return self.share_breakpoints();
        }
        sheet.push.owe(asked, change.list);
        self.push_breakpoints(&place);
        self.tell_lost(&lost);
    }

    /// Owners whose breakpoints somebody else removed.
    fn tell_lost(&mut self, lost: &[(ClientId, i64)]) {
        let watching = self.watching();
        for (owner, id) in lost.iter().filter(|(owner, _)| watching.contains(owner)) {
            self.tell_removed(*owner, &json!({ "id": id, "verified": false }));
        }
    }

    /// A `dataId` that may not outlive its stop (DAP `canPersist`) names another variable by now, unless the engine has
    /// held it ever since.
    fn without_stale_data(&self, mut wished: Wished) -> Wished {
        if wished.place == Place::Data {
            let held = self.ledger.wishes(&Place::Data);
            for (at, wish) in wished.list.iter().enumerate() {
                let id = &wish["dataId"];
                let stale =
                    id.as_str().and_then(|id| self.data_ids.get(id)).is_some_and(|stop| *stop != self.stops);
                if stale && !held.iter().any(|held| held["dataId"] == *id) {
                    wished.void.insert(at);
                }
            }
        }
        wished
    }

    /// Remembers until when a `dataId` means what it means.
    pub(super) fn learn_data_id(&mut self, info: &Value) {
        if let Some(id) = info["dataId"].as_str().filter(|_| info["canPersist"] != true) {
            self.data_ids.insert(id.to_owned(), self.stops);
        }
    }

    /// Whether the engine takes breakpoints now.
    fn takes_breakpoints(&self) -> bool {
        self.engine_ready && self.is_live()
    }

    fn can_hold(&self, place: &Place, nothing: bool) -> Result<(), Failure> {
        match place.capability() {
            Some(name) if !nothing && !self.capabilities.engine_has(name) => {
                Err(Failure::new(ErrorCode::Unsupported, format!("the engine has no `{}`", place.command()))
                    .hint(format!("its capabilities do not have `{name}`")))
            }
            _ => Ok(()),
        }
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            several: self.several_per_line,
            conditions: self.capabilities.engine_has("supportsConditionalBreakpoints"),
            hit_conditions: self.capabilities.engine_has("supportsHitConditionalBreakpoints"),
            // What other adapters make of `{expression}` differs with each, and some print it as the program's own output.
            log_messages: self.several_per_line && self.capabilities.engine_has("supportsLogPoints"),
            filter_options: self.capabilities.engine_has("supportsExceptionFilterOptions"),
            joining: self.engine.as_deref().map_or(Joining::Never, Joining::of),
        }
    }

    /// Sends the union of a place to the engine, unless one is on its way.
    fn push_breakpoints(&mut self, place: &Place) {
        let abilities = self.abilities();
        let implied = self.implied(place);
        let passes = self.passed().to_vec();
        let Some(sheet) = self.ledger.sheet_mut(place) else { return };
        if !sheet.push.start() {
            return;
        }
        let mut slots = sheet.slots(abilities, &implied);
        slots.retain(|slot| slot.ids.is_empty() || !slot.ids.iter().all(|id| passes.contains(id)));
        let arguments = sheet.arguments(&slots);
        let ids = slots.into_iter().map(|slot| slot.ids).collect();
        let waiter = Waiter::Breakpoints { place: place.clone(), ids, engine: self.engines };
        self.ask_engine(waiter, place.command(), arguments, ENGINE_DEADLINE);
    }

    /// A client that launched and never spoke of exceptions has what the engine does by default: a joiner's own list, even
    /// an empty one, does not take it away.
    fn implied(&self, place: &Place) -> Vec<Value> {
        let mut owners = self.clients.iter().filter(|client| client.launched);
        if *place != Place::Exceptions || owners.any(|client| self.ledger.has_set(place, client.id)) {
            return Vec::new();
        }
        let filters = self.capabilities.offered()["exceptionBreakpointFilters"].as_array();
        let defaults = filters.into_iter().flatten().filter(|filter| filter["default"] == true);
        defaults.map(|filter| json!({ "filterId": filter["filter"] })).collect()
    }

    /// Sends the places of these breakpoints once more: what the engine is to hold of them has changed.
    pub(super) fn push_again(&mut self, ids: &[i64]) {
        for place in self.ledger.places_of(ids) {
            if let Some(sheet) = self.ledger.sheet_mut(&place) {
                sheet.push.touch();
            }
            self.push_breakpoints(&place);
        }
    }

    /// Sends everything that was set before the engine was ready.
    pub(super) fn push_all_breakpoints(&mut self) {
        for place in self.ledger.places() {
            self.push_breakpoints(&place);
        }
        // An empty list is a wish too: nothing is to stop at exceptions.
        self.push_breakpoints(&Place::Exceptions);
    }

    /// The engine answered a list.
    pub(super) fn breakpoints_applied(
        &mut self,
        place: &Place,
        ids: &[Vec<i64>],
        engine: u64,
        result: Result<Value, Failure>,
    ) {
        if engine != self.engines {
            return;
        }
        let Some(sheet) = self.ledger.sheet_mut(place) else { return };
        let changed = result.as_ref().map(|body| sheet.applied(ids, body)).unwrap_or_default();
        let owed = sheet.push.answered(result.is_ok());
        let mut answered = Vec::new();
        for owed in owed {
            answered.push(owed.asked.client);
            match &result {
                Ok(_) => self.answer_owed(place, owed),
                Err(failure) => self.refuse(&owed.asked, failure.clone()),
            }
        }
        for id in changed {
            // Who is answered has it in its answer.
            self.tell_changed(id, &answered);
        }
        self.push_or_give_up(place);
        self.share_breakpoints();
    }

    /// What came meanwhile goes out now, or is answered as it is when the engine takes nothing any more.
    fn push_or_give_up(&mut self, place: &Place) {
        if self.takes_breakpoints() {
            return self.push_breakpoints(place);
        }
        let owed = self.ledger.sheet_mut(place).map(|sheet| sheet.push.engine_gone()).unwrap_or_default();
        owed.into_iter().for_each(|owed| self.answer_owed(place, owed));
    }

    fn answer_owed(&mut self, place: &Place, owed: Owed) {
        let client = owed.asked.client;
        let body = self.ledger.sheet(place).map(|sheet| sheet.answer(client, &owed.list));
        self.answer_breakpoints(&owed.asked, body.unwrap_or_default());
        let lost: Vec<(ClientId, i64)> = owed.lost.iter().map(|id| (client, *id)).collect();
        self.tell_lost(&lost);
    }

    /// The engine is gone: what it said of breakpoints is void, and who waits for it is answered. The next engine gets
    /// everything anew.
    pub(super) fn forget_engine_breakpoints(&mut self) {
        self.engines += 1;
        self.stop_judging();
        self.judging.last_resume.clear();
        for (place, owed) in self.ledger.engine_gone() {
            owed.into_iter().for_each(|owed| self.answer_owed(&place, owed));
        }
    }

    fn answer_breakpoints(&mut self, asked: &Asked, mut body: Value) {
        if let Some(client) = self.clients.get_mut(asked.client) {
            client.ids.to_client(&mut self.counter, &asked.command, &mut body);
        }
        self.answer(asked, Ok(body));
    }

    /// The engine changed its mind about one breakpoint.
    pub(super) fn breakpoint_told(&mut self, told: &Value) {
        for id in self.ledger.told(told) {
            self.tell_changed(id, &[]);
        }
        // It may have moved to a line where a client sees nothing yet.
        self.share_breakpoints();
    }

    /// Tells everybody who knows this breakpoint what became of it.
    fn tell_changed(&mut self, id: i64, but: &[ClientId]) {
        for client in self.watching() {
            if !but.contains(&client)
                && let Some(breakpoint) = self.ledger.seen_by(client, id)
            {
                self.tell(client, "breakpoint", &json!({ "reason": "changed", "breakpoint": breakpoint }));
            }
        }
    }

    /// Brings everybody's view of the others' breakpoints up to date.
    fn share_breakpoints(&mut self) {
        let by = std::mem::take(&mut self.changed_by);
        for client in self.watching() {
            self.show_breakpoints(client);
            // Function, data and exception breakpoints of others are told of by no event of their own.
            if by.iter().any(|by| *by != client) {
                self.tell(client, "invalidated", &json!({ "areas": ["breakpoints"] }));
            }
        }
    }

    /// Shows one client what it does not know of the others' breakpoints.
    pub(super) fn show_breakpoints(&mut self, client: ClientId) {
        for news in self.ledger.news_for(client) {
            let mut body = news.body;
            if news.reason == "new" && body["message"].is_null() {
                body["message"] = self.whose(news.id).into();
            }
            self.tell(client, "breakpoint", &json!({ "reason": news.reason, "breakpoint": body }));
        }
    }

    /// Whose breakpoint it is and when it counts: DAP has no fields for it, but editors show the message.
    fn whose(&self, id: i64) -> String {
        let Some(entry) = self.ledger.entry(id) else { return String::new() };
        let names: Vec<String> = entry
            .owners
            .iter()
            .map(|owner| {
                self.clients
                    .get(*owner)
                    .map_or_else(|| "a client that left".into(), |client| client.name.clone())
            })
            .collect();
        let mut text = format!("set by {}", names.join(", "));
        for (key, word) in [("condition", "when"), ("hitCondition", "hits"), ("logMessage", "logs")] {
            if let Some(what) = entry.wish[key].as_str() {
                text.push_str(&format!("; {word} `{what}`"));
            }
        }
        let traced = entry.wish["trace"]["expressions"].as_array().into_iter().flatten();
        let traced: Vec<String> = traced.filter_map(Value::as_str).map(|what| format!("`{what}`")).collect();
        if !traced.is_empty() {
            text.push_str(&format!("; traces {}", traced.join(", ")));
        }
        text
    }

    /// What a client was shown is not its own: it is taken back before the client goes, or the session does. An editor
    /// would keep it for the next session.
    pub(super) fn take_back_breakpoints(&mut self, client: ClientId) {
        let news = self.ledger.take_back(client);
        if self.clients.ready().contains(&client) {
            news.iter().for_each(|news| self.tell_removed(client, &news.body));
        }
    }

    /// Those that ride and were not told of the end: to the others breakpoints are nothing any more.
    fn watching(&self) -> Vec<ClientId> {
        let watching =
            self.clients.iter().filter(|client| client.stage == Stage::Ready && !client.told_terminated);
        watching.map(|client| client.id).collect()
    }

    fn tell_removed(&mut self, client: ClientId, breakpoint: &Value) {
        let body = json!({ "reason": "removed", "breakpoint": breakpoint });
        self.tell(client, "breakpoint", &body);
    }

    /// A client left: its wishes go, unless it asked to keep them.
    pub(super) fn drop_wishes(&mut self, left: &Client) {
        let client = left.id;
        if left.keeps_breakpoints {
            return self.ledger.keep(client);
        }
        let marks = Marked { added: Vec::new(), removed: self.ledger.marks_of(client) };
        let places = self.ledger.forget(client);
        if let Some(body) = self.marks_body(left, &marks) {
            self.tell_all("sessionChanged", &body);
        }
        if self.takes_breakpoints() {
            places.iter().for_each(|place| self.push_breakpoints(place));
        }
        if !places.is_empty() {
            self.changed_by.insert(client);
        }
        self.share_breakpoints();
    }
}
