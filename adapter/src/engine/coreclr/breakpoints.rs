//! Breakpoints: what clients want, where it binds, and whether a hit counts.
//!
//! Several breakpoints may want one place, each with its own condition. So the program gets one breakpoint per *site*
//! (method and IL offset), and a hit is judged for each that wants the site.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc::Receiver;

use clr_metadata::pdb::Location;
use cordebug::frame::Breakpoint;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::cor;
use super::modules::Loaded;
use super::session::{Input, Session};

/// The place of function breakpoints in the map of places.
const FUNCTIONS: &str = "";

/// What a hit means.
pub(super) enum Verdict {
    /// Nothing: a condition does not hold, or only something was logged.
    GoOn,
    /// The program stops for these breakpoints.
    Stop(Vec<i64>),
}

struct Wanted {
    id: i64,
    /// As the hub sent it.
    wish: Value,
    /// Sites it is bound to.
    sites: Vec<(usize, u32, u32)>,
    /// Where it ended up.
    place: Option<Location>,
    document: String,
    hits: u64,
    problem: Option<String>,
}

struct Site {
    key: (usize, u32, u32),
    breakpoint: Breakpoint,
}

/// All breakpoints of the program.
#[derive(Default)]
pub(super) struct Breakpoints {
    places: BTreeMap<String, Vec<Wanted>>,
    sites: Vec<Site>,
    entry: Option<Breakpoint>,
    last_id: i64,
}

impl Breakpoints {
    /// Whether this is the entry stop, which happens once.
    pub(super) fn take_entry(&mut self, hit: &Breakpoint) -> bool {
        let is_entry = self.entry.as_ref().is_some_and(|entry| entry.is(hit));
        if is_entry && let Some(entry) = self.entry.take() {
            entry.remove().unwrap_or_default();
        }
        is_entry
    }

    /// Takes everything out of the program.
    pub(super) fn remove_all(&mut self) {
        for site in self.sites.drain(..) {
            // A process that is going away has none left.
            site.breakpoint.remove().unwrap_or_default();
        }
        self.places.clear();
    }

    /// Takes out sites nobody wants any more.
    fn sweep(&mut self) {
        let wanted: Vec<_> = self.places.values().flatten().flat_map(|wanted| wanted.sites.clone()).collect();
        self.sites.retain(|site| {
            let keep = wanted.contains(&site.key);
            if !keep {
                site.breakpoint.remove().unwrap_or_default();
            }
            keep
        });
    }

    fn place_site(
        &mut self,
        loaded: &Rc<Loaded>,
        method: u32,
        il: u32,
    ) -> Result<(usize, u32, u32), Failure> {
        let key = (loaded.id, method, il);
        if !self.sites.iter().any(|site| site.key == key) {
            let set = || loaded.module.function(method)?.set_breakpoint(il);
            let breakpoint = set().map_err(cor("set a breakpoint"))?;
            self.sites.push(Site { key, breakpoint });
        }
        Ok(key)
    }
}

impl Wanted {
    fn body(&self) -> Value {
        let mut body = json!({ "id": self.id, "verified": self.place.is_some() });
        if let Some(at) = &self.place {
            body["line"] = json!(at.point.line);
            body["column"] = json!(at.point.column);
            body["endLine"] = json!(at.point.end_line);
            body["endColumn"] = json!(at.point.end_column);
            if self.wish["name"].is_string() {
                body["source"] = json!({ "path": self.document, "name": self.document.rsplit('/').next() });
            }
        } else {
            body["message"] =
                json!(self.problem.as_deref().unwrap_or("no loaded module has code for it yet"));
            body["reason"] = json!(if self.problem.is_some() { "failed" } else { "pending" });
        }
        body
    }
}

impl Session {
    pub(super) fn set_breakpoints(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let path = arguments["source"]["path"]
            .as_str()
            .ok_or_else(|| Failure::invalid("`source.path` is missing"))?
            .to_owned();
        self.replace(path, arguments)
    }

    pub(super) fn set_function_breakpoints(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.replace(FUNCTIONS.into(), arguments)
    }

    fn replace(&mut self, place: String, arguments: &Value) -> Result<Value, Failure> {
        let wishes = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        self.while_standing(|session| {
            let mut old = session.breakpoints.places.remove(&place).unwrap_or_default();
            let mut new: Vec<Wanted> = Vec::with_capacity(wishes.len());
            for wish in wishes {
                // What is wanted as before keeps its id, its sites and its count.
                if let Some(at) = old.iter().position(|wanted| wanted.wish == wish) {
                    new.push(old.remove(at));
                    continue;
                }
                session.breakpoints.last_id += 1;
                let mut wanted = Wanted {
                    id: session.breakpoints.last_id,
                    wish,
                    sites: Vec::new(),
                    place: None,
                    document: String::new(),
                    hits: 0,
                    problem: None,
                };
                wanted.problem = hit_condition(&wanted.wish["hitCondition"]).err();
                for loaded in session.modules.with_symbols() {
                    session.bind(&place, &mut wanted, &loaded);
                }
                if wanted.place.is_none() && !place.is_empty() && !std::path::Path::new(&place).exists() {
                    wanted.problem.get_or_insert_with(|| format!("there is no file `{place}`"));
                }
                new.push(wanted);
            }
            let bodies: Vec<Value> = new.iter().map(Wanted::body).collect();
            session.breakpoints.places.insert(place, new);
            session.breakpoints.sweep();
            Ok(json!({ "breakpoints": bodies }))
        })
    }

