//! The form that an SDK spawns, with the test as the SDK.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;

use crate::support::conn::{AutoAnswers, Conn};
use crate::support::daemon::command;
use crate::support::deadline;
use crate::support::process::{Watched, signal};

/// What Node and Python put on the command line.
pub const STDIO: &[&str] = &["--headless", "--no-auto-update", "--log-level", "error", "--stdio"];

pub struct Front {
    child: Child,
    watched: Watched,
    stderr: PathBuf,
}

impl Front {
    pub fn spawn(home: &Path, args: &[&str], env: &[(&str, &str)]) -> (Self, std::process::ChildStdin, ChildStdout) {
        let stderr = home.join("front.stderr");
        let mut child = command(home)
            .args(args)
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr).expect("a file for stderr"))
            .spawn()
            .expect("the daemon's binary starts");
        let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let watched = Watched::open(child.id().cast_signed()).expect("a child that nobody has waited for is there");
        (Self { child, watched, stderr }, stdin, stdout)
    }

    /// On stdio, with this runtime behind it. Closing the connection is the end of its stdin.
    pub fn stdio(home: &Path, args: &[&str], runtime: &str) -> (Self, Conn) {
        let (front, stdin, stdout) = Self::spawn(home, args, &[("SUBAGENTD_RUNTIME", runtime)]);
        let client = Conn::new("client", Box::new(stdout), Box::new(stdin), None, AutoAnswers::new(), None);
        (front, client)
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.stderr).unwrap_or_default()).into_owned()
    }

    pub fn signal(&self, number: i32) {
        signal(self.watched.pid(), number);
    }

    pub fn exits_within(&self, limit: Duration) -> bool {
        self.watched.exits_within(limit)
    }

    pub fn wait_exit(&mut self) -> ExitStatus {
        assert!(self.exits_within(deadline()), "still running after {:?}; its stderr:\n{}", deadline(), self.stderr());
        self.child.wait().expect("a child can be waited for")
    }

    pub fn expect_clean_exit(&mut self) {
        let status = self.wait_exit();
        assert_eq!(status.code(), Some(0), "{status}; its stderr:\n{}", self.stderr());
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- the daemon's stderr ---\n{}---", self.stderr());
        }
    }
}
