//! Leaving: sessions that end, clients and lanes that die, and what happens to the questions that they leave
//! behind. Every request gets exactly one reply, whatever dies.

use super::lane::{After, LaneStatus};
use super::pending::{Asked, Question};
use super::ports::PortId;
use super::resolve::Resolved;
use super::router::{Command, Role, Router};
use super::sessions::{Session, SessionKey};
use crate::error::Refusal;
use crate::protocol::fields::{DATA_REQUEST_ID, EVENT_TYPE, SESSION_ID};
use crate::protocol::questions::{Decision, HandlePendingPermission, HandlePendingToolCall};
use crate::protocol::session::Lifecycle;
use crate::protocol::{V2, names};
use crate::rpc::write;
use std::time::{Duration, Instant};

/// How long a lane that is let go has to confirm the last answers that went out by it.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Router {
    /// A session ended for everyone: its children go with it, and those attached hear of it, from us if the
    /// runtime did not say so itself.
    pub(super) fn end_session(&mut self, key: SessionKey, by: PortId, seen: u64) {
        let Some(session) = self.forget_session(key) else { return };
        if session.lifecycles > seen {
            return;
        }
        let notice = Lifecycle { r#type: "session.deleted".into(), session_id: session.id.to_string() };
        let notice = write::notification(names::SESSION_LIFECYCLE, &write::json(&notice));
        let others = session.attached.iter().map(|a| a.client).filter(|c| *c != by);
        for client in others.chain([by]).collect::<Vec<_>>() {
            self.send(client, &notice);
        }
    }

    /// Takes out a session and its children.
    pub(super) fn forget_session(&mut self, key: SessionKey) -> Option<Session> {
        let mut session = self.sessions.remove(key)?;
        self.lineage.forget(&mut session.family);
        Some(session)
    }

    /// A client is gone. Its questions go to another attached client at once; where there is none they wait
    /// for the grace time if it can come back for them, and fail now if not.
    pub fn client_closed(&mut self, id: PortId) {
        let Some(Role::Client(mut client)) = self.ports.remove(id) else { return };
        self.deadlines_changed = true;
        let deadline = self.settings.grace.filter(|_| client.protocol != Some(V2)).map(|grace| self.now() + grace);
        let mut awaited = false;
        let parted = self.sessions.of_client(id);
        for key in parted.iter().copied() {
            self.sessions.detach(key, id);
            let Some(session) = self.sessions.get_mut(key) else { continue };
            if session.attached.is_empty() {
                let waits = session.questions.open().next().is_some();
                session.awaited_until = deadline.filter(|_| waits);
                awaited |= session.awaited_until.is_some();
                if session.awaited_until.is_none() {
                    self.give_up(key);
                    self.release(client.lane, key);
                }
            }
        }
        for key in parted {
            self.pass_on_shown(key, id);
        }
        for (_, asked) in client.asked.drain() {
            let key = match asked {
                Asked::Ask(key) => key,
                Asked::Question(session, request) => {
                    self.abandon(session, &request, id);
                    continue;
                }
                Asked::Courtesy => continue,
            };
            let Some(ask) = self.asks.get_mut(key) else { continue };
            ask.asked = None;
            let (lane, session, request) = (ask.lane, ask.session, ask.request.clone());
            let heir = session.and_then(|s| self.sessions.get(s)).filter(|s| !s.attached.is_empty());
            match heir.and_then(|_| self.choose_client(lane, session, &request)) {
                Some(heir) => self.put(key, heir),
                None if session.is_some() && deadline.is_some() => {
                    self.asks[key].deadline = deadline;
                    if let Some(session) = session.and_then(|s| self.sessions.get_mut(s)) {
                        session.awaited_until = deadline;
                    }
                    awaited = true;
                }
                None => self.unanswerable(key),
            }
        }
        self.leave_lane(client.lane, id, deadline.filter(|_| awaited));
    }

    /// A protocol 2 runtime's questions that only the client that left was shown go to one that is still there.
    fn pass_on_shown(&mut self, key: SessionKey, gone: PortId) {
        let Some(session) = self.sessions.get(key).filter(|s| !s.attached.is_empty()) else { return };
        let shown: Vec<_> = session.questions.open().filter(|(_, q)| q.seen == [gone]).filter_map(|(_, q)| q.stands_for).collect();
        for ask in shown {
            let Some((lane, request)) = self.asks.get(ask).filter(|a| a.asked.is_none()).map(|a| (a.lane, a.request.clone())) else {
                continue;
            };
            if let Some(heir) = self.choose_client(lane, Some(key), &request) {
                self.put(ask, heir);
            }
        }
    }

    /// A lane loses a client. A client's own lane goes with it, unless answers may still have to go out by it:
    /// while it is open, the runtime keeps the session and its pending questions as they are.
    fn leave_lane(&mut self, id: PortId, client: PortId, awaited: Option<Instant>) {
        let own = self.settings.lane_per_client;
        let Some(lane) = self.lane_mut(id) else { return };
        lane.clients.retain(|c| *c != client);
        lane.waiting.retain(|(c, _)| *c != client);
        let dead = matches!(lane.status, LaneStatus::Dead(_));
        if dead && lane.clients.is_empty() {
            self.ports.remove(id);
        } else if own {
            match awaited {
                Some(until) => self.orphans.push((id, until)),
                None => self.retire(id),
            }
        }
    }

    /// Closes a lane that nobody needs: at once, or when the last answer that must go out by it has, and the
    /// runtime has said that it got it.
    fn retire(&mut self, id: PortId) {
        let asked = self.asks.iter().any(|(_, ask)| ask.lane == id);
        let unconfirmed = self.lane(id).is_some_and(|l| !l.sent.is_empty() && l.status == LaneStatus::Ready);
        if asked || unconfirmed {
            let wait = if asked { self.settings.grace.unwrap_or_default() } else { Duration::ZERO };
            let until = self.now() + wait.max(LAST_WORDS);
            self.orphans.retain(|(orphan, _)| *orphan != id);
            self.orphans.push((id, until));
            self.deadlines_changed = true;
            return;
        }
        self.close_lane(id);
    }

    fn close_lane(&mut self, id: PortId) {
        self.orphans.retain(|(orphan, _)| *orphan != id);
        self.drop_sessions_without_lane(id);
        match self.lane(id).map(|l| &l.status) {
            // Nothing runs for it that would take it out when it ends.
            Some(LaneStatus::Idle | LaneStatus::Dead(_)) => drop(self.ports.remove(id)),
            _ => self.ports.close_after_flush(id),
        }
    }

    /// After an answer went out: if the lane only lived for it, it may go.
    pub(super) fn retire_orphan(&mut self, id: PortId) {
        if !self.orphans.iter().any(|(orphan, _)| *orphan == id) {
            return;
        }
        let waits = self.sessions.iter().any(|(_, s)| s.awaited_until.is_some() && s.questions.open().any(|(_, q)| q.lane == id));
        if !waits {
            self.retire(id);
        }
    }

    /// Sessions that nobody is attached to and that no open lane can speak of are forgotten.
    fn drop_sessions_without_lane(&mut self, lane: PortId) {
        let others = self.ports.iter().any(|(id, port)| id != lane && matches!(port.role, Role::Lane(_)));
        let gone: Vec<_> =
            self.sessions.iter().filter(|(_, s)| s.attached.is_empty() && s.awaited_until.is_none()).map(|(key, _)| key).collect();
        if !others || self.settings.lane_per_client {
            for key in gone {
                self.forget_session(key);
            }
        }
    }

    /// A client took a session up again: what still waits for an answer is asked of it, once.
    pub(super) fn ask_again(&mut self, client: PortId, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let mut waiting: Vec<_> =
            session.questions.open().filter(|(_, q)| !q.seen.contains(&client)).map(|(id, _)| id.to_owned()).collect();
        waiting.sort_unstable();
        let mut lanes = Vec::new();
        for request in waiting {
            let Some(question) = self.sessions.get_mut(key).and_then(|s| s.questions.get_mut(&request)) else { continue };
            let (event, child, lane) = (question.event.clone(), question.child, question.lane);
            lanes.push(lane);
            let at = Resolved { session: key, child };
            let told = self.tell_question(client, lane, at, &event.text(EVENT_TYPE).unwrap_or_default(), &request, &event);
            if let Some(question) = self.sessions.get_mut(key).and_then(|s| s.questions.get_mut(&request)).filter(|_| told) {
                question.seen.push(client);
            }
        }
        let asks: Vec<_> = self.asks.iter().filter(|(_, ask)| ask.session == Some(key) && ask.asked.is_none()).map(|(k, _)| k).collect();
        for ask in asks {
            self.asks[ask].deadline = None;
            lanes.push(self.asks[ask].lane);
            self.put(ask, client);
        }
        // The runtime has this client now; the lane of the one that vanished has done its duty.
        for lane in lanes {
            self.retire_orphan(lane);
        }
    }

    /// Time has passed: what nobody came back for is answered as unavailable.
    pub fn tick(&mut self, now: Instant) {
        self.now = Some(now);
        let due: Vec<_> = self.sessions.iter().filter(|(_, s)| s.awaited_until.is_some_and(|at| at <= now)).map(|(key, _)| key).collect();
        // A lane by which an answer goes out now is given time to confirm it.
        let mut answered = Vec::new();
        for key in due {
            let lanes: Vec<_> = self.sessions.get(key).into_iter().flat_map(|s| s.questions.open().map(|(_, q)| q.lane)).collect();
            self.give_up(key);
            lanes.first().into_iter().for_each(|lane| self.release(*lane, key));
            answered.extend(lanes);
        }
        let late: Vec<_> = self.asks.iter().filter(|(_, ask)| ask.deadline.is_some_and(|at| at <= now)).map(|(key, _)| key).collect();
        for key in late {
            self.unanswerable(key);
        }
        let old: Vec<_> = self.orphans.extract_if(.., |(_, until)| *until <= now).map(|(id, _)| id).collect();
        for lane in old {
            match self.lane(lane).is_some_and(|l| !l.sent.is_empty()) && answered.contains(&lane) {
                true => self.retire(lane),
                false => self.close_lane(lane),
            }
        }
    }

    /// Whether `next_deadline` may be another one since the last call of this.
    pub fn take_deadlines_changed(&mut self) -> bool {
        std::mem::take(&mut self.deadlines_changed)
    }

    /// When `tick` is needed next.
    pub fn next_deadline(&self) -> Option<Instant> {
        let sessions = self.sessions.iter().filter_map(|(_, s)| s.awaited_until);
        let asks = self.asks.iter().filter_map(|(_, ask)| ask.deadline);
        sessions.chain(asks).chain(self.orphans.iter().map(|(_, at)| *at)).min()
    }

    /// A shared lane stays when a client goes, so the runtime has to be told that nobody is attached any more.
    fn release(&mut self, lane: PortId, key: SessionKey) {
        let ready = self.lane(lane).filter(|l| l.status == LaneStatus::Ready);
        let (false, Some(lane_state), Some(session)) = (self.settings.lane_per_client, ready, self.sessions.get(key)) else { return };
        let method = if lane_state.protocol == V2 { names::SESSION_DESTROY } else { names::SESSION_DETACH };
        let params = [b"{\"sessionId\":", &write::quote(&session.id)[..], b"}"].concat();
        self.originate(lane, method, &params, After::Nothing);
        self.forget_session(key);
    }

    fn give_up(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.awaited_until = None;
        let mut open: Vec<_> = session.questions.open().map(|(id, _)| id.to_owned()).collect();
        open.sort_unstable();
        for request in open {
            let question = self.sessions.get_mut(key).and_then(|s| s.questions.answer(&request));
            if let Some(question) = question {
                self.answer_unavailable(&question);
            }
        }
    }

    /// A protocol 2 client is gone that was asked this question by event. If nobody else has seen it, nobody
    /// will answer: such a client cannot come back for it.
    fn abandon(&mut self, key: SessionKey, request: &str, client: PortId) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let Some(question) = session.questions.get_mut(request) else { return };
        question.seen.retain(|c| *c != client);
        if question.seen.is_empty()
            && let Some(question) = session.questions.answer(request)
        {
            self.answer_unavailable(&question);
        }
    }

    /// Answers a question by event that nobody is there for.
    fn answer_unavailable(&mut self, question: &Question) {
        if let Some(ask) = question.stands_for {
            return self.unanswerable(ask);
        }
        let event = &question.event;
        let session_id = event.text(SESSION_ID).unwrap_or_default().into_owned();
        let request_id = event.text(DATA_REQUEST_ID).unwrap_or_default().into_owned();
        let (method, params) = match &*event.text(EVENT_TYPE).unwrap_or_default() {
            names::EXTERNAL_TOOL_REQUESTED => {
                let error = Some("the client that provides this tool disconnected and did not come back".to_owned());
                (names::HANDLE_TOOL, write::json(&HandlePendingToolCall { session_id, request_id, result: None, error }))
            }
            names::PERMISSION_REQUESTED => {
                let result = Decision { kind: "user-not-available".into(), feedback: None };
                (names::HANDLE_PERMISSION, write::json(&HandlePendingPermission { session_id, request_id, result }))
            }
            // Other questions by event have a request beside them, which is answered by itself.
            _ => return,
        };
        self.originate(question.lane, method, &params, After::Nothing);
    }

    /// Answers a question by request that nobody is there for.
    pub(super) fn unanswerable(&mut self, key: usize) {
        let Some(ask) = self.take_ask(key) else { return };
        let method = ask.request.method().into_owned();
        let why = match ask.session {
            None if !names::CALLBACKS.contains(&&*method) => Refusal::UnknownMethod(method),
            _ => Refusal::ClientGone(method),
        };
        self.refuse(ask.lane, &ask.request, &why);
        self.retire_orphan(ask.lane);
    }

    /// A lane is gone: nobody waits for answers to its questions any more.
    pub(super) fn forget_lane_questions(&mut self, lane: PortId) {
        let gone: Vec<_> = self.asks.iter().filter(|(_, ask)| ask.lane == lane).map(|(key, _)| key).collect();
        for key in gone {
            if let Some(ask) = self.take_ask(key) {
                self.close_shown(&ask, None);
            }
        }
        self.orphans.retain(|(orphan, _)| *orphan != lane);
        if !self.commands.contains(&Command::Drop(lane)) {
            self.commands.push(Command::Drop(lane));
        }
    }
}
