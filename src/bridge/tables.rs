//! The words of both versions.

/// Decisions on a permission: what protocol 2 says and what protocol 3 says for it. Where several words of one
/// side share one of the other, the first row is the way back.
const DECISIONS: [(&str, &str); 6] = [
    ("approved", "approve-once"),
    ("approved", "approve-for-session"),
    ("denied-interactively-by-user", "reject"),
    ("denied-no-approval-rule-and-could-not-request-from-user", "user-not-available"),
    ("denied-by-rules", "user-not-available"),
    ("denied-by-content-exclusion-policy", "user-not-available"),
];

/// Protocol 2's word for nobody being there to decide; the safe answer for a word that nobody knows.
pub const DENIED_UNASKED: &str = "denied-no-approval-rule-and-could-not-request-from-user";
/// Protocol 3's word for the same.
pub const NOT_AVAILABLE: &str = "user-not-available";
/// Protocol 2's approval.
pub const APPROVED: &str = "approved";
/// Protocol 3's approval that is to last.
pub const APPROVE_FOR_SESSION: &str = "approve-for-session";

/// A protocol 2 decision in protocol 3's words. Protocol 3's own words are taken as they are: SDK 0.3.0 speaks
/// protocol 2 with them.
pub fn decision_to_v3(kind: &str) -> &'static str {
    let own = DECISIONS.iter().find(|(_, three)| *three == kind);
    DECISIONS.iter().find(|(two, _)| *two == kind).or(own).map_or(NOT_AVAILABLE, |(_, three)| three)
}

/// A protocol 3 decision in protocol 2's words. Protocol 2's own words are taken as they are: CLIs 1.0.20 and
/// 1.0.34 speak protocol 3 with them, and some SDK programs send them still.
pub fn decision_to_v2(kind: &str) -> &'static str {
    let own = DECISIONS.iter().find(|(two, _)| *two == kind);
    DECISIONS.iter().find(|(_, three)| *three == kind).or(own).map_or(DENIED_UNASKED, |(two, _)| two)
}

/// The hooks that protocol 2 has.
const V2_HOOKS: [&str; 6] = ["userPromptSubmitted", "sessionStart", "preToolUse", "postToolUse", "sessionEnd", "errorOccurred"];

/// What a protocol 2 client is asked for a protocol 3 hook; `None` when it never heard of it.
pub fn hook_for_v2(hook: &str) -> Option<&'static str> {
    match hook {
        // Protocol 2 runs postToolUse for failures too.
        "postToolUseFailure" => Some("postToolUse"),
        _ => V2_HOOKS.iter().find(|known| **known == hook).copied(),
    }
}

/// Which permission a built-in tool asks for.
const TOOL_PERMISSIONS: [(&str, &str); 6] =
    [("bash", "shell"), ("create", "write"), ("edit", "write"), ("view", "read"), ("grep", "read"), ("glob", "read")];

/// Whether a hook's leave for this tool covers this permission.
pub fn covers(tool: &str, permission: &serde_json::Value) -> bool {
    match permission["toolName"].as_str() {
        Some(named) => named == tool,
        None => TOOL_PERMISSIONS.iter().any(|(name, kind)| *name == tool && permission["kind"] == *kind),
    }
}

/// The event types that protocol 2 SDKs know. Others are held back from them: the strict ones (Python 0.1.30)
/// fail on fields whose shape they do not expect.
const V2_EVENTS: [&str; 46] = [
    "abort",
    "assistant.intent",
    "assistant.message",
    "assistant.message_delta",
    "assistant.reasoning",
    "assistant.reasoning_delta",
    "assistant.streaming_delta",
    "assistant.turn_end",
    "assistant.turn_start",
    "assistant.usage",
    "hook.end",
    "hook.start",
    "pending_messages.modified",
    "session.compaction_complete",
    "session.compaction_start",
    "session.context_changed",
    "session.error",
    "session.handoff",
    "session.idle",
    "session.info",
    "session.mode_changed",
    "session.model_change",
    "session.plan_changed",
    "session.resume",
    "session.shutdown",
    "session.snapshot_rewind",
    "session.start",
    "session.task_complete",
    "session.title_changed",
    "session.truncation",
    "session.usage_info",
    "session.warning",
    "session.workspace_file_changed",
    "skill.invoked",
    "subagent.completed",
    "subagent.deselected",
    "subagent.failed",
    "subagent.selected",
    "subagent.started",
    "system.message",
    "tool.execution_complete",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
    "tool.user_requested",
    "user.message",
];

/// The parts of a tool's result that protocol 2 SDKs know.
const V2_CONTENTS: [&str; 6] = ["text", "terminal", "image", "audio", "resource", "resource_link"];

/// Whether a protocol 2 client knows this part of a tool's result.
pub fn is_v2_content(kind: &str) -> bool {
    V2_CONTENTS.contains(&kind)
}

/// Whether a protocol 2 client knows this event type.
pub fn is_v2_event(kind: &str) -> bool {
    V2_EVENTS.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decision_has_its_counterpart() {
        assert_eq!(
            [
                "approved",
                "denied-interactively-by-user",
                "denied-by-rules",
                "denied-by-content-exclusion-policy",
                DENIED_UNASKED,
                "nonsense"
            ]
            .map(decision_to_v3),
            ["approve-once", "reject", NOT_AVAILABLE, NOT_AVAILABLE, NOT_AVAILABLE, NOT_AVAILABLE]
        );
        assert_eq!(
            ["approve-once", "approve-for-session", "reject"].map(decision_to_v3),
            ["approve-once", "approve-for-session", "reject"]
        );
        assert_eq!(
            ["approve-once", "approve-for-session", "reject", "user-not-available", "approved", "denied-by-rules", "nonsense"]
                .map(decision_to_v2),
            ["approved", "approved", "denied-interactively-by-user", DENIED_UNASKED, "approved", "denied-by-rules", DENIED_UNASKED]
        );
    }

    #[test]
    fn a_word_that_nobody_knows_is_never_an_approval() {
        assert_ne!(decision_to_v3("approve"), "approve-once");
        assert_ne!(decision_to_v2("approve"), APPROVED);
    }
}
