//! Headers that are none: one error, and the connection is closed.

use crate::support::world::World;
use crate::{Bystander, expect_refused};

/// What it is, and its bytes. None of these is a whole, valid frame.
const ABUSE: &[(&str, &[u8])] = &[
    ("a negative length", b"Content-Length: -5\r\n\r\n{}"),
    ("a length in words", b"Content-Length: five\r\n\r\n{}"),
    ("a length with a letter", b"Content-Length: 5x\r\n\r\n{}"),
    ("a hexadecimal length", b"Content-Length: 0x10\r\n\r\n{}"),
    ("a length that is NaN", b"Content-Length: NaN\r\n\r\n{}"),
    ("a fraction of a length", b"Content-Length: 2.5\r\n\r\n{}"),
    ("no digits", b"Content-Length: \r\n\r\n{}"),
    ("two numbers", b"Content-Length: 2 2\r\n\r\n{}"),
    ("a length beyond the limit", b"Content-Length: 99999999999999\r\n\r\n{}"),
    ("a length one byte beyond the limit", b"Content-Length: 67108865\r\n\r\n{}"),
    ("a length beyond 64 bits", b"Content-Length: 99999999999999999999999999\r\n\r\n{}"),
    ("a length of 2^64", b"Content-Length: 18446744073709551616\r\n\r\n{}"),
    ("no length", b"Content-Type: application/json\r\n\r\n{}"),
    ("no header at all", b"\r\n\r\n{}"),
    ("two lengths that differ", b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
    ("two lengths that differ, in two cases", b"Content-Length: 2\r\ncontent-length: 3\r\n\r\n{} "),
    ("a header without a colon", b"Content-Length 2\r\n\r\n{}"),
    ("JSON without a frame", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}}\n"),
    ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    ("zero bytes", b"\0\0\0\0\0\0\0\0"),
    ("an HTTP request", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("an HTTP request with a length", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"),
];

#[test]
fn each_broken_header_is_answered_once_and_closes_that_connection_only() {
    let world = World::start(3);
    let mut bystander = Bystander::new(&world);
    for (what, bytes) in ABUSE {
        let mut abuser = world.daemon.dial(what);
        abuser.send_bytes(bytes);
        bystander.is_served();
        expect_refused(&mut abuser);
        bystander.is_served();
    }
}

#[test]
fn each_broken_header_closes_a_connection_that_was_in_use_too() {
    let world = World::start(3);
    let mut bystander = Bystander::new(&world);
    for (what, bytes) in ABUSE {
        let (mut abuser, _lane) = world.open(what);
        abuser.send_bytes(bytes);
        expect_refused(&mut abuser);
        bystander.is_served();
    }
}

#[test]
fn an_http_request_is_refused_at_its_first_bytes() {
    let world = World::start(3);
    let mut bystander = Bystander::new(&world);
    // A browser that was tricked into posting here sends its header slowly or for ever; its method is enough to know it.
    for bytes in [&b"POST / HT"[..], b"GET /", b"OPTIONS * HTTP/1.1\r\n"] {
        let mut abuser = world.daemon.dial("browser");
        abuser.send_bytes(bytes);
        expect_refused(&mut abuser);
        bystander.is_served();
    }
}

#[test]
fn a_header_beyond_its_limit_is_refused() {
    let world = World::start(3);
    let mut bystander = Bystander::new(&world);
    let mut abuser = world.daemon.dial("long header");
    abuser.send_bytes(format!("Content-Length: 2\r\nX-Long: {}\r\n\r\n{{}}", "a".repeat(5000)).as_bytes());
    expect_refused(&mut abuser);
    bystander.is_served();
}

#[test]
fn the_limits_of_the_configuration_are_the_ones_that_hold() {
    let world = World::with_config(3, Some("[limits]\nheader_bytes = 200\nbody_bytes = 2000\n"));
    let mut bystander = Bystander::new(&world);
    let (at_limit, mut lane) = world.open("at the limit");
    let body = |length: usize| {
        let start = r#"{"jsonrpc":"2.0","method":"note","params":{"x":""#;
        format!("{start}{}\"}}}}", "a".repeat(length - start.len() - 3))
    };
    at_limit.send_text(&body(2000));
    assert_eq!(lane.expect_notification("note").text.len(), 2000);

    let (mut long_body, _lane) = world.open("a body too long");
    long_body.send_text(&body(2001));
    expect_refused(&mut long_body);
    let mut long_header = world.daemon.dial("a header too long");
    long_header.send_bytes(format!("Content-Length: 2\r\nX: {}\r\n\r\n{{}}", "a".repeat(200)).as_bytes());
    expect_refused(&mut long_header);
    bystander.is_served();
}

#[test]
fn a_connection_that_ends_inside_a_frame_disturbs_nobody() {
    let world = World::start(3);
    let mut bystander = Bystander::new(&world);
    for bytes in [&b"Content-Len"[..], b"Content-Length: 10\r\n", b"Content-Length: 10\r\n\r\n{\"js"] {
        let (mut leaving, _lane) = world.open("leaving");
        leaving.send_bytes(bytes);
        leaving.close();
        bystander.is_served();
    }
}
