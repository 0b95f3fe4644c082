//! What the daemon tells of itself: `subagentd.status`.

use super::lane::LaneStatus;
use super::lineage::Child;
use super::ports::PortId;
use super::router::{Role, Router};
use super::sessions::Session;
use serde_json::{Value, json};

impl Router {
    /// Runtimes, and the sessions and other clients of the asker's principal.
    pub(super) fn status(&self, asker: PortId) -> Value {
        let Some(principal) = self.client(asker).map(|c| &c.principal) else { return Value::Null };
        let (mut clients, mut lanes) = (Vec::new(), Vec::new());
        for (id, port) in self.ports.iter() {
            match &port.role {
                Role::Client(client) if id != asker && client.principal == *principal => {
                    clients.push(json!({"protocol": client.protocol, "sessions": self.sessions.of_client(id).len()}));
                }
                Role::Lane(lane) if lane.status == LaneStatus::Ready => {
                    lanes.push(json!({"protocol": lane.protocol, "version": lane.version}))
                }
                _ => {}
            }
        }
        let sessions: Vec<Value> =
            self.sessions.iter().filter(|(_, s)| s.owner == *principal).map(|(_, s)| self.session_status(s)).collect();
        json!({"version": env!("CARGO_PKG_VERSION"), "runtime": self.settings.runtime, "lanes": lanes, "clients": clients, "sessions": sessions})
    }

    fn session_status(&self, session: &Session) -> Value {
        let children: Vec<Value> =
            session.family.children().iter().filter_map(|key| self.lineage.child(*key)).map(|c| self.child_status(c)).collect();
        json!({"sessionId": session.id, "clients": session.attached.len(), "pending": session.questions.open().count(), "children": children})
    }

    fn child_status(&self, child: &Child) -> Value {
        let parent = child.parent.and_then(|key| self.lineage.child(key)).map(|p| &p.agent_id);
        json!({"agentId": child.agent_id, "agentName": child.agent_name, "toolCallId": child.task_call, "parentAgentId": parent, "running": child.running})
    }
}
