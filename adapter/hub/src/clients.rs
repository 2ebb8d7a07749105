//! The clients of a session: their names, the stage of their handshake, and what they support.
//!
//! Not here: the handshake itself ([`super::state`]), what agents may do ([`super::access`]).

use std::collections::{BTreeMap, BTreeSet};

use dap_wire::Failure;
use dap_wire::types::{self, InitializeRequestArguments};
use serde_json::Value;

use super::access::AgentAccess;
use super::client_capabilities::ClientCapabilities;
use super::convention::ClientConventions;
use super::event::{ClientId, ClientOrigin};
use super::ids::IdTable;

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

#[derive(Debug)]
pub struct Client {
    pub id: ClientId,
    pub origin: ClientOrigin,
    pub stage: HandshakeStage,
    /// It presented the token, or needed none.
    pub admitted: bool,
    /// Its launch or attach made the session.
    pub launched: bool,
    /// `clientName`, else `clientID`, else `client N`.
    pub name: String,
    /// `clientID` of its `initialize`.
    pub client_id: Option<String>,
    pub kind: ClientKind,
    /// The most access that it requests, even if it may have more.
    pub requested_access: AgentAccess,
    /// The commands it was refused since its access changed last: each is reported to the others once.
    pub refused: BTreeSet<String>,
    /// The arguments of its `initialize`, to repeat them when it joins another session through this one.
    pub initialize_arguments: Value,
    /// Lines, columns and paths as it wants them.
    pub convention: ClientConventions,
    /// The optional events and fields that it supports.
    pub supports: ClientCapabilities,
    /// The session's capabilities as they were last sent to it.
    pub sent_capabilities: Value,
    /// It subscribed to `sessionChanged` and `inputClosed`.
    pub subscribed: bool,
    /// It did not open the child session that it was last requested to open.
    pub refuses_children: bool,
    /// It subscribed, but no user learns of child sessions through it.
    pub overlooks_children: bool,
    /// Its ids of frames, variables and sources.
    pub ids: IdTable,
    /// When it leaves in any way, another client takes over its role as the owner.
    pub hands_over: bool,
    /// Its breakpoints stay when it leaves.
    pub keeps_breakpoints: bool,
    /// It puts mirrors into its own list of breakpoints.
    pub echoes_mirrors: bool,
    /// It was sent `terminated`.
    pub terminated_sent: bool,
    /// Numbers and commands of its requests that have no response.
    pub open_requests: Vec<(i64, String)>,
}

impl Client {
    /// A client that has not sent any message yet.
    pub fn new(id: ClientId, origin: ClientOrigin) -> Self {
        Self {
            id,
            origin,
            stage: HandshakeStage::Connected,
            admitted: true,
            launched: false,
            name: id.to_string(),
            client_id: None,
            kind: ClientKind::Editor,
            requested_access: AgentAccess::Full,
            refused: BTreeSet::new(),
            initialize_arguments: Value::Null,
            convention: ClientConventions::default(),
            supports: ClientCapabilities::default(),
            sent_capabilities: Value::Null,
            subscribed: false,
            refuses_children: false,
            overlooks_children: false,
            ids: IdTable::default(),
            hands_over: false,
            keeps_breakpoints: false,
            echoes_mirrors: false,
            terminated_sent: false,
            open_requests: Vec::new(),
        }
    }

    /// Takes the arguments of `initialize`. Absent fields have DAP's defaults.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a `pathFormat` that is neither `path` nor `uri`, and for an
    /// invalid `tandemAccess`.
    pub fn initialize(&mut self, arguments: &Value) -> Result<(), Failure> {
        let initialize: InitializeRequestArguments = types::read(arguments);
        self.convention = ClientConventions::from_initialize(&initialize)?;
        let access = &arguments["tandemAccess"];
        if !access.is_null() {
            self.requested_access = AgentAccess::parse(access)?;
        }
        self.supports = ClientCapabilities::from_initialize(&initialize);
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        self.client_id = given(initialize.client_id);
        if let Some(name) = given(initialize.client_name).as_ref().or(self.client_id.as_ref()) {
            self.name = name.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect();
        }
        let is_bridge = self.client_id.as_ref().is_some_and(|id| id.starts_with("tandem-mcp"));
        let is_agent = is_bridge || arguments["tandemKind"] == "agent";
        self.kind = if is_agent { ClientKind::Agent } else { ClientKind::Editor };
        self.initialize_arguments = arguments.clone();
        self.stage = HandshakeStage::Initialized;
        Ok(())
    }

    /// Whether it carries out a reverse request of this name.
    pub fn supports_reverse_request(&self, command: &str) -> bool {
        match command {
            "runInTerminal" => self.supports.terminal,
            "startDebugging" => self.supports.start_debugging,
            _ => false,
        }
    }

    /// Whether it gets an event of this name.
    pub fn accepts_event(&self, event: &str) -> bool {
        match event {
            "sessionChanged" | "inputClosed" => self.subscribed,
            _ => self.supports.accepts_event(event),
        }
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
        self.ids_where(|client| (HandshakeStage::Joined..=HandshakeStage::Ready).contains(&client.stage))
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
