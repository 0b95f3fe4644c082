//! Whole conversations in one process: a client, the hub and a runtime, over in-memory streams.

use super::Hub;
use crate::daemon::block_on;
use crate::routing::{Door, Principal, Router, Settings};
use crate::rpc::FrameLimits;
use crate::rpc::peer::Peer;
use crate::runtime::Dialler;
use crate::transport::{Stream, memory};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::task::spawn_local;

/// A client with a session `s` that has the tool `save` and the agent `helper`, and the runtime's end of its lane.
async fn session(protocol: u64) -> (Peer, Peer) {
    let lanes: Rc<RefCell<VecDeque<Stream>>> = Rc::default();
    let dialled = lanes.clone();
    let dialler = Dialler::in_process(move || {
        let (ours, theirs) = memory::pair();
        dialled.borrow_mut().push_back(theirs);
        ours
    });
    let settings = Settings { dial_at_once: true, ..Settings::default() };
    let hub = Hub::new(Router::new(settings), dialler, FrameLimits::default(), 128);
    let (front, client) = memory::pair();
    spawn_local(hub.serve(front, Door { principal: Principal::new("test"), token: None }));
    let mut client = Peer::new(client.reader, client.writer);
    let hello = if protocol == 3 { "connect" } else { "ping" };
    client.send(&json!({"jsonrpc": "2.0", "id": "hello", "method": hello, "params": {}})).await.unwrap();
    let lane = loop {
        let dialled = lanes.borrow_mut().pop_front();
        match dialled {
            Some(lane) => break lane,
            None => tokio::task::yield_now().await,
        }
    };
    let mut lane = Peer::new(lane.reader, lane.writer);
    let connect = lane.next().await.unwrap();
    if protocol == 3 {
        lane.answer(&connect, json!({"ok": true, "protocolVersion": 3, "version": "t", "taskKinds": []})).await.unwrap();
    } else {
        lane.send(&json!({"jsonrpc": "2.0", "id": connect["id"], "error": {"code": -32601, "message": "Unhandled method connect"}}))
            .await
            .unwrap();
        for _ in 0..2 {
            let ping = lane.next().await.unwrap();
            lane.answer(&ping, json!({"message": "pong", "timestamp": 0, "protocolVersion": 2})).await.unwrap();
        }
    }
    assert_eq!(client.next().await.unwrap()["result"]["protocolVersion"], protocol);
    let params = json!({"sessionId": "s", "tools": [{"name": "save"}], "customAgents": [{"name": "helper", "tools": ["save"]}]});
    client.send(&json!({"jsonrpc": "2.0", "id": "create", "method": "session.create", "params": params})).await.unwrap();
    let create = lane.next().await.unwrap();
    lane.answer(&create, json!({"sessionId": "s"})).await.unwrap();
    assert_eq!(client.next().await.unwrap()["id"], "create");
    let data = json!({"remoteSessionId": "child", "toolCallId": "t", "agentName": "helper"});
    lane.send(&event(json!({"type": "subagent.started", "data": data}))).await.unwrap();
    assert_eq!(client.next().await.unwrap()["params"]["event"]["agentId"], "child");
    (client, lane)
}

fn event(event: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": "s", "event": event}})
}

#[test]
fn a_childs_tool_call_is_answered_by_its_roots_client() {
    let conversation = async {
        let (mut client, mut lane) = session(2).await;
        let call = json!({"sessionId": "child", "toolCallId": "c", "toolName": "save", "arguments": {}});
        lane.send(&json!({"jsonrpc": "2.0", "id": 71, "method": "tool.call", "params": call})).await.unwrap();
        let asked = client.next().await.unwrap();
        assert_eq!((&asked["method"], &asked["params"]["sessionId"]), (&json!("tool.call"), &json!("s")));
        client.answer(&asked, json!({"result": "saved"})).await.unwrap();
        assert_eq!(lane.next().await.unwrap(), json!({"jsonrpc": "2.0", "id": 71, "result": {"result": "saved"}}));
    };
    block_on(conversation).unwrap();
}

#[test]
fn a_childs_tool_that_is_not_on_its_list_is_refused_by_event_and_its_client_never_hears_of_it() {
    let conversation = async {
        let (mut client, mut lane) = session(3).await;
        let data = |request: &str, tool: &str| json!({"requestId": request, "sessionId": "child", "toolCallId": "c", "toolName": tool, "arguments": {}});
        lane.send(&event(json!({"type": "external_tool.requested", "agentId": "child", "data": data("r1", "erase")}))).await.unwrap();
        let refused = lane.next().await.unwrap();
        assert_eq!(refused["method"], "session.tools.handlePendingToolCall");
        assert_eq!(refused["params"]["result"]["textResultForLlm"], "Tool 'erase' is not supported by this client instance.");
        lane.send(&event(json!({"type": "external_tool.requested", "agentId": "child", "data": data("r2", "save")}))).await.unwrap();
        let asked = client.next().await.unwrap();
        assert_eq!(
            (&asked["params"]["event"]["data"]["requestId"], &asked["params"]["event"]["data"]["sessionId"]),
            (&json!("r2"), &json!("s"))
        );
    };
    block_on(conversation).unwrap();
}
