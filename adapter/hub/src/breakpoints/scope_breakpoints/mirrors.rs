//! Mirrors: breakpoints of other clients that a client was shown by `breakpoint` events.
//!
//! Editors put what they are shown into their own list and send it back with the next `setBreakpoints` of the
//! file, as a plain breakpoint (VS Code, nvim-dap, dape). Their user did not ask for that: taken as a
//! request, it would override the other client's condition and outlive its owner. So an echo is recognized by
//! its line, and a mirror that is missing from the list means that the user removed it, which holds for all
//! clients. Agents keep no such list. An editor that is not known shows that it does when it sends a mirror
//! back; until then what it leaves out means nothing.
//!
//! A client is shown one breakpoint per line, and none where it has one itself: dape removes its own when it
//! is notified of a new one on its line.

use tandem_wire::types::Breakpoint;

use super::{ListedBreakpoint, ScopeBreakpoints};
use crate::breakpoints::BreakpointRequest;
use crate::breakpoints::BreakpointUpdate;
use crate::event::ClientId;

/// Whether a client puts mirrors into its own list and sends them back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoesMirrors {
    /// An agent does not: what it sends is what it wants.
    Never,
    /// An editor that may or may not.
    Maybe,
    /// An editor that is known to do so.
    Always,
}

/// A breakpoint of other clients that a client was shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mirror {
    pub(super) id: i64,
    /// Every line it was shown at, the latest last: an editor may send back the first or the latest.
    lines: Vec<i64>,
    /// The client sent it back at least once.
    confirmed: bool,
}

impl Mirror {
    pub(super) fn moved_to(&mut self, line: Option<i64>) {
        if let Some(line) = line {
            self.lines.retain(|before| *before != line);
            self.lines.push(line);
        }
    }
}

/// The breakpoint for other clients' editors. It has no column where its owner named none: with one, an
/// editor shows an inline breakpoint.
pub(super) fn mirrored(mut body: Breakpoint, request: &BreakpointRequest) -> Breakpoint {
    if request.column.is_none() {
        (body.column, body.end_line, body.end_column) = (None, None, None);
    }
    body
}

impl ScopeBreakpoints {
    /// The mirror that this request sends back, if it does; `sent` is the list up to it.
    pub(super) fn echoed_mirror(
        &mut self,
        client: ClientId,
        request: &BreakpointRequest,
        sent: &[ListedBreakpoint],
    ) -> Option<i64> {
        // Clients are never sent a condition, so the client's own user wrote one that comes back.
        let line = request.line.filter(|_| request.is_plain())?;
        let mirrors = self.mirrors.get_mut(&client)?;
        // One that moved may have left a line for another to be shown there.
        let is_sent = |mirror: &Mirror| sent.iter().any(|listed| listed.id == mirror.id);
        // A client that was shown no column does not send one back.
        let shown_column = |mirror: &Mirror| {
            let breakpoint = self.merged.iter().find(|breakpoint| breakpoint.id == mirror.id);
            breakpoint.is_some_and(|breakpoint| breakpoint.request.column.is_some())
        };
        let mut fitting: Vec<&mut Mirror> = mirrors
            .iter_mut()
            .filter(|mirror| mirror.lines.contains(&line))
            .filter(|mirror| request.column.is_none() || shown_column(mirror))
            .collect();
        fitting.sort_by_key(|mirror| is_sent(mirror));
        let mirror = fitting.into_iter().next()?;
        // It may be removed already and the client not yet notified: then it is not a request either.
        mirror.confirmed = true;
        Some(mirror.id)
    }

