//! Opening a session: what a client registers with `session.create` and `session.resume`, and the tool
//! definitions that its agents are given on the way.

use super::allowlist::{Agents, Allowlist};
use super::ports::PortId;
use super::sessions::{SessionKey, Sessions};
use crate::protocol::session::{OpenFlags, RawAgent, RawOptions, RawTool};
use crate::rpc::write;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// What a client registers with a session.
#[derive(Debug, Default)]
pub struct Registration {
    tools: Vec<Box<str>>,
    agents: Option<Agents>,
    hooks: bool,
    /// Whether the client answers permission requests.
    pub permissions: bool,
    /// Whether we refuse permissions in its place.
    pub refuses: bool,
}

impl Registration {
    /// Writes it into the session's record.
    pub fn record(self, sessions: &mut Sessions, key: SessionKey, client: PortId) {
        let Some(session) = sessions.get_mut(key) else { return };
        if let Some(agents) = self.agents {
            session.agents = agents;
        }
        if let Some(attachment) = session.attached.iter_mut().find(|a| a.client == client) {
            attachment.tools = self.tools;
            attachment.hooks = self.hooks;
            attachment.refuses = self.refuses;
        }
    }
}

/// A text to put into the params, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Byte offset in the params.
    pub at: usize,
    /// What.
    pub text: Vec<u8>,
}

/// What the params of an opening say, and what is to be put into them.
#[derive(Debug)]
pub struct Opening {
    /// What the client registers.
    pub registration: Registration,
    /// Tool definitions for its agents.
    pub insertions: Vec<Insertion>,
    /// Where the value of `requestPermission` stands in the params.
    pub permission_flag: Option<Range<usize>>,
}

/// Reads the params of an opening. A shape that we do not know counts as nothing registered: whether it is
/// wrong is the runtime's to say.
pub fn read(params: &[u8]) -> Opening {
    let options: RawOptions = serde_json::from_slice(params).unwrap_or_default();
    let flags: OpenFlags = serde_json::from_slice(params).unwrap_or_default();
    // Read on its own: where a null stands must be known too, and an optional field hides it.
    let members: HashMap<Cow<str>, &RawValue> = serde_json::from_slice(params).unwrap_or_default();
    let permission = members.get("requestPermission");
    // What is raw borrows from `params`, so the distance of the two is where it stands.
    let place = |raw: &RawValue| raw.get().as_ptr() as usize - params.as_ptr() as usize;
    let raw_tools = options.tools.unwrap_or_default();
    let tools: Vec<RawTool> = raw_tools.iter().filter_map(|t| serde_json::from_str(t.get()).ok()).collect();
    let raw_agents = options.custom_agents.as_deref();
    let agents: Option<Vec<RawAgent>> = raw_agents.map(|list| list.iter().filter_map(|a| serde_json::from_str(a.get()).ok()).collect());
    let insertions = raw_agents.unwrap_or_default().iter().filter_map(|raw| {
        let agent: RawAgent = serde_json::from_str(raw.get()).ok()?;
        let text = definitions(&agent, &tools)?;
        Some(Insertion { at: place(raw) + 1, text })
    });
    let insertions = insertions.collect();
    let registration = Registration {
        tools: tools.iter().map(|t| t.name.as_str().into()).collect(),
        agents: agents.map(|a| Agents::new(a.iter())),
        hooks: flags.hooks.unwrap_or(false),
        permissions: permission.is_some_and(|raw| raw.get() == "true"),
        refuses: false,
    };
    let permission_flag = permission.map(|raw| place(raw)..place(raw) + raw.get().len());
    Opening { registration, insertions, permission_flag }
}

/// `"toolDefinitions":[…],` for an agent with a list that matches something; `None` for all others.
fn definitions(agent: &RawAgent<'_>, tools: &[RawTool<'_>]) -> Option<Vec<u8>> {
    if agent.tool_definitions.is_some() || Allowlist::new(agent.tools.as_deref()) == Allowlist::All {
        return None;
    }
    let listed: Vec<&RawTool> = agent.tools.iter().flatten().filter_map(|name| tools.iter().find(|t| t.name == *name)).collect();
    if listed.is_empty() {
        return None;
    }
    let mut text = b"\"toolDefinitions\":[".to_vec();
    for (n, tool) in listed.iter().enumerate() {
        text.extend_from_slice(if n == 0 { b"{\"name\":" } else { b",{\"name\":" });
        text.extend(write::quote(&tool.name));
        for (key, raw) in [("description", tool.description), ("parameters", tool.parameters)] {
            if let Some(raw) = raw {
                text.extend_from_slice(format!(",\"{key}\":").as_bytes());
                text.extend_from_slice(raw.get().as_bytes());
            }
        }
        text.push(b'}');
    }
    text.extend_from_slice(b"],");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn filled(params: &str) -> Value {
        let mut insertions = read(params.as_bytes()).insertions;
        insertions.sort_by_key(|i| std::cmp::Reverse(i.at));
        let mut text = params.as_bytes().to_vec();
        for i in insertions {
            text.splice(i.at..i.at, i.text);
        }
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn each_listed_session_tool_is_defined_and_nothing_else_moves() {
        let params = r#"{"tools":[{"name":"a","description":"A","parameters":{"type":"object"},"skipPermission":true},{"name":"b"}],
            "customAgents":[ {"name":"x","tools":["b","a","view"]}, {"name":"y","tools":["a"],"prompt":"p"} ]}"#;
        let got = filled(params);
        assert_eq!(
            got["customAgents"][0]["toolDefinitions"],
            json!([{"name":"b"},{"name":"a","description":"A","parameters":{"type":"object"}}])
        );
        assert_eq!(
            got["customAgents"][1],
            json!({"name":"y","tools":["a"],"prompt":"p","toolDefinitions":[{"name":"a","description":"A","parameters":{"type":"object"}}]})
        );
    }

    #[test]
    fn no_definitions_for_all_none_or_what_matches_nothing() {
        for agent in [
            r#"{"name":"x"}"#,
            r#"{"name":"x","tools":null}"#,
            r#"{"name":"x","tools":[]}"#,
            r#"{"name":"x","tools":["*"]}"#,
            r#"{"name":"x","tools":["view"]}"#,
            r#"{"name":"x","tools":["a"],"toolDefinitions":[]}"#,
            "7",
        ] {
            let params = format!(r#"{{"tools":[{{"name":"a"}}],"customAgents":[{agent}]}}"#);
            assert_eq!(read(params.as_bytes()).insertions, [], "{agent}");
        }
    }

    #[test]
    fn a_shape_that_is_not_known_registers_nothing() {
        for params in ["[]", "null", r#"{"tools":5,"customAgents":"x"}"#, r#"{"tools":[5]}"#] {
            assert!(read(params.as_bytes()).registration.tools.is_empty(), "{params}");
        }
        assert!(read(br#"{"tools":5,"hooks":true}"#).registration.hooks);
    }
}
