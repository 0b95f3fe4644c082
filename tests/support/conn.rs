//! One JSON-RPC connection as a test sees it: messages in the order they arrived, taken one by one.
//!
//! Every `expect_…` looks at the *next* message and at no other, so a message too many fails the
//! test as surely as one that is missing.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::deadline;
use super::frame::{StrictReader, frame};

/// A message with the text it arrived as.
#[derive(Clone, Debug)]
pub struct Message {
    pub text: String,
    pub value: Value,
}

impl Message {
    pub fn id(&self) -> Value {
        self.value.get("id").cloned().unwrap_or_else(|| panic!("no id in {}", self.text))
    }

    pub fn method(&self) -> Option<&str> {
        self.value.get("method").and_then(Value::as_str)
    }

    pub fn params(&self) -> &Value {
        self.value.get("params").unwrap_or(&Value::Null)
    }

    pub fn is_request(&self) -> bool {
        self.method().is_some() && self.value.get("id").is_some()
    }

    /// The text of one top-level field, byte for byte.
    pub fn raw(&self, field: &str) -> Option<String> {
        raw_fields(&self.text).remove(field).map(|raw| raw.get().to_owned())
    }
}

/// The fields of a JSON object as their source text.
pub fn raw_fields(text: &str) -> BTreeMap<String, Box<RawValue>> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("no JSON object ({error}): {text}"))
}

#[derive(Clone, Debug)]
enum Arrival {
    Message(Message),
    Closed,
    Broken(String),
}

/// Answers that the reading thread gives by itself: method to result.
pub type AutoAnswers = BTreeMap<String, Value>;

type Sink = Arc<Mutex<Option<Box<dyn Write + Send>>>>;

pub struct Conn {
    name: String,
    sink: Sink,
    arrivals: Receiver<Arrival>,
    end: Option<Arrival>,
    /// The last messages taken, for the report when something else was expected.
    history: Vec<String>,
    next_id: i64,
    hang_up: Option<Box<dyn FnOnce() + Send>>,
}

