//! `connect` and `ping`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `connect`, protocol 3's handshake.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectParams {
    /// The connection token, where the listener wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Task kinds that the client can show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported_task_kinds: Option<Vec<String>>,
}

/// Result of `connect`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectResult {
    /// Always true.
    pub ok: bool,
    /// 3.
    pub protocol_version: u32,
    /// The runtime's version.
    pub version: String,
    /// Task kinds that the runtime has; CLI 1.0.57 does not tell.
    #[serde(default)]
    pub task_kinds: Vec<String>,
}

/// Result of `ping`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PingResult {
    /// `pong`, or `pong: ` and the message that was sent.
    pub message: String,
    /// Milliseconds since 1970 in protocol 2, an ISO text in protocol 3.
    pub timestamp: Timestamp,
    /// The protocol that the answerer speaks with this client.
    pub protocol_version: u32,
}

/// A time on the wire: runtimes before 1.0.57 send a number, later ones an ISO text.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Timestamp {
    /// Milliseconds since 1970.
    Millis(i64),
    /// ISO 8601.
    Iso(String),
}
