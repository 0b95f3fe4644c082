//! The heart: which session a message belongs to, who may see it, who answers it. Plain data structures and
//! no I/O: messages come in by method call, and what is to be written waits in the [`ports::Ports`].
//!
//! One [`Router`] serves all connections, one message at a time, so that what one side sent first the other
//! sees first, and no lock exists that could be held while anyone is awaited.

pub mod allowlist;
mod bridging;
mod client;
mod events;
mod hooks;
mod lane;
mod leaving;
pub mod lineage;
mod opening;
pub mod pending;
pub mod ports;
mod requests;
mod resolve;
mod router;
pub mod sessions;
mod status;

pub use client::{ClientState, Door};
pub use lane::{LaneState, LaneStatus};
pub use ports::PortId;
pub use router::{Command, Role, Router, Settings};
pub use sessions::Principal;
