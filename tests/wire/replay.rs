//! Plays one vector: its clients, its lanes, and the steps between them. `protocol/vectors/README.md` has the format.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::pattern::{Variables, fill_in, fits};
use crate::support::conn::{Conn, Message};
use crate::support::runtime::Lane;
use crate::support::world::World;

const MARKER: &str = "vector.marker";

/// A client and, once the daemon has spoken on it, its lane.
struct Pair {
    client: Conn,
    lane: Option<Lane>,
}

pub struct Player {
    world: World,
    pairs: BTreeMap<String, Pair>,
    variables: Variables,
}

/// Plays a whole vector; the error names the step.
pub fn play(vector: &Value) -> Result<(), String> {
    let protocol = vector["protocol"].as_u64().ok_or("no protocol")?;
    for field in ["name", "why"] {
        vector[field].as_str().filter(|text| !text.is_empty()).ok_or(format!("no {field}"))?;
    }
    let steps = vector["steps"].as_array().filter(|steps| !steps.is_empty()).ok_or("no steps")?;
    let config = vector["config"].as_str();
    let world = match (&vector["connect"], protocol) {
        (Value::Null, _) => World::with_config(protocol, config),
        (Value::Bool(false), 3) => World::without_connect(config),
        (other, _) => return Err(format!("connect may be false, with protocol 3 only, not {other}")),
    };
    let mut player = Player { world, pairs: BTreeMap::new(), variables: Variables::new() };
    for (at, step) in steps.iter().enumerate() {
        player.step(step).map_err(|why| format!("step {} {}: {why}", at + 1, shown(step)))?;
    }
    player.nothing_left_over()
}

fn shown(step: &Value) -> String {
    let text = step.to_string();
    text.chars().take(160).collect()
}

/// `"client a"` or `"lane a"`.
fn place(at: &Value) -> Result<(bool, &str), String> {
    let text = at.as_str().ok_or_else(|| format!("{at} is no place"))?;
    text.strip_prefix("client ")
        .map(|name| (true, name))
        .or_else(|| text.strip_prefix("lane ").map(|name| (false, name)))
        .ok_or_else(|| format!("{text:?} is neither a client nor a lane"))
}

impl Player {
    fn step(&mut self, step: &Value) -> Result<(), String> {
        let (kind, detail) = step.as_object().filter(|step| step.len() == 1).and_then(|step| step.iter().next()).ok_or("not one key")?;
        match kind.as_str() {
            "open" => self.open(detail),
            "dial" => self.dial(detail),
            "call" => self.exchange(detail, true),
            "ask" => self.exchange(detail, false),
            "tell" => self.tell(detail),
            "send" => self.send(detail),
            "expect" => self.expect(detail),
            "expectAll" => self.expect_all(detail),
            "quiet" => place(detail).and_then(|(client, name)| self.quiet(name, client)),
            "close" => place(detail).and_then(|(client, name)| self.close(name, client)),
            other => Err(format!("unknown step {other}")),
        }
    }

    /// `"a"`, or `{"client": "a", "protocol": 2}`.
    fn open(&mut self, detail: &Value) -> Result<(), String> {
        let name = detail.as_str().or(detail["client"].as_str()).ok_or("open wants a name")?;
        let protocol = match detail.as_object() {
            Some(detail) => detail.get("protocol").and_then(Value::as_u64).ok_or("open wants the client's protocol")?,
            None => self.world.protocol,
        };
        let (client, lane) = self.world.try_open(name, protocol)?;
        self.pairs.insert(name.to_owned(), Pair { client, lane: Some(lane) });
        Ok(())
    }

    fn dial(&mut self, name: &Value) -> Result<(), String> {
        let name = name.as_str().ok_or("dial wants a name")?;
        self.pairs.insert(name.to_owned(), Pair { client: self.world.daemon.dial(name), lane: None });
        Ok(())
    }

