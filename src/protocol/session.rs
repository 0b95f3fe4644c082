//! Opening and ending sessions: the part of `session.create` and `session.resume` that routing reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A client tool, as `tools[]` of `session.create` carries it and as we copy it into `toolDefinitions`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolDefinition {
    /// The name the model calls it by.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<serde_json::Value>,
}

/// A custom agent. `tools`: null or omitted = all, `[]` = none, a list = those, `"*"` = all.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomAgent {
    /// Unique; the first of two equal names wins.
    pub name: String,
    /// The allowlist.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// Definitions of the listed session tools; filled in by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_definitions: Option<Vec<ToolDefinition>>,
}

/// What the daemon reads of the params of `session.create` and `session.resume`. Clients send much more; it
/// passes through untouched.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOptions {
    /// The session's id. Protocol 3 clients choose it; protocol 2 clients may leave it to the runtime.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Tools that this client runs.
    #[serde(default)]
    pub tools: Option<Vec<ToolDefinition>>,
    /// Agents that the session can delegate to.
    #[serde(default)]
    pub custom_agents: Option<Vec<CustomAgent>>,
    /// Whether this client answers `hooks.invoke`.
    #[serde(default)]
    pub hooks: Option<bool>,
    /// Whether this client answers permission requests.
    #[serde(default)]
    pub request_permission: Option<bool>,
    /// Whether this client answers `userInput.request`.
    #[serde(default)]
    pub request_user_input: Option<bool>,
}

/// Result of the methods that open a session, as far as routing reads it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOpened {
    /// The session that the caller is attached to from now on.
    pub session_id: String,
}

/// Result of `session.detach`, `session.destroy`, `session.delete` and of the answers to questions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Success {
    /// Whether it was done.
    pub success: bool,
}

/// `session.lifecycle`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// `session.created`, `session.updated`, `session.deleted`, …
    pub r#type: String,
    /// Which session.
    pub session_id: String,
}

/// The same options with agents and tools left raw, so that what we add is spliced in and nothing else moves.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawOptions<'a> {
    /// Raw tools.
    #[serde(borrow, default)]
    pub tools: Option<Vec<&'a RawValue>>,
    /// Raw agents.
    #[serde(borrow, default)]
    pub custom_agents: Option<Vec<&'a RawValue>>,
}

/// A tool with its definition left raw.
#[derive(Debug, Deserialize)]
pub struct RawTool<'a> {
    /// Its name.
    pub name: String,
    /// Raw description.
    #[serde(borrow, default)]
    pub description: Option<&'a RawValue>,
    /// Raw parameters.
    #[serde(borrow, default)]
    pub parameters: Option<&'a RawValue>,
}

/// An agent as far as its allowlist goes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawAgent<'a> {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The allowlist.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// Present when the caller filled it in itself.
    #[serde(borrow, default)]
    pub tool_definitions: Option<&'a RawValue>,
}

/// The flags of the options, read separately so that an odd shape of one field does not hide the others.
#[derive(Debug, Default, Deserialize)]
pub struct OpenFlags {
    /// Whether this client answers `hooks.invoke`.
    #[serde(default)]
    pub hooks: Option<bool>,
}
