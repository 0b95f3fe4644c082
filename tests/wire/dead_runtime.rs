//! A runtime that goes away, or never was there, is an error that names it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::daemon::Daemon;
use crate::support::runtime::{ScriptedRuntime, shake_hands};
use crate::support::world::{World, call, create, say_hello, temp_home};

const BUDGET: Duration = Duration::from_millis(100);

fn assert_names(error: &Value, spec: &str) {
    assert!(error["message"].as_str().unwrap_or_default().contains(spec), "an error that names {spec}, not {error}");
}

#[test]
fn a_runtimes_death_fails_every_call_in_flight_at_once_and_names_the_runtime() {
    for protocol in [2, 3] {
        let world = World::start(protocol);
        // As with a client's death: the fastest of several tells whether anything waits.
        let mut fastest = Duration::MAX;
        for _ in 0..10 {
            let (mut client, mut lane) = world.open("a");
            create(&mut client, &mut lane, "s1", json!({}));
            let waiting = [
                client.request("session.send", json!({"sessionId": "s1", "prompt": "x"})),
                client.request("session.list", json!({})),
                client.request("next.years.method", json!({})),
            ];
            for _ in waiting {
                lane.next();
            }
            let died = Instant::now();
            lane.close();
            for id in waiting {
                let error = client.expect_error(id);
                assert_eq!(error["code"], -32000, "{error}");
                assert_names(&error, &world.runtime.spec());
            }
            fastest = fastest.min(died.elapsed());
        }
        assert!(fastest <= BUDGET, "protocol {protocol}: the fastest of ten took {fastest:?}");
    }
}

#[test]
fn only_the_clients_of_the_lane_that_died_notice() {
    let world = World::start(3);
    let (mut first, mut first_lane) = world.open("a");
    let (mut second, mut second_lane) = world.open("b");
    create(&mut first, &mut first_lane, "s1", json!({}));
    create(&mut second, &mut second_lane, "s2", json!({}));
    let waiting = second.request("session.send", json!({"sessionId": "s2", "prompt": "x"}));
    let sent = second_lane.expect_request("session.send");
    let failing = first.request("session.send", json!({"sessionId": "s1", "prompt": "x"}));
    first_lane.expect_request("session.send");
    first_lane.close();
    assert_names(&first.expect_error(failing), &world.runtime.spec());
    second_lane.respond(&sent.id(), json!({"messageId": "m1"}));
    assert_eq!(second.expect_result(waiting), json!({"messageId": "m1"}));
}

#[test]
fn a_call_after_the_runtimes_death_is_answered_too() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    create(&mut client, &mut lane, "s1", json!({}));
    world.runtime.stop_listening();
    let failing = client.request("session.list", json!({}));
    lane.expect_request("session.list");
    lane.close();
    assert_names(&client.expect_error(failing), &world.runtime.spec());
    let later = client.request("session.list", json!({}));
    assert_names(&client.expect_error(later), &world.runtime.spec());
}

#[test]
fn a_runtime_that_sends_no_frames_is_a_dead_runtime() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    let waiting = client.request("session.list", json!({}));
    lane.expect_request("session.list");
    lane.send_bytes(b"Segmentation fault (core dumped)\n\n\n");
    assert_names(&client.expect_error(waiting), &world.runtime.spec());
    // The rest of the daemon is well.
    let (mut other, mut other_lane) = world.open("b");
    call(&mut other, &mut other_lane, "session.list", json!({}), json!({"sessions": []}));
}

#[test]
fn a_runtime_that_cannot_be_dialled_is_named_to_the_client_and_found_when_it_is_there() {
    for protocol in [2, 3] {
        let home = temp_home();
        let path = home.path().join("rt.sock");
        let spec = format!("unix:{}", path.display());
        let daemon = Daemon::serve(home.path(), &spec, None);
        let mut early = daemon.dial("early");
        let id = say_hello(&mut early, protocol);
        assert_names(&early.expect_error(id), &spec);

        let runtime = ScriptedRuntime::listen(&path, protocol);
        let mut client = daemon.dial("in time");
        let id = say_hello(&mut client, protocol);
        let mut lane = runtime.lane("in time");
        shake_hands(&mut lane, protocol).unwrap();
        assert_eq!(client.expect_result(id)["protocolVersion"], protocol);
    }
}

#[test]
fn a_runtime_that_dies_in_the_handshake_is_named_to_the_client() {
    let world = World::start(3);
    let mut client = world.daemon.dial("a");
    let hello = say_hello(&mut client, 3);
    let behind = client.request("session.list", json!({}));
    let mut lane = world.runtime.lane("a");
    lane.expect_request("connect");
    lane.close();
    assert_names(&client.expect_error(hello), &world.runtime.spec());
    assert_names(&client.expect_error(behind), &world.runtime.spec());
}