impl Conn {
    /// `hang_up` ends both directions at once; without it closing means dropping the writing side.
    pub fn new(
        name: &str,
        source: Box<dyn Read + Send>,
        sink: Box<dyn Write + Send>,
        hang_up: Option<Box<dyn FnOnce() + Send>>,
        auto: AutoAnswers,
        on_first: Option<Box<dyn FnOnce() + Send>>,
    ) -> Self {
        let sink: Sink = Arc::new(Mutex::new(Some(sink)));
        let (arrived, arrivals) = mpsc::channel();
        let answering = Arc::clone(&sink);
        thread::Builder::new()
            .name(format!("read {name}"))
            .spawn(move || read_all(source, &answering, &auto, &arrived, on_first))
            .expect("a reading thread");
        Self { name: name.to_owned(), sink, arrivals, end: None, history: Vec::new(), next_id: 1, hang_up }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    // Sending.

    /// Bytes as they are; `Err` when the other side has closed.
    pub fn try_send_bytes(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut sink = self.sink.lock().unwrap();
        let sink = sink.as_mut().ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotConnected))?;
        sink.write_all(bytes)?;
        sink.flush()
    }

    /// A handle for another thread to send with while this one receives.
    pub fn sender(&self) -> impl Fn(&[u8]) + Send + 'static {
        let (sink, name) = (Arc::clone(&self.sink), self.name.clone());
        move |bytes| {
            let mut sink = sink.lock().unwrap();
            let sent = sink.as_mut().map(|sink| sink.write_all(bytes).and_then(|()| sink.flush()));
            assert!(matches!(sent, Some(Ok(()))), "{name}: cannot send: {sent:?}");
        }
    }

    pub fn send_bytes(&self, bytes: &[u8]) {
        self.try_send_bytes(bytes).unwrap_or_else(|error| panic!("{}: cannot send {} bytes: {error}", self.name, bytes.len()));
    }

    pub fn send_text(&self, body: &str) {
        self.send_bytes(&frame(body.as_bytes()));
    }

    pub fn send(&self, message: &Value) {
        self.send_text(&message.to_string());
    }

    /// An id that this connection has not used yet.
    pub fn fresh_id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.fresh_id();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn event(&self, session: &str, event: Value) {
        self.notify("session.event", json!({"sessionId": session, "event": event}));
    }

    pub fn respond(&self, id: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub fn respond_error(&self, id: &Value, code: i64, message: &str) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
    }

    /// Ends the connection from this side.
    pub fn close(&mut self) {
        self.sink.lock().unwrap().take();
        if let Some(hang_up) = self.hang_up.take() {
            hang_up();
        }
    }

    // Receiving.

    /// The next message, or a sentence that says what came (or did not) instead.
    pub fn try_next(&mut self) -> Result<Message, String> {
        self.try_next_within(deadline())
    }

    pub fn try_next_within(&mut self, limit: std::time::Duration) -> Result<Message, String> {
        if self.end.is_none() {
            match self.arrivals.recv_timeout(limit) {
                Ok(Arrival::Message(message)) => {
                    self.history.push(shortened(&message.text));
                    return Ok(message);
                }
                Ok(end) => self.end = Some(end),
                Err(RecvTimeoutError::Timeout) => return Err(format!("{}: nothing arrived in {limit:?}{}", self.name, self.before())),
                Err(RecvTimeoutError::Disconnected) => self.end = Some(Arrival::Closed),
            }
        }
        Err(match self.end.as_ref() {
            Some(Arrival::Broken(why)) => format!("{}: {why}{}", self.name, self.before()),
            _ => format!("{}: the connection was closed{}", self.name, self.before()),
        })
    }

    pub fn next(&mut self) -> Message {
        self.try_next().unwrap_or_else(|why| panic!("{why}"))
    }

    fn wanted(&mut self, what: &str, fits: impl Fn(&Message) -> bool) -> Message {
        let message = self.try_next().unwrap_or_else(|why| panic!("expected {what}, but {why}"));
        assert!(fits(&message), "{}: expected {what}, but this arrived: {}{}", self.name, message.text, self.before());
        message
    }

    pub fn expect_request(&mut self, method: &str) -> Message {
        self.wanted(&format!("a request {method}"), |message| message.is_request() && message.method() == Some(method))
    }

    pub fn expect_notification(&mut self, method: &str) -> Message {
        self.wanted(&format!("a notification {method}"), |message| !message.is_request() && message.method() == Some(method))
    }

    pub fn expect_event(&mut self, kind: &str) -> Message {
        self.wanted(&format!("a session.event {kind}"), |message| {
            message.method() == Some("session.event") && message.params()["event"]["type"] == kind
        })
    }

    pub fn expect_response(&mut self, id: impl Into<Value>) -> Message {
        let id = id.into();
        self.wanted(&format!("the response to {id}"), |message| message.method().is_none() && message.value.get("id") == Some(&id))
    }

    pub fn expect_result(&mut self, id: impl Into<Value>) -> Value {
        let message = self.expect_response(id);
        let result = message.value.get("result").cloned();
        result.unwrap_or_else(|| panic!("{}: expected a result, but this arrived: {}", self.name, message.text))
    }

    /// The error object in the response to `id`.
    pub fn expect_error(&mut self, id: impl Into<Value>) -> Value {
        let message = self.expect_response(id);
        let error = message.value.get("error").cloned();
        error.unwrap_or_else(|| panic!("{}: expected an error, but this arrived: {}", self.name, message.text))
    }

    /// The other side ends the connection, and no message comes before that.
    pub fn expect_closed(&mut self) {
        if self.end.is_none() {
            let limit = deadline();
            match self.arrivals.recv_timeout(limit) {
                Ok(Arrival::Message(message)) => panic!("{}: expected the end, but this arrived: {}", self.name, message.text),
                Ok(end) => self.end = Some(end),
                Err(RecvTimeoutError::Timeout) => panic!("{}: still open after {limit:?}{}", self.name, self.before()),
                Err(RecvTimeoutError::Disconnected) => self.end = Some(Arrival::Closed),
            }
        }
        if let Some(Arrival::Broken(why)) = &self.end {
            panic!("{}: expected the end, but {why}{}", self.name, self.before());
        }
    }

    /// Takes messages until the connection ends.
    pub fn drain(&mut self) -> Vec<Message> {
        let started = Instant::now();
        let mut messages = Vec::new();
        while self.end.is_none() {
            match self.arrivals.recv_timeout(deadline().saturating_sub(started.elapsed())) {
                Ok(Arrival::Message(message)) => messages.push(message),
                Ok(Arrival::Broken(why)) => panic!("{}: {why}", self.name),
                Ok(Arrival::Closed) | Err(RecvTimeoutError::Disconnected) => self.end = Some(Arrival::Closed),
                Err(RecvTimeoutError::Timeout) => panic!("{}: still open, after {} messages", self.name, messages.len()),
            }
        }
        messages
    }

    fn before(&self) -> String {
        const SHOWN: usize = 6;
        if self.history.is_empty() {
            return "\n  (nothing had arrived before)".to_owned();
        }
        let skipped = self.history.len().saturating_sub(SHOWN);
        let mut text = format!("\n  the last of {} messages here:", self.history.len());
        for line in &self.history[skipped..] {
            text.push_str("\n    ");
            text.push_str(line);
        }
        text
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.close();
    }
}

