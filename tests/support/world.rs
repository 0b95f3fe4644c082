//! A scripted runtime, the daemon in front of it, and clients that have shaken hands.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::conn::Conn;
use super::daemon::Daemon;
use super::runtime::{Lane, ScriptedRuntime, answer_connect, pong_without_connect};

pub struct World {
    /// What the runtime speaks.
    pub protocol: u64,
    /// Whether the runtime has `connect`.
    connect: bool,
    // Dropped first: the daemon must be gone before its socket's folder is.
    pub daemon: Daemon,
    pub runtime: ScriptedRuntime,
    home: TempDir,
}

impl World {
    pub fn start(protocol: u64) -> Self {
        Self::with_config(protocol, None)
    }

    pub fn with_config(protocol: u64, config: Option<&str>) -> Self {
        let home = temp_home();
        let runtime = ScriptedRuntime::listen(&home.path().join("rt.sock"), protocol);
        Self::around(protocol, protocol == 3, home, runtime, config)
    }

    /// A runtime like CLI 1.0.20: protocol 3 without `connect`.
    pub fn without_connect(config: Option<&str>) -> Self {
        let home = temp_home();
        let runtime = ScriptedRuntime::answering(&home.path().join("rt.sock"), pong_without_connect(3, "1.0.20"));
        Self::around(3, false, home, runtime, config)
    }

    fn around(protocol: u64, connect: bool, home: TempDir, runtime: ScriptedRuntime, config: Option<&str>) -> Self {
        let daemon = Daemon::serve(home.path(), &runtime.spec(), config);
        Self { protocol, connect, daemon, runtime, home }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A client that has said hello, and its lane. It speaks what the runtime does.
    pub fn open(&self, name: &str) -> (Conn, Lane) {
        self.open_as(name, self.protocol)
    }

    /// The same for a client that may speak another protocol than the runtime.
    pub fn open_as(&self, name: &str, protocol: u64) -> (Conn, Lane) {
        self.try_open(name, protocol).unwrap_or_else(|why| panic!("{why}"))
    }

    pub fn try_open(&self, name: &str, protocol: u64) -> Result<(Conn, Lane), String> {
        let mut client = self.daemon.dial(name);
        let id = say_hello(&mut client, protocol);
        let mut lane = self.runtime.try_lane(name)?;
        answer_connect(&mut lane, self.connect)?;
        let answer = client.try_next()?;
        if answer.value["id"] != id || answer.value["result"]["protocolVersion"] != protocol {
            return Err(format!("client {name}: expected a handshake for protocol {protocol}, but this arrived: {}", answer.text));
        }
        Ok((client, lane))
    }
}

/// The first thing an SDK of this protocol says.
pub fn say_hello(client: &mut Conn, protocol: u64) -> i64 {
    match protocol {
        3 => client.request("connect", json!({"supportedTaskKinds": ["agent", "client", "shell"]})),
        _ => client.request("ping", json!({})),
    }
}

pub fn temp_home() -> TempDir {
    tempfile::Builder::new().prefix("subagentd-").tempdir().expect("a temporary folder")
}

/// A call that the runtime answers: the client asks, the lane sees it and says `result`, the client gets it.
/// Returns what the lane saw.
pub fn call(client: &mut Conn, lane: &mut Lane, method: &str, params: Value, result: Value) -> Value {
    let id = client.request(method, params);
    let seen = lane.expect_request(method);
    lane.respond(&seen.id(), result.clone());
    assert_eq!(client.expect_result(id), result, "the result of {method}");
    seen.params().clone()
}

/// Creates a session with these extra params.
pub fn create(client: &mut Conn, lane: &mut Lane, session: &str, extra: Value) {
    let mut params = json!({"sessionId": session, "requestPermission": true, "envValueMode": "direct"});
    merge(&mut params, extra);
    call(client, lane, "session.create", params, json!({"sessionId": session, "workspacePath": "/w"}));
}

/// Attaches to a session that exists.
pub fn resume(client: &mut Conn, lane: &mut Lane, session: &str, extra: Value) {
    let mut params = json!({"sessionId": session, "requestPermission": true});
    merge(&mut params, extra);
    call(client, lane, "session.resume", params, json!({"sessionId": session, "workspacePath": "/w"}));
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

/// Nothing has reached the client since it was last looked at. The runtime says a word that is
/// ordered behind whatever it said before, and that word is the next thing the client hears.
pub fn client_is_quiet(client: &mut Conn, lane: &mut Lane) {
    lane.notify("test.marker", json!({"to": "client"}));
    client.expect_notification("test.marker");
}

/// Nothing has reached the runtime on this lane since it was last looked at.
pub fn lane_is_quiet(client: &mut Conn, lane: &mut Lane) {
    client.notify("test.marker", json!({"to": "runtime"}));
    lane.expect_notification("test.marker");
}

/// A session tool as an SDK declares it.
pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("the tool {name}"), "parameters": {"type": "object", "properties": {"key": {"type": "string"}}}})
}
