//! Events of a child on its root's stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `subagent.started`. Which of the ids are there depends on the runtime; see the table in PROTOCOL.md.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentStarted {
    /// The child's session id, where requests of the child carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_session_id: Option<String>,
    /// The call of the task tool that began the child.
    #[serde(default)]
    pub tool_call_id: Option<String>,
    /// The agent's name.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// The agent's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_display_name: Option<String>,
    /// The agent that began this one, when nested (CLI 1.0.102).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// `subagent.completed` and `subagent.failed`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentEnded {
    /// The call of the task tool that began the child.
    #[serde(default)]
    pub tool_call_id: Option<String>,
    /// The agent's name.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Why, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One entry of `assistant.message` `toolRequests`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequest {
    /// The call that is about to be made.
    pub tool_call_id: String,
}
