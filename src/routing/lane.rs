//! A lane: one connection to a runtime, its handshake, and the requests on it that wait for the runtime.

use super::opening::Registration;
use super::ports::PortId;
use super::router::{Command, Role, Router};
use super::sessions::SessionKey;
use crate::error::Refusal;
use crate::protocol::handshake::{ConnectParams, ConnectResult, PingResult};
use crate::protocol::{V2, V3, names};
use crate::rpc::message::{ERROR, RESULT};
use crate::rpc::{Kind, Message, RequestTable, write};
use std::collections::VecDeque;

/// How far a lane has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneStatus {
    /// Not yet needed: a connection that says nothing starts no runtime.
    Idle,
    /// Being connected.
    Dialling,
    /// Connected; the first message of a client starts the handshake.
    Connected,
    /// Waiting for the runtime's word.
    Handshaking,
    /// Open for traffic.
    Ready,
    /// Gone, and why.
    Dead(String),
}

/// One connection to a runtime.
#[derive(Debug)]
pub struct LaneState {
    /// How far it has come.
    pub status: LaneStatus,
    /// The clients it serves: one, or all.
    pub clients: Vec<PortId>,
    /// What the runtime speaks.
    pub protocol: u32,
    /// The runtime's version, where it tells.
    pub version: Option<String>,
    /// The runtime's own answer to `connect`.
    pub(super) connect_result: Option<Vec<u8>>,
    /// Client messages that wait for the handshake.
    pub(super) waiting: VecDeque<(PortId, Message)>,
    /// Requests that wait for the runtime.
    pub(super) sent: RequestTable<Sent>,
}

/// A request on its way through a lane.
#[derive(Debug)]
pub struct Sent {
    /// Who wants the answer, and under which id; `None` when we do.
    pub client: Option<(PortId, Box<[u8]>)>,
    /// What the answer means to us.
    pub after: After,
}

/// What the answer to a request means to us.
#[derive(Debug)]
pub enum After {
    /// Nothing.
    Nothing,
    /// A session is opened, if it succeeds.
    Open(Option<SessionKey>, Box<Registration>),
    /// A prompt was sent.
    Prompt(SessionKey),
    /// The client leaves a session.
    Detach(SessionKey),
    /// A session ends for everyone; with the life-cycle notifications seen before.
    End(SessionKey, u64),
    /// The answer names the protocol; this client's is put in its place.
    Versioned(u32),
    /// Our `connect`.
    Connected,
    /// Our `ping`, to a runtime without `connect`.
    Pinged,
    /// The runtime shuts down.
    Shutdown,
}

impl LaneState {
    fn new(client: PortId) -> LaneState {
        LaneState {
            status: LaneStatus::Idle,
            clients: vec![client],
            protocol: V3,
            version: None,
            connect_result: None,
            waiting: VecDeque::new(),
            sent: RequestTable::default(),
        }
    }

    /// CLIs 1.0.20 and 1.0.34: protocol 3 without `connect`, and with some of protocol 2's forms.
    pub fn is_early_v3(&self) -> bool {
        self.protocol >= V3 && self.connect_result.is_none()
    }

    /// Requests that the runtime has yet to answer.
    pub fn in_flight(&self) -> usize {
        self.sent.len() + self.waiting.len()
    }
}

impl Router {
    /// The lane for a new client: its own, or the one that all share.
    pub(super) fn assign_lane(&mut self, client: PortId) -> PortId {
        if !self.settings.lane_per_client
            && let Some(shared) = self.shared_lane
            && let Some(lane) = self.lane_mut(shared)
        {
            lane.clients.push(client);
            return shared;
        }
        let id = self.ports.open(Role::Lane(LaneState::new(client)));
        if !self.settings.lane_per_client {
            self.shared_lane = Some(id);
        }
        if self.settings.dial_at_once {
            self.dial(id);
        }
        id
    }

    fn dial(&mut self, id: PortId) {
        if let Some(lane) = self.lane_mut(id) {
            lane.status = LaneStatus::Dialling;
            self.commands.push(Command::Dial(id));
        }
    }

    /// The lane is connected.
    pub fn lane_up(&mut self, id: PortId) {
        let Some(lane) = self.lane_mut(id) else { return };
        lane.status = LaneStatus::Connected;
        if !lane.waiting.is_empty() {
            self.begin_handshake(id);
        }
    }

    /// A client's message must wait until the runtime has said which protocol it speaks.
    pub(super) fn wait_for_lane(&mut self, id: PortId, client: PortId, message: Message) {
        let limit = self.settings.queue_bytes;
        let Some(lane) = self.lane_mut(id) else { return };
        if lane.waiting.iter().map(|(_, m)| m.body().len()).sum::<usize>() > limit {
            let why = Refusal::Overloaded(format!("more than {limit} bytes wait for the runtime to start; try again later"));
            if message.kind() == Kind::Request {
                self.refuse(client, &message, &why);
            }
            return;
        }
        lane.waiting.push_back((client, message));
        match lane.status {
            LaneStatus::Idle => self.dial(id),
            LaneStatus::Connected => self.begin_handshake(id),
            _ => {}
        }
    }

