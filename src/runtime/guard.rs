//! The guard: a tiny process between us and a runtime that we start, so that the runtime never outlives us.
//!
//! It holds the reading end of a pipe whose writing end only the daemon has. However the daemon dies, the pipe
//! closes, and the guard ends the runtime and everything that the runtime started, also what left its process
//! group: the guard is their subreaper, so orphans become its children. It carries no traffic; the runtime has
//! the daemon's pipes themselves.

use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The descriptor of the pipe, in the guard.
pub const LIFELINE: i32 = 3;
/// How long the runtime has to end by itself once it is told to.
const POLITE: Duration = Duration::from_millis(300);

/// Runs `command` until it ends or the daemon does; gives the exit code.
pub fn run(command: &[std::ffi::OsString]) -> i32 {
    // SAFETY: the daemon puts the pipe at this descriptor before it executes us, and nothing else here owns it.
    let lifeline = unsafe { OwnedFd::from_raw_fd(LIFELINE) };
    // SAFETY: plain system calls on this process and on a descriptor that we own.
    unsafe {
        libc::fcntl(LIFELINE, libc::F_SETFD, libc::FD_CLOEXEC);
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
    let Some((program, arguments)) = command.split_first() else { return 127 };
    let mut child = match start(program, arguments) {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cannot start {}: {error}", program.to_string_lossy());
            return 127;
        }
    };
    let group = child.id() as i32;
    release_stdio();
    std::thread::spawn(move || {
        // Nothing is ever written: this returns when the daemon is gone or lets go.
        let _ = std::fs::File::from(lifeline).read(&mut [0]);
        signal_group(group, libc::SIGTERM);
        let deadline = Instant::now() + POLITE;
        while Instant::now() < deadline && is_running(group) {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal_group(group, libc::SIGKILL);
        end_descendants();
        std::process::exit(0);
    });
    let status = child.wait();
    signal_group(group, libc::SIGKILL);
    end_descendants();
    status.map_or(127, code)
}

fn start(program: &std::ffi::OsStr, arguments: &[std::ffi::OsString]) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: prctl is safe to call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            Ok(())
        });
    }
    command.spawn()
}

/// The runtime has our stdin, stdout and stderr; kept open here they would hide that it closed them.
fn release_stdio() {
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        use std::os::fd::AsRawFd;
        for fd in 0..=2 {
            // SAFETY: both descriptors are open; dup2 replaces the second atomically.
            unsafe { libc::dup2(null.as_raw_fd(), fd) };
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn signal_group(group: i32, signal: i32) {
    // SAFETY: kill takes any numbers; the group is that of a child which we have not yet let another take over.
    unsafe { libc::kill(-group, signal) };
}

fn is_running(pid: i32) -> bool {
    // A zombie counts as gone: the main thread is about to reap it.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// Kills whatever the runtime left behind, until nothing is left.
fn end_descendants() {
    let deadline = Instant::now() + POLITE;
    while Instant::now() < deadline {
        let all = descendants(std::process::id() as i32);
        if all.is_empty() {
            return;
        }
        for pid in all {
            // SAFETY: plain system calls; waiting for what is not our child yet simply fails.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Children of children, as the kernel lists them; nothing where there is no /proc.
fn descendants(of: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for pid in children.split_whitespace().filter_map(|p| p.parse().ok()) {
            found.push(pid);
            found.extend(descendants(pid));
        }
    }
    found
}