    /// Removes the breakpoints of which the client's new list has no mirror any more. `keeps` says that the
    /// client keeps mirrors in its list and that nothing else changed in it, so that the absence must be what
    /// the user meant. Returns the owners whose breakpoints are removed.
    pub(super) fn remove_missing_mirrors(&mut self, client: ClientId, keeps: bool) -> Vec<(ClientId, i64)> {
        let list = self.lists.get(&client).cloned().unwrap_or_default();
        let own_lines = self.own_lines(client);
        let mirrors = self.mirrors.remove(&client).unwrap_or_default();
        let (mut left, mut missing) = (Vec::new(), Vec::new());
        for mirror in mirrors {
            let is_back = list.iter().any(|listed| listed.id == mirror.id && !listed.own);
            let covered = mirror.lines.iter().any(|line| own_lines.contains(line));
            match (is_back, covered) {
                (true, _) => left.push(mirror),
                // The user took the breakpoint over; the other client's stays.
                (false, true) => {}
                (false, false) if mirror.confirmed || keeps => missing.push(mirror),
                (false, false) => left.push(mirror),
            }
        }
        // Of two mirrors on one line it is not known which is missing: the client is notified of all that are
        // removed.
        self.mirrors.insert(client, left.into_iter().chain(missing.iter().cloned()).collect());
        let mut lost = Vec::new();
        for mirror in missing {
            // One mirror stood for everything on its line.
            let line = self.find(mirror.id).and_then(|breakpoint| breakpoint.line());
            let removed: Vec<i64> = self
                .merged
                .iter()
                .filter(|breakpoint| {
                    breakpoint.id == mirror.id || line.is_some() && breakpoint.line() == line
                })
                .map(|breakpoint| breakpoint.id)
                .collect();
            for (owner, list) in &mut self.lists {
                let out = list.extract_if(.., |listed| removed.contains(&listed.id));
                lost.extend(out.filter(|listed| listed.own).map(|listed| (*owner, listed.id)));
            }
        }
        lost
    }

    fn own_lines(&self, client: ClientId) -> Vec<i64> {
        let own = self.merged.iter().filter(|breakpoint| breakpoint.owners.contains(&client));
        own.flat_map(|breakpoint| [breakpoint.request.line, breakpoint.line()]).flatten().collect()
    }

    /// The events this client needs to see the others' breakpoints as they are.
    pub(in crate::breakpoints) fn updates_for(&mut self, client: ClientId) -> Vec<BreakpointUpdate> {
        if !self.scope.has_lines() {
            return Vec::new();
        }
        let mut updates = Vec::new();
        let mut mirrors = self.mirrors.remove(&client).unwrap_or_default();
        mirrors.retain(|mirror| match self.find(mirror.id) {
            Some(breakpoint) => !breakpoint.owners.contains(&client),
            None => {
                updates.push(removed(mirror.id));
                false
            }
        });
        let own_lines = self.own_lines(client);
        for breakpoint in self.merged.iter().filter(|breakpoint| !breakpoint.owners.contains(&client)) {
            let Some(line) = breakpoint.line() else { continue };
            // The engine is about to report where it is and whether it binds: others see it from then on.
            if self.sync.is_under_way() && breakpoint.reported.is_none() {
                continue;
            }
            let seen = own_lines.contains(&line)
                || mirrors
                    .iter()
                    .any(|mirror| mirror.id == breakpoint.id || mirror.lines.last() == Some(&line));
            if !seen {
                mirrors.push(Mirror { id: breakpoint.id, lines: vec![line], confirmed: false });
                let body = mirrored(breakpoint.body(self.spelled(client)), &breakpoint.request);
                updates.push(BreakpointUpdate { reason: "new", id: breakpoint.id, body });
            }
        }
        self.mirrors.insert(client, mirrors);
        updates
    }

    /// Takes all mirrors back from a client.
    pub(in crate::breakpoints) fn remove_mirrors(&mut self, client: ClientId) -> Vec<BreakpointUpdate> {
        let mirrors = self.mirrors.remove(&client).unwrap_or_default();
        mirrors.iter().map(|mirror| removed(mirror.id)).collect()
    }
}

fn removed(id: i64) -> BreakpointUpdate {
    BreakpointUpdate { reason: "removed", id, body: Breakpoint { id: Some(id), ..Breakpoint::default() } }
}
