//! `subagentd connect`: stdio in front of the shared daemon.

use serde_json::json;

use crate::front::{Front, STDIO};
use crate::support::conn::{AutoAnswers, Conn};
use crate::support::process::signal;
use crate::support::runtime::{ScriptedRuntime, shake_hands};
use crate::support::world::{World, call, create, resume, say_hello, temp_home};

fn joined(world: &World, args: &[&str], env: &[(&str, &str)]) -> (Front, Conn) {
    let (front, stdin, stdout) = Front::spawn(world.home(), args, env);
    (front, Conn::new("connected", Box::new(stdout), Box::new(stdin), None, AutoAnswers::new(), None))
}

#[test]
fn connect_joins_the_shared_daemon_and_ends_with_its_stdin() {
    let world = World::start(3);
    let socket = world.daemon.socket().to_str().unwrap().to_owned();
    let (mut first, mut first_lane) = world.open("first");
    create(&mut first, &mut first_lane, "s1", json!({}));
    let (mut front, mut client) = joined(&world, &["connect", "--socket", &socket], &[]);
    let hello = say_hello(&mut client, 3);
    let mut lane = world.runtime.lane("connected");
    shake_hands(&mut lane, 3).unwrap();
    client.expect_result(hello);
    resume(&mut client, &mut lane, "s1", json!({}));
    call(&mut client, &mut lane, "session.send", json!({"sessionId": "s1", "prompt": "x"}), json!({"messageId": "m1"}));
    client.close();
    front.expect_clean_exit();
    call(&mut first, &mut first_lane, "session.send", json!({"sessionId": "s1", "prompt": "y"}), json!({"messageId": "m2"}));
}

#[test]
fn connect_ends_when_the_shared_daemon_does() {
    let mut world = World::start(3);
    let socket = world.daemon.socket().to_str().unwrap().to_owned();
    let (mut front, mut client) = joined(&world, &["connect", "--socket", &socket], &[]);
    let hello = say_hello(&mut client, 3);
    let mut lane = world.runtime.lane("connected");
    shake_hands(&mut lane, 3).unwrap();
    client.expect_result(hello);
    world.daemon.signal(libc::SIGTERM);
    world.daemon.wait_exit();
    client.expect_closed();
    front.wait_exit();
}

#[test]
fn connect_starts_a_daemon_when_none_runs_and_several_at_once_find_the_same_one() {
    let home = temp_home();
    let runtime = ScriptedRuntime::listen(&home.path().join("rt.sock"), 3);
    let socket = home.path().join("new/d.sock");
    let args = ["connect", "--socket", socket.to_str().unwrap(), "--runtime", &runtime.spec()];
    let mut joined = Vec::new();
    for _ in 0..3 {
        let (front, stdin, stdout) = Front::spawn(home.path(), &args, &[]);
        joined.push((front, Conn::new("connected", Box::new(stdout), Box::new(stdin), None, AutoAnswers::new(), None)));
    }
    let hellos: Vec<_> = joined.iter_mut().map(|(_, client)| say_hello(client, 3)).collect();
    for _ in 0..3 {
        let mut lane = runtime.lane("any");
        shake_hands(&mut lane, 3).unwrap();
        std::mem::forget(lane);
    }
    for ((_, client), hello) in joined.iter_mut().zip(hellos) {
        client.expect_result(hello);
    }
    let (_, client) = &mut joined[0];
    let id = client.request("subagentd.status", json!({}));
    let status = client.expect_result(id);
    assert_eq!(status["clients"].as_array().map(Vec::len), Some(2), "the other two are on this daemon: {status}");
    // The daemon outlives those who started it; this test does not leave it behind.
    let pid = std::fs::read_to_string(socket.with_extension("sock.lock")).unwrap();
    signal(pid.trim().parse().expect("the lock names its holder"), libc::SIGTERM);
    for (front, client) in &mut joined {
        client.expect_closed();
        front.wait_exit();
    }
    // The daemons that came too late were ended by those who started them: nobody takes the place of the first.
    let lock = std::fs::File::open(socket.with_extension("sock.lock")).unwrap();
    lock.lock().expect("the first daemon lets go of it when it ends");
    assert_eq!(daemons(&socket), Vec::<i32>::new());
}

/// The processes that serve this socket, or are about to.
fn daemons(socket: &std::path::Path) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    let serves = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<_> = line.split(|b| *b == 0).collect();
        words.get(1) == Some(&b"serve".as_slice()) && words.contains(&socket.as_os_str().as_encoded_bytes())
    };
    pids.filter(serves).collect()
}

#[test]
fn a_spawned_form_that_is_told_to_attach_joins_the_shared_daemon() {
    let home = temp_home();
    let runtime = ScriptedRuntime::listen(&home.path().join("rt.sock"), 3);
    let env = [("SUBAGENTD_ATTACH", "1"), ("SUBAGENTD_RUNTIME", &runtime.spec())];
    let (mut front, stdin, stdout) = Front::spawn(home.path(), STDIO, &env);
    let mut client = Conn::new("attached", Box::new(stdout), Box::new(stdin), None, AutoAnswers::new(), None);
    let hello = say_hello(&mut client, 3);
    let mut lane = runtime.lane("attached");
    shake_hands(&mut lane, 3).unwrap();
    client.expect_result(hello);
    let lock = home.path().join("subagentd/subagentd.sock.lock");
    let pid = std::fs::read_to_string(lock).expect("a shared daemon runs at the usual place");
    client.close();
    front.expect_clean_exit();
    signal(pid.trim().parse().expect("the lock names its holder"), libc::SIGTERM);
}
