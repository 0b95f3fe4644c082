//! What others may send, and what we send.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::json;

use crate::support::deadline;
use crate::support::frame::frame;
use crate::support::runtime::shake_hands;
use crate::support::world::World;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note","params":{"é":"😀"}}"#;

#[test]
fn a_lower_case_name_and_a_content_type_are_accepted() {
    let world = World::start(3);
    let (client, mut lane) = world.open("a");
    let n = NOTE.len();
    let headers = [
        format!("content-length: {n}\r\n\r\n"),
        format!("CONTENT-LENGTH: {n}\r\n\r\n"),
        format!("Content-Length:{n}\r\n\r\n"),
        format!("Content-Length: {n}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"),
        format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {n}\r\n\r\n"),
        format!("content-type: x\r\ncontent-length: {n}\r\n\r\n"),
    ];
    for header in headers {
        client.send_bytes(format!("{header}{NOTE}").as_bytes());
        let seen = lane.try_next().unwrap_or_else(|why| panic!("{header:?}: {why}"));
        assert_eq!(seen.params(), &json!({"é": "😀"}), "{header:?}");
    }
}

#[test]
fn a_frame_may_arrive_in_single_bytes_and_many_frames_at_once() {
    let world = World::start(3);
    let (client, mut lane) = world.open("a");
    for byte in frame(NOTE.as_bytes()) {
        client.send_bytes(&[byte]);
    }
    lane.expect_notification("note");
    client.send_bytes(&frame(NOTE.as_bytes()).repeat(500));
    for _ in 0..500 {
        lane.expect_notification("note");
    }
}

#[test]
fn a_body_of_many_megabytes_passes_whole() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    let text = "0123456789abcdef".repeat(1024 * 1024);
    let id = client.request("big", json!({"text": text}));
    let seen = lane.expect_request("big");
    assert!(seen.params()["text"] == text, "16 MiB arrived changed");
    lane.respond(&seen.id(), json!({"text": text}));
    assert!(client.expect_result(id)["text"] == text, "16 MiB came back changed");
}

/// Reads bytes, not frames, so that nothing of the header can hide behind a parser.
#[test]
fn the_daemon_emits_exactly_one_header_in_this_spelling() {
    let world = World::start(3);
    let mut client = UnixStream::connect(world.daemon.socket()).unwrap();
    client.set_read_timeout(Some(deadline())).unwrap();
    client.write_all(&frame(br#"{"jsonrpc":"2.0","id":1,"method":"connect","params":{}}"#)).unwrap();
    let mut lane = world.runtime.lane("a");
    shake_hands(&mut lane, 3).unwrap();
    let mut bytes = vec![0; 64 * 1024];
    let read = client.read(&mut bytes).unwrap();
    let text = std::str::from_utf8(&bytes[..read]).unwrap();
    let (header, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no header in {text:?}"));
    assert_eq!(header, format!("Content-Length: {}", body.len()));
    assert!(body.starts_with('{') && body.ends_with('}'), "{body:?}");
}
