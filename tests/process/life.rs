//! How the SDK-spawned form lives and ends.

use std::io::{BufRead, BufReader};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::front::{Front, STDIO};
use crate::stdio_runtime::StdioRuntime;
use crate::support::conn::AutoAnswers;
use crate::support::daemon::{Daemon, command};
use crate::support::process::{Watched, signal};
use crate::support::runtime::{Lane, shake_hands};
use crate::support::world::{World, call, create, say_hello, temp_home};

/// Generous against the 200 ms that are promised, and far below the 60 s that a shared daemon may wait.
const SOON: Duration = Duration::from_secs(10);

fn greeted(runtime: &StdioRuntime, home: &std::path::Path, protocol: u64) -> (Front, crate::support::conn::Conn, Lane) {
    let (front, mut client) = Front::stdio(home, STDIO, &runtime.spec());
    let hello = say_hello(&mut client, protocol);
    let lane = runtime.greeted_lane(&mut client, hello);
    (front, client, lane)
}

#[test]
fn a_spawned_daemon_serves_its_client_on_stdio() {
    for protocol in [2, 3] {
        let home = temp_home();
        let runtime = StdioRuntime::new(home.path(), protocol);
        let (_front, mut client, mut lane) = greeted(&runtime, home.path(), protocol);
        create(&mut client, &mut lane, "s1", json!({}));
        lane.event("s1", json!({"type": "assistant.message", "data": {"content": "hi"}}));
        client.expect_event("assistant.message");
        let asked = lane.request("userInput.request", json!({"sessionId": "s1", "question": "?", "allowFreeform": true}));
        let seen = client.expect_request("userInput.request");
        client.respond(&seen.id(), json!({"answer": "x", "wasFreeform": true}));
        assert_eq!(lane.expect_result(asked), json!({"answer": "x", "wasFreeform": true}));
    }
}

#[test]
fn the_end_of_stdin_ends_the_daemon_cleanly_and_soon() {
    // The fastest of several tells whether the daemon waits for anything; a busy machine may delay any one of them.
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let home = temp_home();
        let runtime = StdioRuntime::new(home.path(), 3);
        let (mut front, mut client, _lane) = greeted(&runtime, home.path(), 3);
        let processes = runtime.processes();
        let ended = Instant::now();
        client.close();
        front.expect_clean_exit();
        fastest = fastest.min(ended.elapsed());
        for process in processes {
            assert!(process.exits_within(SOON), "process {} of the runtime outlived the daemon", process.pid());
        }
    }
    assert!(fastest <= Duration::from_millis(200), "the fastest of five took {fastest:?}");
}

#[test]
fn the_end_of_stdin_before_the_first_word_ends_the_daemon_cleanly() {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let (mut front, mut client) = Front::stdio(home.path(), STDIO, &runtime.spec());
    client.close();
    front.expect_clean_exit();
    client.expect_closed();
}

#[test]
fn sigterm_ends_the_daemon_cleanly() {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let (mut front, mut client, _lane) = greeted(&runtime, home.path(), 3);
    let processes = runtime.processes();
    front.signal(libc::SIGTERM);
    front.expect_clean_exit();
    client.expect_closed();
    for process in processes {
        assert!(process.exits_within(SOON), "process {} of the runtime outlived the daemon", process.pid());
    }
}

#[test]
fn a_question_that_is_pending_does_not_keep_a_daemon_whose_only_client_has_gone() {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let (mut front, mut client, mut lane) = greeted(&runtime, home.path(), 3);
    create(&mut client, &mut lane, "s1", json!({}));
    lane.event(
        "s1",
        json!({"type": "external_tool.requested", "data": {"requestId": "r-1", "sessionId": "s1", "toolCallId": "c", "toolName": "save"}}),
    );
    client.expect_event("external_tool.requested");
    client.close();
    assert!(front.exits_within(SOON), "on stdio there is nobody to wait for");
    front.expect_clean_exit();
}

