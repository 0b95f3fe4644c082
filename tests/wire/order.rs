//! What one side sent first, the other sees first.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use serde_json::{Value, json};

use crate::support::conn::{Conn, Message};
use crate::support::frame::frame;
use crate::support::runtime::Lane;
use crate::support::world::{World, create};

const CLIENTS: usize = 4;
/// Messages of each end; with two ends a client this makes 100,000 in all, and the last answers on top.
const EACH: usize = 12_500;

/// The number that a message's sender gave it, wherever its kind carries it.
fn number(message: &Message) -> u64 {
    let value = &message.value;
    let places = [&value["params"]["n"], &value["result"]["n"], &value["error"]["data"]["n"], &value["params"]["event"]["data"]["n"]];
    places.iter().find_map(|place| place.as_u64()).unwrap_or_else(|| panic!("no number in {}", message.text))
}

/// One message of the flood that asks nothing.
type Telling = fn(session: &str, n: usize) -> Value;
/// One message of the flood that wants an answer.
type Asking = fn(session: &str, id: usize, n: usize) -> Value;

fn client_tells(_: &str, n: usize) -> Value {
    json!({"jsonrpc": "2.0", "method": "flood.note", "params": {"n": n}})
}

fn client_asks(session: &str, id: usize, n: usize) -> Value {
    match n % 2 {
        0 => json!({"jsonrpc": "2.0", "id": format!("q{id}"), "method": "session.flood", "params": {"sessionId": session, "n": n}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "method": "flood.ask", "params": {"n": n}}),
    }
}

fn event(session: &str, kind: &str, data: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": session, "event": {"type": kind, "data": data}}})
}

fn runtime_tells(session: &str, n: usize) -> Value {
    // The session's own events pass as they are; the child's are written anew, and must not be overtaken for it.
    match n % 3 {
        0 => event(session, "assistant.message_delta", json!({"n": n, "deltaContent": "x"})),
        1 => event(session, "assistant.message_delta", json!({"n": n, "parentToolCallId": "call-1"})),
        _ => {
            let (request, child) = (format!("{session}-{n}"), format!("child-of-{session}"));
            let data =
                json!({"n": n, "requestId": request, "sessionId": child, "toolCallId": "call-2", "toolName": "save", "arguments": {}});
            event(session, "external_tool.requested", data)
        }
    }
}

fn runtime_asks(session: &str, id: usize, n: usize) -> Value {
    match n % 3 {
        0 => json!({"jsonrpc": "2.0", "id": id, "method": "flood.ask", "params": {"n": n}}),
        1 => json!({"jsonrpc": "2.0", "id": id, "method": "userInput.request", "params": {"sessionId": session, "n": n}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "method": "hooks.invoke", "params": {"sessionId": format!("child-of-{session}"), "n": n}}),
    }
}

/// Every third message of an end is a question.
fn is_question(n: usize) -> bool {
    n % 3 == 1
}

fn answer(id: &Value, n: usize) -> Value {
    match n % 5 {
        0 => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "no", "data": {"n": n}}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "result": {"n": n}}),
    }
}

/// Sends `EACH` messages of every kind, and then what is still owed to the other end. Returns how many were answers.
fn flood(send: impl Fn(&[u8]), session: &str, owed: Receiver<Value>, tell: Telling, ask: Asking) -> usize {
    let mut answers = 0;
    let mut batch = Vec::new();
    for n in 0..EACH {
        let owing = if is_question(n) { None } else { owed.try_recv().ok() };
        let message = match owing {
            Some(id) => {
                answers += 1;
                answer(&id, n)
            }
            None if is_question(n) => ask(session, n, n),
            None => tell(session, n),
        };
        batch.extend_from_slice(&frame(message.to_string().as_bytes()));
        // Several messages in one write and single ones: both happen in life.
        if n % 7 == 0 || n % 11 == 0 || n + 1 == EACH {
            send(&batch);
            batch.clear();
        }
    }
    for (n, id) in (EACH..).zip(owed) {
        answers += 1;
        send(&frame(answer(&id, n).to_string().as_bytes()));
    }
    answers
}

struct Heard {
    messages: usize,
    questions: usize,
    answers: usize,
}

