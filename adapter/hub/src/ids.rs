//! The ids a client sees: ours, never recycled, and good until the next resume.
//!
//! Engines hand out the same numbers at every stop; a slow client would silently read another stop's data. So
//! each client gets numbers from one counter of the session, and a number from before the last resume is
//! refused. Breakpoint ids are not here: they live as long as the session (`breakpoints`).

use std::collections::HashMap;

use serde_json::Value;
use tandem_wire::ids::IdKind;
use tandem_wire::{ErrorCode, Failure, command};

/// The session's counter of ids.
#[derive(Debug)]
pub struct IdCounter(i64);

impl Default for IdCounter {
    fn default() -> Self {
        // Above anything a test or an adapter invents, so that a number that skipped the rewriting shows.
        Self(1000)
    }
}

impl IdCounter {
    /// A number that was never used before.
    pub fn take(&mut self) -> i64 {
        self.0 += 1;
        self.0
    }

    /// The last number given out.
    pub fn last(&self) -> i64 {
        self.0
    }
}

/// The mapping between the session's ids and those of one client.
#[derive(Debug, Default)]
pub struct IdTable {
    engine_of: HashMap<i64, (IdKind, i64)>,
    ours_of: HashMap<(IdKind, i64), i64>,
    /// Ids up to this one were given out before the last resume.
    stale_up_to: i64,
}

impl IdTable {
    /// The program runs again: everything but sources becomes stale.
    pub fn expire(&mut self, counter: &IdCounter) {
        self.engine_of.retain(|_, (kind, _)| *kind == IdKind::Source);
        self.ours_of.retain(|(kind, _), _| *kind == IdKind::Source);
        self.stale_up_to = counter.last();
    }

    fn session_id(&mut self, counter: &mut IdCounter, kind: IdKind, engine: i64) -> i64 {
        *self.ours_of.entry((kind, engine)).or_insert_with(|| {
            let ours = counter.take();
            self.engine_of.insert(ours, (kind, engine));
            ours
        })
    }

    fn engine(&self, kind: IdKind, ours: i64) -> Result<i64, Failure> {
        match self.engine_of.get(&ours) {
            Some((found, engine)) if *found == kind => Ok(*engine),
            None if ours > 0 && ours <= self.stale_up_to => Err(Failure::new(
                ErrorCode::NotStopped,
                format!("{} {ours} belongs to an earlier stop", kind.noun()),
            )
            .hint("the program has run since then; request the stack again")
            .quiet()),
            _ => Err(Failure::invalid(format!("there is no {} {ours}", kind.noun()))
                .hint("ids come from `stackTrace`, `scopes`, `variables` and `evaluate` of the same client")),
        }
    }

    /// Rewrites the engine's ids in a body or event for this client.
    pub fn to_client(&mut self, counter: &mut IdCounter, name: &str, body: &mut Value) {
        if let Some((list, kind)) = command::find(name).and_then(|spec| spec.listed_ids) {
            // A body from outside may be anything: indexing to change it could panic.
            for item in body.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(id) = item.get_mut("id")
                    && let Some(engine) = id.as_i64()
                {
                    *id = self.session_id(counter, kind, engine).into();
                }
            }
        }
        self.walk_out(counter, body);
    }

    fn walk_out(&mut self, counter: &mut IdCounter, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk_out(counter, item)),
            Value::Object(object) => {
                for (key, inner) in object.iter_mut() {
                    match (IdKind::of_key(key), inner.as_i64()) {
                        // DAP: 0 means "nothing behind it".
                        (Some(_), Some(0)) => {}
                        (Some(kind), Some(engine)) => *inner = self.session_id(counter, kind, engine).into(),
                        _ => self.walk_out(counter, inner),
                    }
                }
            }
            _ => {}
        }
    }

    /// Rewrites this client's ids in a request's arguments for the engine.
    ///
    /// # Errors
    /// `NOT_STOPPED` for an id of an earlier stop, `INVALID_PARAMETER` for one that never was.
    pub fn to_engine(&self, arguments: &mut Value) -> Result<(), Failure> {
        let Value::Object(object) = arguments else { return Ok(()) };
        for (key, inner) in object.iter_mut() {
            match (IdKind::of_key(key), inner.as_i64()) {
                (Some(IdKind::Source), Some(0)) => {}
                (Some(kind), Some(ours)) => *inner = self.engine(kind, ours)?.into(),
                (Some(kind), None) if !inner.is_null() => {
                    return Err(Failure::invalid(format!(
                        "`{key}` must be a number, the id of a {}",
                        kind.noun()
                    )));
                }
                _ if key == "source" => self.to_engine(inner)?,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_of_an_earlier_stop_is_refused_and_never_comes_back() {
        let (mut counter, mut table) = (IdCounter::default(), IdTable::default());
        let mut body = json!({"stackFrames": [{"id": 1}, {"id": 2}]});
        table.to_client(&mut counter, "stackTrace", &mut body);
        let first = body["stackFrames"][0]["id"].as_i64().unwrap();
        let mut arguments = json!({"frameId": first});
        table.to_engine(&mut arguments).unwrap();
        assert_eq!(arguments, json!({"frameId": 1}));

        table.expire(&counter);
        let failure = table.to_engine(&mut json!({"frameId": first})).unwrap_err();
        assert_eq!(failure.code, ErrorCode::NotStopped);
        let mut again = json!({"stackFrames": [{"id": 1}]});
        table.to_client(&mut counter, "stackTrace", &mut again);
        assert_ne!(again["stackFrames"][0]["id"].as_i64().unwrap(), first);
    }

    #[test]
    fn frame_id_is_not_a_variables_reference_and_an_invented_id_is_an_invalid_parameter() {
        let (mut counter, mut table) = (IdCounter::default(), IdTable::default());
        let mut body = json!({"stackFrames": [{"id": 1}]});
        table.to_client(&mut counter, "stackTrace", &mut body);
        let frame = body["stackFrames"][0]["id"].clone();
        for arguments in
            [json!({"variablesReference": frame}), json!({"frameId": 999_999}), json!({"frameId": "x"})]
        {
            assert_eq!(
                table.to_engine(&mut arguments.clone()).unwrap_err().code,
                ErrorCode::InvalidParameter
            );
        }
    }
}
