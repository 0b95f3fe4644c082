use super::*;
use crate::routing::sessions::Sessions;

fn told<'a>(agent_id: Option<&'a str>, remote_session: Option<&'a str>, task_call: &'a str) -> Announcement<'a> {
    Announcement { agent_id, remote_session, task_call, agent_name: "helper", parent_agent: None, stream: None }
}

#[test]
fn a_child_is_found_by_every_id_of_its_announcement_and_by_third_ids() {
    let (mut lineage, mut family, root) = (Lineage::default(), Family::default(), Sessions::test_key(1));
    let key = lineage.learn(root, &mut family, told(Some("agent"), Some("remote"), "call"));
    lineage.alias(key, "third");
    for id in ["agent", "remote", "third"] {
        assert_eq!(lineage.find(id), Some(key), "{id}");
    }
    assert_eq!(lineage.find("call"), None, "a call id means nothing outside its session");
    assert_eq!((family.by_agent("agent"), family.by_task("call")), (Some(key), Some(key)));
    assert_eq!(&*lineage.child(key).unwrap().agent_id, "agent");
}

#[test]
fn call_ids_of_two_sessions_do_not_meet() {
    let mut lineage = Lineage::default();
    let (mut one, mut two) = (Family::default(), Family::default());
    // CLI 1.0.34: agentId is the task call, and models number calls afresh in each session.
    let a = lineage.learn(Sessions::test_key(1), &mut one, told(Some("call_1_0"), None, "call_1_0"));
    let b = lineage.learn(Sessions::test_key(2), &mut two, told(Some("call_1_0"), None, "call_1_0"));
    assert_ne!(a, b);
    assert_eq!((one.by_agent("call_1_0"), two.by_agent("call_1_0")), (Some(a), Some(b)));
    assert_eq!(lineage.find("call_1_0"), None);
}

#[test]
fn an_id_stays_with_the_session_that_had_it_first() {
    let mut lineage = Lineage::default();
    let (mut one, mut two) = (Family::default(), Family::default());
    let a = lineage.learn(Sessions::test_key(1), &mut one, told(None, Some("child"), "c1"));
    let b = lineage.learn(Sessions::test_key(2), &mut two, told(None, Some("child"), "c2"));
    assert_ne!(a, b);
    assert_eq!(lineage.find("child"), Some(a));
}

#[test]
fn a_nested_child_knows_its_parent_by_parent_id_or_by_who_made_the_task_call() {
    let (mut lineage, mut family, root) = (Lineage::default(), Family::default(), Sessions::test_key(1));
    let outer = lineage.learn(root, &mut family, told(Some("outer"), None, "t1"));
    let named = lineage.learn(root, &mut family, Announcement { parent_agent: Some("outer"), ..told(Some("named"), None, "t2") });
    family.note_call("t3", Some(named));
    let tied = lineage.learn(root, &mut family, told(None, None, "t3"));
    assert_eq!(lineage.child(outer).unwrap().parent, None);
    assert_eq!(lineage.child(named).unwrap().parent, Some(outer));
    assert_eq!(lineage.child(tied).unwrap().parent, Some(named));
    assert_eq!(&*lineage.child(tied).unwrap().agent_id, "t3");
}

#[test]
fn one_announcement_seen_on_two_lanes_is_one_child() {
    let (mut lineage, mut family, root) = (Lineage::default(), Family::default(), Sessions::test_key(1));
    for announcement in [told(Some("a"), None, "t1"), told(None, Some("r"), "t2"), told(None, None, "t3")] {
        let first = lineage.learn(root, &mut family, announcement);
        assert_eq!(lineage.learn(root, &mut family, announcement), first);
    }
    assert_eq!(lineage.len(), 3);
}

#[test]
fn a_call_id_used_again_after_its_child_ended_is_a_new_child() {
    let (mut lineage, mut family, root) = (Lineage::default(), Family::default(), Sessions::test_key(1));
    let first = lineage.learn(root, &mut family, told(None, None, "call_1_0"));
    lineage.ended(first);
    assert_eq!(family.by_task("call_1_0"), Some(first), "late requests still resolve");
    assert_ne!(lineage.learn(root, &mut family, told(None, None, "call_1_0")), first);
}

#[test]
fn forgetting_a_session_removes_its_own_children_only() {
    let mut lineage = Lineage::default();
    let (mut one, mut two) = (Family::default(), Family::default());
    let a = lineage.learn(Sessions::test_key(1), &mut one, told(Some("a"), None, "t"));
    lineage.alias(a, "third");
    let b = lineage.learn(Sessions::test_key(2), &mut two, told(Some("b"), None, "t"));
    lineage.forget(&mut one);
    assert_eq!((lineage.find("a"), lineage.find("third"), lineage.find("b")), (None, None, Some(b)));
    assert!(one.is_empty() && lineage.child(a).is_none());
}

#[test]
fn a_main_agents_call_takes_a_reused_call_id_back() {
    let (mut lineage, mut family, root) = (Lineage::default(), Family::default(), Sessions::test_key(1));
    let child = lineage.learn(root, &mut family, told(Some("a"), None, "t"));
    family.note_call("call_2", Some(child));
    assert_eq!(family.by_call("call_2"), Some(child));
    family.note_call("call_2", None);
    assert_eq!(family.by_call("call_2"), None);
}
