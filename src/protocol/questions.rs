//! The four callbacks in both protocols, and their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `tool.call` (protocol 2).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The session, as the client registered it.
    pub session_id: String,
    /// The model's call.
    pub tool_call_id: String,
    /// Which tool.
    pub tool_name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
}

/// Result of `tool.call`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallResult {
    /// A text, or a [`ToolResult`].
    pub result: Value,
}

/// A tool's result as an object.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// What the model reads.
    pub text_result_for_llm: String,
    /// `success`, `failure`, `rejected`, `denied`.
    pub result_type: String,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Measurements.
    #[serde(default)]
    pub tool_telemetry: Value,
}

impl ToolResult {
    /// What a call of a tool gets that the agent's allowlist does not have, or that no client registered.
    pub fn not_supported(tool: &str) -> ToolResult {
        ToolResult {
            text_result_for_llm: format!("Tool '{tool}' is not supported by this client instance."),
            result_type: "failure".into(),
            error: Some(format!("tool '{tool}' not supported")),
            tool_telemetry: Value::Object(Default::default()),
        }
    }
}

/// Data of `external_tool.requested` (protocol 3).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalToolRequested {
    /// What the answer names.
    pub request_id: String,
    /// The session, as the client registered it.
    pub session_id: String,
    /// The model's call.
    pub tool_call_id: String,
    /// Which tool.
    pub tool_name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
}

/// Params of `session.tools.handlePendingToolCall` (protocol 3).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandlePendingToolCall {
    /// The session.
    pub session_id: String,
    /// From the event.
    pub request_id: String,
    /// A text or a [`ToolResult`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Instead of a result: the handler failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Params of `permission.request` (protocol 2).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// The session, as the client registered it.
    pub session_id: String,
    /// What is to be done; `kind` tells what it is.
    pub permission_request: Value,
}

/// Data of `permission.requested` (protocol 3).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequested {
    /// What the answer names.
    pub request_id: String,
    /// What is to be done; `kind` tells what it is.
    pub permission_request: Value,
}

/// Params of `session.permissions.handlePendingPermissionRequest` (protocol 3).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandlePendingPermission {
    /// The session.
    pub session_id: String,
    /// From the event.
    pub request_id: String,
    /// The decision.
    pub result: Decision,
}

/// A decision on a permission, in the words of the version that is spoken.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Protocol 2: `approved`, `denied-…`; protocol 3: `approve-once`, `approve-for-session`, `reject`, `user-not-available`.
    pub kind: String,
    /// For the model, with `reject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// Params of `userInput.request` (both protocols).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputRequest {
    /// The session, as the client registered it.
    pub session_id: String,
    /// What is asked.
    pub question: String,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<String>>,
    /// Whether any text may be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_freeform: Option<bool>,
}

/// Result of `userInput.request`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputResult {
    /// The answer.
    pub answer: String,
    /// Whether it was typed rather than chosen.
    pub was_freeform: bool,
}

/// Params of `hooks.invoke` (both protocols).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksInvoke {
    /// The session, as the client registered it.
    pub session_id: String,
    /// Which hook.
    pub hook_type: String,
    /// `sessionId` (the child's, for a child), `timestamp`, `cwd` and what the hook is about.
    pub input: Value,
}

/// Result of `hooks.invoke`; nothing means no opinion.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HooksResult {
    /// What the hook says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}
