//! The riders: who they are, how far their handshake is, and how they count lines.

use std::collections::{BTreeMap, BTreeSet};

use dap_wire::Failure;
use serde_json::Value;

use super::access::AgentAccess;
use super::announced::Announced;
use super::convention::Convention;
use super::event::{ClientId, Origin};
use super::ids::IdTable;

/// How far a client's handshake is. It moves down this list and never back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing said yet.
    Connected,
    /// `initialize` was answered.
    Initialized,
    /// `launch` or `attach` was accepted; the `initialized` event is still owed.
    Joined,
    /// It was sent `initialized` and may configure.
    Configuring,
    /// `configurationDone`: it gets events.
    Ready,
    /// It said `disconnect`: only answers to what it asked before.
    Leaving,
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person's editor, or any DAP client that does not say otherwise.
    Editor,
    /// A program that acts for a language model; `agentAccess` binds it.
    Agent,
}

impl Kind {
    /// As `sessionInfo` spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Editor => "editor",
            Self::Agent => "agent",
        }
    }
}

/// One rider.
#[derive(Debug)]
pub struct Client {
    /// Its connection.
    pub id: ClientId,
    /// Where it came from.
    pub origin: Origin,
    /// How far its handshake is.
    pub stage: Stage,
    /// It presented the token, or needed none.
    pub admitted: bool,
    /// Its launch or attach made the session.
    pub launched: bool,
    /// `clientName`, else `clientID`, else `client N`.
    pub name: String,
    /// Editor or agent.
    pub kind: Kind,
    /// The most that it wants to do, whatever it may.
    pub wants: AgentAccess,
    /// What it was refused since its access changed last: each is told to the others once.
    pub refused: BTreeSet<String>,
    /// Its `initialize`, to repeat it when it joins another session through us.
    pub introduction: Value,
    /// Lines, columns and paths as it wants them.
    pub convention: Convention,
    /// Which optional events it takes.
    pub announced: Announced,
    /// The capabilities it was told.
    pub capabilities: Value,
    /// It asked for `sessionChanged` and `inputClosed`.
    pub subscribed: bool,
    /// Its frames, variables and sources.
    pub ids: IdTable,
    /// When it goes, however it goes, another client takes its place as the one that launched.
    pub hands_over: bool,
    /// Its breakpoints stay when it goes.
    pub keeps_breakpoints: bool,
    /// It puts breakpoints of others that it is shown into its own list.
    pub reflects: bool,
    /// It was told that the session is over.
    pub told_terminated: bool,
    /// Numbers and commands of what it has asked and has no answer to.
    pub owed: Vec<(i64, String)>,
}

impl Client {
    /// A connection that said nothing yet.
    pub fn new(id: ClientId, origin: Origin) -> Self {
        Self {
            id,
            origin,
            stage: Stage::Connected,
            admitted: true,
            launched: false,
            name: id.to_string(),
            kind: Kind::Editor,
            wants: AgentAccess::Full,
            refused: BTreeSet::new(),
            introduction: Value::Null,
            convention: Convention::default(),
            announced: Announced::default(),
            capabilities: Value::Null,
            subscribed: false,
            ids: IdTable::default(),
            hands_over: false,
            keeps_breakpoints: false,
            reflects: false,
            told_terminated: false,
            owed: Vec::new(),
        }
    }

    /// Takes what `initialize` says. Absent fields mean what DAP says they mean.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a `pathFormat` that is neither `path` nor `uri`, and for a `tandemAccess` that is none.
    pub fn introduce(&mut self, arguments: &Value) -> Result<(), Failure> {
        self.convention = Convention::from_initialize(arguments)?;
        if !arguments["tandemAccess"].is_null() {
            self.wants = AgentAccess::parse(&arguments["tandemAccess"])?;
        }
        let text = |key: &str| arguments[key].as_str().filter(|text| !text.is_empty());
        let name = text("clientName").or(text("clientID"));
        if let Some(name) = name {
            self.name = name.chars().filter(|letter| !letter.is_control()).take(80).collect();
        }
        let agent = text("clientID").is_some_and(|id| id.starts_with("tandem-mcp"))
            || text("tandemKind") == Some("agent");
        self.kind = if agent { Kind::Agent } else { Kind::Editor };
        self.announced = Announced::from_initialize(arguments);
        self.introduction = arguments.clone();
        self.stage = Stage::Initialized;
        Ok(())
    }

    /// Whether it carries out a reverse request of this name.
    pub fn serves(&self, command: &str) -> bool {
        match command {
            "runInTerminal" => self.announced.terminal,
            "startDebugging" => self.announced.start_debugging,
            _ => false,
        }
    }

    /// Whether it gets an event of this name.
    pub fn takes(&self, event: &str) -> bool {
        match event {
            "sessionChanged" | "inputClosed" => self.subscribed,
            _ => self.announced.takes(event),
        }
    }
}

/// All riders, in the order they came.
#[derive(Debug, Default)]
pub struct Clients(BTreeMap<ClientId, Client>);

impl Clients {
    /// A new connection.
    pub fn add(&mut self, client: Client) {
        self.0.insert(client.id, client);
    }

    /// Forgets a connection.
    pub fn remove(&mut self, id: ClientId) -> Option<Client> {
        self.0.remove(&id)
    }

    /// The rider with this id, unless it left.
    pub fn get(&self, id: ClientId) -> Option<&Client> {
        self.0.get(&id)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.0.get_mut(&id)
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Client> {
        self.0.values()
    }

    /// All, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.0.values_mut()
    }

    /// The ids of those that get events.
    pub fn ready(&self) -> Vec<ClientId> {
        self.0.values().filter(|client| client.stage == Stage::Ready).map(|client| client.id).collect()
    }

    /// The ids of those who asked for this program, whether they have configured or not.
    pub fn at_the_console(&self) -> Vec<ClientId> {
        let there = |client: &&Client| (Stage::Joined..=Stage::Ready).contains(&client.stage);
        self.0.values().filter(there).map(|client| client.id).collect()
    }

    /// Whether nobody is left. A connection that has not said who it is counts for nobody.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(|client| client.stage == Stage::Connected)
    }
}
