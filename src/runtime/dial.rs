//! Making a lane: dialling a runtime that runs, or starting one.

use super::process::Process;
use super::spec::RuntimeSpec;
use crate::transport::Stream;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::ChildStdout;

/// How long a runtime that we start has to say which port it listens on.
const START_TIME: Duration = Duration::from_secs(60);

/// A connection to a runtime, and the process behind it if it is ours.
pub struct Line {
    /// The connection.
    pub stream: Stream,
    /// The process.
    pub process: Option<Rc<Process>>,
}

/// How a runtime is reached.
enum Way {
    /// As it was named.
    Named(RuntimeSpec),
    /// In this process: each call gives our end of a new connection.
    InProcess(Box<dyn Fn() -> Stream>),
}

/// Connects lanes to one runtime.
pub struct Dialler {
    way: Way,
    sdk_flags: Vec<String>,
    /// The token of a runtime that we start with one.
    pub token: Option<String>,
    running: RefCell<Option<(Rc<Process>, u16)>>,
    starting: tokio::sync::Mutex<()>,
}

impl Dialler {
    /// For this runtime, started with these SDK flags.
    pub fn new(spec: RuntimeSpec, sdk_flags: Vec<String>) -> Dialler {
        let token = match spec {
            RuntimeSpec::ExecTcp(_) => Some(format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())),
            _ => None,
        };
        Dialler { way: Way::Named(spec), sdk_flags, token, running: RefCell::new(None), starting: tokio::sync::Mutex::new(()) }
    }

    /// For a runtime in this process.
    pub fn in_process(connect: impl Fn() -> Stream + 'static) -> Dialler {
        Dialler { way: Way::InProcess(Box::new(connect)), ..Dialler::new(RuntimeSpec::Embedded, Vec::new()) }
    }

    /// A new connection to the runtime; the error says what was tried.
    pub async fn dial(&self) -> Result<Line, String> {
        let spec = match &self.way {
            Way::InProcess(connect) => return Ok(Line { stream: connect(), process: None }),
            Way::Named(spec) => spec,
        };
        match spec {
            RuntimeSpec::Embedded => {
                Err("this build has no embedded runtime yet; name one with --runtime or SUBAGENTD_RUNTIME, for example exec:copilot".into())
            }
            RuntimeSpec::Exec(_) => {
                let (process, stdin, stdout) = Process::start(&spec.command(&self.sdk_flags), &[])?;
                Ok(Line { stream: Stream::new(stdout, stdin), process: Some(Rc::new(process)) })
            }
            RuntimeSpec::ExecTcp(_) => {
                let (process, port) = self.started(spec).await?;
                let socket =
                    TcpStream::connect(("127.0.0.1", port)).await.map_err(|e| format!("cannot connect to its port {port}: {e}"))?;
                Ok(Line { stream: socket.into(), process: Some(process) })
            }
            RuntimeSpec::Tcp(address) => {
                let socket = TcpStream::connect(address).await.map_err(|e| format!("cannot connect: {e}; is it running?"))?;
                Ok(Line { stream: socket.into(), process: None })
            }
            RuntimeSpec::Unix(path) => {
                let socket = UnixStream::connect(path).await.map_err(|e| format!("cannot connect: {e}; is it running?"))?;
                Ok(Line { stream: socket.into(), process: None })
            }
        }
    }

    /// The process that listens, started if it is not running.
    async fn started(&self, spec: &RuntimeSpec) -> Result<(Rc<Process>, u16), String> {
        let _one_at_a_time = self.starting.lock().await;
        if let Some((process, port)) = &*self.running.borrow()
            && process.is_running()
        {
            return Ok((process.clone(), *port));
        }
        let token = self.token.as_deref().unwrap_or_default();
        let command = spec.command(&self.sdk_flags);
        let (process, stdin, stdout) = Process::start(&command, &[("COPILOT_CONNECTION_TOKEN", token)])?;
        // Closing stdin would tell some runtimes to end; it stays open as long as the process is wanted.
        process.keep(stdin);
        let port = match tokio::time::timeout(START_TIME, listening_port(stdout)).await {
            Ok(Some(port)) => port,
            Ok(None) => return Err(process.obituary().await),
            Err(_) => {
                return Err(format!(
                    "`{}` did not say which port it listens on within {} s",
                    shell_words::join(&command),
                    START_TIME.as_secs()
                ));
            }
        };
        let process = Rc::new(process);
        *self.running.borrow_mut() = Some((process.clone(), port));
        Ok((process, port))
    }
}

/// Reads stdout up to the line that names the port; what comes after it is read and dropped, so that the
/// runtime never blocks on it.
async fn listening_port(stdout: ChildStdout) -> Option<u16> {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(port) = port_in(&line) {
            tokio::task::spawn_local(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Some(port);
        }
    }
    None
}

fn port_in(line: &str) -> Option<u16> {
    const WORDS: &str = "listening on port ";
    let at = line.to_ascii_lowercase().find(WORDS)? + WORDS.len();
    let digits: String = line[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_port_is_found_in_the_line_that_runtimes_print() {
        assert_eq!(super::port_in("CLI server listening on port 35771"), Some(35771));
        assert_eq!(super::port_in("Listening on Port 1."), Some(1));
        assert_eq!(super::port_in("listening on port x"), None);
        assert_eq!(super::port_in("hello"), None);
    }
}
