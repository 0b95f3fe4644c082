//! `exec:` in the shared daemon: one pipe to the runtime, many clients on it.

use serde_json::json;

use crate::stdio_runtime::StdioRuntime;
use crate::support::conn::Conn;
use crate::support::daemon::Daemon;
use crate::support::runtime::Lane;
use crate::support::world::{create, resume, say_hello, temp_home};

/// A daemon with two clients that have said hello on one lane.
fn two_clients(home: &std::path::Path) -> (Daemon, Conn, Conn, Lane) {
    let runtime = StdioRuntime::new(home, 3);
    let config = "[reconnect]\ngrace_ms = 0\n";
    let daemon = Daemon::serve(home, &runtime.spec(), Some(config));
    let mut a = daemon.dial("a");
    let hello = say_hello(&mut a, 3);
    let lane = runtime.greeted_lane(&mut a, hello);
    let mut b = daemon.dial("b");
    let hello = say_hello(&mut b, 3);
    assert_eq!(b.expect_result(hello)["protocolVersion"], 3, "the second client needs no handshake of its own");
    (daemon, a, b, lane)
}

#[test]
fn answers_and_events_find_their_own_client() {
    let home = temp_home();
    let (_daemon, mut a, mut b, mut lane) = two_clients(home.path());
    create(&mut a, &mut lane, "s1", json!({}));
    create(&mut b, &mut lane, "s2", json!({}));
    // Both use the same ids, and the runtime answers the second first.
    let (first, second) = (a.request("models.list", json!({"of": "a"})), b.request("models.list", json!({"of": "b"})));
    let (one, two) = (lane.expect_request("models.list"), lane.expect_request("models.list"));
    assert_ne!(one.id(), two.id());
    lane.respond(&two.id(), two.params().clone());
    lane.respond(&one.id(), one.params().clone());
    assert_eq!((a.expect_result(first), b.expect_result(second)), (json!({"of": "a"}), json!({"of": "b"})));
    lane.event("s1", json!({"type": "assistant.message", "data": {"content": "for a"}}));
    lane.event("s2", json!({"type": "assistant.message", "data": {"content": "for b"}}));
    assert_eq!(a.expect_event("assistant.message").params()["event"]["data"]["content"], "for a");
    assert_eq!(b.expect_event("assistant.message").params()["event"]["data"]["content"], "for b");
    let id = b.request("session.getMessages", json!({"sessionId": "s1"}));
    assert_eq!(b.expect_error(id)["message"], "unknown session s1");
}

#[test]
fn those_attached_to_one_session_all_hear_it_and_the_first_answer_counts() {
    let home = temp_home();
    let (_daemon, mut a, mut b, mut lane) = two_clients(home.path());
    create(&mut a, &mut lane, "s1", json!({}));
    resume(&mut b, &mut lane, "s1", json!({}));
    let data = json!({"requestId": "r1", "sessionId": "s1", "toolCallId": "c", "toolName": "t", "arguments": {}});
    lane.event("s1", json!({"type": "external_tool.requested", "data": data}));
    a.expect_event("external_tool.requested");
    b.expect_event("external_tool.requested");
    let answer = |from: &str| json!({"sessionId": "s1", "requestId": "r1", "result": from});
    let first = b.request("session.tools.handlePendingToolCall", answer("b"));
    let seen = lane.expect_request("session.tools.handlePendingToolCall");
    let late = a.request("session.tools.handlePendingToolCall", answer("a"));
    assert_eq!(a.expect_result(late), json!({"success": false}));
    assert_eq!(seen.params()["result"], "b");
    lane.respond(&seen.id(), json!({"success": true}));
    assert_eq!(b.expect_result(first), json!({"success": true}));
}

#[test]
fn one_clients_leaving_is_not_everyones() {
    let home = temp_home();
    let (_daemon, mut a, mut b, mut lane) = two_clients(home.path());
    create(&mut a, &mut lane, "s1", json!({}));
    resume(&mut b, &mut lane, "s1", json!({}));
    let id = a.request("session.detach", json!({"sessionId": "s1"}));
    assert_eq!(a.expect_result(id), json!({"success": true}), "answered without the runtime");
    lane.event("s1", json!({"type": "assistant.message", "data": {"content": "still here"}}));
    b.expect_event("assistant.message");
    let id = a.request("runtime.shutdown", json!({}));
    assert!(a.expect_result(id).is_null());
    a.expect_closed();
    // The last one's leaving the runtime is told, also when it leaves without a word.
    b.close();
    let told = lane.expect_request("session.detach");
    assert_eq!(told.params(), &json!({"sessionId": "s1"}));
}

#[test]
fn a_session_whose_client_chose_no_id_is_given_one_so_that_its_first_events_find_it() {
    let home = temp_home();
    let (_daemon, mut a, _b, mut lane) = two_clients(home.path());
    let id = a.request("session.create", json!({"model": "m"}));
    let asked = lane.expect_request("session.create");
    let session = asked.params()["sessionId"].as_str().expect("an id was chosen").to_owned();
    lane.event(&session, json!({"type": "session.start", "data": {}}));
    a.expect_event("session.start");
    lane.respond(&asked.id(), json!({"sessionId": session}));
    assert_eq!(a.expect_result(id)["sessionId"], *session);
}
