//! What runtimes tell: session events, life-cycle notifications, and all else.

use super::bridging::Bridge;
use super::lane::After;
use super::lineage::{Announcement, ChildKey};
use super::pending::{Question, Standing};
use super::ports::PortId;
use super::resolve::Resolved;
use super::router::Router;
use super::sessions::SessionKey;
use crate::protocol::fields::*;
use crate::protocol::questions::{HandlePendingToolCall, ToolResult};
use crate::protocol::subagent::{SubagentEnded, SubagentStarted, ToolRequest};
use crate::protocol::{V2, V3, names};
use crate::rpc::{Edits, Message, write};

impl Router {
    /// A notification from a runtime.
    pub(super) fn lane_notification(&mut self, lane: PortId, message: &Message) {
        match &*message.method() {
            names::SESSION_EVENT => self.session_event(lane, message),
            names::SESSION_LIFECYCLE => self.lifecycle(lane, message),
            names::CANCEL => self.cancel_from_lane(lane, message),
            _ => self.tell_lane(lane, message),
        }
    }

    /// What no session is named for goes to the lane's clients; what names one, to those of them attached to it.
    fn tell_lane(&mut self, lane: PortId, message: &Message) {
        let session = message.text(SESSION_ID).and_then(|name| self.resolve(&name).ok()).map(|r| r.session);
        for client in self.lane(lane).map(|l| l.clients.clone()).unwrap_or_default() {
            let attached = session.and_then(|key| self.sessions.get(key)).is_none_or(|s| s.is_attached(client));
            if attached {
                self.send_edited(client, message, &Edits::new());
            }
        }
    }

    /// Life-cycle notifications go to all clients of the session's owner.
    fn lifecycle(&mut self, lane: PortId, message: &Message) {
        let key = message.text(SESSION_ID).and_then(|name| self.sessions.find(&name));
        let owner = key.and_then(|key| self.sessions.get_mut(key)).map(|session| {
            session.lifecycles += 1;
            session.owner.clone()
        });
        for client in self.lane(lane).map(|l| l.clients.clone()).unwrap_or_default() {
            if owner.as_ref().is_none_or(|owner| self.client(client).is_some_and(|c| c.principal == *owner)) {
                self.send_edited(client, message, &Edits::new());
            }
        }
    }

    fn session_event(&mut self, lane: PortId, message: &Message) {
        let Some(name) = message.text(SESSION_ID) else { return self.tell_lane(lane, message) };
        let at = match self.resolve(&name) {
            Ok(at) => at,
            Err(why) => match self.learn_session(lane, &name) {
                Some(session) => Resolved { session, child: None },
                None => return tracing::debug!("an event was dropped: {why}"),
            },
        };
        let kind = message.text(EVENT_TYPE).unwrap_or_default();
        let stream = at.child;
        let child = stream.or_else(|| self.child_of_event(at.session, &kind, message));
        let at = Resolved { session: at.session, child };
        let child = self.learn(at, stream, &kind, message).or(child);
        if let (Some(request), true) = (message.text(DATA_REQUEST_ID), kind.ends_with(".requested")) {
            return self.question(lane, Resolved { session: at.session, child }, &kind, &request, message);
        }
        if let (Some(request), true) = (message.text(DATA_REQUEST_ID), kind.ends_with(".completed")) {
            let Some(session) = self.sessions.get_mut(at.session) else { return };
            session.questions.answer(&request);
            if session.questions.standing(&request) == Standing::Denied {
                return;
            }
        }
        let with_id = if kind == names::USER_MESSAGE && child.is_none() { self.identify_prompt(at.session, message) } else { None };
        for client in self.audience(lane, at.session) {
            match self.bridge(client, lane) {
                Bridge::V2Client => self.tell_v2(client, at.session, &kind, child, message),
                _ if self.client(client).is_some_and(|c| c.protocol == Some(V2)) => self.tell(client, at.session, child, message),
                _ => self.tell(client, at.session, child, with_id.as_ref().unwrap_or(message)),
            }
        }
    }

    /// A session that nobody opened by request, told of by an event. Protocol 3 runtimes send events to those
    /// attached only, so on a client's own lane it is that client's. Protocol 2 runtimes send `session.start`
    /// before they have answered the create, and everyone's events to everyone.
    fn learn_session(&mut self, lane: PortId, name: &str) -> Option<SessionKey> {
        let state = self.lane(lane)?;
        let own = (self.settings.lane_per_client && state.protocol >= V3 && self.lineage.find(name).is_none())
            .then(|| state.clients.first().copied())
            .flatten();
        let client = self.opening_client(lane).or(own)?;
        let principal = self.client(client)?.principal.clone();
        let key = self.sessions.ensure(name, &principal);
        self.sessions.attach(key, client, true);
        Some(key)
    }

