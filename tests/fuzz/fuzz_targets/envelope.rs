//! Any body: we accept what serde_json accepts (and nothing else), within the depth that both allow, and what we
//! note of it are whole values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use subagentd::protocol::fields::ROUTED;
use subagentd::rpc::message::SLOTS;
use subagentd::rpc::scan::{ScanError, scan};
use subagentd::rpc::{Message, Span};

fuzz_target!(|data: &[u8]| {
    let mut spans = [Span::default(); SLOTS];
    let ours = scan(data, &ROUTED, 100, &mut spans);
    let theirs = serde_json::from_slice::<&RawValue>(data);
    match ours {
        Ok(()) => assert!(theirs.is_ok()),
        Err(ScanError::Duplicate(_) | ScanError::TooDeep(_)) => {}
        Err(_) => assert!(theirs.is_err()),
    }
    for span in spans.iter().filter(|s| s.is_some() && ours.is_ok()) {
        assert!(serde_json::from_slice::<&RawValue>(span.of(data)).is_ok());
    }
    let _ = Message::read(data.to_vec().into(), &ROUTED, 100);
});
