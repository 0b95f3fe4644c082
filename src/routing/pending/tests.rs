use super::*;
use crate::protocol::fields::ROUTED;
use crate::routing::ports::Ports;

fn question() -> Question {
    let event = Message::read(bytes::Bytes::from_static(br#"{"method":"session.event"}"#), &ROUTED, 8).unwrap();
    Question { lane: Ports::default().open(()), event, stands_for: None, child: None, seen: Vec::new() }
}

#[test]
fn a_question_is_answered_once() {
    let mut questions = Questions::default();
    assert_eq!(questions.standing("r"), Standing::Unknown);
    questions.ask("r", question());
    assert_eq!(questions.standing("r"), Standing::Open);
    assert!(questions.answer("r").is_some());
    assert!(questions.answer("r").is_none());
    assert_eq!(questions.standing("r"), Standing::Answered);
}

#[test]
fn what_we_refused_is_not_open_for_an_answer() {
    let mut questions = Questions::default();
    questions.deny("r");
    assert!(questions.answer("r").is_none());
    assert_eq!(questions.standing("r"), Standing::Denied);
}

#[test]
fn memory_of_answers_is_bounded_and_open_questions_are_never_forgotten() {
    let mut questions = Questions::default();
    questions.ask("open", question());
    for n in 0..REMEMBERED * 2 {
        let id = n.to_string();
        questions.ask(&id, question());
        questions.answer(&id);
    }
    assert_eq!(questions.states.len(), REMEMBERED + 1);
    assert_eq!(questions.standing("open"), Standing::Open);
    assert_eq!(questions.standing("0"), Standing::Unknown);
}