    /// Binds one breakpoint in one module, if it has code there.
    fn bind(&mut self, place: &str, wanted: &mut Wanted, loaded: &Rc<Loaded>) {
        let Ok(pdb) = &loaded.pdb else { return };
        if wanted.problem.is_some() {
            return;
        }
        let locations = if place == FUNCTIONS {
            let name = wanted.wish["name"].as_str().unwrap_or_default();
            methods_named(loaded, name)
                .into_iter()
                .filter_map(|method| {
                    let point = pdb.points(method).iter().find(|point| !point.is_hidden()).copied()?;
                    Some(Location { method, point })
                })
                .collect()
        } else {
            let number = |key: &str| wanted.wish[key].as_u64().and_then(|number| u32::try_from(number).ok());
            let Some(line) = number("line") else { return };
            let Some(document) = pdb.find_document(place) else { return };
            // Two files of one name: the one that exists where it was compiled is another one.
            let compiled = pdb.document(document);
            if compiled != place
                && std::path::Path::new(compiled).exists()
                && std::path::Path::new(place).exists()
            {
                return;
            }
            pdb.locations(document, line, number("column"))
        };
        for at in locations {
            match self.breakpoints.place_site(loaded, at.method, at.point.il) {
                Ok(site) => {
                    wanted.sites.push(site);
                    if wanted.place.is_none() {
                        wanted.place = Some(at);
                        wanted.document = pdb.document(at.point.document).to_owned();
                    }
                }
                Err(failure) => wanted.problem = Some(failure.to_string()),
            }
        }
    }

    /// A module came: what waited for it binds, and clients are told.
    pub(super) fn bind_in(&mut self, loaded: &Rc<Loaded>) {
        let mut places = std::mem::take(&mut self.breakpoints.places);
        for (place, list) in &mut places {
            for wanted in list {
                let before = wanted.place.is_some();
                self.bind(place, wanted, loaded);
                if wanted.place.is_some() && !before {
                    self.tell("breakpoint", json!({ "reason": "changed", "breakpoint": wanted.body() }));
                }
            }
        }
        self.breakpoints.places = places;
    }

    /// The user's entry method: for an async one, the state machine behind it.
    pub(super) fn set_entry_breakpoint(&mut self, loaded: &Rc<Loaded>) -> Result<(), Failure> {
        let no_entry = || Failure::new(ErrorCode::EngineFailed, "its assembly has no entry method");
        let image = loaded.image().filter(|image| image.entry_point != 0).ok_or_else(no_entry)?;
        let mut target = (image.entry_point, 0);
        if let Ok(pdb) = &loaded.pdb {
            let visible = |method: u32| {
                pdb.points(method).iter().find(|point| !point.is_hidden()).map(|point| (method, point.il))
            };
            let owner = image.metadata.owner_of(image.entry_point);
            let is_users = |method: u32| {
                let kickoff = pdb.kickoff(method);
                kickoff.is_some_and(|kickoff| {
                    image.metadata.owner_of(kickoff) == owner && image.metadata.method_name(kickoff) == "Main"
                })
            };
            target = visible(image.entry_point)
                .or_else(|| image.metadata.all_methods().find(|method| is_users(*method)).and_then(visible))
                .unwrap_or(target);
        }
        let set = || loaded.module.function(target.0)?.set_breakpoint(target.1);
        self.breakpoints.entry = Some(set().map_err(cor("set a breakpoint at the entry"))?);
        Ok(())
    }

