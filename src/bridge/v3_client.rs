//! A protocol 3 client in front of a protocol 2 runtime: the runtime's requests become events with a requestId
//! of ours, and the client's `handlePending…` calls become the responses.

use super::tables;
use super::time;
use crate::protocol::fields::{ARGUMENTS, PERMISSION, TOOL_CALL_ID, TOOL_NAME};
use crate::protocol::names;
use crate::protocol::questions::{Decision, HandlePendingPermission, HandlePendingToolCall, ToolCallResult, ToolResult};
use crate::rpc::{Message, write};
use serde_json::{Map, Value, json};

/// The body of a `session.event` notification that we make ourselves.
pub fn event(session: &str, kind: &str, data: &[u8]) -> Vec<u8> {
    let id = uuid::Uuid::new_v4();
    let at = time::iso(time::now_millis());
    let head =
        format!("\"event\":{{\"id\":\"{id}\",\"timestamp\":\"{at}\",\"parentId\":null,\"ephemeral\":true,\"type\":\"{kind}\",\"data\":");
    let params = [b"{\"sessionId\":", &write::quote(session)[..], b",", head.as_bytes(), data, b"}}"].concat();
    write::notification(names::SESSION_EVENT, &params)
}

/// The event for a `tool.call`.
pub fn tool_requested(session: &str, request: &str, call: &Message) -> Vec<u8> {
    let raw = |slot| call.raw(slot).unwrap_or(b"null");
    let parts: [&[u8]; 11] = [
        b"{\"requestId\":",
        &write::quote(request),
        b",\"sessionId\":",
        &write::quote(session),
        b",\"toolCallId\":",
        raw(TOOL_CALL_ID),
        b",\"toolName\":",
        raw(TOOL_NAME),
        b",\"arguments\":",
        raw(ARGUMENTS),
        b"}",
    ];
    event(session, names::EXTERNAL_TOOL_REQUESTED, &parts.concat())
}

/// The result of a `tool.call` for the client's `handlePendingToolCall`.
pub fn tool_result(params: &[u8]) -> Vec<u8> {
    let answer: Option<HandlePendingToolCall> = serde_json::from_slice(params).ok();
    let failure = |text: String| {
        let result = ToolResult {
            text_result_for_llm: "Tool execution failed".into(),
            result_type: "failure".into(),
            error: Some(text),
            tool_telemetry: json!({}),
        };
        serde_json::to_value(result).unwrap_or_default()
    };
    let result = match answer {
        Some(HandlePendingToolCall { result: Some(result), .. }) => result,
        Some(HandlePendingToolCall { error, .. }) => failure(error.unwrap_or_default()),
        None => failure("the client's answer was not understood".into()),
    };
    write::json(&ToolCallResult { result })
}

/// The event for a `permission.request`.
pub fn permission_requested(session: &str, request: &str, asked: &Message) -> Vec<u8> {
    let raw = asked.raw(PERMISSION).unwrap_or(b"{}");
    let data = [b"{\"requestId\":", &write::quote(request)[..], b",\"permissionRequest\":", raw, b"}"].concat();
    event(session, names::PERMISSION_REQUESTED, &data)
}

/// The client's decision on a permission.
pub fn decision(params: &[u8]) -> Decision {
    let answer = serde_json::from_slice::<HandlePendingPermission>(params).ok();
    answer.map(|a| a.result).unwrap_or(Decision { kind: tables::NOT_AVAILABLE.into(), feedback: None })
}

/// The result of a `permission.request` for a decision in either version's words.
pub fn permission_result(decision: &Decision) -> Vec<u8> {
    let result = Decision { kind: tables::decision_to_v2(&decision.kind).into(), feedback: decision.feedback.clone() };
    write::json(&json!({"result": result}))
}

/// The result of a `permission.request` from a client that speaks protocol 2 with protocol 3's words (SDK 0.3.0),
/// in words that a protocol 2 runtime knows; `None` when they are that already.
pub fn plain_permission_result(result: &[u8]) -> Option<Vec<u8>> {
    #[derive(serde::Deserialize)]
    struct Answer {
        result: Decision,
    }
    let decision = serde_json::from_slice::<Answer>(result).ok()?.result;
    (tables::decision_to_v2(&decision.kind) != decision.kind).then(|| permission_result(&decision))
}

/// The event that closes a question: `external_tool.completed` or `permission.completed`.
pub fn completed(session: &str, requested: &str, request: &str, decision: Option<&str>) -> Vec<u8> {
    let kind = requested.replace(".requested", ".completed");
    let mut data = json!({"requestId": request});
    if let Some(decision) = decision {
        data["result"] = json!({"kind": tables::decision_to_v2(decision)});
    }
    event(session, &kind, &write::json(&data))
}

/// What a permission is for, so that an approval for the session can be told to cover it: everything that
/// identifies the act, and nothing that names this one call of it.
pub fn subject(permission: &[u8]) -> Option<String> {
    let mut map: Map<String, Value> = serde_json::from_slice(permission).ok()?;
    map.remove("toolCallId");
    map.remove("args");
    map.remove("intention");
    map.remove("diff");
    map.remove("newFileContents");
    serde_json::to_string(&map).ok()
}

/// Params of `hooks.invoke` as protocol 3 has them.
pub fn hook_params(params: &[u8]) -> Vec<u8> {
    let Ok(mut map) = serde_json::from_slice::<Map<String, Value>>(params) else { return params.to_vec() };
    super::drift::object_arguments(&mut map);
    let failed = map.get("input").and_then(|i| i["toolResult"]["resultType"].as_str()).is_some_and(|t| t != "success");
    if failed && map.get("hookType").is_some_and(|h| h == "postToolUse") {
        map.insert("hookType".into(), "postToolUseFailure".into());
        if let Some(input) = map.get_mut("input").and_then(Value::as_object_mut) {
            let text = input.get("toolResult").and_then(|r| r["textResultForLlm"].as_str()).unwrap_or_default().to_owned();
            input.entry("error").or_insert(text.into());
        }
    }
    write::json(&map)
}

#[cfg(test)]
mod tests;
