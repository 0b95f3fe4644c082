//! `subagentd demo`: a parent with two sub-agents, no API key and no network. The client and the runtime are
//! scripted; what stands between them is the real thing.

use super::{Outcome, print};
use crate::daemon::block_on;
use crate::gateway::Hub;
use crate::protocol::names;
use crate::routing::{Door, Principal, Router, Settings};
use crate::rpc::FrameLimits;
use crate::rpc::peer::Peer;
use crate::runtime::Dialler;
use crate::transport::memory;
use serde_json::{Value, json};
use tokio::task::spawn_local;

const SESSION: &str = "demo-session";

/// Plays the scenario and draws the tree as it grows.
pub fn run() -> Outcome {
    block_on(play())?.map_err(Into::into)
}

async fn play() -> Result<(), String> {
    let dialler = Dialler::in_process(|| {
        let (ours, theirs) = memory::pair();
        spawn_local(async move {
            if let Err(why) = runtime(Peer::new(theirs.reader, theirs.writer)).await {
                tracing::debug!("the scripted runtime ended: {why}");
            }
        });
        ours
    });
    let settings = Settings { runtime: "demo".into(), ..Settings::default() };
    let hub = Hub::new(Router::new(settings), dialler, FrameLimits::default(), 128);
    let (front, here) = memory::pair();
    spawn_local(hub.serve(front, Door { principal: Principal::new("demo"), token: None }));
    client(Peer::new(here.reader, here.writer)).await
}

/// What an SDK program does: opens a session with a tool and two agents, prompts, answers what it is asked.
async fn client(mut daemon: Peer) -> Result<(), String> {
    print("A scripted client and a scripted runtime, with the real router between them.\n");
    daemon.call(names::CONNECT, &json!({})).await?;
    let options = json!({
        "sessionId": SESSION, "requestPermission": true,
        "tools": [{"name": "save_note", "description": "keeps a note", "parameters": {"type": "object"}}],
        "customAgents": [{"name": "reviewer", "prompt": "review", "tools": ["save_note"]}, {"name": "reader", "prompt": "read", "tools": []}],
    });
    daemon.call(names::SESSION_CREATE, &options).await?;
    print(&format!("session {SESSION}: you have the tool save_note; agent reviewer may call it, agent reader may not"));
    daemon.request(names::SESSION_SEND, &json!({"sessionId": SESSION, "prompt": "review and read"})).await?;
    loop {
        let message = daemon.next().await?;
        let event = &message["params"]["event"];
        let (data, agent) = (&event["data"], event["agentId"].as_str().unwrap_or("main agent"));
        match event["type"].as_str().unwrap_or_default() {
            names::SUBAGENT_STARTED => print(&format!("├─ {} started, child session {agent}", text(&data["agentName"]))),
            names::EXTERNAL_TOOL_REQUESTED => {
                print(&format!("│  ├─ {agent} calls {} {}", text(&data["toolName"]), data["arguments"]));
                print("│  │    → routed to your handler, which answers \"saved\"");
                let answer = json!({"sessionId": message["params"]["sessionId"], "requestId": data["requestId"], "result": "saved"});
                daemon.request(names::HANDLE_TOOL, &answer).await?;
            }
            names::PERMISSION_REQUESTED => {
                print(&format!("│  ├─ {agent} asks leave to {}", text(&data["permissionRequest"]["intention"])));
                print("│  │    → routed to your handler, which approves");
                let answer = json!({"sessionId": SESSION, "requestId": data["requestId"], "result": {"kind": "approve-once"}});
                daemon.request(names::HANDLE_PERMISSION, &answer).await?;
            }
            names::TOOL_EXECUTION_COMPLETE if data["success"] == false => {
                print(&format!(
                    "│  ├─ {agent} called save_note\n│  │    → refused, you never heard of it: {}",
                    text(&data["result"]["content"])
                ));
            }
            names::SUBAGENT_COMPLETED => print(&format!("│  └─ {agent} completed")),
            names::ASSISTANT_MESSAGE => print(&format!("└─ {agent}: {}", text(&data["content"]))),
            names::SESSION_IDLE => break,
            _ => {}
        }
    }
    print(
        "\nPut it between your own program and its runtime:\n  SUBAGENTD_RUNTIME=exec:copilot COPILOT_CLI_PATH=$(command -v subagentd) node app.js",
    );
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What a runtime does: answers the handshake, and when prompted delegates to both agents.
async fn runtime(mut daemon: Peer) -> Result<(), String> {
    loop {
        let request = daemon.next().await?;
        match request["method"].as_str().unwrap_or_default() {
            names::CONNECT => {
                daemon.answer(&request, json!({"ok": true, "protocolVersion": 3, "version": "demo", "taskKinds": []})).await?
            }
            names::SESSION_SEND => {
                daemon.answer(&request, json!({"messageId": "m1"})).await?;
                delegate(&mut daemon, "reviewer", "child-1", true).await?;
                delegate(&mut daemon, "reader", "child-2", false).await?;
                tell(&mut daemon, None, names::ASSISTANT_MESSAGE, json!({"content": "Both agents are done."})).await?;
                tell(&mut daemon, None, names::SESSION_IDLE, json!({})).await?;
            }
            names::SESSION_CREATE => daemon.answer(&request, json!({"sessionId": SESSION})).await?,
            _ => {}
        }
    }
}

async fn delegate(daemon: &mut Peer, agent: &str, child: &str, asks: bool) -> Result<(), String> {
    let task = format!("task-{agent}");
    tell(daemon, Some(child), names::SUBAGENT_STARTED, json!({"toolCallId": task, "agentName": agent, "remoteSessionId": child})).await?;
    if asks {
        let act = json!({"kind": "write", "intention": "write notes.md"});
        tell(daemon, Some(child), names::PERMISSION_REQUESTED, json!({"requestId": format!("p-{agent}"), "permissionRequest": act}))
            .await?;
        answered(daemon).await?;
    }
    let call = json!({"requestId": format!("r-{agent}"), "sessionId": child, "toolCallId": "c", "toolName": "save_note", "arguments": {"text": "done"}});
    tell(daemon, Some(child), names::EXTERNAL_TOOL_REQUESTED, call).await?;
    let answer = answered(daemon).await?;
    let refused = &answer["result"]["textResultForLlm"];
    let result = json!({"toolCallId": "c", "success": refused.is_null(), "result": {"content": refused}});
    tell(daemon, Some(child), names::TOOL_EXECUTION_COMPLETE, result).await?;
    tell(daemon, Some(child), names::SUBAGENT_COMPLETED, json!({"toolCallId": task, "agentName": agent})).await
}

/// The answer to the question asked last.
async fn answered(daemon: &mut Peer) -> Result<Value, String> {
    let mut request = daemon.next().await?;
    daemon.answer(&request, json!({"success": true})).await?;
    Ok(request["params"].take())
}

async fn tell(daemon: &mut Peer, agent: Option<&str>, kind: &str, data: Value) -> Result<(), String> {
    let mut event = json!({"type": kind, "data": data, "id": uuid::Uuid::new_v4().to_string(), "parentId": null});
    if let Some(agent) = agent {
        event["agentId"] = agent.into();
    }
    daemon.send(&json!({"jsonrpc": "2.0", "method": names::SESSION_EVENT, "params": {"sessionId": SESSION, "event": event}})).await
}
