//! Where routing and the bridge meet: a client and a runtime that speak different protocols, on one session
//! perhaps together with others that do not.

use super::lane::{After, Sent};
use super::lineage::ChildKey;
use super::pending::{Ask, Asked, Question, Standing};
use super::ports::PortId;
use super::resolve::Resolved;
use super::router::Router;
use super::sessions::SessionKey;
use crate::bridge::{drift, tables, v2_client, v3_client};
use crate::protocol::fields::*;
use crate::protocol::questions::Decision;
use crate::protocol::{V2, V3, names};
use crate::rpc::message::RESULT;
use crate::rpc::{Edits, Message, remove_member, write};
use bytes::Bytes;
use serde_json::Value;

/// How many prompts of a session may wait to show up.
const PROMPTS: usize = 64;

/// What stands between a client and a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bridge {
    /// Nothing: they speak the same.
    None,
    /// A protocol 2 client, a protocol 3 runtime.
    V2Client,
    /// A protocol 3 client, a protocol 2 runtime.
    V3Client,
}

impl Router {
    /// What stands between this client and this lane. A client that has not said speaks what its runtime does.
    pub(super) fn bridge(&self, client: PortId, lane: PortId) -> Bridge {
        let Some(runtime) = self.lane(lane).map(|l| l.protocol) else { return Bridge::None };
        match self.client(client).and_then(|c| c.protocol).unwrap_or(runtime) {
            V2 if runtime >= V3 => Bridge::V2Client,
            V3.. if runtime < V3 => Bridge::V3Client,
            _ => Bridge::None,
        }
    }

    /// `ping` and `status.get`: a client is told the protocol that it speaks, and the time as it knows it.
    pub(super) fn versioned_request(&mut self, id: PortId, lane: PortId, message: &Message) {
        let protocol = self.client(id).and_then(|c| c.protocol);
        let early = self.lane(lane).is_some_and(|l| l.is_early_v3());
        match protocol {
            Some(protocol) if early || self.bridge(id, lane) != Bridge::None => self.forward(id, lane, message, After::Versioned(protocol)),
            _ => self.forward(id, lane, message, After::Nothing),
        }
    }

    /// Leaving what one is not attached to succeeds, as it does with every runtime: the Go SDK detaches again
    /// when it stops. A protocol 2 runtime knows no detach: destroy is what its last client's leaving means.
    pub(super) fn detach(&mut self, id: PortId, lane: PortId, message: &Message) {
        match self.attached(id, message) {
            Err(_) => self.answer(id, message, b"{\"success\":true}"),
            // On a shared lane the runtime knows one connection: one client's leaving must not be everyone's.
            Ok(Some(key)) if self.settings.lane_per_client && self.bridge(id, lane) != Bridge::V3Client => {
                self.forward(id, lane, message, After::Detach(key));
            }
            Ok(Some(key)) if self.sessions.get(key).is_some_and(|s| s.attached.len() > 1) => {
                self.answer(id, message, b"{\"success\":true}");
                self.sessions.detach(key, id);
            }
            Ok(Some(key)) if self.bridge(id, lane) != Bridge::V3Client => self.forward(id, lane, message, After::Detach(key)),
            Ok(Some(key)) => self.forward_as(id, lane, message, names::SESSION_DESTROY, message.params(), After::Detach(key)),
            Ok(None) => self.forward(id, lane, message, After::Nothing),
        }
    }

    /// A protocol 2 client stops with destroy; while others are attached, that means its own leaving.
    pub(super) fn destroy(&mut self, id: PortId, lane: PortId, message: &Message) {
        let shared = |key: &SessionKey| self.sessions.get(*key).is_some_and(|s| s.attached.len() > 1);
        match self.attached(id, message) {
            // As every runtime answers; SDKs destroy again when they stop.
            Err(_) => self.answer(id, message, b"{\"success\":false}"),
            Ok(Some(key)) if shared(&key) && self.bridge(id, lane) == Bridge::V2Client => {
                self.forward_as(id, lane, message, names::SESSION_DETACH, message.params(), After::Detach(key));
            }
            Ok(_) => self.session_request(id, lane, message, After::End),
        }
    }

    /// CLIs before 1.0.85 speak protocol 3 and know no detach either.
    pub(super) fn detach_without_detach(&mut self, client: PortId, lane: PortId, key: SessionKey, id: Box<[u8]>) {
        let Some(session) = self.sessions.get(key) else { return };
        if session.attached.len() > 1 {
            self.send(client, &write::result(&id, b"{\"success\":true}"));
            return self.sessions.detach(key, client);
        }
        let params = [b"{\"sessionId\":", &write::quote(&session.id)[..], b"}"].concat();
        let Some(state) = self.lane_mut(lane) else { return };
        let number = state.sent.open(Sent { client: Some((client, id)), after: After::Detach(key) });
        self.send(lane, &write::request(number, names::SESSION_DESTROY, &params));
    }

