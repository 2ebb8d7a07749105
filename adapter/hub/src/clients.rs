//! The clients of a session: their names, the stage of their handshake, and what they support.
//!
//! Not here: the handshake itself ([`super::state`]), what agents may do ([`super::access`]).

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::types::{self, InitializeRequestArguments};
use tandem_wire::{ErrorCode, Failure};

use super::access::{AgentAccess, SessionAccess, Token};
use super::client_capabilities::ClientCapabilities;
use super::convention::ClientConventions;
use super::event::{ClientId, ClientOrigin};
use super::ids::{IdCounter, IdTable};
use super::unanswered_requests::UnansweredRequests;

/// Maximum length of a client's name, characters.
const MAX_NAME: usize = 80;

/// The stage of a client's handshake. It moves down this list, and back only after a failed launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandshakeStage {
    /// The client has sent nothing yet.
    Connected,
    /// `initialize` was answered.
    Initialized,
    /// `launch` or `attach` was accepted; the `initialized` event is still to come.
    Joined,
    /// The client was sent `initialized` and may configure.
    Configuring,
    /// The client sent `configurationDone`: it gets events.
    Ready,
    /// The client sent `disconnect`: it gets only responses to earlier requests.
    Leaving,
}

/// The kind of a client, which decides whether `agentAccess` limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// A user's editor, or any DAP client that does not name another kind.
    Editor,
    /// A program that acts for a language model; `agentAccess` binds it.
    Agent,
}

impl ClientKind {
    /// The name of the kind in `sessionInfo`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Editor => "editor",
            Self::Agent => "agent",
        }
    }
}

/// The fields that Tandem adds to the arguments of `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TandemFields {
    #[serde(rename = "tandemKind", deserialize_with = "types::optional")]
    kind: Option<String>,
    #[serde(rename = "tandemAccess")]
    access: Value,
}

/// How a client introduced itself with `initialize`.
#[derive(Debug)]
pub struct ClientIdentity {
    /// `clientName`, else `clientID`, else `client N`.
    pub name: String,
    pub client_id: Option<String>,
    pub kind: ClientKind,
    /// All arguments, to repeat them when it joins another session through this one.
    pub initialize_arguments: Value,
}

/// The author of something that outlives its client: what others see of one.
#[derive(Debug, Clone)]
pub struct Author {
    pub id: ClientId,
    pub name: String,
    pub kind: ClientKind,
}

impl Author {
    pub fn of(client: &Client) -> Self {
        Self { id: client.id, name: client.identity.name.clone(), kind: client.identity.kind }
    }
}

impl ClientIdentity {
    /// Reads `initialize`. Without a name in it, the client keeps its own.
    fn introduce(&mut self, initialize: &InitializeRequestArguments, arguments: &Value) {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        self.client_id = given(&initialize.client_id);
        if let Some(name) = given(&initialize.client_name).as_ref().or(self.client_id.as_ref()) {
            self.name = name.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect();
        }
        let is_bridge = self.client_id.as_ref().is_some_and(|id| id.starts_with("tandem-mcp"));
        let is_agent = is_bridge || types::read::<TandemFields>(arguments).kind.as_deref() == Some("agent");
        self.kind = if is_agent { ClientKind::Agent } else { ClientKind::Editor };
        self.initialize_arguments = arguments.clone();
    }
}

/// The access that a client has presented and requested, and what it was refused.
#[derive(Debug)]
pub struct ClientAccess {
    /// It presented the token, or needed none.
    pub is_admitted: bool,
    /// The most access that it requests, even if it may have more.
    pub requested: AgentAccess,
    /// The commands it was refused since its access changed last: each is reported to the others once.
    refused: BTreeSet<String>,
}

impl ClientAccess {
    /// Records that a command was refused; `false` if it was before, or if there are `most` already.
    pub fn note_refused(&mut self, command: &str, most: usize) -> bool {
        self.refused.len() < most && self.refused.insert(command.to_owned())
    }

    /// Forgets the refused commands: the access has changed.
    pub fn forget_refused(&mut self) {
        self.refused.clear();
    }
}

