//! The wire contract, proved against the real binary with a scripted runtime behind it.

#[path = "../support/mod.rs"]
mod support;

mod pattern;
mod replay;

mod bridge;
mod bytes;
mod dead_client;
mod dead_runtime;
mod order;
mod positional;
mod slow_client;
mod vectors;
