//! The scripted runtime: a Unix socket that the daemon dials, with the test on the other end.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::{Value, json};

use super::conn::{AutoAnswers, Conn};
use super::deadline;

/// One connection from the daemon. A `ping` is answered without the test's help: whether the
/// daemon answers a client's `ping` itself or passes it on is its own business.
pub type Lane = Conn;

pub struct ScriptedRuntime {
    path: PathBuf,
    active: Receiver<Lane>,
}

impl ScriptedRuntime {
    /// A runtime of this protocol: protocol 3 has `connect`, protocol 2 has none.
    pub fn listen(path: &Path, protocol: u64) -> Self {
        Self::answering(path, pong(protocol))
    }

    /// A runtime that answers these by itself.
    pub fn answering(path: &Path, auto: AutoAnswers) -> Self {
        let listener = UnixListener::bind(path).unwrap_or_else(|error| panic!("cannot listen at {}: {error}", path.display()));
        let (activate, active) = mpsc::channel();
        thread::Builder::new()
            .name("runtime accept".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    let Ok(stream) = stream else { return };
                    let (activate, auto) = (activate.clone(), auto.clone());
                    // A lane counts from its first message on: the daemon may dial for clients that never speak.
                    thread::spawn(move || {
                        let (first, spoke) = mpsc::channel::<()>();
                        let on_first = Box::new(move || first.send(()).expect("this thread waits for it"));
                        let lane = socket_conn("lane", stream, auto, Some(on_first));
                        if spoke.recv().is_ok() {
                            let _ = activate.send(lane);
                        }
                    });
                }
            })
            .expect("an accepting thread");
        Self { path: path.to_owned(), active }
    }

    /// What `--runtime` says to reach this runtime.
    pub fn spec(&self) -> String {
        format!("unix:{}", self.path.display())
    }

    /// The next lane on which the daemon has said something.
    pub fn try_lane(&self, name: &str) -> Result<Lane, String> {
        let mut lane = self
            .active
            .recv_timeout(deadline())
            .map_err(|_| format!("lane {name}: the daemon sent nothing to the runtime in {:?}", deadline()))?;
        lane.rename(&format!("lane {name}"));
        Ok(lane)
    }

    pub fn lane(&self, name: &str) -> Lane {
        self.try_lane(name).unwrap_or_else(|why| panic!("{why}"))
    }

    /// From now on nobody can dial this runtime. Lanes that exist stay.
    pub fn stop_listening(&self) {
        std::fs::remove_file(&self.path).expect("the runtime's socket can be removed");
    }
}

/// What a runtime of this protocol answers by itself.
pub fn pong(protocol: u64) -> AutoAnswers {
    match protocol {
        3 => AutoAnswers::from([(
            "ping".to_owned(),
            json!({"message": "pong", "timestamp": "2026-11-15T23:55:36.722Z", "protocolVersion": 3}),
        )]),
        _ => pong_without_connect(protocol, "0.0.420"),
    }
}

/// What a runtime without `connect` answers by itself. It tells its version by `status.get` only, so whether the
/// daemon asks for that is its own business too.
pub fn pong_without_connect(protocol: u64, version: &str) -> AutoAnswers {
    AutoAnswers::from([
        ("ping".to_owned(), json!({"message": "pong", "timestamp": 1_794_786_936_722_u64, "protocolVersion": protocol})),
        ("status.get".to_owned(), json!({"version": version, "protocolVersion": protocol})),
    ])
}

/// A runtime's side of the daemon's handshake, as a runtime of this protocol answers it.
pub fn shake_hands(lane: &mut Lane, protocol: u64) -> Result<(), String> {
    answer_connect(lane, protocol == 3)
}

/// A runtime's side of the daemon's handshake, with or without `connect`.
pub fn answer_connect(lane: &mut Lane, connect: bool) -> Result<(), String> {
    let hello = lane.try_next()?;
    if hello.method() != Some("connect") || !hello.is_request() {
        return Err(format!("{}: expected the daemon's connect, but this arrived: {}", lane.name(), hello.text));
    }
    if connect {
        lane.respond(&hello.id(), connected());
    } else {
        lane.respond_error(&hello.id(), -32601, "Unhandled method connect");
    }
    Ok(())
}

/// The scripted runtime's answer to `connect`.
pub fn connected() -> Value {
    json!({"ok": true, "protocolVersion": 3, "version": "test", "taskKinds": ["agent"]})
}

pub fn socket_conn(name: &str, stream: UnixStream, auto: AutoAnswers, on_first: Option<Box<dyn FnOnce() + Send>>) -> Conn {
    // A peer that stops reading fails the test instead of stopping it.
    stream.set_write_timeout(Some(deadline())).expect("a socket option");
    let source = stream.try_clone().expect("a second handle on a socket");
    let closer = stream.try_clone().expect("a third handle on a socket");
    let hang_up = Box::new(move || drop(closer.shutdown(std::net::Shutdown::Both)));
    Conn::new(name, Box::new(source), Box::new(stream), Some(hang_up), auto, on_first)
}
