//! What the daemon has no opinion on passes byte for byte.

use serde_json::{Value, json};

use crate::support::conn::raw_fields;
use crate::support::world::{World, create, tool};

/// Params that no parser gives back as they were: spacing, escapes, numbers beyond 64 bits, keys that only look alike.
const ODD: &str = concat!(
    "{ \"sessionId\" :\t\"s1\",\r\n \"n\":[1.0,1e2,1E+2,-0,-0.0,0.1000,12345678901234567890123456789,1e-400,9007199254740993],",
    "\"key\":1,\"k\\u0065y\":2,\"key \":3,\"KEY\":4,\"\":5,",
    "\"s\":\"\\u00e9\\u00E9 é \\/ / \\ud83d\\ude00 😀 \\u0000 \\b\\f \u{2028}\u{feff}\",",
    "\"deep\":[[[[[[[[{\"a\":{ }}]]]]]]]],\"e\":[ ],\"t\":true,\"z\":null }"
);

fn odd_event() -> String {
    format!(r#"{{"event" : {{"data":{ODD}, "type":"next.year","parentId":null,"id":"e1" }},  "sessionId":"s1"}}"#)
}

#[test]
fn a_clients_params_and_a_runtimes_result_pass_byte_for_byte() {
    for protocol in [2, 3] {
        let world = World::start(protocol);
        let (mut client, mut lane) = world.open("a");
        create(&mut client, &mut lane, "s1", json!({}));
        for method in ["session.send", "session.next.year", "next.year"] {
            client.send_text(&format!("{{\"params\":{ODD} , \"method\":\"{method}\",\"id\":\"x\\u0031\", \"jsonrpc\" : \"2.0\"}}"));
            let seen = lane.expect_request(method);
            assert_eq!(seen.raw("params").as_deref(), Some(ODD), "{method}");
            lane.send_text(&format!("{{\"id\":{},\"result\": {ODD},\"jsonrpc\":\"2.0\"}}", seen.id()));
            assert_eq!(client.expect_response("x1").raw("result").as_deref(), Some(ODD), "{method}");
        }
    }
}

#[test]
fn an_error_passes_byte_for_byte_both_ways() {
    let error = format!("{{ \"code\":-32603,\"message\":\"\\u00e9 é\",\"data\":{ODD}}}");
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    create(&mut client, &mut lane, "s1", json!({}));
    let id = client.request("next.year", json!({}));
    let seen = lane.expect_request("next.year");
    lane.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, seen.id()));
    assert_eq!(client.expect_response(id).raw("error"), Some(error.clone()));
    let id = lane.request("sessionFs.readFile", json!({"sessionId": "s1"}));
    let seen = client.expect_request("sessionFs.readFile");
    client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, seen.id()));
    assert_eq!(lane.expect_response(id).raw("error"), Some(error));
}

#[test]
fn a_runtimes_events_requests_and_notifications_pass_byte_for_byte() {
    for protocol in [2, 3] {
        let world = World::start(protocol);
        let (mut client, mut lane) = world.open("a");
        create(&mut client, &mut lane, "s1", json!({}));
        let event = odd_event();
        lane.send_text(&format!(r#"{{"params":{event},"method":"session.event","jsonrpc":"2.0"}}"#));
        assert_eq!(client.expect_event("next.year").raw("params"), Some(event));
        lane.send_text(&format!(r#"{{"jsonrpc":"2.0","method":"next.year","params":{ODD}}}"#));
        assert_eq!(client.expect_notification("next.year").raw("params").as_deref(), Some(ODD));
        for method in ["sessionFs.readFile", "hooks.invoke", "userInput.request"] {
            lane.send_text(&format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{method}","params":{ODD}}}"#));
            let seen = client.expect_request(method);
            assert_eq!(seen.raw("params").as_deref(), Some(ODD), "{method}");
            client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{ODD}}}"#, seen.id()));
            assert_eq!(lane.expect_response(9).raw("result").as_deref(), Some(ODD), "{method}");
        }
    }
}

#[test]
fn only_the_session_id_of_a_childs_question_changes() {
    let world = World::start(2);
    let (mut client, mut lane) = world.open("a");
    create(&mut client, &mut lane, "s1", json!({"tools": [tool("save")], "customAgents": [{"name": "helper", "prompt": "x"}]}));
    let started =
        json!({"type": "subagent.started", "data": {"toolCallId": "call-1", "agentName": "helper", "remoteSessionId": "child-1"}});
    lane.event("s1", started);
    client.expect_event("subagent.started");
    let odd_of_child = ODD.replacen("\"s1\"", "\"child-1\"", 1);
    assert_ne!(odd_of_child, ODD);
    for method in ["hooks.invoke", "userInput.request", "permission.request"] {
        lane.send_text(&format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{method}","params":{odd_of_child}}}"#));
        let seen = client.expect_request(method);
        let (got, wanted) = (raw_fields(&seen.raw("params").unwrap()), raw_fields(ODD));
        for (name, value) in &wanted {
            assert_eq!(got.get(name).map(|raw| raw.get()), Some(value.get()), "{method}: {name:?}");
        }
        assert_eq!(got.len(), wanted.len(), "{method} gained a field: {}", seen.text);
        client.respond(&seen.id(), Value::Null);
        lane.expect_response(9);
    }
}

#[test]
fn filling_in_tool_definitions_changes_nothing_else() {
    let tools =
        r#"[ {"name":"save","description":"\u00e9 \/","parameters":{ "n":1.0,"m":12345678901234567890123 },"skipPermission":true} ]"#;
    let agent = r#"{ "tools":["save"] , "name":"helper","prompt":"\ud83d\ude00","model" : null,"next":{"year":1E+5} }"#;
    let other = r#"{"name":"other",  "prompt":"x","tools" :null}"#;
    let params = format!(r#"{{"z":{ODD},"sessionId":"s1","tools":{tools}, "customAgents":[ {agent} ,{other}],"a":1.0}}"#);
    let world = World::start(3);
    let (mut client, mut lane) = world.open("a");
    for method in ["session.create", "session.resume"] {
        client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#));
        let seen = lane.expect_request(method);
        let got = raw_fields(&seen.raw("params").unwrap());
        for (name, value) in raw_fields(&params).iter().filter(|(name, _)| *name != "customAgents") {
            assert_eq!(got.get(name).map(|raw| raw.get()), Some(value.get()), "{method}: {name:?}");
        }
        assert_eq!(got.len(), 5, "{method} gained a field: {}", seen.text);
        let agents: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(got["customAgents"].get()).unwrap();
        assert_eq!(agents[1].get(), other, "{method}");
        let mut filled = raw_fields(agents[0].get());
        let definitions = filled.remove("toolDefinitions").unwrap_or_else(|| panic!("no toolDefinitions in {}", seen.text));
        assert_eq!(filled.len(), 5, "{method}");
        for (name, value) in raw_fields(agent) {
            assert_eq!(filled.get(&name).map(|raw| raw.get()), Some(value.get()), "{method}: {name:?}");
        }
        let definitions: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(definitions.get()).unwrap();
        assert_eq!(definitions.len(), 1, "{method}");
        let definition = raw_fields(definitions[0].get());
        let texts: Vec<(&str, &str)> = definition.iter().map(|(name, raw)| (name.as_str(), raw.get())).collect();
        let wanted =
            [("description", r#""\u00e9 \/""#), ("name", r#""save""#), ("parameters", r#"{ "n":1.0,"m":12345678901234567890123 }"#)];
        assert_eq!(texts, wanted, "{method}");
        lane.respond(&seen.id(), json!({"sessionId": "s1"}));
        client.expect_result(1);
    }
}
