//! Binds breakpoints in loaded modules, and unbinds them from unloaded ones.
//!
//! Not here: hits ([`super::hits`]).

use std::path::Path;
use std::rc::Rc;

use clr_metadata::pdb::Location;
use cordebug::frame::RuntimeBreakpoint;
use tandem_wire::types::{Breakpoint, BreakpointEventBody};
use tandem_wire::{ErrorCode, Failure};

use super::functions::FunctionName;
use super::{BoundLocation, BreakpointList, Breakpoints, ClrBreakpoint, CodeOffset, LocationKey};
use crate::cor;
use crate::modules::LoadedModule;
use crate::options::SessionOptions;
use crate::outbox::Outbox;
use crate::sources::SourceLocator;
use crate::types::ClrTypeSystem;

/// The event of a breakpoint whose state has changed.
fn changed(breakpoint: Breakpoint) -> BreakpointEventBody {
    BreakpointEventBody { reason: "changed".to_owned(), breakpoint, ..BreakpointEventBody::default() }
}

/// Why a breakpoint does not bind in code that its author hides from debuggers.
const NEVER: &str = "the code there is marked [DebuggerHidden]: no breakpoint stops in it";

impl Breakpoints {
    /// Binds one breakpoint in one module, if it has code there.
    pub(super) fn bind(
        &mut self,
        options: &SessionOptions,
        sources: &SourceLocator,
        scope: &BreakpointList,
        breakpoint: &mut ClrBreakpoint,
        loaded: &Rc<LoadedModule>,
    ) {
        if breakpoint.problem.is_some()
            || !matches_assembly(breakpoint.request.module_path.as_deref(), loaded)
        {
            return;
        }
        match scope {
            BreakpointList::Functions => self.bind_function(options, sources, breakpoint, loaded),
            BreakpointList::Source(path) => self.bind_line(options, sources, path, breakpoint, loaded),
            // Not bound by modules: the code exists already, or the address is not a place to stop at.
            BreakpointList::Instructions => return,
        }
        if loaded.is_optimized && !loaded.is_framework && breakpoint.is_bound_in(loaded) {
            breakpoint.remark(format!("`{}` is optimised: the line may be skipped", loaded.name()));
        }
    }

    fn bind_line(
        &mut self,
        options: &SessionOptions,
        sources: &SourceLocator,
        path: &str,
        breakpoint: &mut ClrBreakpoint,
        loaded: &Rc<LoadedModule>,
    ) {
        let Ok(pdb) = &loaded.pdb else { return };
        let number = |argument: Option<i64>| argument.and_then(|number| u32::try_from(number).ok());
        let Some(line) = number(breakpoint.request.line) else { return };
        let column = number(breakpoint.request.column);
        let Some((document, is_by_name)) = sources.find_or_guess(pdb, path) else { return };
        if sources.is_refused(pdb, document, path) {
            breakpoint.problem = Some(format!(
                "the file is not the one `{}` was compiled from (its checksum differs), and \
                    `requireExactSource` is set",
                loaded.name()
            ));
            return;
        }
        let locations = pdb.locations(document, line, column);
        if let Some(first) = locations.first() {
            if first.point.line > line {
                breakpoint.remark(format!("no code on line {line}: moved to line {}", first.point.line));
            }
            if is_by_name {
                breakpoint.remark(format!(
                    "there is no file `{path}`: bound in `{}`, whose path ends in the same way",
                    sources.path_of(pdb, document)
                ));
            }
            if SourceLocator::differs(pdb, document, path) {
                breakpoint.remark(format!(
                    "the file is not the one `{}` was compiled from (its checksum differs): lines may be off",
                    loaded.name()
                ));
            }
        }
        for at in locations {
            self.bind_at(options, sources, breakpoint, loaded, at.method, Some(at));
        }
    }

