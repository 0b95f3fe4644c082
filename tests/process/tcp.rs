//! The TCP form: the line that SDKs wait for, and the connection token.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::ChildStdin;
use std::sync::mpsc;
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use crate::front::Front;
use crate::support::conn::{AutoAnswers, Conn};
use crate::support::deadline;
use crate::support::runtime::{ScriptedRuntime, shake_hands};
use crate::support::world::{call, create, temp_home};

struct Tcp {
    front: Front,
    runtime: ScriptedRuntime,
    port: u16,
    _stdin: ChildStdin,
    _home: TempDir,
}

fn serve(args: &[&str], token: Option<&str>) -> Tcp {
    let home = temp_home();
    let runtime = ScriptedRuntime::listen(&home.path().join("rt.sock"), 3);
    let spec = runtime.spec();
    let mut env = vec![("SUBAGENTD_RUNTIME", spec.as_str())];
    env.extend(token.map(|token| ("COPILOT_CONNECTION_TOKEN", token)));
    let (front, stdin, stdout) = Front::spawn(home.path(), args, &env);
    let (read, line) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout).lines();
        let _ = read.send(lines.next());
        // Whoever spawned us may stop reading, but the pipe stays open as long as the daemon runs.
        lines.for_each(drop);
    });
    let line = line.recv_timeout(deadline()).expect("a line on stdout").expect("stdout is open").expect("a line of text");
    let port = line.strip_prefix("CLI server listening on port ").and_then(|port| port.parse().ok());
    let port = port.unwrap_or_else(|| panic!("not the line that SDKs wait for: {line:?}"));
    Tcp { front, runtime, port, _stdin: stdin, _home: home }
}

impl Tcp {
    fn dial(&self, name: &str) -> Conn {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the port is open");
        stream.set_nodelay(true).expect("a TCP option");
        let (source, closer) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
        let hang_up = Box::new(move || {
            let _ = closer.shutdown(std::net::Shutdown::Both);
        });
        Conn::new(name, Box::new(source), Box::new(stream), Some(hang_up), AutoAnswers::new(), None)
    }
}

#[test]
fn without_a_port_or_with_port_0_a_free_one_is_chosen_and_printed() {
    let forms: [&[&str]; 3] =
        [&["--headless", "--no-auto-update"], &["--headless", "--no-auto-update", "--port", "0"], &["--server", "--port", "0"]];
    for args in forms {
        let tcp = serve(args, None);
        assert_ne!(tcp.port, 0);
        let mut client = tcp.dial("client");
        let id = client.request("connect", json!({}));
        let mut lane = tcp.runtime.lane("client");
        shake_hands(&mut lane, 3).unwrap();
        assert_eq!(client.expect_result(id)["protocolVersion"], 3, "{args:?}");
        create(&mut client, &mut lane, "s1", json!({}));
    }
}

#[test]
fn the_port_is_open_on_loopback_only() {
    let tcp = serve(&["--headless", "--port", "0"], None);
    let suffix = format!(":{:04X}", tcp.port);
    let listening: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .flat_map(|table| std::fs::read_to_string(table).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned))
        .filter(|local| local.ends_with(&suffix))
        .collect();
    assert!(!listening.is_empty(), "the port is in no table");
    for local in listening {
        let address = local.split(':').next().unwrap_or_default();
        assert!(["0100007F", "00000000000000000000000001000000"].contains(&address), "open beyond loopback: {local}");
    }
}

#[test]
fn the_port_that_was_asked_for_is_the_one_that_is_opened() {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let tcp = serve(&["--headless", "--no-auto-update", "--port", &port.to_string()], None);
    assert_eq!(tcp.port, port);
}

#[test]
fn with_a_token_nothing_is_served_before_the_right_one_and_the_connection_stays_open() {
    let tcp = serve(&["--headless", "--no-auto-update"], Some("sekret"));
    let mut client = tcp.dial("client");
    for method in ["ping", "session.list", "session.create", "no.such.method", "runtime.shutdown"] {
        let id = client.request(method, json!({}));
        let error = client.expect_error(id);
        assert_eq!((&error["code"], &error["message"]), (&json!(-32001), &json!("AUTHENTICATION_REQUIRED")), "{method}");
    }
    for params in [
        json!({"token": "wrong"}),
        json!({}),
        json!({"token": null}),
        json!({"token": ""}),
        json!({"token": "sekret "}),
        json!({"token": 5}),
    ] {
        let id = client.request("connect", params.clone());
        let error = client.expect_error(id);
        assert_eq!((&error["code"], &error["message"]), (&json!(-32002), &json!("AUTHENTICATION_FAILED")), "{params}");
    }
    let id = client.request("ping", json!({}));
    assert_eq!(client.expect_error(id)["code"], -32001);

    let id = client.request("connect", json!({"token": "sekret", "supportedTaskKinds": ["agent"]}));
    let mut lane = tcp.runtime.lane("client");
    let hello = lane.expect_request("connect");
    assert!(!hello.text.contains("sekret"), "the client's token is for us, not for the runtime: {}", hello.text);
    lane.respond(&hello.id(), crate::support::runtime::connected());
    assert_eq!(client.expect_result(id)["ok"], true);
    call(&mut client, &mut lane, "session.list", json!({}), json!({"sessions": []}));
    assert!(!tcp.front.stderr().contains("sekret"), "a token in the log:\n{}", tcp.front.stderr());
}

#[test]
fn one_clients_token_opens_nothing_for_another() {
    let tcp = serve(&["--headless", "--no-auto-update"], Some("sekret"));
    let mut first = tcp.dial("first");
    let id = first.request("connect", json!({"token": "sekret"}));
    let mut lane = tcp.runtime.lane("first");
    shake_hands(&mut lane, 3).unwrap();
    first.expect_result(id);
    let mut second = tcp.dial("second");
    let id = second.request("session.list", json!({}));
    assert_eq!(second.expect_error(id)["code"], -32001);
    call(&mut first, &mut lane, "session.list", json!({}), json!({"sessions": []}));
}

#[test]
fn sigterm_ends_the_tcp_form_cleanly() {
    let mut tcp = serve(&["--headless", "--no-auto-update"], None);
    let mut client = tcp.dial("client");
    let id = client.request("connect", json!({}));
    let mut lane = tcp.runtime.lane("client");
    shake_hands(&mut lane, 3).unwrap();
    client.expect_result(id);
    tcp.front.signal(libc::SIGTERM);
    tcp.front.expect_clean_exit();
    client.expect_closed();
}
