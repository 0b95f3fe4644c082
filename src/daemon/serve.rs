//! The shared daemon: many clients on a Unix socket, and on TCP if asked for.

use super::sdk::accept;
use super::told_to_end;
use crate::config::Config;
use crate::gateway::Hub;
use crate::routing::{Door, Principal, Router, Settings};
use crate::runtime::{Dialler, RuntimeSpec};
use crate::transport::listen::{self, SocketLock};
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::rc::Rc;
use tokio::task::spawn_local;

/// What `serve` was told on the command line.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The Unix socket.
    pub socket: PathBuf,
    /// TCP on loopback as well.
    pub port: Option<u16>,
}

/// Serves until told to end.
pub async fn serve(options: &ServeOptions, config: &Config, runtime: RuntimeSpec) -> Result<()> {
    listen::prepare_folder(&options.socket)?;
    let lock = SocketLock::take(&options.socket)?;
    let dialler = Dialler::new(runtime.clone(), Vec::new());
    let settings = Settings {
        runtime: runtime.to_string(),
        lane_per_client: !runtime.has_one_pipe(),
        dial_at_once: false,
        lane_token: dialler.token.clone(),
        grace: Some(config.reconnect.grace()),
        forward_shutdown: false,
        exit_on_shutdown: false,
        queue_bytes: config.limits.queue_bytes,
    };
    let hub = Hub::new(Router::new(settings), dialler, config.limits.frame(), config.limits.json_depth);
    spawn_local(hub.clone().keep_time());
    let listener = listen::unix(&options.socket, &lock)?;
    eprintln!("subagentd: serving {} in front of {runtime}", options.socket.display());
    // SAFETY: geteuid has no preconditions and cannot fail.
    let owner = unsafe { libc::geteuid() };
    let principal = Principal::new(&format!("uid:{owner}"));
    // The socket's mode keeps others out; whoever got in all the same is not served.
    let unix = accept(&listener, &hub, |stream| match stream.uid {
        Some(uid) if uid == owner || uid == 0 => Some(Door { principal: principal.clone(), token: None }),
        uid => {
            tracing::warn!("a connection of uid {uid:?} was refused: this daemon serves uid {owner}");
            None
        }
    });
    let result = tokio::select! {
        failed = unix => failed,
        failed = tcp(options.port, &hub, &principal) => failed,
        ended = told_to_end() => ended,
    };
    let _ = std::fs::remove_file(&options.socket);
    result
}

/// TCP is off unless asked for, and never without a token: any program of any user reaches a port.
async fn tcp(port: Option<u16>, hub: &Rc<Hub>, principal: &Principal) -> Result<()> {
    let Some(port) = port else { return std::future::pending().await };
    let token: Rc<str> = match std::env::var("COPILOT_CONNECTION_TOKEN") {
        Ok(token) if token.len() >= 16 => token.into(),
        _ => {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "serve --port needs COPILOT_CONNECTION_TOKEN, at least 16 characters that nobody can guess",
            ));
        }
    };
    let (listener, port) = listen::tcp(port).await?;
    tracing::info!("serving port {port} on loopback");
    accept(&listener, hub, |_| Some(Door { principal: principal.clone(), token: Some(token.clone()) })).await
}
