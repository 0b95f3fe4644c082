//! Clients and runtimes of different protocols when one of them goes away. What they say to each other while all
//! live is kept as data, in the vectors named `bridge-…`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::dead_client::{BUDGET, answers_on_behalf, assert_disconnected, hook, input, permission_event, tool_call, tool_event, with_save};
use crate::support::conn::Conn;
use crate::support::runtime::Lane;
use crate::support::world::{World, call, client_is_quiet, create, resume};

const HANDLE_TOOL: &str = "session.tools.handlePendingToolCall";

/// No answer in these tests may come from the end of the grace time.
const LONG_GRACE: Option<&str> = Some("[reconnect]\ngrace_ms = 600000\n");
const NO_GRACE: Option<&str> = Some("[reconnect]\ngrace_ms = 0\n");

/// The event that a protocol 3 client sees for a protocol 2 runtime's `tool.call`; gives its requestId.
fn shown(client: &mut Conn) -> Value {
    let event = client.expect_event("external_tool.requested");
    let data = &event.params()["event"]["data"];
    assert_eq!((&data["toolCallId"], &data["toolName"]), (&json!("call-1"), &json!("save")), "{}", event.text);
    data["requestId"].clone()
}

/// A protocol 3 client answers a protocol 2 runtime's `tool.call` that came by this lane.
fn answers(client: &mut Conn, lane: &mut Lane, asked: i64, request: &Value, text: &str) {
    let id = client.request(HANDLE_TOOL, json!({"sessionId": "s1", "requestId": request, "result": text}));
    assert_eq!(lane.expect_result(asked), json!({"result": text}));
    assert_eq!(client.expect_result(id), json!({"success": true}));
    let closed = client.expect_event("external_tool.completed");
    assert_eq!(&closed.params()["event"]["data"]["requestId"], request, "{}", closed.text);
}

#[test]
fn a_dead_protocol_2_clients_questions_are_answered_to_a_protocol_3_runtime_at_once() {
    // The machine may be busy with something else at any one death, not at all of them.
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let world = World::with_config(3, LONG_GRACE);
        let (mut client, mut lane) = world.open_as("a", 2);
        create(&mut client, &mut lane, "s1", json!({"tools": with_save()["tools"], "hooks": true}));
        lane.event("s1", tool_event("r-1"));
        lane.event("s1", permission_event("p-1"));
        let asked_input = lane.request("userInput.request", input("s1"));
        let asked_hook = lane.request("hooks.invoke", hook("s1"));
        for method in ["tool.call", "permission.request", "userInput.request", "hooks.invoke"] {
            client.expect_request(method);
        }
        let died = Instant::now();
        client.close();
        answers_on_behalf(&mut lane, asked_input, asked_hook);
        fastest = fastest.min(died.elapsed());
    }
    assert!(fastest <= BUDGET, "the fastest of five took {fastest:?}");
}

#[test]
fn a_question_that_a_dead_protocol_2_client_had_stays_with_the_protocol_3_client() {
    let world = World::with_config(3, NO_GRACE);
    let (mut old, mut old_lane) = world.open_as("a", 2);
    let (mut new, mut new_lane) = world.open_as("b", 3);
    create(&mut old, &mut old_lane, "s1", with_save());
    resume(&mut new, &mut new_lane, "s1", with_save());
    old_lane.event("s1", tool_event("r-1"));
    old.expect_request("tool.call");
    new_lane.event("s1", tool_event("r-1"));
    new.expect_event("external_tool.requested");
    old.close();
    for message in old_lane.drain() {
        assert!(!message.text.contains("handlePending"), "answered although another client is attached: {}", message.text);
    }
    let answer = json!({"sessionId": "s1", "requestId": "r-1", "result": "by b"});
    call(&mut new, &mut new_lane, HANDLE_TOOL, answer, json!({"success": true}));
}

#[test]
fn a_dead_protocol_2_clients_tool_call_does_not_wait_for_one_that_was_never_asked() {
    let world = World::with_config(3, NO_GRACE);
    let (mut asked, mut asked_lane) = world.open_as("a", 2);
    let (mut other, mut other_lane) = world.open_as("b", 2);
    create(&mut asked, &mut asked_lane, "s1", with_save());
    resume(&mut other, &mut other_lane, "s1", json!({}));
    asked_lane.event("s1", tool_event("r-1"));
    asked.expect_request("tool.call");
    other_lane.event("s1", tool_event("r-1"));
    client_is_quiet(&mut other, &mut other_lane);
    asked.close();
    let answer = asked_lane.expect_request(HANDLE_TOOL);
    let params = answer.params();
    assert_eq!((&params["sessionId"], &params["requestId"]), (&json!("s1"), &json!("r-1")), "{}", answer.text);
    assert!(params["error"].is_string() && params.get("result").is_none(), "{}", answer.text);
}