fn shortened(text: &str) -> String {
    const LIMIT: usize = 600;
    if text.len() <= LIMIT {
        return text.to_owned();
    }
    let cut = (0..=LIMIT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}… ({} bytes)", &text[..cut], text.len())
}

fn read_all(
    source: Box<dyn Read + Send>,
    sink: &Sink,
    auto: &AutoAnswers,
    arrived: &Sender<Arrival>,
    mut on_first: Option<Box<dyn FnOnce() + Send>>,
) {
    let mut reader = StrictReader::new(source);
    loop {
        let arrival = match reader.next_body() {
            Ok(Some(body)) => match parse(body) {
                Ok(message) => Arrival::Message(message),
                Err(why) => Arrival::Broken(why),
            },
            Ok(None) => Arrival::Closed,
            Err(why) => Arrival::Broken(why),
        };
        let over = !matches!(arrival, Arrival::Message(_));
        if let (false, Some(first)) = (over, on_first.take()) {
            first();
        }
        if let Arrival::Message(message) = &arrival
            && message.is_request()
            && let Some(result) = message.method().and_then(|method| auto.get(method))
        {
            let answer = json!({"jsonrpc": "2.0", "id": message.id(), "result": echoed(result, message)}).to_string();
            if let Some(sink) = sink.lock().unwrap().as_mut() {
                // A peer that has gone by now is noticed as the end of the stream below.
                let _ = super::frame::write_frame(sink, answer.as_bytes());
            }
            continue;
        }
        if arrived.send(arrival).is_err() || over {
            return;
        }
    }
}

/// A runtime's `pong` repeats the message of the `ping`.
fn echoed(result: &Value, request: &Message) -> Value {
    let mut result = result.clone();
    if let (Some("pong"), Some(text)) = (result["message"].as_str(), request.params()["message"].as_str()) {
        result["message"] = json!(format!("pong: {text}"));
    }
    result
}

fn parse(body: Vec<u8>) -> Result<Message, String> {
    let text = String::from_utf8(body).map_err(|error| format!("a body that is no UTF-8: {error}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("a body that is no JSON ({error}): {text}"))?;
    if value.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(format!("a message without \"jsonrpc\":\"2.0\": {text}"));
    }
    Ok(Message { text, value })
}
