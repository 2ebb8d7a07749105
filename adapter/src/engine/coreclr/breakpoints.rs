//! Breakpoints: what clients want, where it binds, and whether a hit counts.
//!
//! Several breakpoints may want one place, each with its own condition. So the program gets one breakpoint per *site*
//! (method and offset in its code), and a hit is judged for each that wants the site.

mod functions;
mod hits;
mod instructions;
mod places;

pub(super) use hits::Verdict;

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use clr_metadata::pdb::Location;
use cordebug::frame::Breakpoint;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::cor;
use super::expression::check_syntax;
use super::modules::Loaded;
use super::session::Session;
use super::sources::Sources;
use crate::engine::hit_condition::hit_condition;
use functions::Name;

/// Why a breakpoint does not bind in what its author hides from debuggers.
const NEVER: &str = "the code there is marked [DebuggerHidden]: no breakpoint stops in it";

/// Which list of wishes a breakpoint is in: each request replaces one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// `setFunctionBreakpoints`.
    Functions,
    /// `setInstructionBreakpoints`.
    Instructions,
    /// `setBreakpoints` in the file with this path.
    Source(String),
}

/// Where in a method's code a site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    /// At an IL offset, in whatever code is made of it.
    Il(u32),
    /// At an offset in its machine code.
    Machine(u32),
}

/// Module, MethodDef token, and where in it.
type SiteKey = (usize, u32, Spot);

struct Wanted {
    id: i64,
    /// As the hub sent it.
    wish: Value,
    /// Sites it is bound to.
    sites: Vec<SiteKey>,
    /// Where it ended up.
    place: Option<Location>,
    document: String,
    hits: u64,
    /// Why it will never bind.
    problem: Option<String>,
    /// What people should know of where it bound.
    remarks: Vec<String>,
}

struct Site {
    key: SiteKey,
    breakpoint: Breakpoint,
}

/// All breakpoints of the program.
#[derive(Default)]
pub(super) struct Breakpoints {
    places: BTreeMap<Place, Vec<Wanted>>,
    sites: Vec<Site>,
    entry: Option<Breakpoint>,
    /// Where handlers are about to hear of an exception that nobody catches.
    pub(super) heard: Option<Breakpoint>,
    /// Where the program asks for a stop at an exception that it caught for the user's code.
    pub(super) asked: Option<Breakpoint>,
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
        for own in [self.heard.take(), self.asked.take()].into_iter().flatten() {
            own.remove().unwrap_or_default();
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

    /// The site with this key, made when there is none yet.
    fn place_site(
        &mut self,
        key: SiteKey,
        set: impl FnOnce() -> cordebug::Result<Breakpoint>,
    ) -> Result<SiteKey, Failure> {
        if !self.sites.iter().any(|site| site.key == key) {
            let breakpoint = set().map_err(cor("set a breakpoint"))?;
            self.sites.push(Site { key, breakpoint });
        }
        Ok(key)
    }
}

impl Wanted {
    fn is_bound(&self) -> bool {
        !self.sites.is_empty()
    }

    fn is_bound_in(&self, loaded: &Loaded) -> bool {
        self.sites.iter().any(|site| site.0 == loaded.id)
    }

    /// DAP `Breakpoint`; `pending`: why what has not bound yet has not.
    fn body(&self, pending: &str) -> Value {
        let mut body = json!({ "id": self.id, "verified": self.is_bound() });
        if let Some(at) = &self.place {
            body["line"] = json!(at.point.line);
            body["column"] = json!(at.point.column);
            body["endLine"] = json!(at.point.end_line);
            body["endColumn"] = json!(at.point.end_column);
            // Whoever asked for a line knows the file.
            if !self.wish["line"].is_number() {
                body["source"] = json!({ "path": self.document, "name": self.document.rsplit('/').next() });
            }
        }
        if !self.is_bound() {
            body["message"] = json!(self.problem.as_deref().unwrap_or(pending));
            body["reason"] = json!(if self.problem.is_some() { "failed" } else { "pending" });
        } else if !self.remarks.is_empty() {
            body["message"] = json!(self.remarks.join("; "));
        }
        body
    }

    /// Why it has not bound, where it may bind in one assembly only.
    fn in_its_module(&self, pending: &str) -> String {
        match self.wish["modulePath"].as_str() {
            Some(named) => format!("it is for `{named}` alone: {pending}"),
            None => pending.to_owned(),
        }
    }

    fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }
}

/// Whether a breakpoint that names an assembly means this one: by its file name, or by its path, where a copy of the same file is
/// the same.
fn is_meant(named: Option<&str>, loaded: &Loaded) -> bool {
    let Some(named) = named.map(Path::new) else { return true };
    if named.file_name() != loaded.path.file_name() {
        return false;
    }
    let same = || {
        let read = |path: &Path| std::fs::read(path).ok();
        let length = |path: &Path| std::fs::metadata(path).map(|found| found.len()).ok();
        length(named) == length(&loaded.path) && read(named) == read(&loaded.path)
    };
    !named.is_absolute() || named == loaded.path || !named.exists() || same()
}

