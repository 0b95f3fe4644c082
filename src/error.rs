//! The one place that maps what went wrong to JSON-RPC codes and words.

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Well framed, but no JSON.
    #[error("{0}")]
    Parse(String),
    /// JSON, but no message that we can take.
    #[error("{0}")]
    Invalid(String),
    /// No such session, or not one of this client's.
    #[error("unknown session {0}")]
    UnknownSession(String),
    /// A child whose parent has no client any more.
    #[error("parent session {parent} for child {child} not found")]
    ParentGone {
        /// The session that had the handlers.
        parent: String,
        /// The child that asked.
        child: String,
    },
    /// Nobody here answers this method.
    #[error("Unhandled method {0}")]
    UnknownMethod(String),
    /// The client that was asked is gone.
    #[error("the client disconnected before it answered {0}")]
    ClientGone(String),
    /// The runtime cannot be reached, or died.
    #[error("{0}")]
    RuntimeGone(String),
    /// A token is needed first.
    #[error("AUTHENTICATION_REQUIRED")]
    AuthenticationRequired,
    /// The token is wrong.
    #[error("AUTHENTICATION_FAILED")]
    AuthenticationFailed,
    /// More at once than allowed.
    #[error("{0}")]
    Overloaded(String),
    /// A defect of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Refusal {
    /// The JSON-RPC code.
    pub fn code(&self) -> i64 {
        match self {
            Refusal::Parse(_) => -32700,
            Refusal::Invalid(_) => -32600,
            Refusal::UnknownMethod(_) => -32601,
            // What the published runtimes answer for a session that is not there.
            Refusal::UnknownSession(_) | Refusal::ParentGone { .. } | Refusal::Internal(_) => -32603,
            Refusal::ClientGone(_) | Refusal::RuntimeGone(_) => -32000,
            Refusal::AuthenticationRequired | Refusal::Overloaded(_) => -32001,
            Refusal::AuthenticationFailed => -32002,
        }
    }

    /// The whole response body for the request with this raw id.
    pub fn answer(&self, id: &[u8]) -> Vec<u8> {
        crate::rpc::write::error(id, self.code(), &self.to_string())
    }
}
