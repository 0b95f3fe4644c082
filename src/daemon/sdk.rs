//! The form that an SDK spawns: one client on stdio, or TCP on loopback.

use super::told_to_end;
use crate::config::Config;
use crate::gateway::Hub;
use crate::routing::{Door, Principal, Router, Settings};
use crate::runtime::{Dialler, RuntimeSpec};
use crate::transport::{Stream, listen, stdio};
use std::io::{Result, Write};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;

/// How long an SDK that asked for a shutdown has to end us itself.
const PATIENCE: Duration = Duration::from_millis(500);

/// How the SDK wants to reach us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdkFront {
    /// stdin and stdout.
    Stdio,
    /// TCP on loopback; port 0 takes a free one.
    Port(u16),
}

/// Serves as an SDK expects of the CLI that it spawned.
pub async fn serve_sdk(front: SdkFront, config: &Config, runtime: RuntimeSpec, sdk_flags: Vec<String>) -> Result<()> {
    let alone = front == SdkFront::Stdio;
    let dialler = Dialler::new(runtime.clone(), sdk_flags);
    let settings = Settings {
        runtime: runtime.to_string(),
        lane_per_client: alone || !runtime.has_one_pipe(),
        dial_at_once: alone,
        lane_token: dialler.token.clone(),
        grace: None,
        forward_shutdown: alone && matches!(runtime, RuntimeSpec::Exec(_)),
        exit_on_shutdown: true,
        queue_bytes: config.limits.queue_bytes,
    };
    let hub = Hub::new(Router::new(settings), dialler, config.limits.frame(), config.limits.json_depth);
    spawn_local(hub.clone().keep_time());
    match front {
        SdkFront::Stdio => {
            let door = Door { principal: Principal::new("stdio"), token: None };
            let serving = hub.clone().serve(stdio::stdio()?, door);
            tokio::pin!(serving);
            tokio::select! {
                () = &mut serving => {}
                ended = told_to_end() => ended?,
                // SDKs end us themselves when `runtime.shutdown` is answered, and the Go SDK takes it for an
                // error when we are faster.
                () = hub.exit.notified() => {
                    let _ = tokio::time::timeout(PATIENCE, async { tokio::select! { () = &mut serving => {} _ = told_to_end() => {} } }).await;
                }
            }
        }
        SdkFront::Port(port) => {
            let (listener, port) = listen::tcp(port).await?;
            println!("CLI server listening on port {port}");
            std::io::stdout().flush()?;
            let token: Option<Rc<str>> = std::env::var("COPILOT_CONNECTION_TOKEN").ok().filter(|t| !t.is_empty()).map(Into::into);
            let accepting = accept(&listener, &hub, |_| Some(Door { principal: Principal::new("sdk"), token: token.clone() }));
            tokio::select! {
                failed = accepting => failed?,
                () = hub.exit.notified() => {}
                ended = told_to_end() => ended?,
            }
        }
    }
    Ok(())
}

/// Serves everyone whom the door lets in.
pub(super) async fn accept(listener: &listen::Listener, hub: &Rc<Hub>, door: impl Fn(&Stream) -> Option<Door>) -> Result<()> {
    loop {
        match listener.accept().await {
            Ok(stream) => {
                if let Some(door) = door(&stream) {
                    spawn_local(hub.clone().serve(stream, door));
                }
            }
            // Out of descriptors or a peer that left before it was greeted: others still want to come in.
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}
