//! The protocol as data: names of methods and events, where the routed fields stand, typed params and results
//! of both versions. No behaviour.

pub mod fields;
pub mod handshake;
pub mod names;
pub mod questions;
pub mod session;
pub mod subagent;

/// Protocol 2: the runtime asks with requests.
pub const V2: u32 = 2;
/// Protocol 3: the runtime asks with events.
pub const V3: u32 = 3;
