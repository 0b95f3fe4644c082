//! What runtimes ask by request, and what they answer.

use super::bridging::Bridge;
use super::client::cancelled_id;
use super::lane::{After, Sent};
use super::opening::Registration;
use super::pending::{Ask, Asked};
use super::ports::PortId;
use super::resolve::Resolved;
use super::router::{Command, Router};
use super::sessions::SessionKey;
use crate::bridge::v2_client;
use crate::error::Refusal;
use crate::protocol::fields::{SESSION_ID, TOOL_NAME};
use crate::protocol::names;
use crate::protocol::questions::{ToolCallResult, ToolResult};
use crate::protocol::session::{SessionOpened, Success};
use crate::rpc::message::{ERROR, ID, RESULT};
use crate::rpc::{Edits, Kind, Message, write};

impl Router {
    /// A message from a runtime.
    pub fn lane_message(&mut self, lane: PortId, message: Message) {
        match message.kind() {
            Kind::Response => self.lane_response(lane, &message),
            Kind::Request => self.lane_request(lane, message),
            Kind::Notification => self.lane_notification(lane, &message),
        }
    }

    /// The runtime's answer to a request: told to whoever asked, under the id that they used.
    fn lane_response(&mut self, lane: PortId, message: &Message) {
        let Some(Sent { client, after }) = message.own_id().and_then(|id| self.lane_mut(lane)?.sent.close(id)) else {
            return tracing::debug!("a stray response from the runtime was ignored");
        };
        self.retire_orphan(lane);
        let Some((client, id)) = client else {
            match after {
                After::Connected => self.connected(lane, message),
                After::Pinged => self.pinged(lane, message),
                _ => {}
            }
            return;
        };
        // A session is known before its client hears of it, and gone after.
        match after {
            After::Open(session, registration) => {
                let opened = self.opened(client, session, *registration, message);
                self.send_with_id(client, message, &id);
                if let Some(key) = opened {
                    self.ask_again(client, key);
                }
            }
            After::Prompt(key) => {
                self.note_prompt(key, message);
                self.send_with_id(client, message, &id);
            }
            After::Detach(key) if is_unhandled(message) => self.detach_without_detach(client, lane, key, id),
            After::Detach(key) if succeeded(message) => {
                self.send_with_id(client, message, &id);
                self.sessions.detach(key, client);
            }
            After::End(key, seen) if succeeded(message) => {
                self.send_with_id(client, message, &id);
                self.end_session(key, client, seen);
            }
            After::Versioned(protocol) => match message.raw(RESULT) {
                Some(result) => self.send(client, &write::result(&id, &v2_client::versioned(result, protocol))),
                None => self.send_with_id(client, message, &id),
            },
            After::Shutdown => {
                // CLI 1.0.20 does not know it; we do, and end it ourselves.
                match is_unhandled(message) {
                    true => self.send(client, &write::result(&id, b"null")),
                    false => self.send_with_id(client, message, &id),
                }
                self.commands.push(Command::Exit);
            }
            _ => self.send_with_id(client, message, &id),
        }
    }

    /// A session was opened, or was not.
    fn opened(&mut self, client: PortId, asked: Option<SessionKey>, registration: Registration, answer: &Message) -> Option<SessionKey> {
        let told = answer.raw(RESULT).and_then(|r| serde_json::from_slice::<SessionOpened>(r).ok()).map(|o| o.session_id);
        let principal = self.client(client)?.principal.clone();
        let key = match (answer.raw(RESULT), told) {
            // The id in the answer counts, whatever was asked for.
            (Some(_), Some(name)) => Some(self.sessions.ensure(&name, &principal)),
            (Some(_), None) => asked,
            (None, _) => None,
        };
        if let Some(asked) = asked.filter(|a| Some(*a) != key) {
            self.unopened(asked, client);
        }
        let key = key?;
        self.sessions.attach(key, client, false);
        registration.record(&mut self.sessions, key, client);
        Some(key)
    }

