//! Running as a process: one thread, signals, the ways in, and the way out.

mod sdk;
mod serve;

pub use sdk::{SdkFront, serve_sdk};
pub use serve::{ServeOptions, serve};

use futures_core::Stream;
use std::future::poll_fn;
use std::pin::Pin;

/// Runs a future on the one thread that everything runs on.
pub fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let done = local.block_on(&runtime, future);
    drop(local);
    // A terminal is read by a thread that nobody can wake; it must not keep us.
    runtime.shutdown_background();
    Ok(done)
}

/// Completes when the process is told to end.
async fn told_to_end() -> std::io::Result<()> {
    let mut signals = signal_hook_tokio::Signals::new([signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT])?;
    poll_fn(|cx| Pin::new(&mut signals).poll_next(cx)).await;
    Ok(())
}
