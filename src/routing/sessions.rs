//! The sessions that clients have opened, who owns them and who is attached.

use super::allowlist::Agents;
use super::lineage::Family;
use super::pending::Questions;
use super::ports::PortId;
use slab::Slab;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::time::Instant;

/// Who a client is: a uid, a token's name, the program that spawned us.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(pub Rc<str>);

impl Principal {
    /// A principal of this name.
    pub fn new(name: &str) -> Principal {
        Principal(name.into())
    }
}

/// Names a session in the slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionKey(usize);

/// One client's part in a session.
#[derive(Debug)]
pub struct Attachment {
    /// Who.
    pub client: PortId,
    /// The tools that it registered.
    pub tools: Vec<Box<str>>,
    /// Whether it registered hooks.
    pub hooks: bool,
    /// Whether we refuse permissions in its place, because it answers none and the runtime would not ask.
    pub refuses: bool,
    /// Asked for, not yet confirmed by the runtime.
    pub provisional: bool,
    /// Which of the hooks that begin and end a session it has been asked.
    pub boundary: Boundary,
}

/// The hooks that begin and end a session, as one client has seen them.
#[derive(Debug, Default)]
pub struct Boundary {
    /// The runtime has run `sessionStart`.
    pub started: bool,
    /// It has done so since the last idle: this prompt needs none from us.
    pub start_is_fresh: bool,
    /// `sessionEnd` has been run since the last prompt (for protocol 2 clients), or ever (for protocol 3).
    pub ended: bool,
}

/// What the bridge remembers of a session.
#[derive(Debug, Default)]
pub struct Bridged {
    /// Ids of prompts that were sent and have not yet shown up as `user.message`.
    pub prompts: VecDeque<String>,
    /// Acts that a protocol 3 client approved for the session, which a protocol 2 runtime cannot remember.
    pub approved: HashSet<String>,
    /// Tools that a `preToolUse` hook allowed, whose permission a protocol 2 runtime asks for all the same.
    pub allowed: Vec<String>,
}

/// A session that a client created or resumed.
#[derive(Debug)]
pub struct Session {
    /// Its id, the same on both sides.
    pub id: Box<str>,
    /// Who owns it.
    pub owner: Principal,
    /// Who is attached, in the order in which they came.
    pub attached: Vec<Attachment>,
    /// Its custom agents.
    pub agents: Agents,
    /// Its children.
    pub family: Family,
    /// Questions asked by event that wait for an answer.
    pub questions: Questions,
    /// Whether the runtime ever confirmed it.
    pub confirmed: bool,
    /// Life-cycle notifications seen for it.
    pub lifecycles: u64,
    /// What the bridge remembers of it.
    pub bridged: Bridged,
    /// Nobody is attached, but somebody may come back until then.
    pub awaited_until: Option<Instant>,
}

impl Session {
    /// This client's part, to change.
    pub fn attachment_mut(&mut self, client: PortId) -> Option<&mut Attachment> {
        self.attached.iter_mut().find(|a| a.client == client)
    }

    /// This client's part.
    pub fn attachment(&self, client: PortId) -> Option<&Attachment> {
        self.attached.iter().find(|a| a.client == client)
    }

    /// Whether this client is attached.
    pub fn is_attached(&self, client: PortId) -> bool {
        self.attachment(client).is_some()
    }

    /// Whether any attached client registered this tool.
    pub fn has_tool(&self, tool: &str) -> bool {
        self.attached.iter().any(|a| a.tools.iter().any(|t| **t == *tool))
    }
}

/// All sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    slab: Slab<Session>,
    by_id: HashMap<Box<str>, SessionKey>,
}

impl Sessions {
    /// The session with this id.
    pub fn find(&self, id: &str) -> Option<SessionKey> {
        self.by_id.get(id).copied()
    }

    /// A session by its key.
    pub fn get(&self, key: SessionKey) -> Option<&Session> {
        self.slab.get(key.0)
    }

    /// A session by its key, to change.
    pub fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.slab.get_mut(key.0)
    }

    /// The session with this id, made if it is new.
    pub fn ensure(&mut self, id: &str, owner: &Principal) -> SessionKey {
        if let Some(key) = self.find(id) {
            return key;
        }
        let key = SessionKey(self.slab.insert(Session {
            id: id.into(),
            owner: owner.clone(),
            attached: Vec::new(),
            agents: Agents::default(),
            family: Family::default(),
            questions: Questions::default(),
            confirmed: false,
            lifecycles: 0,
            bridged: Bridged::default(),
            awaited_until: None,
        }));
        self.by_id.insert(id.into(), key);
        key
    }

    /// Attaches a client. Attaching again keeps its place in the order.
    pub fn attach(&mut self, key: SessionKey, client: PortId, provisional: bool) {
        if let Some(session) = self.slab.get_mut(key.0) {
            match session.attached.iter_mut().find(|a| a.client == client) {
                Some(attachment) => attachment.provisional &= provisional,
                None => session.attached.push(Attachment {
                    client,
                    tools: Vec::new(),
                    hooks: false,
                    refuses: false,
                    provisional,
                    boundary: Boundary::default(),
                }),
            }
            session.confirmed |= !provisional;
            session.awaited_until = None;
        }
    }

    /// Takes a client off a session.
    pub fn detach(&mut self, key: SessionKey, client: PortId) {
        if let Some(session) = self.slab.get_mut(key.0) {
            session.attached.retain(|a| a.client != client);
        }
    }

    /// Takes a session out.
    pub fn remove(&mut self, key: SessionKey) -> Option<Session> {
        let session = self.slab.try_remove(key.0)?;
        self.by_id.remove(&session.id);
        Some(session)
    }

    /// All sessions that a client is attached to.
    pub fn of_client(&self, client: PortId) -> Vec<SessionKey> {
        self.iter().filter(|(_, s)| s.is_attached(client)).map(|(key, _)| key).collect()
    }

    /// All sessions.
    pub fn iter(&self) -> impl Iterator<Item = (SessionKey, &Session)> {
        self.slab.iter().map(|(key, session)| (SessionKey(key), session))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }
}

impl Sessions {
    /// A key that names no session, for tests of what builds on keys.
    #[cfg(test)]
    pub(super) fn test_key(n: usize) -> SessionKey {
        SessionKey(n)
    }
}
