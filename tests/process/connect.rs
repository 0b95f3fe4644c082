//! `subagentd connect`: stdio in front of the shared daemon.

use serde_json::json;

use crate::front::Front;
use crate::support::conn::{AutoAnswers, Conn};
use crate::support::runtime::shake_hands;
use crate::support::world::{World, call, create, resume, say_hello};

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
