//! `subagentd demo`: the first thing a newcomer sees.

use crate::support::daemon::command;
use crate::support::world::temp_home;

#[test]
fn the_demo_shows_a_routed_call_a_permission_and_a_refusal_and_ends_well() {
    let home = temp_home();
    let output = command(home.path()).arg("demo").output().expect("the daemon's binary starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let order = [
        "reviewer started, child session child-1",
        "child-1 asks leave to write notes.md",
        "child-1 calls save_note {\"text\":\"done\"}",
        "routed to your handler, which answers \"saved\"",
        "child-1 completed",
        "reader started, child session child-2",
        "refused, you never heard of it: Tool 'save_note' is not supported by this client instance.",
        "child-2 completed",
        "main agent: Both agents are done.",
    ];
    let mut rest = &*said;
    for part in order {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("{part:?} is missing or out of order in:\n{said}")).1;
    }
    assert_eq!(said.matches("routed to your handler, which answers").count(), 1);
}
