//! Internal DAP client that drives the session of a debugged child process.
//!
//! It launches the waiting engine, keeps the parent session's breakpoints, and what agents may do there, in
//! the child's session as long as it lives, and leaves when the child has ended. It resumes a child that
//! stops where no client can notice it. Ends with the child session.

use std::time::Duration;

use serde_json::Value;
use tandem_wire::peer::{Incoming, Peer};
use tandem_wire::types::{
    self, InitializeRequestArguments, SessionChangedBody, SessionControlArguments, SessionInfoArguments,
    SessionInfoBody, StoppedEventBody,
};
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use tandem_engine::BreakpointSnapshot;
use tandem_hub::clients::ParentClients;

/// Maximum time of a request. A child that is not configured by then has ended.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How the child session begins and ends.
pub struct Task {
    /// `launch` or `attach`.
    pub command: &'static str,
    /// The arguments of `command`.
    pub arguments: Value,
    /// Fires when the session must detach from its program.
    pub detach: CancellationToken,
}

/// The state of the parent session that also applies to the child's, as it changes.
pub struct ParentState {
    pub breakpoints: watch::Receiver<BreakpointSnapshot>,
    /// The access of agents in the parent session, and whether its clients notice this child.
    pub clients: watch::Receiver<ParentClients>,
}

/// Launches a child session, or attaches it, and drives it until it has ended.
///
/// # Errors
/// Why its program is not debugged.
pub async fn run(
    peer: Peer,
    mut incoming: mpsc::UnboundedReceiver<Incoming>,
    task: Task,
    mut parent: ParentState,
) -> Result<(), Failure> {
    let initialize = InitializeRequestArguments {
        client_id: Some("tandem-parent".into()),
        client_name: Some("parent session".into()),
        adapter_id: "tandem".into(),
        ..InitializeRequestArguments::default()
    };
    peer.request("initialize", types::body(&initialize), REQUEST_TIMEOUT).await?;
    let Task { command, mut arguments, detach } = task;
    let mut clients = *parent.clients.borrow_and_update();
    types::extend(&mut arguments, &access_of(clients));
    subscribe(&peer, clients.notice_children).await;
    let launch = peer.request(command, arguments, REQUEST_TIMEOUT);
    tokio::pin!(launch);
    let mut launched = None;
    let mut held = BreakpointSnapshot::new();
    let mut configured = false;
    let mut stopped_thread = None;
    loop {
        tokio::select! {
            message = incoming.recv() => match message {
                Some(Incoming::Event(event)) if event.event == "initialized" => {
                    let breakpoints = parent.breakpoints.borrow_and_update().clone();
                    update_breakpoints(&peer, &mut held, breakpoints).await;
                    let done = peer.request("configurationDone", Value::Null, REQUEST_TIMEOUT).await;
                    configured = done.is_ok();
                }
                Some(Incoming::Event(event)) if event.event == "terminated" => break,
                Some(Incoming::Event(event)) => match event.event.as_str() {
                    "stopped" => {
                        stopped_thread = types::read::<StoppedEventBody>(&event.body).thread_id;
                        resume_unnoticed(&peer, clients, &mut stopped_thread).await;
                    }
                    "continued" => stopped_thread = None,
                    // The last client that could resume a stopped child may have left.
                    "sessionChanged" if is_departure(&event.body) => {
                        resume_unnoticed(&peer, clients, &mut stopped_thread).await;
                    }
                    _ => {}
                },
                // It goes straight to its waiter.
                Some(Incoming::Response(_)) => {}
                Some(Incoming::Request(request)) => {
                    let failure = Failure::new(ErrorCode::Unsupported, "no user is connected");
                    peer.respond(&request, Err(failure));
                }
                None => break,
            },
            changed = parent.breakpoints.changed(), if configured => {
                if changed.is_err() {
                    // The parent has ended; its breakpoints stay until the child ends with it.
                    configured = false;
                    continue;
                }
                let breakpoints = parent.breakpoints.borrow_and_update().clone();
                update_breakpoints(&peer, &mut held, breakpoints).await;
            }
            Ok(()) = parent.clients.changed() => {
                let earlier = std::mem::replace(&mut clients, *parent.clients.borrow_and_update());
                if clients.agent_access != earlier.agent_access {
                    update_access(&peer, clients).await;
                }
                if clients.notice_children != earlier.notice_children {
                    subscribe(&peer, clients.notice_children).await;
                    resume_unnoticed(&peer, clients, &mut stopped_thread).await;
                }
            }
            outcome = &mut launch, if launched.is_none() => {
                let failed = outcome.is_err();
                launched = Some(outcome.map(drop));
                if failed {
                    break;
                }
            }
            () = detach.cancelled() => break,
        }
    }
    // The session ends; its other clients may still read.
    let stay = SessionControlArguments { hand_over: Some(false), ..SessionControlArguments::default() };
    drop(peer.request("disconnect", types::body(&stay), REQUEST_TIMEOUT).await);
    launched.unwrap_or(Ok(()))
}