    /// Judges a hit for every breakpoint that wants its site.
    pub(super) fn judge(&mut self, thread: u32, hit: &Breakpoint, inputs: &Receiver<Input>) -> Verdict {
        let Some(key) =
            self.breakpoints.sites.iter().find(|site| site.breakpoint.is(hit)).map(|site| site.key)
        else {
            return Verdict::GoOn;
        };
        let wants: Vec<(i64, Value)> = self
            .breakpoints
            .places
            .values()
            .flatten()
            .filter(|wanted| wanted.sites.contains(&key))
            .map(|wanted| (wanted.id, wanted.wish.clone()))
            .collect();
        let mut stop = Vec::new();
        for (id, wish) in wants {
            let condition = wish["condition"].as_str().map(|text| self.condition_holds(text, thread, inputs));
            match condition {
                Some(Ok(false)) => continue,
                Some(Err(failure)) => {
                    let text = wish["condition"].as_str().unwrap_or_default();
                    self.note(&format!(
                        "The condition `{text}` cannot be evaluated, so the program stops: {failure}"
                    ));
                }
                _ => {}
            }
            if !self.counts(id, &wish["hitCondition"]) {
                continue;
            }
            match wish["logMessage"].as_str() {
                Some(message) => {
                    let line = self.interpolate(message, thread, inputs);
                    self.note(&line);
                }
                None => stop.push(id),
            }
        }
        if stop.is_empty() { Verdict::GoOn } else { Verdict::Stop(stop) }
    }

    fn counts(&mut self, id: i64, condition: &Value) -> bool {
        let wanted = self.breakpoints.places.values_mut().flatten().find(|wanted| wanted.id == id);
        let Some(wanted) = wanted else { return false };
        wanted.hits += 1;
        let hits = wanted.hits;
        hit_condition(condition).is_ok_and(|test| test.is_none_or(|test| test.holds(hits)))
    }

    /// Replaces each `{expression}` of a log message by its value.
    fn interpolate(&mut self, message: &str, thread: u32, inputs: &Receiver<Input>) -> String {
        let mut line = String::new();
        let mut rest = message;
        while let Some((before, after)) = rest.split_once('{') {
            line.push_str(before);
            let Some((expression, behind)) = after.split_once('}') else {
                line.push('{');
                rest = after;
                break;
            };
            match self.evaluate_to_text(expression, thread, inputs) {
                Ok(text) => line.push_str(&text),
                Err(failure) => line.push_str(&format!("{{{expression}: {failure}}}")),
            }
            rest = behind;
        }
        line + rest
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HitTest {
    Equal(u64),
    Above(u64),
    AtLeast(u64),
    Below(u64),
    AtMost(u64),
    Every(u64),
}

impl HitTest {
    fn holds(self, hits: u64) -> bool {
        match self {
            Self::Equal(count) => hits == count,
            Self::Above(count) => hits > count,
            Self::AtLeast(count) => hits >= count,
            Self::Below(count) => hits < count,
            Self::AtMost(count) => hits <= count,
            Self::Every(count) => hits.is_multiple_of(count),
        }
    }
}

/// `5`, `= 5`, `== 5`, `> 5`, `>= 5`, `< 5`, `<= 5`, `% 5`.
fn hit_condition(value: &Value) -> Result<Option<HitTest>, String> {
    let Some(text) = value.as_str().map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let digits = text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(text.len());
    let (operator, number) = text.split_at(digits);
    let wrong =
        || format!("the hit condition `{text}` is not understood; use 5, > 5, >= 5, < 5, <= 5 or % 5");
    let count: u64 = number.trim().parse().map_err(|_| wrong())?;
    match operator.trim() {
        "" | "=" | "==" => Ok(Some(HitTest::Equal(count))),
        ">" => Ok(Some(HitTest::Above(count))),
        ">=" => Ok(Some(HitTest::AtLeast(count))),
        "<" => Ok(Some(HitTest::Below(count))),
        "<=" => Ok(Some(HitTest::AtMost(count))),
        "%" if count > 0 => Ok(Some(HitTest::Every(count))),
        _ => Err(wrong()),
    }
}

/// Methods whose (partly) qualified name ends with `name`.
fn methods_named(loaded: &Loaded, name: &str) -> Vec<u32> {
    let Some(image) = loaded.image() else { return Vec::new() };
    let name = name.split('(').next().unwrap_or_default().trim();
    let (qualifier, own) = name.rsplit_once('.').unwrap_or(("", name));
    let metadata = &image.metadata;
    metadata
        .all_methods()
        .filter(|method| metadata.method_name(*method) == own)
        .filter(|method| {
            let owner = metadata.type_name(metadata.owner_of(*method));
            qualifier.is_empty() || owner == qualifier || owner.ends_with(&format!(".{qualifier}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_conditions_are_those_people_type() {
        for (text, hits, holds) in [
            ("3", 3, true),
            ("3", 4, false),
            ("> 2", 3, true),
            (">=2", 2, true),
            ("% 5", 10, true),
            ("%5", 11, false),
            ("<= 1", 2, false),
        ] {
            let test = hit_condition(&json!(text)).unwrap().unwrap();
            assert_eq!(test.holds(hits), holds, "{text} at {hits}");
        }
        assert_eq!(hit_condition(&Value::Null), Ok(None));
        assert!(hit_condition(&json!("often")).is_err());
        assert!(hit_condition(&json!("% 0")).is_err());
    }
}
