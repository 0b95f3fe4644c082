//! `subagentd serve`

use super::{Common, Outcome};
use crate::config::{Config, usual_socket};
use crate::daemon::{ServeOptions, block_on, serve};
use std::path::PathBuf;

/// Flags of `serve`.
#[derive(clap::Args)]
pub struct ServeArgs {
    /// The Unix socket [default: $XDG_RUNTIME_DIR/subagentd/subagentd.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Serve TCP on loopback as well; needs COPILOT_CONNECTION_TOKEN
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
}

/// Serves until SIGTERM.
pub fn run(args: &ServeArgs, common: &Common) -> Outcome {
    let config = Config::load(common.config.as_deref())?;
    let runtime = config.runtime(common.runtime.as_deref())?;
    let options = ServeOptions { socket: args.socket.clone().unwrap_or_else(usual_socket), port: args.port };
    block_on(serve(&options, &config, runtime))??;
    Ok(())
}