    /// Sends a prompt, and remembers the id that it is given.
    pub(super) fn send_prompt(&mut self, id: PortId, lane: PortId, message: &Message) {
        match self.attached(id, message) {
            Err(why) => self.refuse(id, message, &why),
            Ok(key) => {
                let after = key.map_or(After::Nothing, After::Prompt);
                match v2_client::without_nulls(message.params()).filter(|_| self.bridge(id, lane) == Bridge::V2Client) {
                    Some(params) => self.forward_as(id, lane, message, names::SESSION_SEND, &params, after),
                    None => self.forward(id, lane, message, after),
                }
            }
        }
    }

    pub(super) fn note_prompt(&mut self, key: SessionKey, answer: &Message) {
        let sent: Value = answer.raw(RESULT).and_then(|r| serde_json::from_slice(r).ok()).unwrap_or_default();
        if let (Some(id), Some(session)) = (sent["messageId"].as_str(), self.sessions.get_mut(key)) {
            session.bridged.prompts.push_back(id.to_owned());
            if session.bridged.prompts.len() > PROMPTS {
                session.bridged.prompts.pop_front();
            }
        }
    }

    /// A prompt that the runtime does not name is named after the oldest that was sent.
    pub(super) fn identify_prompt(&mut self, key: SessionKey, message: &Message) -> Option<Message> {
        let prompts = &mut self.sessions.get_mut(key)?.bridged.prompts;
        let told: Value = serde_json::from_slice(message.raw(DATA)?).ok()?;
        if let Some(id) = told["messageId"].as_str() {
            prompts.retain(|prompt| prompt != id);
            return None;
        }
        let data = drift::with_message_id(message.raw(DATA)?, prompts.front()?)?;
        prompts.pop_front();
        let mut edits = Edits::new();
        edits.replace(message.span(DATA), &data);
        Message::read(edits.apply(message.body()).into(), &ROUTED, usize::MAX).ok()
    }

    /// Tells a client a question by event, in the form that it understands. Says whether it was told.
    pub(super) fn tell_question(
        &mut self,
        client: PortId,
        lane: PortId,
        at: Resolved,
        kind: &str,
        request: &str,
        message: &Message,
    ) -> bool {
        if self.bridge(client, lane) != Bridge::V2Client {
            self.tell(client, at.session, at.child, message);
            return true;
        }
        let Some(session) = self.sessions.get(at.session) else { return false };
        let (method, params) = match kind {
            names::EXTERNAL_TOOL_REQUESTED => {
                let tool = message.text(DATA_TOOL_NAME).unwrap_or_default();
                let registered = session.attachment(client).is_some_and(|a| a.tools.iter().any(|t| **t == *tool));
                if !registered {
                    return false;
                }
                (names::TOOL_CALL, v2_client::tool_call(&session.id, message))
            }
            // A hook decided already: there is nothing to ask.
            names::PERMISSION_REQUESTED if message.raw(DATA_RESOLVED_BY_HOOK) == Some(b"true") => return false,
            names::PERMISSION_REQUESTED => (names::PERMISSION_REQUEST, v2_client::permission_request(&session.id, message)),
            _ => return false,
        };
        let Some(state) = self.client_mut(client) else { return false };
        let number = state.asked.open(Asked::Question(at.session, request.into()));
        self.send(client, &write::request(number, method, &params));
        true
    }

    /// A protocol 2 client answered what it was asked for a question by event.
    pub(super) fn answer_event(&mut self, client: PortId, key: SessionKey, request: &str, response: &Message) {
        let Some(question) = self.sessions.get_mut(key).and_then(|s| s.questions.answer(request)) else {
            return tracing::debug!("a late answer of a protocol 2 client was ignored");
        };
        // The lane by which the question came first may be gone; the answerer's own knows the session as well.
        let own = self.client(client).map_or(question.lane, |c| c.lane);
        let session = question.event.text(SESSION_ID).unwrap_or_default();
        let (method, params) = if question.event.text(EVENT_TYPE).as_deref() == Some(names::EXTERNAL_TOOL_REQUESTED) {
            (names::HANDLE_TOOL, v2_client::tool_answer(&session, request, response))
        } else {
            (names::HANDLE_PERMISSION, v2_client::permission_answer(&session, request, response))
        };
        let early = self.lane(own).is_some_and(|l| l.is_early_v3()) && method == names::HANDLE_PERMISSION;
        let params = match drift::early_decision(&params).filter(|_| early) {
            Some((span, kind)) => [&params[..span.start], &kind, &params[span.end..]].concat(),
            None => params,
        };
        self.originate(own, method, &params, After::Nothing);
        self.retire_orphan(question.lane);
    }

