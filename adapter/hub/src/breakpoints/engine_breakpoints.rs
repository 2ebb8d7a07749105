//! The list that the engine is sent: merged breakpoints as they are where it evaluates each for itself, one
//! breakpoint per location where it keeps only one, or where it supports no condition, hit count or log
//! message. Then the hub evaluates.

use serde::Serialize;
use serde_json::Value;
use tandem_wire::types::{self, BreakpointRequest, Source};

use super::merged_breakpoint::{Evaluation, MergedBreakpoint};
use super::request::is_bare_filter;
use super::scope::BreakpointScope;
use super::scope_breakpoints::ScopeBreakpoints;
use tandem_engine::JoinedConditions;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::hit_condition::HitTest;

/// The properties of breakpoints that an engine evaluates itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakpointSupport {
    /// Several breakpoints at one location, each with its own condition.
    pub several: bool,
    pub conditions: bool,
    pub hit_conditions: bool,
    pub log_messages: bool,
    /// `filterOptions` of exceptions.
    pub filter_options: bool,
    /// The language of its conditions.
    pub language: ConditionLanguage,
}

/// One position of the list that the engine gets.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineBreakpoint {
    /// The merged breakpoints that it represents; none for an engine's default.
    pub ids: Vec<i64>,
    /// The request for the engine.
    pub request: BreakpointRequest,
    /// The conditions that the one of the request joins; otherwise none.
    pub joined: Vec<String>,
}

impl BreakpointSupport {
    fn evaluates(self, request: &BreakpointRequest) -> bool {
        // Adapters differ in whether a hit counts whose condition does not hold, or fails.
        (self.several || request.condition.is_none() || request.hit_condition.is_none())
            && (self.conditions || request.condition.is_none())
            && (self.hit_conditions || request.hit_condition.is_none())
            && (self.log_messages || request.log_message.is_none())
            && request.trace.is_none()
    }
}

impl ScopeBreakpoints {
    /// The list for the engine; decides for each breakpoint who evaluates it. `defaults` are
    /// requests without an owner.
    pub fn engine_breakpoints(
        &mut self,
        support: BreakpointSupport,
        defaults: &[BreakpointRequest],
    ) -> Vec<EngineBreakpoint> {
        if self.scope == BreakpointScope::Exceptions {
            return filters(&self.merged, support, defaults);
        }
        let mut locations: Vec<(BreakpointRequest, Vec<usize>)> = Vec::new();
        for (at, breakpoint) in self.merged.iter().enumerate() {
            let location = self.scope.location(&breakpoint.request);
            match locations.iter_mut().find(|(found, _)| *found == location && !support.several) {
                Some((_, list)) => list.push(at),
                None => locations.push((location, vec![at])),
            }
        }
        let merged = &mut self.merged;
        let one_of = |(location, list): (BreakpointRequest, Vec<usize>)| {
            let chosen = merged.iter_mut().enumerate().filter(|(at, _)| list.contains(at));
            merge(location, chosen.map(|(_, breakpoint)| breakpoint).collect(), support)
        };
        locations.into_iter().map(one_of).collect()
    }

    /// The arguments that make the engine hold this list.
    pub fn arguments(&self, list: &[EngineBreakpoint]) -> Value {
        let requests: Vec<&BreakpointRequest> = list.iter().map(|one| &one.request).collect();
        self.arguments_of(&requests)
    }

    /// The arguments with the requests that this list represents, as the clients have them. A trace is left
    /// out: its owner receives rows of this session alone.
    pub fn requested_arguments(&self, list: &[EngineBreakpoint]) -> Value {
        if self.scope == BreakpointScope::Exceptions {
            return self.arguments(list);
        }
        let is_sent = |id: i64| list.iter().any(|one| one.ids.contains(&id));
        let sent = self.merged.iter().filter(|one| is_sent(one.id) && one.request.trace.is_none());
        self.arguments_of(&sent.map(|one| &one.request).collect::<Vec<_>>())
    }

    fn arguments_of(&self, requests: &[&BreakpointRequest]) -> Value {
        match &self.scope {
            BreakpointScope::Source(_) | BreakpointScope::Reference(_) => {
                types::body(&ListArguments { source: self.source.as_ref(), breakpoints: requests })
            }
            BreakpointScope::Functions | BreakpointScope::Data | BreakpointScope::Instructions => {
                types::body(&ListArguments { source: None, breakpoints: requests })
            }
            BreakpointScope::Exceptions => exception_arguments(requests),
        }
    }
}

/// The arguments of a request that sets breakpoints, but of `setExceptionBreakpoints`.
#[derive(Debug, Serialize)]
struct ListArguments<'all> {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'all Source>,
    breakpoints: &'all [&'all BreakpointRequest],
}

/// The arguments of `setExceptionBreakpoints`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExceptionArguments<'all> {
    filters: Vec<&'all str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filter_options: Vec<&'all BreakpointRequest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exception_options: Vec<&'all BreakpointRequest>,
}