    /// `connect`, with what the client asks for if this lane is its own, and with our token for the runtime.
    fn begin_handshake(&mut self, id: PortId) {
        let token = self.settings.lane_token.clone();
        let own = self.settings.lane_per_client;
        let Some(lane) = self.lane_mut(id) else { return };
        let theirs = lane.waiting.front().filter(|(_, m)| own && m.method() == names::CONNECT);
        let mut params: serde_json::Map<String, serde_json::Value> =
            theirs.and_then(|(_, m)| serde_json::from_slice(m.params()).ok()).unwrap_or_default();
        params.remove("token");
        if theirs.is_none() {
            let kinds = ConnectParams { token: None, supported_task_kinds: Some(["agent", "client", "shell"].map(String::from).to_vec()) };
            params.extend(serde_json::to_value(kinds).ok().and_then(|v| v.as_object().cloned()).unwrap_or_default());
        }
        params.extend(token.map(|t| ("token".into(), t.into())));
        lane.status = LaneStatus::Handshaking;
        self.originate(id, names::CONNECT, &write::json(&params), After::Connected);
    }

    /// A request of our own to a runtime.
    pub(super) fn originate(&mut self, id: PortId, method: &str, params: &[u8], after: After) {
        let Some(lane) = self.lane_mut(id) else { return };
        let number = lane.sent.open(Sent { client: None, after });
        self.send(id, &write::request(number, method, params));
    }

    /// The runtime's answer to our `connect`. CLIs 1.0.20 and 1.0.34 speak protocol 3 and have no `connect`;
    /// protocol 2 runtimes have none either: `ping` tells them apart.
    pub(super) fn connected(&mut self, id: PortId, answer: &Message) {
        if let Some(result) = answer.raw(RESULT) {
            let result = result.to_vec();
            let told: Option<ConnectResult> = serde_json::from_slice(&result).ok();
            let Some(lane) = self.lane_mut(id) else { return };
            lane.protocol = told.as_ref().map_or(V3, |t| t.protocol_version.max(V3));
            lane.version = told.map(|t| t.version);
            lane.connect_result = Some(result);
            return self.lane_ready(id);
        }
        let error: serde_json::Value = answer.raw(ERROR).and_then(|e| serde_json::from_slice(e).ok()).unwrap_or_default();
        if error["code"] == -32601 {
            return self.originate(id, names::PING, b"{}", After::Pinged);
        }
        let words = error["message"].as_str().unwrap_or("no reason given").to_owned();
        self.lane_closed(id, &format!("it refused the handshake: {words}"));
        self.commands.push(Command::Drop(id));
    }

    /// The runtime's answer to our `ping`.
    pub(super) fn pinged(&mut self, id: PortId, answer: &Message) {
        let pong: Option<PingResult> = answer.raw(RESULT).and_then(|r| serde_json::from_slice(r).ok());
        if let Some(lane) = self.lane_mut(id) {
            lane.protocol = pong.map_or(V2, |p| p.protocol_version);
        }
        self.lane_ready(id);
    }

    fn lane_ready(&mut self, id: PortId) {
        let Some(lane) = self.lane_mut(id) else { return };
        lane.status = LaneStatus::Ready;
        tracing::debug!(protocol = lane.protocol, version = lane.version, "the runtime is ready");
        let waiting = std::mem::take(&mut lane.waiting);
        for (client, message) in waiting {
            self.client_message(client, message);
        }
    }

    /// The lane is gone: everything in flight on it is answered with an error that names the runtime and says why.
    pub fn lane_closed(&mut self, id: PortId, why: &str) {
        let reason = format!("runtime {}: {why}", self.settings.runtime);
        let Some(lane) = self.lane_mut(id) else { return };
        if matches!(lane.status, LaneStatus::Dead(_)) {
            return;
        }
        tracing::warn!("{reason}");
        lane.status = LaneStatus::Dead(reason.clone());
        let (sent, waiting, clients) = (lane.sent.drain(), std::mem::take(&mut lane.waiting), lane.clients.clone());
        let refusal = Refusal::RuntimeGone(reason);
        for (_, request) in sent {
            match (request.client, request.after) {
                // It was told to end and did, with or without a word: what was asked for is done.
                (Some((client, id)), After::Shutdown) => {
                    self.send(client, &write::result(&id, b"null"));
                    self.commands.push(Command::Exit);
                }
                (Some((client, id)), _) => self.send(client, &refusal.answer(&id)),
                (None, _) => {}
            }
        }
        for (client, message) in waiting {
            if message.kind() == Kind::Request {
                self.refuse(client, &message, &refusal);
            }
        }
        self.forget_lane_questions(id);
        if self.shared_lane == Some(id) {
            // The next client starts the runtime anew; those that were here keep the reason.
            self.shared_lane = None;
        }
        if clients.is_empty() {
            self.ports.remove(id);
        }
    }
}
