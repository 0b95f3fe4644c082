//! A runtime that the daemon starts as a program and talks to over stdio, with the test in its place.
//!
//! The program is a shell script of two `cat`s and two named pipes: what the daemon writes to its
//! stdin comes out of one pipe, what the test writes into the other goes to its stdout.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use crate::support::conn::{AutoAnswers, Conn};
use crate::support::deadline;
use crate::support::process::Watched;
use crate::support::runtime::{Lane, pong, shake_hands};

pub struct StdioRuntime {
    home: PathBuf,
    script: PathBuf,
    protocol: u64,
}

/// Writes an executable shell script.
pub fn script(path: &Path, body: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{body}\n")).expect("a script");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a script can be made executable");
}

impl StdioRuntime {
    pub fn new(home: &Path, protocol: u64) -> Self {
        Self::with_preface(home, protocol, "")
    }

    /// `preface` is shell that runs before the relay, in the folder `$DIR`; lines in `$DIR/pids` name processes to watch.
    pub fn with_preface(home: &Path, protocol: u64, preface: &str) -> Self {
        let path = home.join("runtime.sh");
        for pipe in ["asks", "answers"] {
            let name = CString::new(home.join(pipe).as_os_str().as_bytes()).expect("a path without NUL");
            // SAFETY: the name is a NUL-terminated string that lives across the call.
            assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "mkfifo: {}", std::io::Error::last_os_error());
        }
        let relay = [
            &format!("DIR='{}'", home.display()),
            r#"printf '%s\n' "$@" > "$DIR/args""#,
            r#"echo $$ >> "$DIR/pids""#,
            preface,
            r#"cat "$DIR/answers" &"#,
            r#"echo $! >> "$DIR/pids""#,
            r#"exec cat > "$DIR/asks""#,
        ];
        script(&path, &relay.join("\n"));
        Self { home: home.to_owned(), script: path, protocol }
    }

    pub fn path(&self) -> String {
        self.script.display().to_string()
    }

    pub fn spec(&self) -> String {
        format!("exec:{}", self.script.display())
    }

    /// The daemon's connection to this runtime, once the daemon has started it.
    pub fn lane(&self) -> Lane {
        self.lane_that_answers(AutoAnswers::new())
    }

    pub fn lane_that_answers(&self, more: AutoAnswers) -> Lane {
        let (asks, answers) = (self.home.join("asks"), self.home.join("answers"));
        let (opened, wait) = mpsc::channel();
        // Opening a named pipe waits for its other end, which is there when the daemon has started the program.
        thread::spawn(move || {
            let source = File::open(asks).expect("the pipe is there");
            let sink = OpenOptions::new().write(true).open(answers).expect("the pipe is there");
            let _ = opened.send((source, sink));
        });
        let (source, sink) = wait.recv_timeout(deadline()).expect("the daemon starts the runtime");
        let mut auto = pong(self.protocol);
        auto.extend(more);
        Conn::new("lane", Box::new(source), Box::new(sink), None, auto, None)
    }

    /// The lane after the handshake with a client that has said hello.
    pub fn greeted_lane(&self, client: &mut Conn, hello: i64) -> Lane {
        let mut lane = self.lane();
        shake_hands(&mut lane, self.protocol).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(client.expect_result(hello)["protocolVersion"], Value::from(self.protocol));
        lane
    }

    /// The arguments that the daemon started it with.
    pub fn args(&self) -> Vec<String> {
        std::fs::read_to_string(self.home.join("args")).expect("the runtime ran").lines().map(str::to_owned).collect()
    }

    /// Its processes, which all live.
    pub fn processes(&self) -> Vec<Watched> {
        let pids = std::fs::read_to_string(self.home.join("pids")).expect("the runtime ran");
        let watched = |line: &str| {
            let pid = line.parse().unwrap_or_else(|error| panic!("{line:?} is no pid: {error}"));
            Watched::open(pid).unwrap_or_else(|| panic!("process {pid} of the runtime has ended already"))
        };
        pids.lines().map(watched).collect()
    }
}