    /// Tells a protocol 2 client an event of a protocol 3 runtime: what it knows, without what it does not.
    pub(super) fn tell_v2(&mut self, client: PortId, key: SessionKey, kind: &str, child: Option<ChildKey>, message: &Message) {
        if !tables::is_v2_event(kind) {
            return;
        }
        let hooks = self.sessions.get(key).and_then(|s| s.attachment(client)).is_some_and(|a| a.hooks);
        if child.is_none() && hooks {
            self.boundary_hooks(client, key, kind, message);
        }
        let Some(session) = self.sessions.get(key) else { return };
        let id = write::quote(&session.id);
        let mut edits = Edits::new();
        if message.raw(SESSION_ID) != Some(&id) {
            edits.replace(message.span(SESSION_ID), &id);
        }
        let contents = if kind == names::TOOL_EXECUTION_COMPLETE { message.raw(DATA).and_then(v2_client::known_contents) } else { None };
        if let Some(data) = &contents {
            edits.replace(message.span(DATA), data);
        }
        let edited = Bytes::from(edits.apply(message.body()));
        let without_agent = [AGENT_ID, PARENT_AGENT_ID].into_iter().fold(edited, without);
        self.send(client, &without_agent);
    }

    /// A protocol 2 runtime's question that goes to a protocol 2 client is shown to the protocol 3 clients of
    /// the session as well: they see every question of it, and the first answer counts.
    pub(super) fn show_to_v3(&mut self, key: usize, asked: PortId) {
        let Some(ask) = self.asks.get(key) else { return };
        let shown = matches!(&*ask.request.method(), names::TOOL_CALL | names::PERMISSION_REQUEST);
        let attached = ask.session.and_then(|s| self.sessions.get(s)).map(|s| s.attached.as_slice()).unwrap_or_default();
        if shown
            && self.bridge(asked, ask.lane) == Bridge::None
            && attached.iter().any(|a| self.bridge(a.client, ask.lane) == Bridge::V3Client)
        {
            self.show_as_event(key);
        }
    }

    /// Shows a protocol 2 runtime's question to the session's protocol 3 clients as an event.
    pub(super) fn show_as_event(&mut self, key: usize) {
        let Some(ask) = self.asks.get(key) else { return };
        if ask.shown_as.is_some() {
            return;
        }
        let (Some(session_key), lane, call) = (ask.session, ask.lane, ask.request.clone()) else { return self.unanswerable(key) };
        let is_tool = *call.method() == *names::TOOL_CALL;
        if !is_tool && let Some(kind) = self.decided(session_key, &call) {
            self.take_ask(key);
            let decision = Decision { kind: kind.into(), feedback: None };
            return self.send(lane, &write::result(call.id(), &v3_client::permission_result(&decision)));
        }
        let Some(session) = self.sessions.get(session_key) else { return self.unanswerable(key) };
        let request = uuid::Uuid::new_v4().to_string();
        let make = if is_tool { v3_client::tool_requested } else { v3_client::permission_requested };
        let body = Bytes::from(make(&session.id, &request, &call));
        let Ok(event) = Message::read(body, &ROUTED, usize::MAX) else { return self.unanswerable(key) };
        let child = self.child_of_call(session_key, &call);
        let clients: Vec<PortId> =
            session.attached.iter().map(|a| a.client).filter(|c| self.bridge(*c, lane) == Bridge::V3Client).collect();
        let question = Question { lane, event: event.clone(), stands_for: Some(key), child, seen: clients.clone() };
        if let Some(session) = self.sessions.get_mut(session_key) {
            session.questions.ask(&request, question);
        }
        self.asks[key].shown_as = Some(request.into());
        for client in clients {
            self.tell(client, session_key, child, &event);
        }
    }

