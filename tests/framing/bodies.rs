//! Whole frames whose bodies are no messages: an error, and the connection goes on.

use serde_json::json;

use crate::support::frame::frame;
use crate::support::world::{World, call, say_hello};
use crate::{Bystander, expect_nobodys_error};

/// An array in an array, `depth` levels in all.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// A notification whose deepest value is at `depth`, the message's own object included.
fn message_of_depth(depth: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"deep","params":{}}}"#, nested(depth - 1))
}

#[test]
fn a_body_that_is_no_json_is_answered_and_the_connection_goes_on() {
    let world = World::start(3);
    let mut bystander = Bystander::new(&world);
    let (mut client, mut lane) = world.open("a");
    let bodies: &[&[u8]] = &[
        b"",
        b" ",
        b"{",
        b"nonsense",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"} trailing",
        b"{'jsonrpc':'2.0'}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"bad\":\"\xff\xfe\"}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"control\":\"\x01\"}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"n\":01}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"n\":NaN}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1,]}",
    ];
    for body in bodies {
        client.send_bytes(&frame(body));
        expect_nobodys_error(&mut client, -32700);
        call(&mut client, &mut lane, "session.list", json!({}), json!({"sessions": []}));
    }
    bystander.is_served();
}

#[test]
fn json_that_is_too_deep_is_answered_and_the_connection_goes_on() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    client.send_text(&message_of_depth(100));
    lane.expect_notification("deep");
    for depth in [1000, 100_000, 1_000_000] {
        client.send_text(&message_of_depth(depth));
        expect_nobodys_error(&mut client, -32700);
        call(&mut client, &mut lane, "session.list", json!({}), json!({"sessions": []}));
    }
}

#[test]
fn the_depth_limit_is_128_unless_configured() {
    // At 128 itself this suite's own parser gives up, so the default is bracketed; the configured one is exact.
    for (config, allowed, refused) in [(None, 127, 129), (Some("[limits]\njson_depth = 20\n"), 20, 21)] {
        let world = World::with_config(3, config);
        let (mut client, mut lane) = world.open("a");
        client.send_text(&message_of_depth(allowed));
        let seen = lane.try_next().unwrap_or_else(|why| panic!("depth {allowed} is allowed, but {why}"));
        assert_eq!(seen.method(), Some("deep"));
        client.send_text(&message_of_depth(refused));
        expect_nobodys_error(&mut client, -32700);
    }
}

#[test]
fn a_batch_is_refused_and_the_connection_goes_on() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    for batch in ["[]", "[1]", r#"[{"jsonrpc":"2.0","id":1,"method":"session.list","params":{}}]"#] {
        client.send_text(batch);
        expect_nobodys_error(&mut client, -32600);
        call(&mut client, &mut lane, "session.list", json!({}), json!({"sessions": []}));
    }
}

#[test]
fn json_that_is_no_message_is_refused_and_the_connection_goes_on() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    for body in ["{}", "5", "\"text\"", "null", "true", r#"{"jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","params":{}}"#] {
        client.send_text(body);
        expect_nobodys_error(&mut client, -32600);
        call(&mut client, &mut lane, "session.list", json!({}), json!({"sessions": []}));
    }
}

#[test]
fn a_client_may_begin_with_nonsense_and_then_shake_hands() {
    let world = World::start(3);
    let mut client = world.daemon.dial("a");
    for (body, code) in [("nonsense", -32700), ("[]", -32600), ("{}", -32600)] {
        client.send_text(body);
        expect_nobodys_error(&mut client, code);
    }
    let id = say_hello(&mut client, 3);
    let mut lane = world.runtime.lane("a");
    crate::support::runtime::shake_hands(&mut lane, 3).unwrap();
    assert_eq!(client.expect_result(id)["protocolVersion"], 3);
}
