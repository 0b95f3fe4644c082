//! The command line: one file a subcommand, and the lenient form that SDKs spawn.

mod connect;
mod demo;
mod doctor;
mod log;
mod schema;
mod sdk;
mod serve;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Spawned by an SDK (COPILOT_CLI_PATH=subagentd), it speaks JSON-RPC on stdin and stdout:
  subagentd --headless --stdio            one client on stdio
  subagentd --headless [--port N]         TCP on loopback
with the runtime named by SUBAGENTD_RUNTIME, the config file, or --runtime.

Runtimes:
  exec:PROGRAM [ARGS]        a child process on one stdio pipe
  exec+tcp:PROGRAM [ARGS]    a child process, dialled once for each client
  tcp:HOST:PORT, unix:PATH   one that already runs, dialled once for each client

Try it:
  subagentd demo
  SUBAGENTD_RUNTIME=exec:copilot COPILOT_CLI_PATH=$(command -v subagentd) node app.js
  subagentd serve --runtime exec+tcp:copilot";

#[derive(Parser)]
#[command(name = "subagentd", version, about = "One daemon between agent SDK clients and agent runtimes", after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every subcommand.
#[derive(clap::Args, Clone, Default)]
struct Common {
    /// The runtime to stand in front of (else SUBAGENTD_RUNTIME, else the config file)
    #[arg(long, global = true, value_name = "RUNTIME")]
    runtime: Option<String>,
    /// The config file (else $XDG_CONFIG_HOME/subagentd/config.toml)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What is logged to stderr: none, error, warning, info, debug, all, default
    #[arg(long, global = true, value_name = "LEVEL", default_value = "default")]
    log_level: String,
}

#[derive(Subcommand)]
enum Command {
    /// Serve many clients on a Unix socket (and TCP with --port): the shared daemon
    Serve(serve::ServeArgs),
    /// Join the shared daemon over stdio, starting one if none runs: what an SDK or editor spawns
    Connect(connect::ConnectArgs),
    /// Show a routed tool call, a permission and a refused call, with no API key and no network
    Demo,
    /// Say what is wrong with this installation and how to put it right, and which versions are on both sides
    Doctor(doctor::DoctorArgs),
    /// Print the protocol's JSON Schema, or write it as files with --write
    Schema(schema::SchemaArgs),
    /// Run a runtime so that it never outlives the daemon (used by the daemon itself)
    #[command(hide = true)]
    Guard {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

/// Runs the command line; gives the exit code.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let result = if sdk::is_sdk_form(&words[1..]) {
        sdk::run(&words[1..])
    } else {
        let cli = Cli::parse_from(words);
        if !matches!(cli.command, Command::Guard { .. }) {
            log::start(&cli.common.log_level);
        }
        match cli.command {
            Command::Serve(args) => serve::run(&args, &cli.common),
            Command::Connect(args) => connect::run(&args, &cli.common),
            Command::Demo => demo::run(),
            Command::Doctor(args) => doctor::run(&args, &cli.common),
            Command::Schema(args) => schema::run(&args),
            Command::Guard { command } => return ExitCode::from(crate::runtime::guard::run(&command) as u8),
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("subagentd: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. A reader that has seen enough (`| head`) is no error.
fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// What a subcommand gives back: the error is for people.
type Outcome = Result<(), Box<dyn std::error::Error>>;
