//! Hooks that cross the bridge: their forms, which of them are asked, and which of their results count.

use super::bridging::Bridge;
use super::pending::{Ask, Asked};
use super::ports::PortId;
use super::router::Router;
use super::sessions::SessionKey;
use crate::bridge::{drift, v2_client, v3_client};
use crate::protocol::fields::DATA;
use crate::protocol::{V3, names};
use crate::rpc::message::RESULT;
use crate::rpc::{Message, write};
use serde_json::{Map, Value, json};

impl Router {
    /// Protocol 2 runs `sessionStart` and `sessionEnd` with every prompt, protocol 3 once: what the runtime
    /// leaves out is run by us.
    pub(super) fn boundary_hooks(&mut self, client: PortId, key: SessionKey, kind: &str, message: &Message) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let id = session.id.to_string();
        let Some(boundary) = session.attachment_mut(client).map(|a| &mut a.boundary) else { return };
        let params = match kind {
            names::USER_MESSAGE => {
                boundary.ended = false;
                if !boundary.started || boundary.start_is_fresh {
                    return;
                }
                let prompt: Value = message.raw(DATA).and_then(|d| serde_json::from_slice(d).ok()).unwrap_or_default();
                v2_client::boundary_hook(&id, "sessionStart", json!({"source": "new", "initialPrompt": prompt["content"]}))
            }
            names::SESSION_IDLE => {
                boundary.start_is_fresh = false;
                if std::mem::replace(&mut boundary.ended, true) {
                    return;
                }
                v2_client::boundary_hook(&id, "sessionEnd", json!({"reason": "complete"}))
            }
            _ => return,
        };
        let Some(state) = self.client_mut(client) else { return };
        let number = state.asked.open(Asked::Courtesy);
        self.send(client, &write::request(number, names::HOOKS_INVOKE, &params));
    }

    /// Puts a hook to a client in the form that it knows; a hook that it would not be asked is no opinion.
    pub(super) fn put_hook(&mut self, key: usize, client: PortId, bridge: Bridge) {
        let Some(ask) = self.asks.get(key) else { return };
        let (lane, params) = (ask.lane, ask.request.params());
        let hook: Value = serde_json::from_slice(params).unwrap_or_default();
        let hook = hook["hookType"].as_str().unwrap_or_default();
        let is_v3 = self.lane(lane).is_some_and(|l| l.protocol >= V3);
        let translated = match bridge {
            Bridge::None => match drift::hook_params(params).filter(|_| is_v3) {
                Some(params) => Some(params),
                None => return self.put_request(key, client),
            },
            Bridge::V2Client => v2_client::hook_params(params),
            Bridge::V3Client => Some(v3_client::hook_params(params)),
        };
        let session = ask.session.and_then(|s| self.sessions.get_mut(s));
        let registered = session.as_ref().map(|s| s.id.to_string());
        let boundary = session.and_then(|s| s.attachment_mut(client)).map(|a| &mut a.boundary);
        let unwanted = match (hook, boundary) {
            ("sessionStart", Some(boundary)) => {
                boundary.start_is_fresh = true;
                std::mem::replace(&mut boundary.started, true) && bridge == Bridge::V3Client
            }
            ("sessionEnd", Some(boundary)) => std::mem::replace(&mut boundary.ended, true) && bridge != Bridge::None,
            _ => false,
        };
        let translated = translated.map(|params| with_session(params, registered.as_deref()));
        let Some(params) = translated.filter(|_| !unwanted) else {
            let Some(ask) = self.take_ask(key) else { return };
            return self.send(lane, &write::result(ask.request.id(), b"{}"));
        };
        let Some(state) = self.client_mut(client) else { return };
        let number = state.asked.open(Asked::Ask(key));
        if let Some(ask) = self.asks.get_mut(key) {
            ask.asked = Some((client, number));
        }
        self.send(client, &write::request(number, names::HOOKS_INVOKE, &params));
    }

    /// The answer to a hook that crossed the bridge.
    pub(super) fn answer_hook(&mut self, client: PortId, ask: &Ask, response: &Message) {
        match (self.bridge(client, ask.lane), response.raw(RESULT)) {
            (Bridge::V2Client, Some(result)) => self.send(ask.lane, &write::result(ask.request.id(), &v2_client::hook_result(result))),
            (_, result) => {
                self.note_leave(ask, result);
                self.send_with_id(ask.lane, response, ask.request.id());
            }
        }
    }

    /// A protocol 2 runtime asks for permission though a `preToolUse` hook gave leave: we remember what the hook
    /// said of this call, and no longer what it said of an earlier one.
    fn note_leave(&mut self, ask: &Ask, result: Option<&[u8]>) {
        let asked: Value = serde_json::from_slice(ask.request.params()).unwrap_or_default();
        let (Some(tool), Some(session)) = (asked["input"]["toolName"].as_str(), ask.session.and_then(|s| self.sessions.get_mut(s))) else {
            return;
        };
        session.bridged.allowed.retain(|allowed| allowed != tool);
        let output: Value = result.and_then(|r| serde_json::from_slice(r).ok()).unwrap_or_default();
        if asked["hookType"] == "preToolUse" && output["output"]["permissionDecision"] == "allow" {
            session.bridged.allowed.push(tool.to_owned());
        }
    }
}

/// A child's hook reaches the client under the session id that the client registered.
fn with_session(params: Vec<u8>, registered: Option<&str>) -> Vec<u8> {
    match (serde_json::from_slice::<Map<String, Value>>(&params), registered) {
        (Ok(mut map), Some(id)) if map.get("sessionId").is_some_and(|used| used != id) => {
            map.insert("sessionId".into(), id.into());
            write::json(&map)
        }
        _ => params,
    }
}