/// Takes messages until the other end has sent all of its own and every question of ours is answered.
fn listen(end: &mut Conn, owe: Sender<Value>) -> Heard {
    let ours = (0..EACH).filter(|&n| is_question(n)).count();
    let mut owe = Some(owe);
    let mut heard = Heard { messages: 0, questions: 0, answers: 0 };
    while heard.messages < EACH || heard.answers < ours {
        let message = end.next();
        assert_eq!(number(&message), heard.messages as u64, "{}: out of order: {}", end.name(), message.text);
        heard.messages += 1;
        if message.is_request() {
            heard.questions += 1;
            owe.as_ref().expect("questions come early").send(message.id()).expect("the sending thread listens");
        } else if message.method().is_none() {
            heard.answers += 1;
        }
        if heard.messages == EACH {
            // The other end asks nothing beyond this, so the sending thread may finish.
            owe = None;
        }
    }
    heard
}

/// Gives the end back, so that nobody hangs up while another end still listens.
fn flood_and_listen(mut end: Conn, session: String, tell: Telling, ask: Asking) -> (Conn, Heard) {
    let (owe, owed) = mpsc::channel();
    let send = end.sender();
    let sending = thread::spawn(move || flood(send, &session, owed, tell, ask));
    let heard = listen(&mut end, owe);
    assert_eq!(sending.join().expect("all was sent"), heard.questions, "{}: each question is answered once", end.name());
    (end, heard)
}

fn with_a_child(client: &mut Conn, lane: &mut Lane, session: &str) {
    create(client, lane, session, json!({"tools": [{"name": "save"}], "customAgents": [{"name": "helper", "prompt": "x"}]}));
    let child = format!("child-of-{session}");
    lane.event(
        session,
        json!({"type": "subagent.started", "data": {"toolCallId": "call-1", "agentName": "helper", "remoteSessionId": child}}),
    );
    client.expect_event("subagent.started");
}

#[test]
fn a_flood_of_every_kind_in_both_directions_keeps_its_order() {
    let world = World::start(3);
    let mut ends = Vec::new();
    for number in 0..CLIENTS {
        let session = format!("s{number}");
        let (mut client, mut lane) = world.open(&number.to_string());
        with_a_child(&mut client, &mut lane, &session);
        ends.push((client, session.clone(), client_tells as Telling, client_asks as Asking));
        ends.push((lane, session, runtime_tells as Telling, runtime_asks as Asking));
    }
    let threads: Vec<_> =
        ends.into_iter().map(|(end, session, tell, ask)| thread::spawn(move || flood_and_listen(end, session, tell, ask))).collect();
    let heard: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("an end that saw its order kept")).collect();
    let total: usize = heard.iter().map(|(_, heard)| heard.messages).sum();
    assert!(total >= 100_000, "only {total} messages");
}

#[test]
fn a_create_response_precedes_what_the_runtime_sent_after_it() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    for round in 0..300 {
        let session = format!("s{round}");
        let id = client.request("session.create", json!({"sessionId": session}));
        let seen = lane.expect_request("session.create");
        let response = json!({"jsonrpc": "2.0", "id": seen.id(), "result": {"sessionId": session}});
        let start = event(&session, "session.start", json!({"sessionId": session}));
        let hook = json!({"sessionId": session, "hookType": "sessionStart", "input": {}});
        let question = json!({"jsonrpc": "2.0", "id": round, "method": "hooks.invoke", "params": hook});
        let together: Vec<u8> = [response, start, question].iter().flat_map(|message| frame(message.to_string().as_bytes())).collect();
        lane.send_bytes(&together);
        client.expect_result(id);
        client.expect_event("session.start");
        let asked = client.expect_request("hooks.invoke");
        client.respond(&asked.id(), json!({}));
        lane.expect_result(round);
    }
}

#[test]
fn a_protocol_2_runtimes_early_session_start_precedes_the_create_response() {
    let world = World::start(2);
    let (mut client, mut lane) = world.open("a");
    for round in 0..300 {
        let session = format!("s{round}");
        let id = client.request("session.create", json!({"requestPermission": true}));
        let seen = lane.expect_request("session.create");
        let start = event(&session, "session.start", json!({"sessionId": session}));
        let response = json!({"jsonrpc": "2.0", "id": seen.id(), "result": {"sessionId": session}});
        let together: Vec<u8> = [start, response].iter().flat_map(|message| frame(message.to_string().as_bytes())).collect();
        lane.send_bytes(&together);
        assert_eq!(client.expect_event("session.start").params()["sessionId"], session);
        client.expect_result(id);
    }
}
