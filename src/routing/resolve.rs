//! `resolve`: the one function that says whose session an id belongs to.

use super::lineage::ChildKey;
use super::router::Router;
use super::sessions::SessionKey;
use crate::error::Refusal;

/// Whose an id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolved {
    /// The session with the handlers.
    pub session: SessionKey,
    /// The child that the id names; `None` when it names the session itself.
    pub child: Option<ChildKey>,
}

impl Router {
    /// Direct session → itself; child → its root; child of a root that nobody is attached to, and anything
    /// else → an error that says which.
    pub fn resolve(&self, id: &str) -> Result<Resolved, Refusal> {
        if let Some(session) = self.sessions.find(id) {
            return Ok(Resolved { session, child: None });
        }
        let unknown = || Refusal::UnknownSession(id.to_owned());
        let key = self.lineage.find(id).ok_or_else(unknown)?;
        let root = self.lineage.child(key).ok_or_else(unknown)?.root;
        let session = self.sessions.get(root).ok_or_else(unknown)?;
        if session.attached.is_empty() && session.awaited_until.is_none() {
            return Err(Refusal::ParentGone { parent: session.id.to_string(), child: id.to_owned() });
        }
        Ok(Resolved { session: root, child: Some(key) })
    }
}
