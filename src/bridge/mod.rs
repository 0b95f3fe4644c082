//! Protocol 2 ⇄ protocol 3, and the drift of runtimes made one contract. Pure functions from message to
//! message; when they apply is routing's to say.
//!
//! - [`v2_client`]: a protocol 2 client in front of a protocol 3 runtime.
//! - [`v3_client`]: a protocol 3 client in front of a protocol 2 runtime.
//! - [`drift`]: protocol 3 runtimes that differ from each other.
//! - [`tables`]: the words of both versions, as data.

pub mod drift;
pub mod tables;
pub mod time;
pub mod v2_client;
pub mod v3_client;
