//! Protocol 3 runtimes that differ from each other.

use super::tables;
use crate::rpc::write;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::ops::Range;

/// CLIs up to 1.0.57 send `preToolUse` arguments as a text; a protocol 3 client expects an object. Says whether
/// there was anything to change: arguments that are a text by nature stay one.
pub fn object_arguments(hook: &mut Map<String, Value>) -> bool {
    let arguments = hook.get_mut("input").and_then(|i| i.get_mut("toolArgs"));
    let parsed = arguments.as_deref().and_then(Value::as_str).and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    match (arguments, parsed) {
        (Some(arguments), Some(parsed)) => {
            *arguments = Value::Object(parsed);
            true
        }
        _ => false,
    }
}

/// Params of `hooks.invoke` from such a runtime in today's form; `None` when they are that already.
pub fn hook_params(params: &[u8]) -> Option<Vec<u8>> {
    let mut map = serde_json::from_slice::<Map<String, Value>>(params).ok()?;
    object_arguments(&mut map).then(|| write::json(&map))
}

/// Runtimes before SDK 1.0 do not say in `user.message` which `session.send` it belongs to, and Python 1.0.27
/// waits for that: the event's data with the id, or `None` when it has one or is nobody's prompt.
pub fn with_message_id(data: &[u8], id: &str) -> Option<Vec<u8>> {
    let mut data: Map<String, Value> = serde_json::from_slice(data).ok()?;
    if data.contains_key("messageId") || data.contains_key("source") {
        return None;
    }
    data.insert("messageId".into(), id.into());
    Some(write::json(&data))
}

/// CLIs 1.0.20 and 1.0.34 take protocol 2's words for a decision: where the kind stands in the params of
/// `handlePendingPermissionRequest`, and what to put there.
pub fn early_decision(params: &[u8]) -> Option<(Range<usize>, Vec<u8>)> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: Kind<'a>,
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        kind: &'a RawValue,
    }
    let raw = serde_json::from_slice::<Answer>(params).ok()?.result.kind;
    let kind: String = serde_json::from_str(raw.get()).ok()?;
    let at = raw.get().as_ptr() as usize - params.as_ptr() as usize;
    Some((at..at + raw.get().len(), write::quote(tables::decision_to_v2(&kind))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_runtime_is_answered_in_its_own_words() {
        let params = br#"{"sessionId":"s","requestId":"r","result":{"kind":"reject","feedback":"no"}}"#;
        let (span, kind) = early_decision(params).unwrap();
        assert_eq!((&params[span], &kind[..]), (&b"\"reject\""[..], &b"\"denied-interactively-by-user\""[..]));
        assert_eq!(early_decision(b"{}"), None);
    }

    #[test]
    fn a_prompt_is_given_its_id_unless_it_has_one_or_is_no_prompt() {
        assert_eq!(with_message_id(br#"{"content":"c"}"#, "m").unwrap(), br#"{"content":"c","messageId":"m"}"#);
        assert_eq!(with_message_id(br#"{"content":"c","messageId":"x"}"#, "m"), None);
        assert_eq!(with_message_id(br#"{"content":"c","source":"skill"}"#, "m"), None);
    }

    #[test]
    fn arguments_sent_as_a_text_become_an_object() {
        let hook = hook_params(br#"{"hookType":"preToolUse","input":{"toolArgs":"{\"a\":1}"}}"#);
        assert_eq!(hook.unwrap(), br#"{"hookType":"preToolUse","input":{"toolArgs":{"a":1}}}"#);
        assert_eq!(hook_params(br#"{"hookType":"preToolUse","input":{"toolArgs":"*** patch"}}"#), None);
    }
}