    /// Takes back what an opening that failed had prepared.
    fn unopened(&mut self, key: SessionKey, client: PortId) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.attached.retain(|a| a.client != client || !a.provisional);
        if session.attached.is_empty() && !session.confirmed {
            self.forget_session(key);
        }
    }

    /// A request from a runtime.
    fn lane_request(&mut self, lane: PortId, message: Message) {
        let method = message.method();
        let session = message.text(SESSION_ID);
        let resolved = match (names::CALLBACKS.contains(&&*method), session) {
            (true, Some(name)) => match self.resolve(&name) {
                Ok(resolved) => Some(resolved),
                // Protocol 2 runtimes may ask for a session whose creation they have yet to answer.
                Err(_) if self.opening_client(lane).is_some() => None,
                Err(why) => {
                    drop((method, name));
                    return self.refuse(lane, &message, &why);
                }
            },
            (true, None) => {
                let why = Refusal::Invalid(format!("{method} has no sessionId"));
                drop(method);
                return self.refuse(lane, &message, &why);
            }
            // Whatever comes next year goes to the session's client, or to the lane's own.
            (false, name) => name.and_then(|name| self.resolve(&name).ok()),
        };
        let tool = if *method == *names::TOOL_CALL { message.text(TOOL_NAME) } else { None };
        if let (Some(at), Some(tool)) = (resolved, tool)
            && !self.may_call(at, &tool)
        {
            let result = serde_json::to_value(ToolResult::not_supported(&tool)).unwrap_or_default();
            let body = write::result(message.id(), &write::json(&ToolCallResult { result }));
            return self.send(lane, &body);
        }
        drop(method);
        self.ask(lane, resolved.map(|r| r.session), message);
    }

    /// The allowlist of the child's agent, and whether anyone registered the tool at all.
    fn may_call(&self, at: Resolved, tool: &str) -> bool {
        self.agent_allows(at, tool) && self.sessions.get(at.session).is_none_or(|s| s.attached.is_empty() || s.has_tool(tool))
    }

    /// Whether the child's agent has the tool on its list; always, when it is no child that asks.
    pub(super) fn agent_allows(&self, at: Resolved, tool: &str) -> bool {
        let agent = at.child.and_then(|key| self.lineage.child(key)).map(|child| &*child.agent_name);
        match (agent, self.sessions.get(at.session)) {
            (Some(agent), Some(session)) => session.agents.allow(agent, tool),
            _ => true,
        }
    }

    /// Puts a question by request to a client.
    fn ask(&mut self, lane: PortId, session: Option<SessionKey>, request: Message) {
        let client = self.choose_client(lane, session, &request);
        let key = self.asks.insert(Ask { lane, request, session, asked: None, shown_as: None, deadline: None });
        match client {
            Some(client) => {
                self.show_to_v3(key, client);
                self.put(key, client);
            }
            None => self.unanswerable(key),
        }
    }

    /// Takes a question out, so that no answer to it counts any more.
    pub(super) fn take_ask(&mut self, key: usize) -> Option<Ask> {
        let ask = self.asks.try_remove(key)?;
        if let Some((client, number)) = ask.asked
            && let Some(client) = self.client_mut(client)
        {
            client.asked.close(number);
        }
        Some(ask)
    }

    /// Puts a question that waits in the table to this client, in the protocol that it speaks.
    pub(super) fn put(&mut self, key: usize, client: PortId) {
        let Some(ask) = self.asks.get(key) else { return };
        let bridge = self.bridge(client, ask.lane);
        let method = ask.request.method().into_owned();
        match (bridge, &*method) {
            (Bridge::V3Client, names::TOOL_CALL | names::PERMISSION_REQUEST) => self.show_as_event(key),
            (_, names::HOOKS_INVOKE) => self.put_hook(key, client, bridge),
            _ => self.put_request(key, client),
        }
    }

    /// Puts a question to a client as the request that it is.
    pub(super) fn put_request(&mut self, key: usize, client: PortId) {
        let Some(ask) = self.asks.get(key) else { return };
        // A child's question reaches the client under the id that the client registered.
        let registered = ask.session.and_then(|s| self.sessions.get(s)).map(|s| &*s.id);
        let rename = registered.filter(|id| ask.request.text(SESSION_ID).is_some_and(|used| used != **id)).map(write::quote);
        let request = ask.request.clone();
        let Some(state) = self.client_mut(client) else { return };
        let number = state.asked.open(Asked::Ask(key));
        if let Some(ask) = self.asks.get_mut(key) {
            ask.asked = Some((client, number));
        }
        let number = number.to_string();
        let mut edits = Edits::new();
        edits.replace(request.span(ID), number.as_bytes());
        if let Some(id) = &rename {
            edits.replace(request.span(SESSION_ID), id);
        }
        self.send_edited(client, &request, &edits);
    }

    /// Who is asked: on a client's own lane that client, on a shared one the first that can answer.
    pub(super) fn choose_client(&self, lane: PortId, session: Option<SessionKey>, request: &Message) -> Option<PortId> {
        let own = self.lane(lane).map(|l| l.clients.as_slice()).unwrap_or_default();
        let Some(session) = session.and_then(|key| self.sessions.get(key)) else {
            return self.opening_client(lane).or(if own.len() == 1 { own.first().copied() } else { None });
        };
        let method = request.method();
        let tool = if *method == *names::TOOL_CALL { request.text(TOOL_NAME) } else { None };
        let can = |a: &&super::sessions::Attachment| match &tool {
            Some(tool) => a.tools.iter().any(|t| **t == **tool),
            None => *method != *names::HOOKS_INVOKE || a.hooks,
        };
        let near = |a: &&super::sessions::Attachment| own.contains(&a.client);
        let attached = &session.attached;
        let best = attached.iter().find(|a| near(a) && can(a)).or_else(|| attached.iter().find(can));
        best.or_else(|| attached.iter().find(near)).or_else(|| attached.first()).map(|a| a.client)
    }

    /// The client whose opening of a session, under an id that only the runtime knows, is on its way.
    pub(super) fn opening_client(&self, lane: PortId) -> Option<PortId> {
        let sent = &self.lane(lane)?.sent;
        let oldest = sent.find(|s| matches!(s.after, After::Open(None, _)))?;
        sent.get(oldest)?.client.as_ref().map(|(client, _)| *client)
    }

    /// A client's answer to a question by request.
    pub(super) fn client_response(&mut self, client: PortId, message: &Message) {
        let asked = message.own_id().and_then(|id| self.client_mut(client)?.asked.close(id));
        let ask = match asked {
            Some(Asked::Ask(key)) => self.take_ask(key),
            Some(Asked::Question(session, request)) => return self.answer_event(client, session, &request, message),
            Some(Asked::Courtesy) => return,
            None => None,
        };
        let Some(ask) = ask else {
            return tracing::debug!("a stray or late response from a client was ignored");
        };
        match &*ask.request.method() {
            names::HOOKS_INVOKE if self.bridge(client, ask.lane) != Bridge::None => self.answer_hook(client, &ask, message),
            names::PERMISSION_REQUEST => self.answer_permission(&ask, message),
            _ => self.send_with_id(ask.lane, message, ask.request.id()),
        }
        self.close_shown(&ask, Some(message));
        self.retire_orphan(ask.lane);
    }

    /// `$/cancelRequest` from the runtime follows its request to the client that was asked.
    pub(super) fn cancel_from_lane(&mut self, lane: PortId, message: &Message) {
        let Some(named) = cancelled_id(message) else { return };
        let asked = self.asks.iter().find(|(_, ask)| ask.lane == lane && *ask.request.id() == *named).and_then(|(_, ask)| ask.asked);
        if let Some((client, number)) = asked {
            self.send(client, &write::notification(names::CANCEL, format!("{{\"id\":{number}}}").as_bytes()));
        }
    }
}

/// Whether a runtime does not know a method.
fn is_unhandled(answer: &Message) -> bool {
    let error: serde_json::Value = answer.raw(ERROR).and_then(|e| serde_json::from_slice(e).ok()).unwrap_or_default();
    error["code"] == -32601
}

/// Whether an answer says that it was done. Runtimes answer `{success:false}` for what they did not find.
fn succeeded(answer: &Message) -> bool {
    match answer.raw(RESULT) {
        Some(result) => serde_json::from_slice::<Success>(result).map_or(true, |s| s.success),
        None => false,
    }
}
