//! Params by position, `[{…}]`, as the .NET SDK sends them: they mean what the object in them means.

use serde_json::json;

use crate::support::world::{World, create};

#[test]
fn params_by_position_open_a_session_and_pass_as_they_came() {
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    let options = json!([{"sessionId": "s1", "tools": [{"name": "save"}], "customAgents": [{"name": "h", "tools": ["save"]}]}]);
    let id = client.request("session.create", options);
    let seen = lane.expect_request("session.create");
    assert_eq!(seen.params()[0]["customAgents"][0]["toolDefinitions"], json!([{"name": "save"}]));
    lane.respond(&seen.id(), json!({"sessionId": "s1"}));
    client.expect_result(id);
    let id = client.request("session.send", json!([{"sessionId": "s1", "prompt": "p"}]));
    let seen = lane.expect_request("session.send");
    assert_eq!(seen.params(), &json!([{"sessionId": "s1", "prompt": "p"}]));
    lane.respond(&seen.id(), json!({"messageId": "m"}));
    client.expect_result(id);
}

#[test]
fn params_by_position_are_no_way_around_attachment() {
    let world = World::start(3);
    let (mut owner, mut owner_lane) = world.open("a");
    create(&mut owner, &mut owner_lane, "s1", json!({}));
    let (mut other, _lane) = world.open("b");
    let id = other.request("session.getMessages", json!([{"sessionId": "s1"}]));
    assert_eq!(other.expect_error(id)["message"], "unknown session s1");
    other.request("session.getMessages", json!([{}, {"sessionId": "s1"}]));
    assert_eq!(other.next().value["error"]["code"], -32600);
}