    /// Which child an event is about: its envelope says so, or a third id does, or the call that it belongs to.
    fn child_of_event(&self, key: SessionKey, kind: &str, message: &Message) -> Option<ChildKey> {
        let session = self.sessions.get(key)?;
        let named = |id: &str| self.lineage.find(id).filter(|child| self.lineage.child(*child).is_some_and(|c| c.root == key));
        if let Some(agent) = message.text(AGENT_ID) {
            return session.family.by_agent(&agent).or_else(|| named(&agent));
        }
        if session.family.is_empty() {
            return None;
        }
        if kind.starts_with("subagent.") {
            return message.text(DATA_TOOL_CALL_ID).and_then(|call| session.family.by_task(&call));
        }
        let foreign = [DATA_SESSION_ID, DATA_OWNER_SESSION_ID, DATA_OWNER_NATIVE_SESSION_ID].into_iter();
        let foreign = foreign.filter_map(|slot| named(&message.text(slot)?)).next();
        let call = || {
            [DATA_TOOL_CALL_ID, DATA_PERMISSION_TOOL_CALL_ID]
                .into_iter()
                .filter_map(|slot| session.family.by_call(&message.text(slot)?))
                .next()
        };
        foreign.or_else(call).or_else(|| session.family.by_task(&message.text(DATA_PARENT_TOOL_CALL_ID)?))
    }

    /// Takes from an event what it tells of the lineage. Gives the child that `subagent.started` announces.
    fn learn(&mut self, at: Resolved, stream: Option<ChildKey>, kind: &str, message: &Message) -> Option<ChildKey> {
        let session = self.sessions.get_mut(at.session)?;
        match kind {
            names::SUBAGENT_STARTED => {
                let data: SubagentStarted = message.raw(DATA).and_then(|d| serde_json::from_slice(d).ok()).unwrap_or_default();
                let agent = message.text(AGENT_ID);
                let told = Announcement {
                    agent_id: agent.as_deref(),
                    remote_session: data.remote_session_id.as_deref(),
                    task_call: data.tool_call_id.as_deref().unwrap_or_default(),
                    agent_name: data.agent_name.as_deref().unwrap_or_default(),
                    parent_agent: data.parent_id.as_deref(),
                    stream,
                };
                return Some(self.lineage.learn(at.session, &mut session.family, told));
            }
            names::SUBAGENT_COMPLETED | names::SUBAGENT_FAILED => {
                let data: SubagentEnded = message.raw(DATA).and_then(|d| serde_json::from_slice(d).ok()).unwrap_or_default();
                if let Some(key) = at.child.or_else(|| session.family.by_task(&data.tool_call_id?)) {
                    self.lineage.ended(key);
                }
            }
            names::TOOL_EXECUTION_START => {
                if let Some(call) = message.text(DATA_TOOL_CALL_ID) {
                    let maker = message.text(DATA_PARENT_TOOL_CALL_ID).and_then(|task| session.family.by_task(&task));
                    let maker = if message.raw(AGENT_ID).is_some() { at.child } else { maker };
                    session.family.note_call(&call, maker);
                }
            }
            names::TOOL_EXECUTION_COMPLETE => {
                if let Some(call) = message.text(DATA_TOOL_CALL_ID) {
                    session.family.end_call(&call);
                }
            }
            // The native runtime asks for permission before it tells that the tool has begun.
            names::ASSISTANT_MESSAGE if !session.family.is_empty() => {
                let calls: Vec<ToolRequest> =
                    message.raw(DATA_TOOL_REQUESTS).and_then(|r| serde_json::from_slice(r).ok()).unwrap_or_default();
                for call in calls {
                    session.family.note_call(&call.tool_call_id, at.child);
                }
            }
            _ => {}
        }
        if let Some(child) = at.child {
            for slot in [DATA_SESSION_ID, DATA_OWNER_SESSION_ID, DATA_OWNER_NATIVE_SESSION_ID] {
                if let Some(third) = message.text(slot).filter(|id| **id != *session.id) {
                    self.lineage.alias(child, &third);
                }
            }
        }
        None
    }

