//! A runtime that cannot start, or ends, is explained to the client.

use serde_json::json;

use crate::front::{Front, STDIO};
use crate::stdio_runtime::{StdioRuntime, script};
use crate::support::world::{say_hello, temp_home};

#[test]
fn a_runtime_that_ends_at_once_is_explained_by_command_status_and_last_words() {
    for protocol in [2, 3] {
        let home = temp_home();
        let path = home.path().join("broken-runtime.sh");
        script(
            &path,
            "i=0\nwhile [ $i -lt 500 ]; do echo \"chatter $i\" >&2; i=$((i+1)); done\necho 'boom: no licence found' >&2\nexit 43",
        );
        let (_front, mut client) = Front::stdio(home.path(), STDIO, &format!("exec:{}", path.display()));
        let hello = say_hello(&mut client, protocol);
        let error = client.expect_error(hello);
        let message = error["message"].as_str().unwrap_or_default();
        for part in [path.to_str().unwrap(), "43", "boom: no licence found"] {
            assert!(message.contains(part), "{part:?} is missing in {message:?}");
        }
        assert!(message.len() < 8 * 1024, "the end of stderr, not all of it: {} bytes", message.len());
    }
}

#[test]
fn a_program_that_does_not_exist_is_named() {
    let home = temp_home();
    let path = home.path().join("no-such-runtime");
    let (_front, mut client) = Front::stdio(home.path(), STDIO, &format!("exec:{}", path.display()));
    let hello = say_hello(&mut client, 3);
    let error = client.expect_error(hello);
    assert!(error["message"].as_str().unwrap_or_default().contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn a_runtime_that_is_killed_fails_the_calls_in_flight_and_is_named() {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let (_front, mut client) = Front::stdio(home.path(), STDIO, &runtime.spec());
    let hello = say_hello(&mut client, 3);
    let mut lane = runtime.greeted_lane(&mut client, hello);
    let waiting = [client.request("session.list", json!({})), client.request("status.get", json!({}))];
    lane.expect_request("session.list");
    lane.expect_request("status.get");
    for process in runtime.processes() {
        process.kill();
    }
    for id in waiting {
        let error = client.expect_error(id);
        assert_eq!(error["code"], -32000, "{error}");
        assert!(error["message"].as_str().unwrap_or_default().contains(&runtime.path()), "{error}");
    }
}
