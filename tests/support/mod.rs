//! What the black-box suites share: a scripted runtime, clients, and the daemon between them.
//!
//! Nothing here links against the daemon's code. It speaks bytes to the real binary, so a test
//! proves what another program would see.
#![allow(dead_code)]

pub mod conn;
pub mod daemon;
pub mod frame;
pub mod process;
pub mod runtime;
pub mod world;

use std::time::Duration;

/// How long a test waits for something that must happen. Reached only when the test fails.
///
/// `SUBAGENTD_TEST_DEADLINE_MS` shortens it for someone who works on a failing test.
pub fn deadline() -> Duration {
    match std::env::var("SUBAGENTD_TEST_DEADLINE_MS") {
        Ok(ms) => Duration::from_millis(ms.parse().expect("SUBAGENTD_TEST_DEADLINE_MS is a number of milliseconds")),
        Err(_) => Duration::from_secs(30),
    }
}
