//! A protocol 2 client in front of a protocol 3 runtime: questions by event become requests, and their
//! responses become the runtime's `handlePending…` calls.

use super::tables;
use crate::protocol::fields::{DATA_ARGUMENTS, DATA_PERMISSION, DATA_TOOL_CALL_ID, DATA_TOOL_NAME};
use crate::protocol::questions::{Decision, HandlePendingPermission, HandlePendingToolCall};
use crate::rpc::message::{ERROR, RESULT};
use crate::rpc::{Message, write};
use serde_json::{Map, Value, json};

/// Params of `tool.call` for an `external_tool.requested`.
pub fn tool_call(session: &str, event: &Message) -> Vec<u8> {
    let raw = |slot| event.raw(slot).unwrap_or(b"null");
    let parts: [&[u8]; 9] = [
        b"{\"sessionId\":",
        &write::quote(session),
        b",\"toolCallId\":",
        raw(DATA_TOOL_CALL_ID),
        b",\"toolName\":",
        raw(DATA_TOOL_NAME),
        b",\"arguments\":",
        raw(DATA_ARGUMENTS),
        b"}",
    ];
    parts.concat()
}

/// Params of `handlePendingToolCall` for the response to a `tool.call`.
pub fn tool_answer(session: &str, request: &str, response: &Message) -> Vec<u8> {
    let result: Option<Value> = response.raw(RESULT).and_then(|r| serde_json::from_slice(r).ok());
    let error = response.raw(ERROR).map(error_message);
    let result = result.map(|mut r| r.get_mut("result").map(Value::take).unwrap_or(r)).filter(|r| !r.is_null());
    let error = error.or_else(|| result.is_none().then(|| "the client's answer has no result".to_owned()));
    write::json(&HandlePendingToolCall { session_id: session.into(), request_id: request.into(), result, error })
}

/// Params of `permission.request` for a `permission.requested`.
pub fn permission_request(session: &str, event: &Message) -> Vec<u8> {
    [b"{\"sessionId\":", &write::quote(session)[..], b",\"permissionRequest\":", event.raw(DATA_PERMISSION).unwrap_or(b"{}"), b"}"].concat()
}

/// Params of `handlePendingPermissionRequest` for the response to a `permission.request`.
pub fn permission_answer(session: &str, request: &str, response: &Message) -> Vec<u8> {
    let result: Value = response.raw(RESULT).and_then(|r| serde_json::from_slice(r).ok()).unwrap_or_default();
    let kind = tables::decision_to_v3(result["result"]["kind"].as_str().unwrap_or_default());
    let feedback = result["result"]["feedback"].as_str().map(String::from);
    let result = Decision { kind: kind.into(), feedback };
    write::json(&HandlePendingPermission { session_id: session.into(), request_id: request.into(), result })
}

/// Params of `hooks.invoke` as protocol 2 has them; `None` for a hook that it does not know.
pub fn hook_params(params: &[u8]) -> Option<Vec<u8>> {
    let mut params: Map<String, Value> = serde_json::from_slice(params).ok()?;
    let hook = tables::hook_for_v2(params.get("hookType")?.as_str()?)?;
    let failed = params["hookType"] == "postToolUseFailure";
    params.insert("hookType".into(), hook.into());
    let input = params.get_mut("input").and_then(Value::as_object_mut);
    if let Some(input) = input {
        if hook == "preToolUse"
            && let Some(args) = input.get_mut("toolArgs").filter(|a| !a.is_string())
        {
            *args = Value::String(args.to_string());
        }
        if failed && !input.contains_key("toolResult") {
            let text = input.get("error").and_then(Value::as_str).unwrap_or("the tool failed").to_owned();
            input.insert("toolResult".into(), json!({"textResultForLlm": text, "resultType": "failure"}));
        }
    }
    Some(write::json(&params))
}

/// The result of a hook, less what has no effect in protocol 2: there `allow` does not skip the permission,
/// and results and context are not changed by hooks (WIRE.md §5).
pub fn hook_result(result: &[u8]) -> Vec<u8> {
    let Ok(mut result) = serde_json::from_slice::<Value>(result) else { return b"{}".to_vec() };
    if let Some(output) = result.get_mut("output").and_then(Value::as_object_mut) {
        output.remove("modifiedResult");
        output.remove("additionalContext");
        if output.get("permissionDecision").is_some_and(|d| d == "allow") {
            output.remove("permissionDecision");
        }
        // Protocol 2 carries arguments as a text.
        if let Some(args) = output.get_mut("modifiedArgs")
            && let Some(parsed) = args.as_str().and_then(|text| serde_json::from_str(text).ok())
        {
            *args = parsed;
        }
    }
    write::json(&result)
}

/// The data of `tool.execution_complete` without the parts of the result that protocol 2 does not know (the
/// `shell_exit` of CLI 1.0.102); `None` when it has none.
pub fn known_contents(data: &[u8]) -> Option<Vec<u8>> {
    let mut data: Value = serde_json::from_slice(data).ok()?;
    let contents = data.get_mut("result")?.get_mut("contents")?.as_array_mut()?;
    let before = contents.len();
    contents.retain(|part| part["type"].as_str().is_some_and(tables::is_v2_content));
    (contents.len() < before).then(|| write::json(&data))
}

/// Params of `session.send` without members that are null: Python 0.1.30 writes them out, and CLIs 1.0.20 and
/// 1.0.57 store a null they cannot read again.
pub fn without_nulls(params: &[u8]) -> Option<Vec<u8>> {
    let mut params: Map<String, Value> = serde_json::from_slice(params).ok()?;
    let before = params.len();
    params.retain(|_, value| !value.is_null());
    (params.len() < before).then(|| write::json(&params))
}

/// A hook that protocol 2 runs with every prompt and this runtime does not.
pub fn boundary_hook(session: &str, hook: &str, about: Value) -> Vec<u8> {
    let mut input = json!({"sessionId": session, "timestamp": super::time::now_millis(), "cwd": ""});
    if let (Value::Object(input), Value::Object(about)) = (&mut input, about) {
        input.extend(about);
    }
    write::json(&json!({"sessionId": session, "hookType": hook, "input": input}))
}

/// Result of `ping` or `status.get`, with the protocol that this client demands.
pub fn versioned(result: &[u8], protocol: u32) -> Vec<u8> {
    let Ok(mut result) = serde_json::from_slice::<Map<String, Value>>(result) else { return result.to_vec() };
    result.insert("protocolVersion".into(), protocol.into());
    if protocol < crate::protocol::V3 && result.get("timestamp").is_some_and(Value::is_string) {
        result.insert("timestamp".into(), super::time::now_millis().into());
    } else if let Some(millis) = result.get("timestamp").and_then(Value::as_i64).filter(|_| protocol >= crate::protocol::V3) {
        result.insert("timestamp".into(), super::time::iso(millis).into());
    }
    write::json(&result)
}

/// The text of a JSON-RPC error.
fn error_message(error: &[u8]) -> String {
    let error: Value = serde_json::from_slice(error).unwrap_or_default();
    error["message"].as_str().unwrap_or("the client answered with an error").to_owned()
}

#[cfg(test)]
mod tests;
