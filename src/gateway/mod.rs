//! The front door: connections come in, their messages pass the layers and reach the router, and what the
//! router queued is written out.
//!
//! Everything here runs on one thread. A message is read, routed and written by the task that read it, with no
//! hand-over in between: that is what makes order certain and a routed call cheap.

mod hub;
pub mod layers;
mod socket;

pub use hub::Hub;

#[cfg(test)]
mod tests;