/// The form of DAP that a client speaks.
#[derive(Debug)]
pub struct ClientProtocol {
    /// Lines, columns and paths as it wants them.
    pub convention: ClientConventions,
    /// The optional events and fields that it supports.
    pub supports: ClientCapabilities,
    /// The session's capabilities as they were last sent to it.
    pub sent_capabilities: Value,
    /// Its ids of frames, variables and sources.
    pub ids: IdTable,
}

impl ClientProtocol {
    /// Rewrites the body of a response, whose ids are the client's already.
    pub fn finish_response(&self, command: &str, body: &mut Value) {
        self.supports.mask(command, body);
        self.convention.to_client(body);
    }

    /// Rewrites the body of an event with the engine's ids.
    pub fn to_event(&mut self, counter: &mut IdCounter, event: &str, body: &mut Value) {
        self.ids.to_client(counter, event, body);
        self.supports.mask(event, body);
        self.convention.to_client(body);
    }
}

/// The events about others, and about child sessions, that a client receives.
#[derive(Debug, Default)]
pub struct Subscription {
    /// It subscribed to `sessionChanged` and `inputClosed`.
    pub is_active: bool,
    /// It did not open the child session that it was last requested to open.
    pub refuses_children: bool,
    /// It subscribed, but no user learns of child sessions through it.
    pub overlooks_children: bool,
}

impl Subscription {
    /// Whether a user learns of child sessions through the events of this client.
    pub fn shows_children(&self) -> bool {
        self.is_active && !self.overlooks_children
    }
}

/// What stays when a client leaves in any way.
#[derive(Debug, Default)]
pub struct Departure {
    /// Another client takes over its role as the owner.
    pub hands_over: bool,
    /// Its breakpoints stay.
    pub keeps_breakpoints: bool,
}

/// A client of the session.
#[derive(Debug)]
pub struct Client {
    pub id: ClientId,
    pub origin: ClientOrigin,
    pub stage: HandshakeStage,
    pub identity: ClientIdentity,
    pub access: ClientAccess,
    pub protocol: ClientProtocol,
    pub subscription: Subscription,
    pub departure: Departure,
    /// Its launch or attach made the session.
    pub launched: bool,
    /// It puts mirrors into its own list of breakpoints.
    pub echoes_mirrors: bool,
    /// It was sent `terminated`.
    pub terminated_sent: bool,
    /// Numbers and commands of its requests that have no response.
    pub unanswered: UnansweredRequests,
}

impl Client {
    /// A client that has not sent any message yet.
    pub fn new(id: ClientId, origin: ClientOrigin) -> Self {
        Self {
            id,
            origin,
            stage: HandshakeStage::Connected,
            identity: ClientIdentity {
                name: id.to_string(),
                client_id: None,
                kind: ClientKind::Editor,
                initialize_arguments: Value::Null,
            },
            access: ClientAccess {
                is_admitted: true,
                requested: AgentAccess::Full,
                refused: BTreeSet::new(),
            },
            protocol: ClientProtocol {
                convention: ClientConventions::default(),
                supports: ClientCapabilities::default(),
                sent_capabilities: Value::Null,
                ids: IdTable::default(),
            },
            subscription: Subscription::default(),
            departure: Departure::default(),
            launched: false,
            echoes_mirrors: false,
            terminated_sent: false,
            unanswered: UnansweredRequests::default(),
        }
    }

    /// Whether it launched, attached or joined, configured or not, and has not disconnected.
    pub fn has_joined(&self) -> bool {
        (HandshakeStage::Joined..=HandshakeStage::Ready).contains(&self.stage)
    }

    /// Takes the arguments of `initialize`. Absent fields have DAP's defaults.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a `pathFormat` that is neither `path` nor `uri`, and for an
    /// invalid `tandemAccess`.
    pub fn initialize(&mut self, arguments: &Value) -> Result<(), Failure> {
        let initialize: InitializeRequestArguments = types::read(arguments);
        self.protocol.convention = ClientConventions::from_initialize(&initialize)?;
        let TandemFields { access, .. } = types::read(arguments);
        if !access.is_null() {
            self.access.requested = AgentAccess::parse(&access)?;
        }
        self.protocol.supports = ClientCapabilities::from_initialize(&initialize);
        self.identity.introduce(&initialize, arguments);
        self.stage = HandshakeStage::Initialized;
        Ok(())
    }