    fn bind_function(
        &mut self,
        options: &SessionOptions,
        sources: &SourceLocator,
        breakpoint: &mut ClrBreakpoint,
        loaded: &Rc<LoadedModule>,
    ) {
        let Ok(name) = FunctionName::parse(breakpoint.request.name.as_deref().unwrap_or_default()) else {
            return;
        };
        if loaded.is_framework && !name.is_frameworks() {
            return;
        }
        let (methods, others) = name.methods(loaded);
        if methods.is_empty() && !others.is_empty() && !breakpoint.is_bound() {
            breakpoint.problem =
                Some(format!("no overload has these parameters; there is {}", others.join(", ")));
            return;
        }
        for method in methods {
            let point = loaded
                .pdb
                .as_ref()
                .ok()
                .and_then(|pdb| pdb.points(method).iter().find(|point| !point.is_hidden()).copied());
            // A method without statements, a kickoff for example, has nothing to stop at; code without
            // symbols has its first instruction.
            if point.is_some() || loaded.pdb.is_err() {
                self.bind_at(
                    options,
                    sources,
                    breakpoint,
                    loaded,
                    method,
                    point.map(|point| Location { method, point }),
                );
            }
        }
    }

    fn bind_at(
        &mut self,
        options: &SessionOptions,
        sources: &SourceLocator,
        breakpoint: &mut ClrBreakpoint,
        loaded: &Rc<LoadedModule>,
        method: u32,
        at: Option<Location>,
    ) {
        if loaded.never_stops_in(method) {
            if !breakpoint.is_bound() {
                breakpoint.problem = Some(NEVER.into());
            }
            return;
        }
        // Other code on the same line, or another method of the same name, can stop.
        breakpoint.problem = breakpoint.problem.take().filter(|problem| problem != NEVER);
        let il = at.map_or(0, |at| at.point.il);
        let set = || loaded.module.function(method)?.set_breakpoint(il);
        match self.place_site((loaded.id, method, CodeOffset::Il(il)), set) {
            Ok(site) if breakpoint.sites.contains(&site) => {}
            Ok(site) => {
                breakpoint.sites.push(site);
                if let (None, Some(at), Ok(pdb)) = (breakpoint.location, at, &loaded.pdb) {
                    breakpoint.location = Some(at);
                    breakpoint.document = sources.path_of(pdb, at.point.document);
                }
            }
            // An abstract or native method of that name cannot stop.
            Err(_) if breakpoint.is_bound() => {}
            Err(failure) if loaded.is_optimized && !options.suppress_optimizations => {
                breakpoint.remark(format!(
                    "{failure}; the code is optimised: launch with `suppressJITOptimizations` to stop at all \
                    its lines"
                ))
            }
            Err(failure) => breakpoint.remark(failure.to_string()),
        }
    }

    /// A module was loaded: binds the breakpoints that waited for it, and notifies clients.
    pub(crate) fn bind_in(
        &mut self,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        options: &SessionOptions,
        outbox: &Outbox,
        loaded: &Rc<LoadedModule>,
    ) {
        let mut lists = std::mem::take(&mut self.lists);
        for (scope, list) in &mut lists {
            for breakpoint in list {
                let before = (breakpoint.is_bound(), breakpoint.problem.is_some());
                self.bind(options, sources, scope, breakpoint, loaded);
                // A module with the file but without code at the line explains why it will not bind.
                let explained = !breakpoint.is_bound() && sources.has_source(scope, loaded);
                if explained || (breakpoint.is_bound(), breakpoint.problem.is_some()) != before {
                    let pending = if explained { why_pending(types, sources, scope) } else { String::new() };
                    let body = breakpoint.body(&breakpoint.in_its_module(&pending));
                    outbox.send(&changed(body));
                }
            }
        }
        self.lists = lists;
    }

    /// A module without symbols was loaded, which may be why breakpoints are pending: clients that wait
    /// for one are notified.
    pub(crate) fn report_pending_reason(
        &self,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        outbox: &Outbox,
    ) {
        for (scope, list) in &self.lists {
            let pending = why_pending(types, sources, scope);
            for breakpoint in
                list.iter().filter(|breakpoint| !breakpoint.is_bound() && breakpoint.problem.is_none())
            {
                let body = breakpoint.body(&breakpoint.in_its_module(&pending));
                outbox.send(&changed(body));
            }
        }
    }