impl Session {
    pub(super) fn set_breakpoints(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let path = arguments["source"]["path"]
            .as_str()
            .ok_or_else(|| Failure::invalid("`source.path` is missing"))?
            .to_owned();
        self.replace(Place::Source(path), arguments)
    }

    pub(super) fn set_function_breakpoints(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.replace(Place::Functions, arguments)
    }

    pub(super) fn set_instruction_breakpoints(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.replace(Place::Instructions, arguments)
    }

    fn replace(&mut self, place: Place, arguments: &Value) -> Result<Value, Failure> {
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
                    remarks: Vec::new(),
                };
                wanted.problem = hit_condition(&wanted.wish["hitCondition"]).err();
                if let Some(condition) = wanted.wish["condition"].as_str() {
                    let wrong = check_syntax(condition).err();
                    let told = wrong.map(|failure| format!("the condition `{condition}`: {failure}"));
                    wanted.problem = wanted.problem.or(told);
                }
                if place == Place::Functions {
                    let named = Name::parse(wanted.wish["name"].as_str().unwrap_or_default());
                    wanted.problem = wanted.problem.or(named.err());
                }
                if place == Place::Instructions {
                    session.bind_instruction(&mut wanted);
                }
                for loaded in session.modules.all().to_vec() {
                    session.bind(&place, &mut wanted, &loaded);
                }
                new.push(wanted);
            }
            let pending = session.why_pending(&place);
            let bodies: Vec<Value> =
                new.iter().map(|wanted| wanted.body(&wanted.in_its_module(&pending))).collect();
            session.breakpoints.places.insert(place, new);
            session.breakpoints.sweep();
            Ok(json!({ "breakpoints": bodies }))
        })
    }

    /// Why a breakpoint at a place has not bound, for people.
    fn why_pending(&self, place: &Place) -> String {
        let mut reasons = Vec::new();
        match place {
            Place::Functions => reasons.push("no loaded module has this method yet".to_owned()),
            // Code comes and goes with the process: what is not there now never will be.
            Place::Instructions => return "no program runs yet that has code there".to_owned(),
            Place::Source(path) if !std::path::Path::new(path).exists() => {
                reasons.push(format!("there is no file `{path}`"));
            }
            Place::Source(_) => {
                if self.modules.all().iter().any(|loaded| self.has_source(place, loaded)) {
                    // Other modules' symbols would change nothing.
                    return "there is no code at or after this line".to_owned();
                }
                reasons.push("no loaded module has code for it yet".to_owned());
            }
        }
        reasons.extend(self.modules.problems());
        reasons.join("; ")
    }

    /// Whether a module was compiled from the file of a place.
    fn has_source(&self, place: &Place, loaded: &Loaded) -> bool {
        let Place::Source(path) = place else { return false };
        loaded.pdb.as_ref().is_ok_and(|pdb| self.sources.find(pdb, path).is_some())
    }

    /// Binds one breakpoint in one module, if it has code there.
    fn bind(&mut self, place: &Place, wanted: &mut Wanted, loaded: &Rc<Loaded>) {
        if wanted.problem.is_some() || !is_meant(wanted.wish["modulePath"].as_str(), loaded) {
            return;
        }
        match place {
            Place::Functions => self.bind_function(wanted, loaded),
            Place::Source(path) => self.bind_line(path, wanted, loaded),
            // Not by modules: its code is there already, or it is no place to stop at.
            Place::Instructions => return,
        }
        if loaded.is_optimized && !loaded.is_framework && wanted.is_bound_in(loaded) {
            wanted.remark(format!("`{}` is optimised: the line may be skipped", loaded.name()));
        }
    }

    fn bind_line(&mut self, path: &str, wanted: &mut Wanted, loaded: &Rc<Loaded>) {
        let Ok(pdb) = &loaded.pdb else { return };
        let number = |key: &str| wanted.wish[key].as_u64().and_then(|number| u32::try_from(number).ok());
        let (Some(line), column) = (number("line"), number("column")) else { return };
        let Some((document, is_by_name)) = self.sources.find_or_guess(pdb, path) else { return };
        let locations = pdb.locations(document, line, column);
        if let Some(first) = locations.first() {
            if first.point.line > line {
                wanted.remark(format!("no code on line {line}: moved to line {}", first.point.line));
            }
            if is_by_name {
                wanted.remark(format!(
                    "there is no file `{path}`: bound in `{}`, whose path ends alike",
                    self.sources.local(pdb.document(document))
                ));
            }
            if Sources::differs(pdb, document, path) {
                wanted.remark(format!(
                    "the file is not the one `{}` was compiled from (its checksum differs): lines may be off",
                    loaded.name()
                ));
            }
        }
        for at in locations {
            self.bind_at(wanted, loaded, at.method, Some(at));
        }
    }

    fn bind_function(&mut self, wanted: &mut Wanted, loaded: &Rc<Loaded>) {
        let Ok(name) = Name::parse(wanted.wish["name"].as_str().unwrap_or_default()) else { return };
        if loaded.is_framework && !name.is_frameworks() {
            return;
        }
        let (methods, others) = name.methods(loaded);
        if methods.is_empty() && !others.is_empty() && !wanted.is_bound() {
            wanted.problem =
                Some(format!("no overload has these parameters; there is {}", others.join(", ")));
            return;
        }
        for method in methods {
            let point = loaded
                .pdb
                .as_ref()
                .ok()
                .and_then(|pdb| pdb.points(method).iter().find(|point| !point.is_hidden()).copied());
            // A method without statements of its own, a kickoff say, has nothing to stop at, but code without symbols
            // has its first instruction.
            if point.is_some() || loaded.pdb.is_err() {
                self.bind_at(wanted, loaded, method, point.map(|point| Location { method, point }));
            }
        }
    }

    fn bind_at(&mut self, wanted: &mut Wanted, loaded: &Rc<Loaded>, method: u32, at: Option<Location>) {
        if loaded.never_stops_in(method) {
            if !wanted.is_bound() {
                wanted.problem = Some(NEVER.into());
            }
            return;
        }
        // Code on the same line, or another of the same name, may be stopped in.
        wanted.problem = wanted.problem.take().filter(|problem| problem != NEVER);
        let il = at.map_or(0, |at| at.point.il);
        let set = || loaded.module.function(method)?.set_breakpoint(il);
        match self.breakpoints.place_site((loaded.id, method, Spot::Il(il)), set) {
            Ok(site) if wanted.sites.contains(&site) => {}
            Ok(site) => {
                wanted.sites.push(site);
                if let (None, Some(at), Ok(pdb)) = (wanted.place, at, &loaded.pdb) {
                    wanted.place = Some(at);
                    wanted.document = self.sources.local(pdb.document(at.point.document));
                }
            }
            // An abstract or native method of that name is none to stop in.
            Err(_) if wanted.is_bound() => {}
            Err(failure) => wanted.remark(failure.to_string()),
        }
    }

    /// A module came: what waited for it binds, and clients are told.
    pub(super) fn bind_in(&mut self, loaded: &Rc<Loaded>) {
        let mut places = std::mem::take(&mut self.breakpoints.places);
        for (place, list) in &mut places {
            for wanted in list {
                let before = (wanted.is_bound(), wanted.problem.is_some());
                self.bind(place, wanted, loaded);
                // A module that has the file and no code at the line is why it will not bind.
                let explained = !wanted.is_bound() && self.has_source(place, loaded);
                if explained || (wanted.is_bound(), wanted.problem.is_some()) != before {
                    let pending = if explained { self.why_pending(place) } else { String::new() };
                    let body = wanted.body(&wanted.in_its_module(&pending));
                    self.tell("breakpoint", json!({ "reason": "changed", "breakpoint": body }));
                }
            }
        }
        self.breakpoints.places = places;
    }

    /// A module came whose missing symbols may be why: whoever waits for a breakpoint is notified.
    pub(super) fn tell_why_pending(&self) {
        for (place, list) in &self.breakpoints.places {
            let pending = self.why_pending(place);
            for wanted in list.iter().filter(|wanted| !wanted.is_bound() && wanted.problem.is_none()) {
                let body = wanted.body(&wanted.in_its_module(&pending));
                self.tell("breakpoint", json!({ "reason": "changed", "breakpoint": body }));
            }
        }
    }

    /// A module went: its breakpoints wait again.
    pub(super) fn unbind_in(&mut self, module: usize) {
        self.breakpoints.sites.retain(|site| site.key.0 != module);
        let mut places = std::mem::take(&mut self.breakpoints.places);
        for (place, list) in &mut places {
            for wanted in list {
                let before = wanted.sites.len();
                wanted.sites.retain(|site| site.0 != module);
                if wanted.sites.is_empty() && before > 0 {
                    (wanted.place, wanted.remarks) = (None, Vec::new());
                    let body = wanted.body(&wanted.in_its_module(&self.why_pending(place)));
                    self.tell("breakpoint", json!({ "reason": "changed", "breakpoint": body }));
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
                    // Statements of the top level have a name of the compiler's.
                    image.metadata.owner_of(kickoff) == owner
                        && matches!(image.metadata.method_name(kickoff), "Main" | "<Main>$")
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
}
