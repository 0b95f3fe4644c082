//! The daemon's process, in a home of its own.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;

use super::conn::{AutoAnswers, Conn};
use super::deadline;
use super::process::Watched;
use super::runtime::socket_conn;

/// A command that runs the daemon's binary and sees nothing of the user's own configuration.
pub fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_subagentd"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["COPILOT_", "SUBAGENTD_", "XDG_", "LISTEN_", "NOTIFY_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env("HOME", home);
    for folder in ["CONFIG", "STATE", "CACHE", "DATA"] {
        command.env(format!("XDG_{folder}_HOME"), home.join(folder.to_lowercase()));
    }
    command.env("XDG_RUNTIME_DIR", home).current_dir(home);
    command
}

/// `subagentd serve` on a Unix socket.
pub struct Daemon {
    child: Child,
    socket: PathBuf,
    stderr: PathBuf,
}

impl Daemon {
    /// Starts the daemon and returns once its socket takes connections.
    pub fn serve(home: &Path, runtime: &str, config: Option<&str>) -> Self {
        let socket = home.join("d.sock");
        let stderr = home.join("daemon.stderr");
        let mut command = command(home);
        command.arg("serve").arg("--socket").arg(&socket).arg("--runtime").arg(runtime);
        if let Some(config) = config {
            let path = home.join("config.toml");
            std::fs::write(&path, config).expect("a config file");
            command.arg("--config").arg(path);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the daemon's binary starts");
        let mut daemon = Self { child, socket, stderr };
        daemon.wait_ready();
        daemon
    }

    /// Keeps what the daemon says on stderr in a file, and returns once it has said that it serves.
    fn wait_ready(&mut self) {
        let lines = BufReader::new(self.child.stderr.take().expect("a pipe")).lines();
        let mut file = File::create(&self.stderr).expect("a file for the daemon's stderr");
        let (said, serving) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = writeln!(file, "{line}");
                if line.starts_with("subagentd: serving ") {
                    let _ = said.send(());
                }
            }
        });
        // A daemon that ends closes its stderr, and the channel with it.
        serving.recv_timeout(deadline()).unwrap_or_else(|why| panic!("the daemon does not serve ({why}); its stderr:\n{}", self.stderr()));
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.stderr).unwrap_or_default()).into_owned()
    }

    /// A new connection that has not said anything.
    pub fn dial(&self, name: &str) -> Conn {
        let stream = UnixStream::connect(&self.socket)
            .unwrap_or_else(|error| panic!("client {name} cannot connect: {error}; the daemon's stderr:\n{}", self.stderr()));
        socket_conn(&format!("client {name}"), stream, AutoAnswers::new(), None)
    }

    pub fn signal(&self, signal: i32) {
        super::process::signal(self.pid(), signal);
    }

    /// Waits for the daemon's own end.
    pub fn wait_exit(&mut self) -> ExitStatus {
        let watched = Watched::open(self.pid());
        assert!(watched.is_none_or(|watched| watched.exits_within(deadline())), "the daemon still runs; stderr:\n{}", self.stderr());
        self.child.wait().expect("the daemon can be waited for")
    }

    /// A field of `/proc/PID/status`, in bytes.
    pub fn memory(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("the daemon's /proc entry");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_else(|| panic!("no {field} in {status}"));
        let kib = line.trim_start_matches(':').trim().trim_end_matches(" kB").trim();
        kib.parse::<u64>().unwrap_or_else(|error| panic!("{field} is {kib:?}: {error}")) * 1024
    }

    /// Resident memory now.
    pub fn resident(&self) -> u64 {
        self.memory("VmRSS")
    }

    /// The most memory that was resident since `forget_peak`: it also sees what was given back in between.
    pub fn peak(&self) -> u64 {
        self.memory("VmHWM")
    }

    pub fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.pid()), "5").expect("the peak of one's own process can be reset");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- the daemon's stderr ---\n{}---", self.stderr());
        }
    }
}
