//! Which of the session's tools an agent may call.

use crate::protocol::session::RawAgent;

/// An agent's allowlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowlist {
    /// `tools` null, missing, or with `"*"`.
    All,
    /// These and no others; an empty list is none.
    Only(Vec<Box<str>>),
}

impl Allowlist {
    /// From an agent's `tools`.
    pub fn new(tools: Option<&[String]>) -> Allowlist {
        match tools {
            None => Allowlist::All,
            Some(list) if list.iter().any(|t| t == "*") => Allowlist::All,
            Some(list) => Allowlist::Only(list.iter().map(|t| t.as_str().into()).collect()),
        }
    }

    /// Whether the agent may call this tool.
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Allowlist::All => true,
            Allowlist::Only(list) => list.iter().any(|t| **t == *tool),
        }
    }
}

/// The custom agents of a session.
#[derive(Debug, Default)]
pub struct Agents(Vec<(Box<str>, Allowlist)>);

impl Agents {
    /// From `customAgents`.
    pub fn new<'a>(agents: impl Iterator<Item = &'a RawAgent<'a>>) -> Agents {
        Agents(agents.map(|a| (a.name.as_str().into(), Allowlist::new(a.tools.as_deref()))).collect())
    }

    /// Whether this agent may call this tool. The first of two equal names counts; a name that is not here is
    /// a built-in agent, which has no client allowlist.
    pub fn allow(&self, agent: &str, tool: &str) -> bool {
        self.0.iter().find(|(name, _)| **name == *agent).is_none_or(|(_, list)| list.allows(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_star_allow_all_an_empty_list_none_a_list_its_own() {
        let list = |tools: &[&str]| Allowlist::new(Some(&tools.iter().map(|t| t.to_string()).collect::<Vec<_>>()));
        assert!(Allowlist::new(None).allows("a"));
        assert!(list(&["*"]).allows("a"));
        assert!(list(&["b", "*"]).allows("a"));
        assert!(!list(&[]).allows("a"));
        assert!(list(&["a", "b"]).allows("b"));
        assert!(!list(&["a", "b"]).allows("c"));
    }

    #[test]
    fn the_first_of_two_equal_names_counts_and_an_unlisted_agent_is_built_in() {
        let agent = |name: &str, tools: Option<&[&str]>| RawAgent {
            name: name.into(),
            tools: tools.map(|t| t.iter().map(|t| t.to_string()).collect()),
            tool_definitions: None,
        };
        let agents = [agent("x", Some(&["a"])), agent("x", None)];
        let agents = Agents::new(agents.iter());
        assert!(agents.allow("x", "a"));
        assert!(!agents.allow("x", "b"));
        assert!(agents.allow("explore", "b"));
    }
}
