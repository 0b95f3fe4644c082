//! `subagentd doctor` says what is wrong, how to put it right, and which versions are on both sides.

use std::path::Path;
use std::thread;

use serde_json::json;

use crate::support::daemon::command;
use crate::support::runtime::{ScriptedRuntime, connected};
use crate::support::world::{World, create, temp_home};

fn doctor(home: &Path, args: &[&str]) -> (bool, String) {
    let output = command(home).arg("doctor").args(args).output().expect("the daemon's binary starts");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_runtime_of_each_protocol_is_named_with_its_version() {
    for (protocol, version) in [(2, "0.0.420"), (3, "test")] {
        let home = temp_home();
        let runtime = ScriptedRuntime::listen(&home.path().join("rt.sock"), protocol);
        let spec = runtime.spec();
        let answering = thread::spawn(move || {
            let mut lane = runtime.lane("doctor");
            let hello = lane.expect_request("connect");
            match protocol {
                3 => lane.respond(&hello.id(), connected()),
                _ => lane.respond_error(&hello.id(), -32601, "Unhandled method connect"),
            }
            // `ping` the scripted runtime answers by itself, and `status.get` where only that tells the version.
            if protocol == 3 {
                let status = lane.expect_request("status.get");
                lane.respond(&status.id(), json!({"version": "test", "protocolVersion": 3}));
            }
            lane.expect_closed();
        });
        let (well, said) = doctor(home.path(), &["--runtime", &spec]);
        answering.join().expect("the runtime was asked");
        assert!(well && said.contains(&format!("runtime {spec}: version {version}, protocol {protocol}")), "{said}");
    }
}

#[test]
fn a_runtime_that_cannot_start_a_broken_config_and_a_dead_socket_are_wrong_and_have_a_remedy() {
    let home = temp_home();
    let (well, said) = doctor(home.path(), &["--runtime", "exec:no-such-program"]);
    assert!(!well && said.contains("WRONG  runtime exec:no-such-program") && said.contains("cannot start no-such-program"), "{said}");

    let (well, said) = doctor(home.path(), &[]);
    assert!(!well && said.contains("no runtime is configured") && said.contains("SUBAGENTD_RUNTIME=exec:"), "{said}");

    let config = home.path().join("c.toml");
    std::fs::write(&config, "runtme = \"exec:x\"\n").unwrap();
    let (well, said) = doctor(home.path(), &["--config", config.to_str().unwrap()]);
    assert!(!well && said.contains("line 1") && said.contains("runtme"), "{said}");

    let socket = home.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let (well, said) = doctor(home.path(), &["--socket", socket.to_str().unwrap()]);
    assert!(!well && said.contains("nobody listens on") && said.contains("takes it over"), "{said}");
}

#[test]
fn a_running_daemon_tells_its_clients_and_runtimes() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    create(&mut client, &mut lane, "s1", json!({}));
    lane.event("s1", json!({"type": "subagent.started", "agentId": "a1", "data": {"toolCallId": "t1", "agentName": "helper"}}));
    client.expect_event("subagent.started");
    let id = client.request("subagentd.status", json!({}));
    let sessions = client.expect_result(id)["sessions"].clone();
    let child = json!({"agentId": "a1", "agentName": "helper", "toolCallId": "t1", "parentAgentId": null, "running": true});
    assert_eq!(sessions, json!([{"sessionId": "s1", "clients": 1, "pending": 0, "children": [child]}]));
    let socket = world.daemon.socket().to_str().unwrap().to_owned();
    let (_, said) = doctor(world.home(), &["--socket", &socket]);
    assert!(
        said.contains("client, protocol 3, 1 session(s)")
            && said.contains("1 session(s) with 1 sub-agent(s)")
            && said.contains("runtime version test, protocol 3"),
        "{said}"
    );
}