    /// A question by event: refused if the agent may not call the tool, else told to each client once.
    fn question(&mut self, lane: PortId, at: Resolved, kind: &str, request: &str, message: &Message) {
        let is_tool = kind == names::EXTERNAL_TOOL_REQUESTED;
        let tool = if is_tool { message.text(DATA_TOOL_NAME) } else { None };
        let denied = tool.filter(|tool| !self.agent_allows(at, tool));
        let Some(session) = self.sessions.get_mut(at.session) else { return };
        match session.questions.standing(request) {
            Standing::Answered | Standing::Denied => return,
            Standing::Open => {}
            Standing::Unknown => match denied {
                Some(tool) => {
                    session.questions.deny(request);
                    return self.deny(lane, &tool, request, message);
                }
                None => {
                    let question = Question { lane, event: message.clone(), stands_for: None, child: at.child, seen: Vec::new() };
                    session.questions.ask(request, question);
                }
            },
        }
        for client in self.audience(lane, at.session) {
            let question = self.sessions.get_mut(at.session).and_then(|s| s.questions.get_mut(request));
            let new = question.is_some_and(|q| !q.seen.contains(&client));
            if new
                && self.tell_question(client, lane, at, kind, request, message)
                && let Some(question) = self.sessions.get_mut(at.session).and_then(|s| s.questions.get_mut(request))
            {
                question.seen.push(client);
            }
        }
    }

    fn deny(&mut self, lane: PortId, tool: &str, request: &str, message: &Message) {
        let answer = HandlePendingToolCall {
            session_id: message.text(SESSION_ID).unwrap_or_default().into_owned(),
            request_id: request.to_owned(),
            result: serde_json::to_value(ToolResult::not_supported(tool)).ok(),
            error: None,
        };
        tracing::info!(tool, "a sub-agent called a tool that is not on its list: refused");
        self.originate(lane, names::HANDLE_TOOL, &write::json(&answer), After::Nothing);
    }

    /// Who hears an event that came by this lane: the lane's clients that are attached.
    fn audience(&self, lane: PortId, session: SessionKey) -> Vec<PortId> {
        let Some(session) = self.sessions.get(session) else { return Vec::new() };
        let clients = self.lane(lane).map(|l| l.clients.as_slice()).unwrap_or_default();
        session.attached.iter().map(|a| a.client).filter(|c| clients.contains(c)).collect()
    }

    /// Tells a client an event, under the session id that it registered and with the agent that it is about.
    pub(super) fn tell(&mut self, client: PortId, session: SessionKey, child: Option<ChildKey>, message: &Message) {
        let Some(session) = self.sessions.get(session) else { return };
        let used = message.raw(SESSION_ID).unwrap_or_default();
        let foreign = |raw: Option<&[u8]>| {
            raw.is_some_and(|raw| raw.len() != session.id.len() + 2 || raw[1..raw.len() - 1] != *session.id.as_bytes())
        };
        let rename = foreign(Some(used)) || foreign(message.raw(DATA_SESSION_ID));
        let id = if rename { write::quote(&session.id) } else { Vec::new() };
        let mut edits = Edits::new();
        if foreign(Some(used)) {
            edits.replace(message.span(SESSION_ID), &id);
        }
        let asks_tool = || message.text(EVENT_TYPE).is_some_and(|kind| kind == names::EXTERNAL_TOOL_REQUESTED);
        if foreign(message.raw(DATA_SESSION_ID)) && (child.is_some() || asks_tool()) {
            edits.replace(message.span(DATA_SESSION_ID), &id);
        }
        let about = child.and_then(|key| self.about(key, message)).unwrap_or_default();
        if !about.is_empty() {
            edits.insert(message.span(EVENT).start + 1, &about);
        }
        self.send_edited(client, message, &edits);
    }

    /// The envelope fields that say which agent an event is about, as far as the runtime left them out.
    fn about(&self, key: ChildKey, message: &Message) -> Option<Vec<u8>> {
        let child = self.lineage.child(key)?;
        let mut text = Vec::new();
        if message.raw(AGENT_ID).is_none() {
            text = [b"\"agentId\":", &write::quote(&child.agent_id)[..], b","].concat();
        }
        if let Some(parent) = child.parent.filter(|_| message.raw(PARENT_AGENT_ID).is_none()).and_then(|key| self.lineage.child(key)) {
            text.extend_from_slice(b"\"parentAgentId\":");
            text.extend(write::quote(&parent.agent_id));
            text.push(b',');
        }
        Some(text)
    }
}
