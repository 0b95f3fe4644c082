//! What clients send: the handshake, requests towards the runtime, answers to the runtime's questions.

use super::bridging::Bridge;
use super::lane::{After, LaneStatus, Sent};
use super::opening;
use super::pending::{Asked, Standing};
use super::ports::PortId;
use super::router::{Command, Role, Router};
use super::sessions::{Principal, SessionKey};
use crate::bridge::drift;
use crate::error::Refusal;
use crate::protocol::fields::{REQUEST_ID, SESSION_ID};
use crate::protocol::handshake::{ConnectParams, ConnectResult};
use crate::protocol::{V2, V3, names};
use crate::rpc::message::{ID, PARAMS};
use crate::rpc::{Edits, Kind, Message, RequestTable, Span, write};
use std::rc::Rc;
use subtle::ConstantTimeEq;

/// How a client came in.
#[derive(Debug, Clone)]
pub struct Door {
    /// Who it is.
    pub principal: Principal,
    /// The token that it has to show first.
    pub token: Option<Rc<str>>,
}

/// One client.
#[derive(Debug)]
pub struct ClientState {
    /// Who it is.
    pub principal: Principal,
    /// The protocol it speaks; until its first word that is not known.
    pub protocol: Option<u32>,
    /// Its lane.
    pub lane: PortId,
    /// Questions that it has yet to answer.
    pub asked: RequestTable<Asked>,
    token: Option<Rc<str>>,
}

impl Router {
    /// A client came in.
    pub fn client_opened(&mut self, door: Door) -> PortId {
        // The lane is assigned to a port that does not exist yet: a placeholder keeps the order simple.
        let placeholder = ClientState {
            principal: door.principal,
            protocol: None,
            lane: PortId::NOWHERE,
            asked: RequestTable::default(),
            token: door.token,
        };
        let id = self.ports.open(Role::Client(placeholder));
        let lane = self.assign_lane(id);
        if let Some(client) = self.client_mut(id) {
            client.lane = lane;
        }
        id
    }

    /// A message from a client.
    pub fn client_message(&mut self, id: PortId, message: Message) {
        let Some(client) = self.client_mut(id) else { return };
        if client.token.is_some() && !self.authenticate(id, &message) {
            return;
        }
        let Some(client) = self.client_mut(id) else { return };
        let lane = client.lane;
        if message.kind() == Kind::Response {
            return self.client_response(id, &message);
        }
        let method = message.method();
        match &*method {
            names::CONNECT => client.protocol = Some(V3),
            names::PING if client.protocol.is_none() => client.protocol = Some(V2),
            _ => {}
        }
        if *method == *names::DAEMON_STATUS && message.kind() == Kind::Request {
            let status = self.status(id);
            return self.answer(id, &message, &write::json(&status));
        }
        match self.lane(lane).map(|l| &l.status) {
            Some(LaneStatus::Ready) => {}
            Some(LaneStatus::Dead(why)) => {
                let why = Refusal::RuntimeGone(why.clone());
                if message.kind() == Kind::Request {
                    self.refuse(id, &message, &why);
                }
                return;
            }
            Some(_) => {
                drop(method);
                return self.wait_for_lane(lane, id, message);
            }
            None => return,
        }
        match (message.kind(), &*method) {
            (Kind::Notification, names::CANCEL) => self.cancel_from_client(id, lane, &message),
            (Kind::Notification, _) => self.client_notification(id, lane, &message),
            (_, names::CONNECT) => self.answer_connect(id, lane, &message),
            (_, names::PING | names::STATUS_GET) => self.versioned_request(id, lane, &message),
            (_, names::RUNTIME_SHUTDOWN) => self.shutdown(id, lane, &message),
            (_, names::SESSION_CREATE | names::SESSION_RESUME) => self.open_session(id, lane, &message),
            (_, opener) if names::OPENERS.contains(&opener) => self.forward(id, lane, &message, After::Open(None, Box::default())),
            (_, names::SESSION_SEND) => self.send_prompt(id, lane, &message),
            (_, names::SESSION_DETACH) => self.detach(id, lane, &message),
            (_, names::SESSION_DESTROY) => self.destroy(id, lane, &message),
            (_, names::SESSION_DELETE) => self.delete(id, lane, &message),
            (_, method) if is_answer(method) => self.client_answer(id, lane, &message),
            (_, method) if names::OWNER_LEVEL.contains(&method) || method.starts_with("sessions.") => {
                self.owner_request(id, lane, &message)
            }
            _ => self.session_request(id, lane, &message, |_, _| After::Nothing),
        }
    }