    /// A module was unloaded: its breakpoints are pending again.
    pub(crate) fn unbind_in(
        &mut self,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        outbox: &Outbox,
        module: usize,
    ) {
        self.sites.retain(|site| site.key.0 != module);
        let mut lists = std::mem::take(&mut self.lists);
        for (scope, list) in &mut lists {
            for breakpoint in list {
                let before = breakpoint.sites.len();
                breakpoint.sites.retain(|site| site.0 != module);
                if breakpoint.sites.is_empty() && before > 0 {
                    (breakpoint.location, breakpoint.remarks) = (None, Vec::new());
                    let body =
                        breakpoint.body(&breakpoint.in_its_module(&why_pending(types, sources, scope)));
                    outbox.send(&changed(body));
                }
            }
        }
        self.lists = lists;
    }

    /// The user's entry method: for an async one, the `MoveNext` of its state machine.
    pub(crate) fn set_entry_breakpoint(&mut self, loaded: &Rc<LoadedModule>) -> Result<(), Failure> {
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
                    // The compiler names the method of top-level statements.
                    image.metadata.owner_of(kickoff) == owner
                        && matches!(image.metadata.method_name(kickoff), "Main" | "<Main>$")
                })
            };
            target = visible(image.entry_point)
                .or_else(|| image.metadata.all_methods().find(|method| is_users(*method)).and_then(visible))
                .unwrap_or(target);
        }
        let set = || loaded.module.function(target.0)?.set_breakpoint(target.1);
        self.entry = Some(set().map_err(cor("set a breakpoint at the entry"))?);
        Ok(())
    }

    /// The site with this key, created if it does not exist.
    pub(super) fn place_site(
        &mut self,
        key: LocationKey,
        set: impl FnOnce() -> cordebug::Result<RuntimeBreakpoint>,
    ) -> Result<LocationKey, Failure> {
        if !self.sites.iter().any(|site| site.key == key) {
            let breakpoint = set().map_err(cor("set a breakpoint"))?;
            self.sites.push(BoundLocation { key, breakpoint });
        }
        Ok(key)
    }
}

impl SourceLocator {
    /// Whether a module was compiled from the file of a breakpoint's scope.
    fn has_source(&self, scope: &BreakpointList, loaded: &LoadedModule) -> bool {
        let BreakpointList::Source(path) = scope else { return false };
        loaded.pdb.as_ref().is_ok_and(|pdb| self.find(pdb, path).is_some())
    }
}

/// Why a breakpoint in a scope is not bound, for people.
pub(super) fn why_pending(types: &ClrTypeSystem, sources: &SourceLocator, scope: &BreakpointList) -> String {
    let mut reasons = Vec::new();
    match scope {
        BreakpointList::Functions => reasons.push("no loaded module has this method yet".to_owned()),
        // Code exists only while the process does: a missing instruction will never appear.
        BreakpointList::Instructions => return "no program runs yet that has code there".to_owned(),
        BreakpointList::Source(path) if !Path::new(path).exists() => {
            reasons.push(format!("there is no file `{path}`"));
        }
        BreakpointList::Source(_) => {
            if types.modules.all().iter().any(|loaded| sources.has_source(scope, loaded)) {
                // Other modules' symbols would change nothing.
                return "there is no code at or after this line".to_owned();
            }
            reasons.push("no loaded module has code for it yet".to_owned());
        }
    }
    reasons.extend(types.modules.problems());
    reasons.join("; ")
}

/// Whether a breakpoint that names an assembly means this one: by its file name, or by its path, where a copy
/// of the same file is the same.
fn matches_assembly(named: Option<&str>, loaded: &LoadedModule) -> bool {
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