    /// Admits it with the token that a request presents. `disconnect` needs none, nor does `initialize`: the
    /// token may come with `launch` or `attach`.
    ///
    /// # Errors
    /// `ACCESS_DENIED` without the token, or with a wrong one: then the client must leave.
    pub fn admit(&mut self, token: &Token, command: &str, presented: Option<&Value>) -> Result<(), Failure> {
        if self.access.is_admitted {
            return Ok(());
        }
        let denied = |what: &str| {
            Err(Failure::new(ErrorCode::AccessDenied, what).hint(
                "put `\"token\": \"…\"` into the launch configuration; the listener printed it, or \
                    its user chose it",
            ))
        };
        match presented.map(Value::as_str) {
            Some(Some(presented)) if token.is(presented) => {
                self.access.is_admitted = true;
                Ok(())
            }
            Some(_) => {
                self.stage = HandshakeStage::Leaving;
                denied("this is not the token of this adapter")
            }
            None if matches!(command, "initialize" | "disconnect") => Ok(()),
            None => denied("authentication required: pass `token` in `initialize`, `launch` or `attach`"),
        }
    }

    /// Whether it carries out a reverse request of this name.
    pub fn supports_reverse_request(&self, command: &str) -> bool {
        match command {
            "runInTerminal" => self.protocol.supports.terminal,
            "startDebugging" => self.protocol.supports.start_debugging,
            _ => false,
        }
    }

    /// Whether it gets an event of this name.
    pub fn accepts_event(&self, event: &str) -> bool {
        match event {
            "sessionChanged" | "inputClosed" => self.subscription.is_active,
            _ => self.protocol.supports.accepts_event(event),
        }
    }
}

impl SessionAccess {
    /// The access of a client. Only a person's decision binds the agent that launched.
    pub fn of(&self, client: &Client) -> AgentAccess {
        let may = match client.identity.kind {
            ClientKind::Agent if !client.launched || self.policy.by_person => self.policy.agents,
            _ => AgentAccess::Full,
        };
        may.min(client.access.requested)
    }
}

/// What child sessions know of the clients of their parent session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParentClients {
    /// What agents may do in the parent session, and so in the child's.
    pub agent_access: AgentAccess,
    /// Some client opens child sessions, or is notified of them: a stop in one waits for it.
    pub notice_children: bool,
}

/// All clients, in the order in which they connected.
#[derive(Debug, Default)]
pub struct Clients(BTreeMap<ClientId, Client>);

impl Clients {
    pub fn add(&mut self, client: Client) {
        self.0.insert(client.id, client);
    }

    pub fn remove(&mut self, id: ClientId) -> Option<Client> {
        self.0.remove(&id)
    }

    /// The client with this id, unless it left.
    pub fn get(&self, id: ClientId) -> Option<&Client> {
        self.0.get(&id)
    }

    pub fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.0.get_mut(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Client> {
        self.0.values()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.0.values_mut()
    }

    /// The ids of the clients that get events.
    pub fn ready(&self) -> Vec<ClientId> {
        self.ids_where(|client| client.stage == HandshakeStage::Ready)
    }

    /// The ids of the clients that launched, attached or joined, whether they have configured or not.
    pub fn joined(&self) -> Vec<ClientId> {
        self.ids_where(Client::has_joined)
    }

    /// The ids of the clients for which this holds.
    pub fn ids_where(&self, holds: impl Fn(&Client) -> bool) -> Vec<ClientId> {
        self.0.values().filter(|client| holds(client)).map(|client| client.id).collect()
    }

    /// Whether no client is left. A connection that has sent nothing does not count.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(|client| client.stage == HandshakeStage::Connected)
    }
}
