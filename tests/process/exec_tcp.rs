//! `exec+tcp:`: a runtime that we start, find by the line that it prints, and dial once for each client.

use std::net::TcpListener;

use serde_json::json;

use crate::stdio_runtime::script;
use crate::support::conn::{AutoAnswers, Conn};
use crate::support::daemon::Daemon;
use crate::support::runtime::connected;
use crate::support::world::{say_hello, temp_home};

fn lane(listener: &TcpListener) -> Conn {
    let (stream, _) = listener.accept().expect("the daemon dials");
    let reader = stream.try_clone().expect("a socket has two halves");
    Conn::new("lane", Box::new(reader), Box::new(stream), None, AutoAnswers::new(), None)
}

#[test]
fn a_runtime_is_started_once_and_dialled_for_each_client_with_the_token_it_was_given() {
    let home = temp_home();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().unwrap().port();
    let path = home.path().join("runtime.sh");
    let body = [
        r#"echo "$COPILOT_CONNECTION_TOKEN" >> tokens"#,
        r#"echo "$@" >> args"#,
        "echo 'starting up'",
        &format!("echo 'CLI server listening on port {port}'"),
        "exec sleep 600",
    ];
    script(&path, &body.join("\n"));
    let daemon = Daemon::serve(home.path(), &format!("exec+tcp:{}", path.display()), None);

    let mut seen = Vec::new();
    let mut held = Vec::new();
    for name in ["a", "b"] {
        let mut client = daemon.dial(name);
        let hello = say_hello(&mut client, 3);
        let mut lane = lane(&listener);
        let asked = lane.expect_request("connect");
        seen.push(asked.params()["token"].as_str().unwrap_or_default().to_owned());
        lane.respond(&asked.id(), connected());
        assert_eq!(client.expect_result(hello)["protocolVersion"], 3);
        let id = client.request("models.list", json!({}));
        let asked = lane.expect_request("models.list");
        lane.respond(&asked.id(), json!({"models": [name]}));
        assert_eq!(client.expect_result(id), json!({"models": [name]}));
        held.push((client, lane));
    }
    let tokens = std::fs::read_to_string(home.path().join("tokens")).unwrap();
    assert_eq!(tokens.lines().count(), 1, "one process for both clients");
    assert!(tokens.trim().len() >= 32, "a token of at least 128 bits");
    assert_eq!(seen, [tokens.trim(), tokens.trim()]);
    let args = std::fs::read_to_string(home.path().join("args")).unwrap();
    assert_eq!(args.trim(), "--headless --no-auto-update --port 0");
}

#[test]
fn a_runtime_that_ends_before_it_listens_is_explained() {
    let home = temp_home();
    let path = home.path().join("runtime.sh");
    script(&path, "echo 'port taken' >&2\nexit 9");
    let daemon = Daemon::serve(home.path(), &format!("exec+tcp:{}", path.display()), None);
    let mut client = daemon.dial("a");
    let hello = say_hello(&mut client, 3);
    let error = client.expect_error(hello);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("runtime.sh") && message.contains("status 9") && message.contains("port taken"), "{message}");
}
