//! Questions from the runtime that a client has yet to answer.
//!
//! A question by event ([`Question`]) is kept with its session by requestId; the client answers with a request
//! of its own. A question by request ([`Ask`]) is kept for the lane that sent it; the client answers with a
//! response. Either is answered to the runtime once.

use super::lineage::ChildKey;
use super::ports::PortId;
use super::sessions::SessionKey;
use crate::rpc::Message;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// How many answered requestIds a session remembers, so that late answers are told from unknown ones.
const REMEMBERED: usize = 256;

/// A question by event.
#[derive(Debug)]
pub struct Question {
    /// The lane it came by.
    pub lane: PortId,
    /// The event, as the runtime sent it, or as we made it for a question by request.
    pub event: Message,
    /// The question by request that it stands for, when the runtime speaks protocol 2.
    pub stands_for: Option<usize>,
    /// The child that asks.
    pub child: Option<ChildKey>,
    /// Clients that have seen it.
    pub seen: Vec<PortId>,
}

/// What is known of a requestId.
#[derive(Debug)]
enum State {
    Open(Box<Question>),
    Answered,
    Denied,
}

/// What an answer with a requestId meets.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Standing {
    /// It waits for an answer.
    Open,
    /// It has had one.
    Answered,
    /// We answered it ourselves, and no client was told of it.
    Denied,
    /// Never heard of: perhaps from before this daemon started. The runtime decides.
    Unknown,
}

/// One session's questions by event.
#[derive(Debug, Default)]
pub struct Questions {
    states: HashMap<Box<str>, State>,
    closed: VecDeque<Box<str>>,
}

impl Questions {
    /// How a requestId stands.
    pub fn standing(&self, request: &str) -> Standing {
        match self.states.get(request) {
            Some(State::Open(_)) => Standing::Open,
            Some(State::Answered) => Standing::Answered,
            Some(State::Denied) => Standing::Denied,
            None => Standing::Unknown,
        }
    }

    /// An open question.
    pub fn get(&self, request: &str) -> Option<&Question> {
        match self.states.get(request) {
            Some(State::Open(q)) => Some(q),
            _ => None,
        }
    }

    /// An open question, to change.
    pub fn get_mut(&mut self, request: &str) -> Option<&mut Question> {
        match self.states.get_mut(request) {
            Some(State::Open(q)) => Some(q),
            _ => None,
        }
    }

    /// Notes a new question.
    pub fn ask(&mut self, request: &str, question: Question) {
        self.states.insert(request.into(), State::Open(Box::new(question)));
    }

    /// Takes an open question out as answered. `None` if it was not open: the answer does not count.
    pub fn answer(&mut self, request: &str) -> Option<Question> {
        let state = self.states.get_mut(request)?;
        if !matches!(state, State::Open(_)) {
            return None;
        }
        let State::Open(question) = std::mem::replace(state, State::Answered) else { return None };
        self.remember(request);
        Some(*question)
    }

    /// Notes a requestId that we answered with a refusal.
    pub fn deny(&mut self, request: &str) {
        self.states.insert(request.into(), State::Denied);
        self.remember(request);
    }

    /// The requestIds that are open, oldest unknown order; for dying clients and grace times.
    pub fn open(&self) -> impl Iterator<Item = (&str, &Question)> {
        self.states.iter().filter_map(|(id, state)| match state {
            State::Open(q) => Some((&**id, &**q)),
            _ => None,
        })
    }

    fn remember(&mut self, request: &str) {
        self.closed.push_back(request.into());
        if self.closed.len() > REMEMBERED
            && let Some(oldest) = self.closed.pop_front()
        {
            self.states.remove(&oldest);
        }
    }
}

/// What a client's response to one of our requests answers.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A question by request.
    Ask(usize),
    /// A question by event, put to a protocol 2 client as a request.
    Question(SessionKey, Box<str>),
    /// A hook that we ran for the bridge's sake; its answer has no effect.
    Courtesy,
}

/// A question by request.
#[derive(Debug)]
pub struct Ask {
    /// The lane that wants the answer.
    pub lane: PortId,
    /// The request as the runtime sent it, with the id that it wants in the answer.
    pub request: Message,
    /// The session whose client is asked; `None` for what is no session's.
    pub session: Option<SessionKey>,
    /// Whom it was asked of, and our number for it there.
    pub asked: Option<(PortId, u64)>,
    /// The question by event that stands for it towards protocol 3 clients.
    pub shown_as: Option<Box<str>>,
    /// When it is answered as unavailable, if nobody is there to answer.
    pub deadline: Option<Instant>,
}

#[cfg(test)]
mod tests;