#[test]
fn a_protocol_2_clients_answer_gets_through_though_the_lane_that_asked_first_is_gone() {
    let world = World::with_config(3, NO_GRACE);
    let (mut old, mut old_lane) = world.open_as("a", 2);
    let (mut new, mut new_lane) = world.open_as("b", 3);
    create(&mut old, &mut old_lane, "s1", with_save());
    resume(&mut new, &mut new_lane, "s1", with_save());
    new_lane.event("s1", tool_event("r-1"));
    new.expect_event("external_tool.requested");
    old_lane.event("s1", tool_event("r-1"));
    let asked = old.expect_request("tool.call");
    new.close();
    new_lane.drain();
    old.respond(&asked.id(), json!({"result": "by a"}));
    let answer = old_lane.expect_request(HANDLE_TOOL);
    assert_eq!(answer.params(), &json!({"sessionId": "s1", "requestId": "r-1", "result": "by a"}));
}

#[test]
fn a_dead_protocol_3_clients_questions_fail_for_a_protocol_2_runtime_when_the_grace_time_is_over() {
    let world = World::with_config(2, NO_GRACE);
    let (mut client, mut lane) = world.open_as("a", 3);
    create(&mut client, &mut lane, "s1", with_save());
    let tool = lane.request("tool.call", tool_call("s1"));
    shown(&mut client);
    let permission = lane.request("permission.request", json!({"sessionId": "s1", "permissionRequest": {"kind": "shell"}}));
    client.expect_event("permission.requested");
    client.close();
    let mut answers = [lane.next(), lane.next()];
    answers.sort_by_key(|answer| answer.value["id"].as_i64());
    assert_disconnected(&answers[0], tool);
    assert_disconnected(&answers[1], permission);
}

#[test]
fn a_protocol_3_client_that_comes_back_answers_a_protocol_2_runtimes_old_question() {
    let world = World::with_config(2, LONG_GRACE);
    let (mut client, mut lane) = world.open_as("a", 3);
    create(&mut client, &mut lane, "s1", with_save());
    let asked = lane.request("tool.call", tool_call("s1"));
    let request = shown(&mut client);
    client.close();
    let (mut again, mut new_lane) = world.open_as("a again", 3);
    resume(&mut again, &mut new_lane, "s1", with_save());
    assert_eq!(shown(&mut again), request, "the same question under another id");
    answers(&mut again, &mut lane, asked, &request, "late but here");
}

#[test]
fn a_dead_protocol_2_clients_question_is_answered_by_the_protocol_3_client_that_saw_it() {
    let world = World::with_config(2, NO_GRACE);
    let (mut old, mut old_lane) = world.open_as("a", 2);
    let (mut new, mut new_lane) = world.open_as("b", 3);
    create(&mut old, &mut old_lane, "s1", with_save());
    resume(&mut new, &mut new_lane, "s1", with_save());
    let asked = old_lane.request("tool.call", tool_call("s1"));
    old.expect_request("tool.call");
    let request = shown(&mut new);
    old.close();
    answers(&mut new, &mut old_lane, asked, &request, "by b");
}

#[test]
fn a_dead_protocol_3_clients_question_goes_to_the_protocol_2_client_that_is_left() {
    let world = World::with_config(2, LONG_GRACE);
    let (mut old, mut old_lane) = world.open_as("a", 2);
    let (mut new, mut new_lane) = world.open_as("b", 3);
    create(&mut old, &mut old_lane, "s1", with_save());
    resume(&mut new, &mut new_lane, "s1", with_save());
    let asked = new_lane.request("tool.call", tool_call("s1"));
    shown(&mut new);
    new.close();
    let handed_on = old.expect_request("tool.call");
    assert_eq!(handed_on.params(), &tool_call("s1"));
    old.respond(&handed_on.id(), json!({"result": "by a"}));
    assert_eq!(new_lane.expect_result(asked), json!({"result": "by a"}));
}

#[test]
fn a_protocol_3_clients_shutdown_never_reaches_a_protocol_2_runtime() {
    let world = World::start(2);
    let (mut leaving, mut leaving_lane) = world.open_as("a", 3);
    let (mut staying, mut staying_lane) = world.open_as("b", 3);
    let id = leaving.request("runtime.shutdown", json!({}));
    assert_eq!(leaving.expect_result(id), Value::Null);
    leaving.expect_closed();
    assert!(leaving_lane.drain().is_empty(), "the runtime was told of it");
    create(&mut staying, &mut staying_lane, "s1", json!({}));
}
