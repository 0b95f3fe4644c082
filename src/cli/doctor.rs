//! `subagentd doctor`: what is wrong with this installation and how to put it right, and which versions are seen
//! on both sides.

use super::{Common, Outcome};
use crate::config::{Config, usual_path, usual_socket};
use crate::daemon::block_on;
use crate::rpc::peer::Peer;
use crate::runtime::{Dialler, RuntimeSpec};
use serde_json::{Value, json};
use std::path::PathBuf;
use tokio::net::UnixStream;

/// Flags of `doctor`.
#[derive(clap::Args)]
pub struct DoctorArgs {
    /// The shared daemon's Unix socket [default: $XDG_RUNTIME_DIR/subagentd/subagentd.sock]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// What was found, a line each.
#[derive(Default)]
struct Findings {
    wrong: usize,
}

impl Findings {
    fn good(&self, what: &str) {
        super::print(&format!("ok     {what}"));
    }

    fn note(&self, what: &str) {
        super::print(&format!("-      {what}"));
    }

    fn bad(&mut self, what: &str, remedy: &str) {
        self.wrong += 1;
        super::print(&format!("WRONG  {what}\n       {remedy}"));
    }
}

/// Looks at everything; the exit code tells whether anything is wrong.
pub fn run(args: &DoctorArgs, common: &Common) -> Outcome {
    let mut findings = Findings::default();
    findings.good(&format!("subagentd {}, speaks protocols 2 and 3 to clients", env!("CARGO_PKG_VERSION")));
    let socket = args.socket.clone().unwrap_or_else(usual_socket);
    block_on(async {
        if let Some(config) = check_config(&mut findings, common) {
            check_runtime(&mut findings, &config, common).await;
        }
        check_daemon(&mut findings, &socket).await;
    })?;
    check_environment(&findings);
    match findings.wrong {
        0 => Ok(()),
        n => Err(format!("{n} thing(s) to put right, see above").into()),
    }
}

fn check_config(findings: &mut Findings, common: &Common) -> Option<Config> {
    let path = common.config.clone().or_else(usual_path);
    match Config::load(common.config.as_deref()) {
        Ok(config) => {
            match path.filter(|p| p.exists()) {
                Some(path) => findings.good(&format!("config {}", path.display())),
                None => findings.note("no config file: defaults"),
            }
            Some(config)
        }
        Err(error) => {
            findings.bad(&error.to_string(), "correct the file, or name another with --config");
            None
        }
    }
}

async fn check_runtime(findings: &mut Findings, config: &Config, common: &Common) {
    let spec = match config.runtime(common.runtime.as_deref()) {
        Ok(RuntimeSpec::Embedded) => {
            let remedy = "name one: SUBAGENTD_RUNTIME=exec:copilot, --runtime, or `runtime = \"exec:copilot\"` in the config file";
            return findings.bad("no runtime is configured", remedy);
        }
        Ok(spec) => spec,
        Err(error) => return findings.bad(&error.to_string(), "correct --runtime, SUBAGENTD_RUNTIME or the config file"),
    };
    let dialler = Dialler::new(spec.clone(), Vec::new());
    let line = match dialler.dial().await {
        Ok(line) => line,
        Err(error) => return findings.bad(&format!("runtime {spec}: {error}"), "start it, or correct its name"),
    };
    let mut talk = Peer::new(line.stream.reader, line.stream.writer);
    let mut params = json!({});
    if let Some(token) = &dialler.token {
        params["token"] = token.as_str().into();
    }
    let connected = talk.call("connect", &params).await;
    let pinged = talk.call("ping", &json!({})).await;
    let status = talk.call("status.get", &json!({})).await;
    let Some(protocol) = [&connected, &pinged].iter().find_map(|a| a.as_ref().ok()?["protocolVersion"].as_u64()) else {
        let said = match &line.process {
            Some(process) => process.obituary().await,
            None => "it did not answer".into(),
        };
        return findings.bad(&format!("runtime {spec}: {said}"), "is it an agent runtime that speaks JSON-RPC with Content-Length frames?");
    };
    let version = [&connected, &status].iter().find_map(|a| Some(a.as_ref().ok()?["version"].as_str()?.to_owned()));
    findings.good(&format!("runtime {spec}: version {}, protocol {protocol}", version.as_deref().unwrap_or("unknown")));
}

async fn check_daemon(findings: &mut Findings, socket: &std::path::Path) {
    let stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return findings.note("no shared daemon runs (`subagentd serve` starts one)");
        }
        Err(error) => {
            let remedy = "a daemon that died left it; the next `subagentd serve` takes it over";
            return findings.bad(&format!("nobody listens on {}: {error}", socket.display()), remedy);
        }
    };
    let (reader, writer) = stream.into_split();
    match Peer::new(Box::new(reader), Box::new(writer)).call("subagentd.status", &json!({})).await {
        Ok(status) => {
            findings.good(&format!("shared daemon {} on {}", status["version"].as_str().unwrap_or("?"), socket.display()));
            for lane in status["lanes"].as_array().into_iter().flatten() {
                findings.note(&format!(
                    "  runtime version {}, protocol {}",
                    lane["version"].as_str().unwrap_or("unknown"),
                    lane["protocol"]
                ));
            }
            let count = |value: &Value| value.as_array().map_or(0, Vec::len);
            let children: usize = status["sessions"].as_array().into_iter().flatten().map(|s| count(&s["children"])).sum();
            findings.note(&format!("  {} session(s) with {children} sub-agent(s)", count(&status["sessions"])));
            for client in status["clients"].as_array().into_iter().flatten() {
                findings.note(&format!("  client, protocol {}, {} session(s)", client["protocol"], client["sessions"]));
            }
        }
        Err(error) => {
            findings.bad(&format!("the daemon on {}: {error}", socket.display()), "is it a subagentd of this version? restart it")
        }
    }
}

fn check_environment(findings: &Findings) {
    match std::env::var("COPILOT_CLI_PATH") {
        Ok(path) => findings.note(&format!("SDK programs spawn {path} (COPILOT_CLI_PATH)")),
        Err(_) => findings.note("COPILOT_CLI_PATH is not set: SDK programs spawn their own CLI until it names subagentd"),
    }
}
