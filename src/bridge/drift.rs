//! Protocol 3 runtimes that differ from each other.

use super::tables;
use crate::rpc::write;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::ops::Range;

/// CLIs before 1.0.57 send `preToolUse` arguments as a text; a protocol 3 client expects an object.
pub fn object_arguments(hook: &mut Map<String, Value>) {
    let arguments = hook.get_mut("input").and_then(|i| i.get_mut("toolArgs"));
    if let Some(arguments) = arguments
        && let Some(parsed) = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok())
    {
        *arguments = parsed;
    }
}

/// Params of `hooks.invoke` from such a runtime, in today's form.
pub fn hook_params(params: &[u8]) -> Vec<u8> {
    let Ok(mut map) = serde_json::from_slice::<Map<String, Value>>(params) else { return params.to_vec() };
    object_arguments(&mut map);
    write::json(&map)
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
    fn arguments_sent_as_a_text_become_an_object() {
        let hook = hook_params(br#"{"hookType":"preToolUse","input":{"toolArgs":"{\"a\":1}"}}"#);
        assert_eq!(hook, br#"{"hookType":"preToolUse","input":{"toolArgs":{"a":1}}}"#);
    }
}