    /// The two ends of a pair: who speaks first, and who hears it.
    fn ends(&mut self, name: &str, client_first: bool) -> Result<(&mut Conn, &mut Conn), String> {
        let pair = self.pairs.get_mut(name).ok_or_else(|| format!("no client {name}"))?;
        let lane = pair.lane.as_mut().ok_or_else(|| format!("client {name} has no lane yet"))?;
        Ok(if client_first { (&mut pair.client, lane) } else { (lane, &mut pair.client) })
    }

    fn end(&mut self, at: &Value) -> Result<&mut Conn, String> {
        let (client, name) = place(at)?;
        let pair = self.pairs.get_mut(name).ok_or_else(|| format!("no client {name}"))?;
        if client {
            return Ok(&mut pair.client);
        }
        if pair.lane.is_none() {
            pair.lane = Some(self.world.runtime.try_lane(name)?);
        }
        pair.lane.as_mut().ok_or_else(|| "unreachable: the lane was just set".to_owned())
    }

    /// A request from one end, and its answer: by the other end, or by the daemon alone.
    fn exchange(&mut self, detail: &Value, client_first: bool) -> Result<(), String> {
        let name = detail["client"].as_str().ok_or("no client")?.to_owned();
        let method = detail["method"].as_str().ok_or("no method")?;
        let params = self.params_text(detail)?;
        let (outcome, answer) = outcome(detail)?;
        let answer = if detail["by"] == "daemon" { answer.clone() } else { fill_in(answer, &self.variables)? };
        let mut variables = std::mem::take(&mut self.variables);
        let (first, second) = self.ends(&name, client_first)?;
        let id = first.fresh_id();
        first.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, json!(method)));
        if detail["by"] == "daemon" {
            let reply = reply_to(first, id)?;
            let got = reply.value.get(outcome).ok_or_else(|| format!("expected {outcome} by the daemon, got {}", reply.text))?;
            fits(&answer, got, &mut variables).map_err(|why| format!("{why}\n  in {}", reply.text))?;
            self.variables = variables;
            return self.quiet(&name, !client_first);
        }
        let seen = second.try_next()?;
        let wanted = detail["asMethod"].as_str().unwrap_or(method);
        if !seen.is_request() || seen.method() != Some(wanted) {
            return Err(format!("{}: expected the request {wanted}, got {}", second.name(), seen.text));
        }
        if !seen.id().is_i64() {
            return Err(format!("{}: our requests are numbered with integers, got {}", second.name(), seen.text));
        }
        same_or_as(detail, &params, &seen, &mut variables)?;
        let answer = answer.to_string();
        second.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{},"{outcome}":{answer}}}"#, seen.id()));
        let reply = reply_to(first, id)?;
        match (reply.raw(outcome), detail.get("asResult")) {
            (Some(_), Some(pattern)) => {
                fits(pattern, &reply.value[outcome], &mut variables).map_err(|why| format!("{why}\n  in {}", reply.text))?
            }
            (Some(text), None) if text == answer => {}
            _ => return Err(format!("{}: expected the {outcome} {answer}, got {}", first.name(), reply.text)),
        }
        self.variables = variables;
        Ok(())
    }

    /// A notification from the runtime to the client.
    fn tell(&mut self, detail: &Value) -> Result<(), String> {
        let name = detail["client"].as_str().ok_or("no client")?.to_owned();
        let method = detail["method"].as_str().unwrap_or("session.event");
        let params = self.params_text(detail)?;
        let mut variables = std::mem::take(&mut self.variables);
        let (lane, client) = self.ends(&name, false)?;
        lane.send_text(&format!(r#"{{"jsonrpc":"2.0","method":{},"params":{params}}}"#, json!(method)));
        if detail["unseen"] == true {
            self.variables = variables;
            return self.quiet(&name, true);
        }
        let seen = client.try_next()?;
        if seen.is_request() || seen.method() != Some(method) {
            return Err(format!("{}: expected the notification {method}, got {}", client.name(), seen.text));
        }
        same_or_as(detail, &params, &seen, &mut variables)?;
        self.variables = variables;
        Ok(())
    }

    fn params_text(&self, detail: &Value) -> Result<String, String> {
        match detail["paramsText"].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Ok(fill_in(&detail["params"], &self.variables)?.to_string()),
        }
    }

    fn send(&mut self, detail: &Value) -> Result<(), String> {
        let text = match detail["text"].as_str() {
            Some(text) => text.to_owned(),
            None => {
                let mut message = fill_in(&detail["message"], &self.variables)?;
                message.as_object_mut().ok_or("a message is an object")?.insert("jsonrpc".to_owned(), json!("2.0"));
                message.to_string()
            }
        };
        self.end(&detail["from"])?.send_text(&text);
        Ok(())
    }

    fn expect(&mut self, detail: &Value) -> Result<(), String> {
        let seen = self.end(&detail["at"])?.try_next()?;
        fits(&detail["message"], &seen.value, &mut self.variables).map_err(|why| format!("{why}\n  in {}", seen.text))?;
        if let Some(text) = detail["paramsText"].as_str()
            && seen.raw("params").as_deref() != Some(text)
        {
            return Err(format!("expected the params {text}, byte for byte, in {}", seen.text));
        }
        Ok(())
    }

    fn expect_all(&mut self, detail: &Value) -> Result<(), String> {
        let mut wanted = detail["messages"].as_array().ok_or("no messages")?.clone();
        while !wanted.is_empty() {
            let seen = self.end(&detail["at"])?.try_next()?;
            let variables = &mut self.variables;
            let found = wanted.iter().position(|pattern| {
                let mut tried = variables.clone();
                let fitting = fits(pattern, &seen.value, &mut tried).is_ok();
                if fitting {
                    *variables = tried;
                }
                fitting
            });
            wanted.remove(found.ok_or_else(|| format!("none of {} fits {}", json!(wanted), seen.text))?);
        }
        Ok(())
    }

    /// Nothing waits at this end: a marker sent from the other end is the next thing to arrive.
    fn quiet(&mut self, name: &str, at_client: bool) -> Result<(), String> {
        let (from, to) = self.ends(name, !at_client)?;
        from.notify(MARKER, json!({}));
        let seen = to.try_next()?;
        if seen.method() == Some(MARKER) { Ok(()) } else { Err(format!("{}: expected nothing, got {}", to.name(), seen.text)) }
    }

    fn close(&mut self, name: &str, client: bool) -> Result<(), String> {
        let mut pair = self.pairs.remove(name).ok_or_else(|| format!("no client {name}"))?;
        if client {
            pair.client.close();
        } else if let Some(lane) = &mut pair.lane {
            lane.close();
        }
        Ok(())
    }

    fn nothing_left_over(&mut self) -> Result<(), String> {
        let names: Vec<String> = self.pairs.iter().filter(|(_, pair)| pair.lane.is_some()).map(|(name, _)| name.clone()).collect();
        for at_client in [true, false] {
            for name in &names {
                self.quiet(name, at_client).map_err(|why| format!("after the last step: {why}"))?;
            }
        }
        Ok(())
    }
}

/// `result` or `error`, whichever the step has.
fn outcome(detail: &Value) -> Result<(&'static str, &Value), String> {
    match (detail.get("result"), detail.get("error")) {
        (Some(result), None) => Ok(("result", result)),
        (None, Some(error)) => Ok(("error", error)),
        _ => Err("a step needs a result or an error".to_owned()),
    }
}

fn reply_to(end: &mut Conn, id: i64) -> Result<Message, String> {
    let reply = end.try_next()?;
    if reply.method().is_some() || reply.value.get("id") != Some(&json!(id)) {
        return Err(format!("{}: expected the reply to {id}, got {}", end.name(), reply.text));
    }
    Ok(reply)
}

/// The other end sees the same params byte for byte, unless the step says as what it sees them.
fn same_or_as(detail: &Value, params: &str, seen: &Message, variables: &mut Variables) -> Result<(), String> {
    match detail.get("as") {
        Some(pattern) => fits(pattern, seen.params(), variables).map_err(|why| format!("{why}\n  in {}", seen.text)),
        None if seen.raw("params").as_deref() == Some(params) => Ok(()),
        None => Err(format!("expected the params {params}, byte for byte, got {}", seen.text)),
    }
}