    /// Whether the client may speak. Until it has shown its token only `connect` is heard.
    fn authenticate(&mut self, id: PortId, message: &Message) -> bool {
        if message.kind() != Kind::Request {
            return false;
        }
        if message.method() != names::CONNECT {
            self.refuse(id, message, &Refusal::AuthenticationRequired);
            return false;
        }
        let shown = serde_json::from_slice::<ConnectParams>(message.params()).ok().and_then(|p| p.token).unwrap_or_default();
        let Some(client) = self.client_mut(id) else { return false };
        let right = client.token.as_deref().is_none_or(|t| bool::from(t.as_bytes().ct_eq(shown.as_bytes())));
        if right {
            client.token = None;
        } else {
            self.refuse(id, message, &Refusal::AuthenticationFailed);
        }
        right
    }

    /// Answered by us: the lane has its own handshake, with the runtime's token, and perhaps long ago.
    fn answer_connect(&mut self, id: PortId, lane: PortId, message: &Message) {
        let Some(lane) = self.lane(lane) else { return };
        let result = lane.connect_result.clone().unwrap_or_else(|| {
            write::json(&ConnectResult {
                ok: true,
                protocol_version: V3,
                version: lane.version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").into()),
                task_kinds: vec!["agent".into()],
            })
        });
        self.answer(id, message, &result);
    }

    fn shutdown(&mut self, id: PortId, lane: PortId, message: &Message) {
        if self.settings.forward_shutdown && self.bridge(id, lane) == Bridge::None {
            return self.forward(id, lane, message, After::Shutdown);
        }
        self.answer(id, message, b"null");
        if self.settings.exit_on_shutdown {
            self.commands.push(Command::Exit);
        } else {
            // One client of a shared daemon ends its own part only.
            self.ports.close_after_flush(id);
        }
    }

    fn open_session(&mut self, id: PortId, lane: PortId, message: &Message) {
        let opening::Opening { mut registration, insertions, permission_flag } = opening::read(message.params());
        let mut edits = Edits::new();
        let params = message.span(PARAMS).start;
        for insertion in &insertions {
            edits.insert(params + insertion.at as u32, &insertion.text);
        }
        let Some(client) = self.client(id) else { return };
        let principal = client.principal.clone();
        let asked = message.text(SESSION_ID).map(|s| s.into_owned());
        // On a shared lane an early event must find its client before the runtime has said which id it chose.
        let nameless =
            asked.is_none() && message.raw(SESSION_ID).is_none() && message.params().starts_with(b"{") && message.span(PARAMS).is_some();
        let choose = nameless && !self.settings.lane_per_client && message.method() == names::SESSION_CREATE;
        let chosen = choose.then(|| uuid::Uuid::new_v4().to_string());
        let inserted =
            chosen.as_ref().map(|c| format!("\"sessionId\":\"{c}\"{}", if is_empty_object(message.params()) { "" } else { "," }));
        if let Some(text) = &inserted {
            edits.insert(params + 1, text.as_bytes());
        }
        let session = match asked.or(chosen) {
            None => None,
            Some(name) => match self.owned(&name, &principal) {
                Err(why) => return self.refuse(id, message, &why),
                Ok(_) => {
                    let key = self.sessions.ensure(&name, &principal);
                    self.sessions.attach(key, id, true);
                    Some(key)
                }
            },
        };
        // A protocol 2 runtime runs tools unasked when nobody asks for permission requests; a protocol 3 client
        // without a handler expects a refusal. So they are always asked for, and we refuse.
        if self.bridge(id, lane) == Bridge::V3Client && !registration.permissions && message.params().starts_with(b"{") {
            registration.refuses = true;
            match &permission_flag {
                Some(flag) => edits.replace(Span { start: params + flag.start as u32, end: params + flag.end as u32 }, b"true"),
                None if is_empty_object(message.params()) => edits.insert(params + 1, b"\"requestPermission\":true"),
                None => edits.insert(params + 1, b"\"requestPermission\":true,"),
            }
        }
        self.forward_edited(id, lane, message, After::Open(session, Box::new(registration)), edits);
    }

