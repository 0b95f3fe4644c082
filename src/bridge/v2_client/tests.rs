use super::*;
use crate::protocol::fields::ROUTED;

fn message(value: Value) -> Message {
    Message::read(bytes::Bytes::from(value.to_string()), &ROUTED, 128).unwrap()
}

fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn an_external_tool_request_becomes_a_tool_call() {
    let event =
        message(json!({"method": "session.event", "params": {"sessionId": "child", "event": {"type": "external_tool.requested", "data":
        {"requestId": "r", "sessionId": "x", "toolCallId": "c", "toolName": "t", "arguments": {"k": [1, "\u{e9}"]}}}}}));
    assert_eq!(
        read(&tool_call("s", &event)),
        json!({"sessionId": "s", "toolCallId": "c", "toolName": "t", "arguments": {"k": [1, "\u{e9}"]}})
    );
}

#[test]
fn a_tool_response_is_passed_on_as_text_object_or_error() {
    let answer = |body| read(&tool_answer("s", "r", &message(body)));
    assert_eq!(answer(json!({"id": 1, "result": {"result": "text"}})), json!({"sessionId": "s", "requestId": "r", "result": "text"}));
    let object = json!({"textResultForLlm": "x", "resultType": "failure"});
    assert_eq!(answer(json!({"id": 1, "result": {"result": object}}))["result"], object);
    assert_eq!(answer(json!({"id": 1, "error": {"code": -1, "message": "boom"}}))["error"], "boom");
    assert!(answer(json!({"id": 1, "result": null}))["error"].is_string());
}

#[test]
fn a_permission_response_is_put_into_protocol_3s_words() {
    let answer = |body| read(&permission_answer("s", "r", &message(body)))["result"].clone();
    assert_eq!(answer(json!({"id": 1, "result": {"result": {"kind": "approved"}}})), json!({"kind": "approve-once"}));
    assert_eq!(
        answer(json!({"id": 1, "result": {"result": {"kind": "denied-interactively-by-user", "feedback": "no"}}})),
        json!({"kind": "reject", "feedback": "no"})
    );
    assert_eq!(answer(json!({"id": 1, "error": {"code": 1, "message": "m"}})), json!({"kind": "user-not-available"}));
}

#[test]
fn hooks_take_protocol_2s_form_or_are_dropped() {
    let hook = |kind: &str, input: Value| {
        hook_params(json!({"sessionId": "s", "hookType": kind, "input": input}).to_string().as_bytes()).map(|p| read(&p))
    };
    assert_eq!(hook("preToolUse", json!({"toolArgs": {"a": 1}})).unwrap()["input"]["toolArgs"], "{\"a\":1}");
    let failed = hook("postToolUseFailure", json!({"toolName": "t", "error": "boom"})).unwrap();
    assert_eq!(failed["hookType"], "postToolUse");
    assert_eq!(failed["input"]["toolResult"], json!({"textResultForLlm": "boom", "resultType": "failure"}));
    for unknown in ["agentStop", "subagentStart", "subagentStop", "userPromptTransformed", "next"] {
        assert!(hook(unknown, json!({})).is_none(), "{unknown}");
    }
}

#[test]
fn hook_results_keep_only_what_protocol_2_gives_effect() {
    let result = |output: Value| read(&hook_result(json!({"output": output}).to_string().as_bytes()))["output"].clone();
    assert_eq!(result(json!({"permissionDecision": "allow", "additionalContext": "c", "modifiedResult": {}})), json!({}));
    assert_eq!(
        result(json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})),
        json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})
    );
    assert_eq!(result(json!({"modifiedArgs": "{\"a\":2}"})), json!({"modifiedArgs": {"a": 2}}));
    assert_eq!(hook_result(b"nonsense"), b"{}");
}

#[test]
fn a_version_and_its_time_are_those_of_the_client() {
    let two = read(&versioned(br#"{"message":"pong","timestamp":"2026-11-15T23:30:49.7Z","protocolVersion":3}"#, 2));
    assert!(two["timestamp"].is_i64() && two["protocolVersion"] == 2 && two["message"] == "pong");
    let three = read(&versioned(br#"{"message":"pong","timestamp":0,"protocolVersion":3}"#, 3));
    assert_eq!(three["timestamp"], "1970-01-01T00:00:00.000Z");
}

#[test]
fn what_strict_protocol_2_sdks_and_early_runtimes_trip_over_is_left_out() {
    let data = json!({"result": {"content": "x", "contents": [{"type": "text", "text": "x"}, {"type": "shell_exit", "exitCode": 0}]}});
    assert_eq!(read(&known_contents(data.to_string().as_bytes()).unwrap())["result"]["contents"], json!([{"type": "text", "text": "x"}]));
    assert_eq!(known_contents(br#"{"result":{"content":"x"}}"#), None);
    assert_eq!(without_nulls(br#"{"prompt":"p","attachments":null}"#).unwrap(), br#"{"prompt":"p"}"#);
    assert_eq!(without_nulls(br#"{"prompt":"p"}"#), None);
}
