//! The router's state and the small steps that everything else is made of.

use super::client::ClientState;
use super::lane::LaneState;
use super::lineage::Lineage;
use super::pending::Ask;
use super::ports::{PortId, Ports};
use super::sessions::Sessions;
use crate::error::Refusal;
use crate::rpc::message::ID;
use crate::rpc::{Edits, Message, MessageError, write};
use slab::Slab;
use std::time::{Duration, Instant};

/// What routing can be told from outside.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The runtime, in the words of the command line; names it in errors.
    pub runtime: String,
    /// Whether each client gets a lane of its own.
    pub lane_per_client: bool,
    /// Whether a lane is connected when its client comes, not when it first speaks: the runtime then starts while
    /// the SDK that spawned us is still busy with itself.
    pub dial_at_once: bool,
    /// The runtime's connection token.
    pub lane_token: Option<String>,
    /// How long a vanished protocol 3 client's questions wait for somebody; `None` where nobody can come back.
    pub grace: Option<Duration>,
    /// Whether `runtime.shutdown` is the runtime's to answer: it is ours alone, started for this one client.
    pub forward_shutdown: bool,
    /// Whether `runtime.shutdown` ends this process.
    pub exit_on_shutdown: bool,
    /// Bytes that may wait for one client before it is cut off.
    pub queue_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            runtime: "embedded".into(),
            lane_per_client: true,
            dial_at_once: false,
            lane_token: None,
            grace: None,
            forward_shutdown: false,
            exit_on_shutdown: false,
            queue_bytes: 8 * 1024 * 1024,
        }
    }
}

/// What a connection is.
#[derive(Debug)]
pub enum Role {
    /// One at the front door.
    Client(ClientState),
    /// One to a runtime.
    Lane(LaneState),
}

/// What the outside has to do for the router.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Connect this lane to the runtime, then say `lane_up` or `lane_closed`.
    Dial(PortId),
    /// Drop this connection now.
    Drop(PortId),
    /// End the process when everything is written.
    Exit,
}

/// Everything the daemon knows of connections, sessions, children and pending questions.
#[derive(Debug, Default)]
pub struct Router {
    /// The connections.
    pub ports: Ports<Role>,
    /// The sessions.
    pub sessions: Sessions,
    /// The children.
    pub lineage: Lineage,
    /// Questions by request.
    pub asks: Slab<Ask>,
    /// Lanes that outlived their client, and until when.
    pub(super) orphans: Vec<(PortId, Instant)>,
    /// The lane that all clients share, where the runtime has one pipe.
    pub(super) shared_lane: Option<PortId>,
    pub(super) settings: Settings,
    pub(super) commands: Vec<Command>,
    pub(super) now: Option<Instant>,
    pub(super) deadlines_changed: bool,
}

impl Router {
    /// A router with nobody connected.
    pub fn new(settings: Settings) -> Router {
        Router { settings, ..Default::default() }
    }

    /// Takes what the outside has to do.
    pub fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// Sets the time. Called before anything that may start or end a waiting time.
    pub fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
    }

    pub(super) fn now(&self) -> Instant {
        self.now.unwrap_or_else(Instant::now)
    }

    pub(super) fn client(&self, id: PortId) -> Option<&ClientState> {
        match &self.ports.get(id)?.role {
            Role::Client(client) => Some(client),
            Role::Lane(_) => None,
        }
    }

    pub(super) fn client_mut(&mut self, id: PortId) -> Option<&mut ClientState> {
        match &mut self.ports.get_mut(id)?.role {
            Role::Client(client) => Some(client),
            Role::Lane(_) => None,
        }
    }

    pub(super) fn lane(&self, id: PortId) -> Option<&LaneState> {
        match &self.ports.get(id)?.role {
            Role::Lane(lane) => Some(lane),
            Role::Client(_) => None,
        }
    }

    pub(super) fn lane_mut(&mut self, id: PortId) -> Option<&mut LaneState> {
        match &mut self.ports.get_mut(id)?.role {
            Role::Lane(lane) => Some(lane),
            Role::Client(_) => None,
        }
    }

    /// Where a connection's messages mostly go, if that is one place: to hold it back when that is full. A shared
    /// lane is never held back for one client's sake; there a client that does not read is cut off.
    pub fn targets(&self, id: PortId) -> Option<PortId> {
        match &self.ports.get(id)?.role {
            Role::Client(client) => Some(client.lane),
            Role::Lane(lane) if self.settings.lane_per_client => lane.clients.first().copied(),
            Role::Lane(_) => None,
        }
    }

    /// Queues a body that we wrote.
    pub(super) fn send(&mut self, to: PortId, body: &[u8]) {
        if let Some(out) = self.ports.out(to) {
            out.frame(body);
        }
        self.check_queue(to);
    }

    /// Queues a message with changes.
    pub(super) fn send_edited(&mut self, to: PortId, message: &Message, edits: &Edits<'_>) {
        if let Some(out) = self.ports.out(to) {
            out.spliced(message.body(), edits);
        }
        self.check_queue(to);
    }

    /// Queues a message under another id.
    pub(super) fn send_with_id(&mut self, to: PortId, message: &Message, id: &[u8]) {
        let mut edits = Edits::new();
        edits.replace(message.span(ID), id);
        self.send_edited(to, message, &edits);
    }

    /// Answers a request with an error.
    pub(super) fn refuse(&mut self, to: PortId, request: &Message, why: &Refusal) {
        self.send(to, &why.answer(request.id()));
    }

    /// Answers a request with a result.
    pub(super) fn answer(&mut self, to: PortId, request: &Message, result: &[u8]) {
        self.send(to, &write::result(request.id(), result));
    }

    /// A client that does not read is cut off; its queue would grow for ever, and nobody else may notice.
    fn check_queue(&mut self, to: PortId) {
        let limit = self.settings.queue_bytes;
        if let Some(port) = self.ports.get_mut(to)
            && port.out.len() > limit
            && !port.closing
            && matches!(port.role, Role::Client(_))
            && port.out.len() - port.out.newest() > limit
        {
            tracing::warn!(queued = port.out.len(), "a client does not read what it is sent: cut off");
            port.closing = true;
            self.commands.push(Command::Drop(to));
        }
    }

    /// A well-framed body that is no message: told to the sender, and the stream goes on.
    pub fn bad_body(&mut self, from: PortId, why: &MessageError) {
        let refusal = match why {
            MessageError::Scan(crate::rpc::scan::ScanError::Duplicate(_)) => Refusal::Invalid(why.to_string()),
            MessageError::Scan(_) => Refusal::Parse(why.to_string()),
            MessageError::Batch | MessageError::Positional | MessageError::Shapeless => Refusal::Invalid(why.to_string()),
        };
        match self.ports.get(from).map(|p| &p.role) {
            Some(Role::Client(_)) => self.send(from, &refusal.answer(b"null")),
            Some(Role::Lane(_)) => tracing::warn!(runtime = %self.settings.runtime, "the runtime sent a body that is no message: {why}"),
            None => {}
        }
    }

    /// Bytes that cannot be followed: told to the sender, and the stream ends.
    pub fn bad_frame(&mut self, from: PortId, why: &crate::rpc::FrameError) {
        if self.client(from).is_some() {
            self.send(from, &Refusal::Parse(why.to_string()).answer(b"null"));
            self.ports.close_after_flush(from);
        }
    }
}