    fn delete(&mut self, id: PortId, lane: PortId, message: &Message) {
        let after = match self.owner_check(id, message) {
            Err(why) => return self.refuse(id, message, &why),
            Ok(None) => After::Nothing,
            Ok(Some(key)) => After::End(key, self.sessions.get(key).map_or(0, |s| s.lifecycles)),
        };
        self.forward(id, lane, message, after);
    }

    fn owner_request(&mut self, id: PortId, lane: PortId, message: &Message) {
        match self.owner_check(id, message) {
            Err(why) => self.refuse(id, message, &why),
            Ok(_) => self.forward(id, lane, message, After::Nothing),
        }
    }

    /// The session that a request names, if we know it and its owner is asking.
    fn owner_check(&self, id: PortId, message: &Message) -> Result<Option<SessionKey>, Refusal> {
        let (Some(name), Some(client)) = (message.text(SESSION_ID), self.client(id)) else { return Ok(None) };
        self.owned(&name, &client.principal)
    }

    fn owned(&self, name: &str, principal: &Principal) -> Result<Option<SessionKey>, Refusal> {
        match self.sessions.find(name) {
            Some(key) if self.sessions.get(key).is_some_and(|s| s.owner != *principal) => Err(Refusal::UnknownSession(name.to_owned())),
            found => Ok(found),
        }
    }

    /// The session that a request names must be one that this client is attached to. Runtimes do not check
    /// this (WIRE.md §6), so we do.
    pub(super) fn attached(&self, id: PortId, message: &Message) -> Result<Option<SessionKey>, Refusal> {
        let Some(name) = message.text(SESSION_ID) else { return Ok(None) };
        let key = self.sessions.find(&name).filter(|key| self.sessions.get(*key).is_some_and(|s| s.is_attached(id)));
        key.map(Some).ok_or_else(|| Refusal::UnknownSession(name.into_owned()))
    }

    pub(super) fn session_request(&mut self, id: PortId, lane: PortId, message: &Message, after: impl FnOnce(SessionKey, u64) -> After) {
        let after = match self.attached(id, message) {
            Err(why) => return self.refuse(id, message, &why),
            Ok(None) => After::Nothing,
            Ok(Some(key)) => after(key, self.sessions.get(key).map_or(0, |s| s.lifecycles)),
        };
        self.forward(id, lane, message, after);
    }

    /// An answer to a question by event. The first counts; a later one is told so and goes no further.
    fn client_answer(&mut self, id: PortId, lane: PortId, message: &Message) {
        let key = match self.attached(id, message) {
            Err(why) => return self.refuse(id, message, &why),
            Ok(key) => key,
        };
        let (mut edits, mut wanted, mut decision) = (Edits::new(), Vec::new(), None);
        if let (Some(key), Some(request)) = (key, message.text(REQUEST_ID))
            && let Some(session) = self.sessions.get_mut(key)
        {
            match session.questions.standing(&request) {
                Standing::Answered | Standing::Denied => return self.answer(id, message, b"{\"success\":false}"),
                Standing::Open => {
                    let Some(question) = session.questions.answer(&request) else { return };
                    if question.stands_for.is_some() {
                        return self.answer_request(id, key, &request, question, message);
                    }
                    // The runtime gets the session id that it used itself, which may be the child's.
                    wanted = question.event.raw(SESSION_ID).filter(|raw| message.raw(SESSION_ID) != Some(raw)).unwrap_or_default().to_vec();
                }
                // Perhaps from before this daemon started; but never somebody else's under a session of one's own.
                Standing::Unknown if self.is_asked_elsewhere(id, &request) => return self.answer(id, message, b"{\"success\":false}"),
                // A protocol 2 runtime knows no such answers, only the questions that we have shown.
                Standing::Unknown if self.bridge(id, lane) == Bridge::V3Client => return self.answer(id, message, b"{\"success\":false}"),
                Standing::Unknown => {}
            }
        }
        if !wanted.is_empty() {
            edits.replace(message.span(SESSION_ID), &wanted);
        }
        if message.method() == names::HANDLE_PERMISSION && self.lane(lane).is_some_and(|l| l.is_early_v3()) {
            decision = drift::early_decision(message.params());
        }
        if let Some((span, kind)) = &decision {
            let at = message.span(PARAMS).start;
            edits.replace(Span { start: at + span.start as u32, end: at + span.end as u32 }, kind);
        }
        self.forward_edited(id, lane, message, After::Nothing, edits);
    }

