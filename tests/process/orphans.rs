//! Whatever happens to the daemon, nothing that its runtime started lives on.

use std::time::Duration;

use crate::front::{Front, STDIO};
use crate::stdio_runtime::StdioRuntime;
use crate::support::process::Watched;
use crate::support::world::{say_hello, temp_home};

/// A second is promised; a busy machine gets a little more before this calls it a failure.
const SOON: Duration = Duration::from_secs(5);

/// A child in the runtime's group, one in a group and session of its own, an orphan of a dead parent in a session of
/// its own, and one that ignores the polite signal.
const FAMILY: &str = r#"sleep 1000 &
echo $! >> "$DIR/pids"
setsid sleep 1000 &
echo $! >> "$DIR/pids"
mkfifo "$DIR/ready"
sh -c 'setsid sh -c "echo \$\$ > \"\$1\"; exec sleep 1000" sh "$1" &' sh "$DIR/ready"
cat "$DIR/ready" >> "$DIR/pids"
sh -c 'trap "" TERM; exec sleep 1000' &
echo $! >> "$DIR/pids""#;

fn with_family(end: impl FnOnce(&Front, &mut crate::support::conn::Conn)) {
    let home = temp_home();
    let runtime = StdioRuntime::with_preface(home.path(), 3, FAMILY);
    let (front, mut client) = Front::stdio(home.path(), STDIO, &runtime.spec());
    let hello = say_hello(&mut client, 3);
    let _lane = runtime.greeted_lane(&mut client, hello);
    let processes = runtime.processes();
    assert_eq!(processes.len(), 6, "the runtime, its helper and four others");
    end(&front, &mut client);
    assert!(front.exits_within(SOON), "the daemon still runs");
    assert_all_end(&processes);
}

/// Ends by hand what is left, so that a failure leaves no litter either.
fn assert_all_end(processes: &[Watched]) {
    let left: Vec<&Watched> = processes.iter().filter(|process| !process.exits_within(SOON)).collect();
    let commands: Vec<String> = left.iter().map(|process| process.command()).collect();
    left.iter().for_each(|process| process.kill());
    assert!(left.is_empty(), "still there: {commands:?}");
}

#[test]
fn kill_9_of_the_daemon_leaves_no_process_of_the_runtime() {
    with_family(|front, _| front.signal(libc::SIGKILL));
}

#[test]
fn sigterm_of_the_daemon_leaves_no_process_of_the_runtime() {
    with_family(|front, _| front.signal(libc::SIGTERM));
}

#[test]
fn the_end_of_the_sdk_program_leaves_no_process_of_the_runtime() {
    with_family(|_, client| client.close());
}

#[test]
fn a_runtime_that_ends_by_itself_leaves_no_process_behind() {
    let home = temp_home();
    let runtime = StdioRuntime::with_preface(home.path(), 3, FAMILY);
    let (_front, mut client) = Front::stdio(home.path(), STDIO, &runtime.spec());
    let hello = say_hello(&mut client, 3);
    let _lane = runtime.greeted_lane(&mut client, hello);
    let processes = runtime.processes();
    processes[0].kill();
    assert_all_end(&processes);
}