/// The conditions that breakpoints of this list join.
pub fn joined_conditions(list: &[EngineBreakpoint]) -> Vec<JoinedConditions> {
    let joined = list.iter().enumerate().filter(|(_, one)| !one.joined.is_empty());
    joined.map(|(index, one)| JoinedConditions { index, conditions: one.joined.clone() }).collect()
}

/// The single breakpoint of the engine for all of these at one location.
fn merge(
    location: BreakpointRequest,
    members: Vec<&mut MergedBreakpoint>,
    support: BreakpointSupport,
) -> EngineBreakpoint {
    let alone = members.len() == 1;
    // The engine refuses it, with the reason.
    let is_unreadable = |text: &str| HitTest::parse(text).is_err();
    let refused = alone
        && members
            .iter()
            .any(|breakpoint| breakpoint.request.hit_condition.as_deref().is_some_and(is_unreadable));
    let by_hub = !alone && !members.iter().all(|breakpoint| breakpoint.request.is_plain())
        || !refused && members.iter().any(|breakpoint| !support.evaluates(&breakpoint.request));
    // Where it is alone, the engine stops only where the condition holds, which is much quicker.
    let evaluation = match (by_hub, alone && support.conditions) {
        (false, _) => Evaluation::Engine,
        (true, true) => Evaluation::EngineCondition,
        (true, false) => Evaluation::Hub,
    };
    let (mut request, mut joined) = (location, Vec::new());
    if by_hub && let Some((condition, each)) = any_condition(&members, support) {
        joined = each.into_iter().map(str::to_owned).collect();
        request.condition = Some(condition);
    }
    let mut access: Vec<Option<String>> = Vec::new();
    let mut ids = Vec::new();
    for breakpoint in members {
        breakpoint.set_evaluation(evaluation);
        ids.push(breakpoint.id);
        if !access.contains(&breakpoint.request.target.access_type) {
            access.push(breakpoint.request.target.access_type.clone());
        }
        match breakpoint.evaluation {
            Evaluation::Engine => request = breakpoint.request.clone(),
            Evaluation::EngineCondition => request.condition.clone_from(&breakpoint.request.condition),
            Evaluation::Hub => {}
        }
    }
    match access.as_slice() {
        [None] => {}
        [one] => request.target.access_type.clone_from(one),
        _ => request.target.access_type = Some("readWrite".into()),
    }
    EngineBreakpoint { ids, request, joined }
}

/// The condition without which none of these is hit, if their language has one, and what it joins.
fn any_condition<'all>(
    members: &'all [&mut MergedBreakpoint],
    support: BreakpointSupport,
) -> Option<(String, Vec<&'all str>)> {
    let conditions: Option<Vec<&str>> =
        members.iter().map(|breakpoint| breakpoint.request.condition.as_deref()).collect();
    let conditions = conditions.filter(|conditions| conditions.len() > 1 && support.conditions)?;
    Some((support.language.any_of(&conditions)?, conditions))
}

/// Filters first, then options, then path options: the order of the replies (DAP). What conditions of
/// exceptions mean only the engine knows, so an engine that keeps one per filter gets the filter plain when
/// its owners differ: it stops more often than some clients requested, never less.
fn filters(
    merged: &[MergedBreakpoint],
    support: BreakpointSupport,
    defaults: &[BreakpointRequest],
) -> Vec<EngineBreakpoint> {
    let mut list: Vec<EngineBreakpoint> = Vec::new();
    let owned = merged.iter().map(|breakpoint| (Some(breakpoint.id), &breakpoint.request));
    for (id, request) in owned.chain(defaults.iter().map(|request| (None, request))) {
        let bare = BreakpointScope::Exceptions.location(request);
        let is_filter = bare.target.filter_id.is_some();
        let request = if is_filter && !support.filter_options { bare.clone() } else { request.clone() };
        let same = list.iter_mut().find(|one| {
            one.request == request
                || !support.several && is_filter && one.request.target.filter_id == request.target.filter_id
        });
        match same {
            Some(same) => {
                same.ids.extend(id);
                if same.request != request {
                    same.request = bare;
                }
            }
            None => {
                list.push(EngineBreakpoint { ids: id.into_iter().collect(), request, joined: Vec::new() });
            }
        }
    }
    list.sort_by_key(|one| match (&one.request.target.filter_id, is_bare_filter(&one.request)) {
        (None, _) => 2,
        (Some(_), true) => 0,
        (Some(_), false) => 1,
    });
    list
}

fn exception_arguments(requests: &[&BreakpointRequest]) -> Value {
    let mut arguments = ExceptionArguments::default();
    for request in requests {
        match &request.target.filter_id {
            None => arguments.exception_options.push(request),
            Some(filter) if is_bare_filter(request) => arguments.filters.push(filter),
            Some(_) => arguments.filter_options.push(request),
        }
    }
    types::body(&arguments)
}