    /// A permission that needs no asking: approved for the session, allowed by a hook, or refused because the
    /// client answers none.
    fn decided(&mut self, key: SessionKey, asked: &Message) -> Option<&'static str> {
        let raw = asked.raw(PERMISSION)?;
        let session = self.sessions.get_mut(key)?;
        if v3_client::subject(raw).is_some_and(|subject| session.bridged.approved.contains(&subject)) {
            return Some(tables::APPROVED);
        }
        let permission: Value = serde_json::from_slice(raw).unwrap_or_default();
        let allowed = session.bridged.allowed.iter().position(|tool| tables::covers(tool, &permission));
        if let Some(at) = allowed {
            session.bridged.allowed.remove(at);
            return Some(tables::APPROVED);
        }
        session.attached.iter().all(|a| a.refuses).then_some(tables::DENIED_UNASKED)
    }

    fn child_of_call(&self, key: SessionKey, call: &Message) -> Option<ChildKey> {
        let name = call.text(SESSION_ID)?;
        let named = self.resolve(&name).ok().and_then(|at| at.child);
        let permission: Value = call.raw(PERMISSION).and_then(|p| serde_json::from_slice(p).ok()).unwrap_or_default();
        let id = call.text(TOOL_CALL_ID).or_else(|| permission["toolCallId"].as_str().map(Into::into))?;
        named.or_else(|| self.sessions.get(key)?.family.by_call(&id))
    }

    /// The answer of a protocol 2 client to a permission that a protocol 2 runtime asks for.
    pub(super) fn answer_permission(&mut self, ask: &Ask, response: &Message) {
        match response.raw(RESULT).and_then(v3_client::plain_permission_result) {
            Some(result) if self.lane(ask.lane).is_some_and(|l| l.protocol == V2) => {
                self.send(ask.lane, &write::result(ask.request.id(), &result))
            }
            _ => self.send_with_id(ask.lane, response, ask.request.id()),
        }
    }

    /// A protocol 3 client answered a question that stands for a protocol 2 runtime's request.
    pub(super) fn answer_request(&mut self, client: PortId, key: SessionKey, request: &str, question: Question, message: &Message) {
        let kind = question.event.text(EVENT_TYPE).unwrap_or_default();
        let Some(ask) = question.stands_for.and_then(|k| self.take_ask(k)) else {
            return self.answer(client, message, b"{\"success\":false}");
        };
        let mut decided = None;
        let result = if kind == names::EXTERNAL_TOOL_REQUESTED {
            v3_client::tool_result(message.params())
        } else {
            let decision = v3_client::decision(message.params());
            if decision.kind == tables::APPROVE_FOR_SESSION
                && let (Some(session), Some(subject)) =
                    (self.sessions.get_mut(key), ask.request.raw(PERMISSION).and_then(v3_client::subject))
            {
                session.bridged.approved.insert(subject);
            }
            let result = v3_client::permission_result(&decision);
            decided = Some(decision.kind);
            result
        };
        self.send(ask.lane, &write::result(ask.request.id(), &result));
        self.answer(client, message, b"{\"success\":true}");
        self.tell_completed(key, &question, request, decided.as_deref());
        self.retire_orphan(ask.lane);
    }

    /// A question by request is answered or given up: the event that stood for it is closed.
    pub(super) fn close_shown(&mut self, ask: &Ask, response: Option<&Message>) {
        let (Some(request), Some(key)) = (&ask.shown_as, ask.session) else { return };
        let result: Value = response.and_then(|r| serde_json::from_slice(r.raw(RESULT)?).ok()).unwrap_or_default();
        let is_permission = *ask.request.method() == *names::PERMISSION_REQUEST;
        let decided = is_permission.then(|| result["result"]["kind"].as_str().unwrap_or(tables::DENIED_UNASKED));
        if let Some(question) = self.sessions.get_mut(key).and_then(|s| s.questions.answer(request)) {
            self.tell_completed(key, &question, request, decided);
        }
    }

    fn tell_completed(&mut self, key: SessionKey, question: &Question, request: &str, decided: Option<&str>) {
        let Some(session) = self.sessions.get(key) else { return };
        debug_assert_ne!(session.questions.standing(request), Standing::Open);
        let requested = question.event.text(EVENT_TYPE).unwrap_or_default();
        let body = v3_client::completed(&session.id, &requested, request, decided);
        for client in &question.seen {
            self.send(*client, &body);
        }
    }
}

/// A body without one member of its event's envelope.
fn without(body: Bytes, slot: usize) -> Bytes {
    match Message::read(body.clone(), &ROUTED, usize::MAX) {
        Ok(message) if message.raw(slot).is_some() => {
            let mut edits = Edits::new();
            edits.replace(remove_member(&body, message.span(slot)), b"");
            edits.apply(&body).into()
        }
        _ => body,
    }
}
