use super::*;
use crate::protocol::fields::ROUTED;

fn message(value: Value) -> Message {
    Message::read(bytes::Bytes::from(value.to_string()), &ROUTED, 128).unwrap()
}

fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn a_tool_call_becomes_an_event() {
    let call = message(
        json!({"id": 4, "method": "tool.call", "params": {"sessionId": "s", "toolCallId": "c", "toolName": "t", "arguments": {"k": 1}}}),
    );
    let event = read(&tool_requested("s", "r", &call));
    assert_eq!((&event["method"], &event["params"]["sessionId"]), (&json!("session.event"), &json!("s")));
    assert_eq!(event["params"]["event"]["type"], "external_tool.requested");
    assert_eq!(
        event["params"]["event"]["data"],
        json!({"requestId": "r", "sessionId": "s", "toolCallId": "c", "toolName": "t", "arguments": {"k": 1}})
    );
}

#[test]
fn an_answer_becomes_a_result_and_an_error_a_failure() {
    assert_eq!(read(&tool_result(br#"{"sessionId":"s","requestId":"r","result":"text"}"#)), json!({"result": "text"}));
    let failed = read(&tool_result(br#"{"sessionId":"s","requestId":"r","error":"boom"}"#));
    assert_eq!((&failed["result"]["resultType"], &failed["result"]["error"]), (&json!("failure"), &json!("boom")));
    assert_eq!(read(&tool_result(b"{}"))["result"]["resultType"], "failure");
}

#[test]
fn a_permission_request_becomes_an_event_and_its_decision_a_result() {
    let asked =
        message(json!({"id": 4, "method": "permission.request", "params": {"sessionId": "s", "permissionRequest": {"kind": "shell"}}}));
    let event = read(&permission_requested("s", "r", &asked));
    assert_eq!(event["params"]["event"]["data"]["permissionRequest"], json!({"kind": "shell"}));
    let decided = decision(br#"{"sessionId":"s","requestId":"r","result":{"kind":"approve-for-session"}}"#);
    assert_eq!(read(&permission_result(&decided)), json!({"result": {"kind": "approved"}}));
    let rejected = decision(br#"{"sessionId":"s","requestId":"r","result":{"kind":"reject","feedback":"no"}}"#);
    assert_eq!(read(&permission_result(&rejected)), json!({"result": {"kind": "denied-interactively-by-user", "feedback": "no"}}));
    assert_eq!(read(&plain_permission_result(br#"{"result":{"kind":"approve-once"}}"#).unwrap()), json!({"result": {"kind": "approved"}}));
    assert_eq!(plain_permission_result(br#"{"result":{"kind":"approved"}}"#), None);
    assert_eq!(decision(b"nonsense").kind, "user-not-available");
}

#[test]
fn an_approval_for_the_session_covers_the_same_act_and_no_other() {
    let of = |v: Value| subject(v.to_string().as_bytes()).unwrap();
    let shell = |command: &str, call: &str| of(json!({"kind": "shell", "toolCallId": call, "fullCommandText": command}));
    assert_eq!(shell("ls", "1"), shell("ls", "2"));
    assert_ne!(shell("ls", "1"), shell("rm", "1"));
    let custom = |tool: &str, key: &str| of(json!({"kind": "custom-tool", "toolName": tool, "args": {"key": key}}));
    assert_eq!(custom("t", "a"), custom("t", "b"));
    assert_ne!(custom("t", "a"), custom("u", "a"));
}

#[test]
fn hooks_take_protocol_3s_form() {
    let hook =
        |kind: &str, input: Value| read(&hook_params(json!({"sessionId": "s", "hookType": kind, "input": input}).to_string().as_bytes()));
    assert_eq!(hook("preToolUse", json!({"toolArgs": "{\"a\":1}"}))["input"]["toolArgs"], json!({"a": 1}));
    assert_eq!(hook("postToolUse", json!({"toolResult": {"resultType": "success"}}))["hookType"], "postToolUse");
    let failed = hook("postToolUse", json!({"toolResult": {"resultType": "denied", "textResultForLlm": "no"}}));
    assert_eq!((&failed["hookType"], &failed["input"]["error"]), (&json!("postToolUseFailure"), &json!("no")));
}

#[test]
fn a_question_is_closed_with_an_event() {
    let event = read(&completed("s", "permission.requested", "r", Some("reject")));
    assert_eq!(event["params"]["event"]["type"], "permission.completed");
    assert_eq!(event["params"]["event"]["data"], json!({"requestId": "r", "result": {"kind": "denied-interactively-by-user"}}));
    assert_eq!(read(&completed("s", "external_tool.requested", "r", None))["params"]["event"]["data"], json!({"requestId": "r"}));
}