#[test]
fn runtime_shutdown_is_answered_with_null_and_then_the_daemon_ends() {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let (mut front, mut client) = Front::stdio(home.path(), STDIO, &runtime.spec());
    let hello = say_hello(&mut client, 3);
    // Whether the runtime is asked to shut down too is the daemon's business.
    let mut lane = runtime.lane_that_answers(AutoAnswers::from([("runtime.shutdown".to_owned(), Value::Null)]));
    shake_hands(&mut lane, 3).unwrap();
    client.expect_result(hello);
    create(&mut client, &mut lane, "s1", json!({}));
    call(&mut client, &mut lane, "session.detach", json!({"sessionId": "s1"}), json!({"success": true}));
    let id = client.request("runtime.shutdown", json!({}));
    let answer = client.expect_response(id);
    assert_eq!(answer.value.get("result"), Some(&Value::Null), "{}", answer.text);
    front.expect_clean_exit();
    client.expect_closed();
}

#[test]
fn stdout_carries_frames_and_nothing_else() {
    let home = temp_home();
    let runtime = StdioRuntime::with_preface(home.path(), 3, "echo 'a word from the runtime on stderr' >&2");
    let args = ["--headless", "--no-auto-update", "--log-level", "all", "--flag-of-next-year", "--stdio"];
    let (mut front, mut client) = Front::stdio(home.path(), &args, &runtime.spec());
    let hello = say_hello(&mut client, 3);
    let mut lane = runtime.greeted_lane(&mut client, hello);
    create(&mut client, &mut lane, "s1", json!({}));
    client.send_text("nonsense");
    assert_eq!(client.next().value["error"]["code"], -32700);
    client.send_text("[]");
    assert_eq!(client.next().value["error"]["code"], -32600);
    client.close();
    front.expect_clean_exit();
    // The reader accepts nothing but frames; any other byte up to the end would fail here.
    assert_eq!(client.drain().len(), 0);
    assert!(front.stderr().contains("a word from the runtime on stderr"), "a runtime's stderr is shown:\n{}", front.stderr());
}

#[test]
fn a_broken_frame_on_stdin_is_answered_and_ends_the_daemon() {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let (mut front, mut client) = Front::stdio(home.path(), STDIO, &runtime.spec());
    client.send_bytes(b"Content-Length: -1\r\n\r\n");
    assert_eq!(client.next().value["error"]["code"], -32700);
    client.expect_closed();
    front.wait_exit();
}

#[test]
fn sigterm_ends_the_shared_daemon_cleanly() {
    let mut world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    create(&mut client, &mut lane, "s1", json!({}));
    let daemon: &mut Daemon = &mut world.daemon;
    daemon.signal(libc::SIGTERM);
    let status = daemon.wait_exit();
    assert_eq!(status.code(), Some(0), "{status}; its stderr:\n{}", daemon.stderr());
}

#[test]
fn on_a_terminal_a_signal_ends_the_daemon_too() {
    // A terminal is read by a thread that blocks in the kernel, and that thread must not keep the process.
    let home = temp_home();
    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: both descriptors are written by the call; the optional arguments are left out.
    let opened = unsafe { libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), std::ptr::null()) };
    assert_eq!(opened, 0, "openpty: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptors were opened just now, and nothing else owns them.
    let (_ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut child = command(home.path())
        .args(["--server", "--stdio", "--runtime", "unix:/nowhere"])
        .stdin(theirs.try_clone().expect("a terminal"))
        .stdout(theirs)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the daemon's binary starts");
    let watched = Watched::open(child.id().cast_signed()).expect("it runs");
    // It has dialled, so it is past its start and reads the terminal.
    let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    assert!(said.next().expect("a line").expect("text").contains("unix:/nowhere"));
    signal(watched.pid(), libc::SIGTERM);
    assert!(watched.exits_within(SOON), "still running");
    assert!(child.wait().expect("a child can be waited for").success());
}

#[test]
fn runtime_shutdown_is_answered_though_the_runtime_ends_without_a_word() {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let (mut front, mut client, mut lane) = greeted(&runtime, home.path(), 3);
    let id = client.request("runtime.shutdown", json!({}));
    lane.expect_request("runtime.shutdown");
    for process in runtime.processes() {
        signal(process.pid(), libc::SIGKILL);
    }
    assert_eq!(client.expect_result(id), Value::Null);
    front.expect_clean_exit();
}
