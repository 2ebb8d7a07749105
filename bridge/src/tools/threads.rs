//! `debug_threads`: the threads of a program, and where each one is.
//!
//! Declares no tool: [`super::inspect`] does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::Failure;

use super::answer;
use super::shown_frame::stack;
use super::stops::stopped_thread;
use crate::call::ToolCall;
use crate::session::requests::DapThreadsArguments;
use crate::source::ShownPlace;

/// Threads of one answer by default, and at most.
const DEFAULT_THREADS: u64 = 50;
const MAX_THREADS: u64 = 500;
#[derive(Deserialize, JsonSchema)]
pub(super) struct ThreadsArguments {
    #[serde(default)]
    places: bool,
    #[serde(default)]
    start: u64,
    #[schemars(extend("default" = DEFAULT_THREADS))]
    count: Option<u64>,
}

/// The answer of `debug_threads`.
#[derive(Serialize)]
struct ThreadList {
    threads: Vec<ThreadRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

#[derive(Serialize)]
struct ThreadRow {
    id: i64,
    name: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
    #[serde(flatten)]
    place: Option<ShownPlace>,
}

pub(super) async fn threads(call: &ToolCall, arguments: ThreadsArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let ThreadsArguments { places, start, count } = arguments;
    let count = count.unwrap_or(DEFAULT_THREADS).clamp(1, MAX_THREADS);
    let all = session.send(&DapThreadsArguments {}).await?.threads;
    let stopped = stopped_thread(&session).ok();
    let mut shown = Vec::new();
    for thread in all.iter().skip(usize::try_from(start).unwrap_or(usize::MAX)) {
        if shown.len() as u64 == count {
            break;
        }
        let mut place = None;
        if places && stopped.is_some() {
            // A thread without managed frames has no place.
            let stack = stack(&session, thread.id, 0, 1).await;
            place = stack.ok().and_then(|stack| stack.stack_frames.first().map(ShownPlace::from));
        }
        let (id, name) = (thread.id, thread.name.clone());
        shown.push(ThreadRow { id, name, stopped: stopped == Some(id), place });
    }
    let next = Some(start + shown.len() as u64).filter(|next| *next < all.len() as u64);
    answer(&ThreadList { threads: shown, next })
}