/// Whether a `sessionChanged` event reports that a client has left.
fn is_departure(body: &Value) -> bool {
    types::read::<SessionChangedBody>(body).change == "left"
}

/// The access that agents have in the parent session.
fn access_of(clients: ParentClients) -> SessionControlArguments {
    let agent_access = Some(clients.agent_access.as_str().to_owned());
    SessionControlArguments { agent_access, ..SessionControlArguments::default() }
}

async fn update_access(peer: &Peer, clients: ParentClients) {
    let access = clients.agent_access.as_str();
    let arguments = types::body(&access_of(clients));
    if let Err(failure) = peer.request("sessionControl", arguments, REQUEST_TIMEOUT).await {
        tracing::warn!(%failure, access, "agents may do in a child session what they may not in its parent");
    }
}

/// Subscribes to learn when a client leaves, and on behalf of the parent's clients: a client that notices
/// this child can find its children, too.
async fn subscribe(peer: &Peer, notices_children: bool) {
    let arguments = SessionInfoArguments { subscribe: Some(true), notices_children: Some(notices_children) };
    if let Err(failure) = peer.request("sessionInfo", types::body(&arguments), REQUEST_TIMEOUT).await {
        tracing::debug!(%failure, "the child session refuses a subscription");
    }
}

/// Resumes the child if no client of its parent notices the stop, and no client has joined its session.
async fn resume_unnoticed(peer: &Peer, clients: ParentClients, stopped_thread: &mut Option<i64>) {
    let Some(thread) = stopped_thread.filter(|_| !clients.notice_children) else { return };
    let others_joined = match peer.request("sessionInfo", types::empty(), REQUEST_TIMEOUT).await {
        Ok(info) => {
            let SessionInfoBody { clients, .. } = types::read(&info);
            clients.iter().flatten().any(|client| !client.you)
        }
        Err(failure) => {
            tracing::debug!(%failure, "the child session does not say who has joined it");
            false
        }
    };
    if others_joined {
        return;
    }
    *stopped_thread = None;
    tracing::debug!(thread, "no client notices the stop of a child: it continues");
    if let Err(failure) = peer.request("continue", types::of_thread(Some(thread)), REQUEST_TIMEOUT).await {
        tracing::warn!(%failure, thread, "a child that no client notices cannot be resumed");
    }
}

/// Sends the lists that differ from what the child holds.
async fn update_breakpoints(peer: &Peer, held: &mut BreakpointSnapshot, breakpoints: BreakpointSnapshot) {
    for ((command, source), arguments) in &breakpoints {
        if held.get(&(command.clone(), source.clone())) != Some(arguments)
            && let Err(failure) = peer.request(command, arguments.clone(), REQUEST_TIMEOUT).await
        {
            tracing::debug!(%failure, command, source, "a breakpoint of the parent does not hold in the \
                child");
        }
    }
    *held = breakpoints;
}

#[cfg(test)]
mod tests {
    use futures::{SinkExt, StreamExt};
    use serde_json::json;
    use tandem_wire::codec::DapCodec;
    use tandem_wire::{Event, Message, Response};
    use tokio::io::DuplexStream;
    use tokio_util::codec::Framed;

    use super::*;

    /// A child session, played by the test, under its client.
    struct ScriptedChild {
        stream: Framed<DuplexStream, DapCodec>,
        clients: watch::Sender<ParentClients>,
        _breakpoints: watch::Sender<BreakpointSnapshot>,
    }

