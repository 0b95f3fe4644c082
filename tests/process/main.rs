//! The daemon as a process: how an SDK spawns it, what it prints, how it ends, and what it leaves behind.

#[path = "../support/mod.rs"]
mod support;

mod front;
mod stdio_runtime;

mod connect;
mod demo;
mod doctor;
mod exec_tcp;
mod failing_runtime;
mod flags;
mod life;
mod orphans;
mod shared_lane;
mod tcp;