    /// Whether a session that this client is not attached to waits for this answer.
    fn is_asked_elsewhere(&self, id: PortId, request: &str) -> bool {
        self.sessions.iter().any(|(_, s)| s.questions.standing(request) == Standing::Open && !s.is_attached(id))
    }

    /// Passes a request on to the runtime under a number of our own.
    pub(super) fn forward(&mut self, id: PortId, lane: PortId, message: &Message, after: After) {
        self.forward_edited(id, lane, message, after, Edits::new());
    }

    fn forward_edited(&mut self, id: PortId, lane: PortId, message: &Message, after: After, edits: Edits<'_>) {
        let Some(state) = self.lane_mut(lane) else { return };
        let number = state.sent.open(Sent { client: Some((id, message.id().into())), after }).to_string();
        let mut all = Edits::new();
        all.replace(message.span(ID), number.as_bytes());
        all.append(edits);
        self.send_edited(lane, message, &all);
    }

    /// Passes a request on under another method or with other params.
    pub(super) fn forward_as(&mut self, id: PortId, lane: PortId, message: &Message, method: &str, params: &[u8], after: After) {
        let Some(state) = self.lane_mut(lane) else { return };
        let number = state.sent.open(Sent { client: Some((id, message.id().into())), after });
        self.send(lane, &write::request(number, method, params));
    }

    fn client_notification(&mut self, id: PortId, lane: PortId, message: &Message) {
        match self.attached(id, message) {
            Ok(_) => self.send_edited(lane, message, &Edits::new()),
            Err(why) => tracing::debug!(method = %message.method(), "a notification was dropped: {why}"),
        }
    }

    /// `$/cancelRequest` goes on under the number that the runtime knows the request by.
    fn cancel_from_client(&mut self, id: PortId, lane: PortId, message: &Message) {
        let Some(named) = cancelled_id(message) else { return };
        let Some(state) = self.lane(lane) else { return };
        let number = state.sent.find(|s| s.client.as_ref().is_some_and(|(client, raw)| *client == id && **raw == *named));
        if let Some(number) = number {
            self.send(lane, &write::notification(names::CANCEL, format!("{{\"id\":{number}}}").as_bytes()));
        }
    }
}

/// Methods that answer a question by event: `session.tools.handlePendingToolCall` and its like.
fn is_answer(method: &str) -> bool {
    method.starts_with("session.") && method.contains(".handlePending")
}

/// The raw id that a `$/cancelRequest` names.
pub(super) fn cancelled_id(message: &Message) -> Option<Vec<u8>> {
    #[derive(serde::Deserialize)]
    struct Cancel<'a> {
        #[serde(borrow)]
        id: &'a serde_json::value::RawValue,
    }
    serde_json::from_slice::<Cancel>(message.params()).ok().map(|c| c.id.get().as_bytes().to_vec())
}

fn is_empty_object(params: &[u8]) -> bool {
    params.iter().skip(1).find(|b| !b.is_ascii_whitespace()) == Some(&b'}')
}
