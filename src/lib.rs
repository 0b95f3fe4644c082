//! One daemon between agent clients and agent runtimes.
//!
//! Follow a message from the socket and you walk through the folders in this order:
//!
//! - [`transport`]: bytes and who is there. Stdio, Unix sockets, TCP, an in-memory pair.
//! - [`rpc`]: JSON-RPC and no agents. Frames, envelopes with raw params, the request table.
//! - [`protocol`]: typed params, results and events of both versions. Data, no behaviour.
//! - [`gateway`]: the front door. Reads every connection, passes messages through the layers to the router,
//!   writes what the router queued.
//! - [`routing`]: the heart. Sessions, lineage, allowlists, pending questions; plain data structures, no I/O.
//! - [`bridge`]: protocol 2 ⇄ protocol 3, and runtime drift made one contract. Pure functions.
//! - [`runtime`]: what is behind us. How runtimes are named, started, guarded and dialled.
//! - [`daemon`]: running as a process. Signals, the ways in and the way out.
//! - [`cli`]: one file a subcommand. [`config`]: the config file. [`error`]: errors as JSON-RPC codes.

pub mod bridge;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod error;
pub mod gateway;
pub mod protocol;
pub mod routing;
pub mod rpc;
pub mod runtime;
pub mod transport;
