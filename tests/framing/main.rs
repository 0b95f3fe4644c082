//! Abuse of the framing: who sends it loses their connection or hears an error, and nobody else notices.

#[path = "../support/mod.rs"]
mod support;

mod accepted;
mod bodies;
mod headers;
mod memory;

use serde_json::{Value, json};

use support::conn::Conn;
use support::runtime::Lane;
use support::world::{World, call};

/// A client that shook hands before the abuse began and is served all along.
struct Bystander {
    client: Conn,
    lane: Lane,
}

impl Bystander {
    fn new(world: &World) -> Self {
        let (client, lane) = world.open("bystander");
        Self { client, lane }
    }

    fn is_served(&mut self) {
        call(&mut self.client, &mut self.lane, "session.list", json!({}), json!({"sessions": []}));
    }
}

/// The next message is an error that answers no request in particular.
fn expect_nobodys_error(client: &mut Conn, code: i64) {
    let message = client.next();
    assert_eq!(message.value.get("id"), Some(&Value::Null), "{}", message.text);
    assert_eq!(message.value["error"]["code"], code, "{}", message.text);
    assert!(message.value["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", message.text);
    assert!(message.value.get("result").is_none() && message.method().is_none(), "{}", message.text);
}

/// One `-32700`, and then the end.
fn expect_refused(client: &mut Conn) {
    expect_nobodys_error(client, -32700);
    client.expect_closed();
}
