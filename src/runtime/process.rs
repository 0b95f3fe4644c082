//! A runtime that we start: its process under a guard, its last words, its end.

use super::guard::LIFELINE;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// How much of a runtime's stderr is kept to explain its end.
const LAST_WORDS: usize = 2048;

/// A running runtime. Dropping it ends the runtime and all that it started.
pub struct Process {
    child: RefCell<Child>,
    command: String,
    last_words: Rc<RefCell<VecDeque<u8>>>,
    relay: RefCell<Option<tokio::task::JoinHandle<()>>>,
    stdin: RefCell<Option<ChildStdin>>,
    _lifeline: OwnedFd,
}

impl Process {
    /// Starts a command with these extra environment variables; gives its pipes.
    pub fn start(command: &[String], env: &[(&str, &str)]) -> Result<(Process, ChildStdin, ChildStdout), String> {
        let shown = shell_words::join(command);
        let fail = |e: std::io::Error| format!("cannot start {shown}: {e}");
        let (theirs, ours) = lifeline().map_err(fail)?;
        let mut guard = Command::new(own_program().map_err(fail)?);
        guard.arg0("subagentd").arg("guard").arg("--").args(command);
        guard.env_remove("SUBAGENTD_RUNTIME").env_remove("SUBAGENTD_ATTACH").envs(env.iter().copied());
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let fd = theirs.as_raw_fd();
        // SAFETY: dup2 and fcntl are safe to call between fork and exec; the descriptor is open in the parent.
        unsafe {
            guard.pre_exec(move || {
                if fd == LIFELINE {
                    libc::fcntl(fd, libc::F_SETFD, 0);
                } else if libc::dup2(fd, LIFELINE) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let mut child = guard.spawn().map_err(fail)?;
        let missing = || format!("cannot start {shown}: no pipes");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let last_words = Rc::new(RefCell::new(VecDeque::new()));
        let relay = RefCell::new(Some(tokio::task::spawn_local(relay_stderr(stderr, last_words.clone()))));
        Ok((
            Process { child: RefCell::new(child), command: shown, last_words, relay, stdin: RefCell::new(None), _lifeline: ours },
            stdin,
            stdout,
        ))
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        matches!(self.child.borrow_mut().try_wait(), Ok(None))
    }

    /// Keeps the runtime's stdin open for as long as the process is.
    pub fn keep(&self, stdin: ChildStdin) {
        *self.stdin.borrow_mut() = Some(stdin);
    }

    /// Why the runtime is gone, in a sentence: command, exit status, the end of its stderr. Its pipes closed
    /// already; the status follows within moments.
    pub async fn obituary(&self) -> String {
        let mut status = None;
        for _ in 0..16 {
            status = self.child.borrow_mut().try_wait().ok().flatten();
            if status.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // What it said last may still be on its way; a grandchild that holds the pipe open is not waited for.
        let relay = self.relay.borrow_mut().take();
        if let Some(relay) = relay {
            let _ = tokio::time::timeout(Duration::from_millis(50), relay).await;
        }
        let words: Vec<u8> = self.last_words.borrow().iter().copied().collect();
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        let end = match status.and_then(|s| s.code()) {
            Some(code) if code > 128 => format!("exited with status {code} (killed by signal {})", code - 128),
            Some(code) => format!("exited with status {code}"),
            None => "closed its connection".to_owned(),
        };
        let said = if words.is_empty() { String::new() } else { format!("; its stderr ends: {words}") };
        format!("`{}` {end}{said}", self.command)
    }
}

/// A pipe that tells the guard when we are gone: its end, ours. Ours must not pass on to any other process.
fn lifeline() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = std::io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Our own program, even when its file was replaced by an upgrade since we started.
fn own_program() -> std::io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// Shows a runtime's stderr on ours, and keeps its end.
async fn relay_stderr(mut stderr: tokio::process::ChildStderr, last_words: Rc<RefCell<VecDeque<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(n @ 1..) = stderr.read(&mut buffer).await {
        use std::io::Write;
        let _ = std::io::stderr().write_all(&buffer[..n]);
        let mut words = last_words.borrow_mut();
        words.extend(&buffer[..n]);
        let over = words.len().saturating_sub(LAST_WORDS);
        words.drain(..over);
    }
}