    impl ScriptedChild {
        fn start(notice_children: bool) -> Self {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            let (reader, writer) = tokio::io::split(ours);
            let (peer, incoming) = Peer::start(reader, writer);
            let (breakpoints, held) = watch::channel(BreakpointSnapshot::new());
            let clients = ParentClients { notice_children, ..ParentClients::default() };
            let (clients, seen) = watch::channel(clients);
            let task = Task { command: "attach", arguments: json!({}), detach: CancellationToken::new() };
            tokio::spawn(run(peer, incoming, task, ParentState { breakpoints: held, clients: seen }));
            let stream = Framed::new(theirs, DapCodec::default());
            Self { stream, clients, _breakpoints: breakpoints }
        }

        /// Answers requests with `info` until one of this command comes; returns its arguments.
        async fn receive(&mut self, command: &str, info: &Value) -> Value {
            loop {
                let next = tokio::time::timeout(REQUEST_TIMEOUT, self.stream.next()).await;
                let Ok(Some(Ok(Ok(message)))) = next else { panic!("no `{command}` came: {next:?}") };
                let Message::Request(request) = message else { continue };
                let response = Response::to(request.seq, request.command.clone(), Ok(info.clone()));
                self.stream.send(&Message::Response(response)).await.unwrap();
                if request.command == command {
                    return request.arguments;
                }
            }
        }

        async fn stop(&mut self) {
            let stopped = Event::new("stopped", json!({ "reason": "breakpoint", "threadId": 3 }));
            self.stream.send(&Message::Event(stopped)).await.unwrap();
        }

        async fn leave(&mut self) {
            let left = Event::new("sessionChanged", json!({ "change": "left", "client": "editor" }));
            self.stream.send(&Message::Event(left)).await.unwrap();
        }

        async fn end(&mut self) {
            self.stream.send(&Message::Event(Event::new("terminated", Value::Null))).await.unwrap();
        }
    }

    fn joined_by(others: &[&str]) -> Value {
        let others = others.iter().map(|name| json!({ "name": name, "you": false }));
        json!({ "clients": std::iter::once(json!({ "you": true })).chain(others).collect::<Vec<_>>() })
    }

    #[tokio::test]
    async fn a_child_that_no_client_notices_is_resumed() {
        let mut child = ScriptedChild::start(false);
        assert_eq!(child.receive("sessionInfo", &Value::Null).await["noticesChildren"], false);
        child.receive("attach", &Value::Null).await;
        child.stop().await;
        child.receive("sessionInfo", &joined_by(&[])).await;
        assert_eq!(child.receive("continue", &Value::Null).await["threadId"], 3);
    }

    #[tokio::test]
    async fn a_child_waits_for_a_client_that_notices_or_has_joined_it() {
        for (notices, info) in [(true, joined_by(&[])), (false, joined_by(&["editor"]))] {
            let mut child = ScriptedChild::start(notices);
            child.receive("attach", &Value::Null).await;
            child.stop().await;
            if !notices {
                child.receive("sessionInfo", &info).await;
            }
            child.end().await;
            // Nothing but the end comes: not a `continue`.
            let next = child.stream.next().await.unwrap().unwrap().unwrap();
            let Message::Request(request) = next else { panic!("{next:?}") };
            assert_eq!(request.command, "disconnect");
        }
    }

    #[tokio::test]
    async fn a_stopped_child_is_resumed_when_the_last_client_that_notices_it_leaves() {
        let mut child = ScriptedChild::start(true);
        child.receive("attach", &Value::Null).await;
        child.stop().await;
        child.clients.send_modify(|clients| clients.notice_children = false);
        assert_eq!(child.receive("sessionInfo", &Value::Null).await["noticesChildren"], false);
        child.receive("continue", &joined_by(&[])).await;
    }

    #[tokio::test]
    async fn a_stopped_child_is_resumed_when_the_last_client_that_joined_it_leaves() {
        let mut child = ScriptedChild::start(false);
        assert_eq!(child.receive("sessionInfo", &Value::Null).await["subscribe"], true);
        child.receive("attach", &Value::Null).await;
        child.stop().await;
        for others in [&["editor", "agent"][..], &["agent"]] {
            child.receive("sessionInfo", &joined_by(others)).await;
            child.leave().await;
        }
        child.receive("sessionInfo", &joined_by(&[])).await;
        assert_eq!(child.receive("continue", &Value::Null).await["threadId"], 3);
    }
}
