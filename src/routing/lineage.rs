//! Child → parent → root session, for every way in which a runtime names a child.
//!
//! A child is announced by `subagent.started` and from then on known by its session id (the design spec), its
//! `agentId` (CLIs from 1.0.34), the task call that began it (CLI 1.0.20 gives nothing else), and by third ids
//! that later messages tie to it (`ownerSessionId` of CLI 1.0.102, `data.sessionId` of the native runtime).
//! Ids that runtimes make unique are looked up everywhere; tool call ids only within their session, because
//! models number them afresh in each conversation.

use super::sessions::SessionKey;
use slab::Slab;
use std::collections::HashMap;

/// Names a child in the slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChildKey(usize);

/// One sub-agent's session.
#[derive(Debug)]
pub struct Child {
    /// The session at the top, which has the handlers.
    pub root: SessionKey,
    /// The child that began this one; `None` when the main agent did.
    pub parent: Option<ChildKey>,
    /// The id by which clients know the agent.
    pub agent_id: Box<str>,
    /// The agent's name, by which its allowlist is found.
    pub agent_name: Box<str>,
    /// The call of the task tool that began it.
    pub task_call: Box<str>,
    /// Whether the instance is tracked: begun and not yet completed or failed.
    pub running: bool,
    /// Every id under which it can be found from anywhere.
    ids: Vec<Box<str>>,
}

/// What one session's events have told about its children. Kept by the session, so that it goes with it.
#[derive(Debug, Default)]
pub struct Family {
    children: Vec<ChildKey>,
    agents: HashMap<Box<str>, ChildKey>,
    tasks: HashMap<Box<str>, ChildKey>,
    calls: HashMap<Box<str>, ChildKey>,
}

impl Family {
    /// Whether the session ever had a child.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// All children, oldest first.
    pub fn children(&self) -> &[ChildKey] {
        &self.children
    }

    /// The child with this agent id.
    pub fn by_agent(&self, agent: &str) -> Option<ChildKey> {
        self.agents.get(agent).copied()
    }

    /// The child that this task call began.
    pub fn by_task(&self, call: &str) -> Option<ChildKey> {
        self.tasks.get(call).copied()
    }

    /// The child that made this tool call.
    pub fn by_call(&self, call: &str) -> Option<ChildKey> {
        self.calls.get(call).copied()
    }

    /// Notes who makes a call; `None` is the main agent, whose call ids may repeat a child's.
    pub fn note_call(&mut self, call: &str, child: Option<ChildKey>) {
        match child {
            Some(child) => {
                self.calls.insert(call.into(), child);
            }
            None => {
                self.calls.remove(call);
            }
        }
    }

    /// Forgets a call that ended.
    pub fn end_call(&mut self, call: &str) {
        self.calls.remove(call);
    }
}

/// What `subagent.started` says.
#[derive(Debug, Default, Clone, Copy)]
pub struct Announcement<'a> {
    /// Envelope `agentId`.
    pub agent_id: Option<&'a str>,
    /// `data.remoteSessionId`.
    pub remote_session: Option<&'a str>,
    /// `data.toolCallId`.
    pub task_call: &'a str,
    /// `data.agentName`.
    pub agent_name: &'a str,
    /// `data.parentId`, the agent that began it.
    pub parent_agent: Option<&'a str>,
    /// The child on whose own stream it was announced.
    pub stream: Option<ChildKey>,
}

/// All children of all sessions.
#[derive(Debug, Default)]
pub struct Lineage {
    children: Slab<Child>,
    ids: HashMap<Box<str>, ChildKey>,
}

impl Lineage {
    /// The child that is called `id` anywhere.
    pub fn find(&self, id: &str) -> Option<ChildKey> {
        self.ids.get(id).copied()
    }

    /// A child by its key.
    pub fn child(&self, key: ChildKey) -> Option<&Child> {
        self.children.get(key.0)
    }

    /// How many children are known.
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Learns a child from its announcement, or marks a known one (several lanes see one announcement, a
    /// multi-turn agent starts again) as running.
    pub fn learn(&mut self, root: SessionKey, family: &mut Family, told: Announcement<'_>) -> ChildKey {
        let known = told.agent_id.and_then(|id| family.by_agent(id)).or_else(|| told.remote_session.and_then(|id| self.own(id, root)));
        let nameless = told.agent_id.is_none() && told.remote_session.is_none();
        let known = known.or_else(|| family.by_task(told.task_call).filter(|c| nameless && self.children[c.0].running));
        if let Some(key) = known {
            self.children[key.0].running = true;
            family.tasks.insert(told.task_call.into(), key);
            return key;
        }
        let parent = told
            .parent_agent
            .and_then(|id| family.by_agent(id).or_else(|| self.own(id, root)))
            .or(told.stream)
            .or_else(|| family.by_call(told.task_call));
        let agent_id = told.agent_id.or(told.remote_session).unwrap_or(told.task_call);
        let key = ChildKey(self.children.insert(Child {
            root,
            parent,
            agent_id: agent_id.into(),
            agent_name: told.agent_name.into(),
            task_call: told.task_call.into(),
            running: true,
            ids: Vec::new(),
        }));
        family.children.push(key);
        family.agents.insert(agent_id.into(), key);
        family.tasks.insert(told.task_call.into(), key);
        // CLIs 1.0.34 and 1.0.57 use the task call as agentId: good within the session only.
        for id in [told.agent_id, told.remote_session].into_iter().flatten().filter(|id| *id != told.task_call) {
            self.alias(key, id);
        }
        key
    }

    /// Ties one more id to a child. The first child of an id keeps it: one session cannot take another's.
    pub fn alias(&mut self, key: ChildKey, id: &str) {
        if !self.ids.contains_key(id)
            && let Some(child) = self.children.get_mut(key.0)
        {
            child.ids.push(id.into());
            self.ids.insert(id.into(), key);
        }
    }

    /// The instance ended; the mappings stay, because requests may still be on their way.
    pub fn ended(&mut self, key: ChildKey) {
        if let Some(child) = self.children.get_mut(key.0) {
            child.running = false;
        }
    }

    /// Removes a session's children, their ids and instances.
    pub fn forget(&mut self, family: &mut Family) {
        for key in std::mem::take(family).children {
            for id in self.children.try_remove(key.0).into_iter().flat_map(|child| child.ids) {
                self.ids.remove(&id);
            }
        }
    }

    fn own(&self, id: &str, root: SessionKey) -> Option<ChildKey> {
        self.find(id).filter(|key| self.children[key.0].root == root)
    }
}

#[cfg(test)]
mod tests;
