//! Waiting for the end of processes that are not ours to `wait` for.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A process held by a descriptor, so that its end can be awaited and its number cannot be reused under us.
pub struct Watched {
    pid: i32,
    fd: OwnedFd,
}

impl Watched {
    /// `None` when there is no such process any more.
    pub fn open(pid: i32) -> Option<Self> {
        // SAFETY: pidfd_open takes a number and flags and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            assert_eq!(error.raw_os_error(), Some(libc::ESRCH), "pidfd_open({pid}): {error}");
            return None;
        }
        // SAFETY: the call succeeded, so this is a descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(i32::try_from(fd).expect("descriptors are small")) };
        Some(Self { pid, fd })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What it runs, for a report.
    pub fn command(&self) -> String {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        format!("{}: {}", self.pid, String::from_utf8_lossy(&line).replace('\0', " ").trim())
    }

    /// Ends this very process, whatever has become of its number.
    pub fn kill(&self) {
        let fd = self.fd.as_raw_fd();
        // SAFETY: a descriptor that we own, a signal, no further information and no flags.
        let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, std::ptr::null::<libc::c_void>(), 0) };
        let error = std::io::Error::last_os_error();
        assert!(sent == 0 || error.raw_os_error() == Some(libc::ESRCH), "cannot kill {}: {error}", self.pid);
    }

    /// Whether the process has ended when `limit` is over; returns as soon as it has.
    pub fn exits_within(&self, limit: Duration) -> bool {
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let millis = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        loop {
            // SAFETY: `poll` is one valid pollfd that lives across the call.
            let ready = unsafe { libc::poll(&raw mut poll, 1, millis) };
            match ready {
                0 => return false,
                1 => return true,
                _ => assert_eq!(std::io::Error::last_os_error().kind(), std::io::ErrorKind::Interrupted, "poll failed"),
            }
        }
    }
}

pub fn signal(pid: i32, signal: i32) {
    // SAFETY: kill takes two numbers.
    let sent = unsafe { libc::kill(pid, signal) };
    assert_eq!(sent, 0, "cannot signal {pid}: {}", std::io::Error::last_os_error());
}
