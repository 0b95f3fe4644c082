//! A client that does not read costs a bounded amount of memory, its own connection, and nobody else anything.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::json;

use crate::support::deadline;
use crate::support::frame::frame;
use crate::support::runtime::shake_hands;
use crate::support::world::{World, call, create};

const MIB: u64 = 1024 * 1024;

#[test]
fn a_client_that_does_not_read_is_cut_off_and_nobody_else_notices() {
    let world = World::with_config(3, Some("[limits]\nqueue_bytes = 1048576\n"));
    let (mut bystander, mut bystanders_lane) = world.open("bystander");
    create(&mut bystander, &mut bystanders_lane, "s2", json!({}));

    let mut sleeper = UnixStream::connect(world.daemon.socket()).unwrap();
    sleeper.write_all(&frame(br#"{"jsonrpc":"2.0","id":1,"method":"connect","params":{}}"#)).unwrap();
    let mut lane = world.runtime.lane("sleeper");
    shake_hands(&mut lane, 3).unwrap();
    sleeper.write_all(&frame(br#"{"jsonrpc":"2.0","id":2,"method":"session.create","params":{"sessionId":"s1"}}"#)).unwrap();
    let created = lane.expect_request("session.create");
    lane.respond(&created.id(), json!({"sessionId": "s1"}));

    world.daemon.forget_peak();
    let before = world.daemon.resident();
    let text = "x".repeat(16 * 1024);
    let event = json!({"type": "assistant.message_delta", "data": {"deltaContent": text}});
    let message = json!({"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": "s1", "event": event}});
    let bytes = frame(message.to_string().as_bytes());
    // 64 MiB for a client that reads none of it, unless the daemon hangs up first.
    for round in 0..4096 {
        if lane.try_send_bytes(&bytes).is_err() {
            break;
        }
        if round % 64 == 0 {
            call(
                &mut bystander,
                &mut bystanders_lane,
                "session.send",
                json!({"sessionId": "s2", "prompt": "x"}),
                json!({"messageId": "m"}),
            );
        }
    }
    call(&mut bystander, &mut bystanders_lane, "session.send", json!({"sessionId": "s2", "prompt": "x"}), json!({"messageId": "m"}));
    let grown = world.daemon.peak().saturating_sub(before);
    assert!(grown < 8 * MIB, "a queue of 1 MiB made the daemon grow by {grown} bytes");

    // What the socket itself held may still be read; then it is over.
    sleeper.set_read_timeout(Some(deadline())).unwrap();
    let mut left = Vec::new();
    match sleeper.read_to_end(&mut left) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "the sleeper was not cut off: {error}"),
    }
    assert!(left.len() < 8 * 1024 * 1024, "the sleeper was sent {} bytes", left.len());
}
