//! Sockets that clients come in by.

use super::Stream;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// A listening socket of either kind.
pub enum Listener {
    /// A Unix socket.
    Unix(UnixListener),
    /// TCP on loopback.
    Tcp(TcpListener),
}

impl Listener {
    /// The next connection.
    pub async fn accept(&self) -> Result<Stream> {
        match self {
            Listener::Unix(listener) => listener.accept().await.map(|(socket, _)| socket.into()),
            Listener::Tcp(listener) => listener.accept().await.map(|(socket, _)| socket.into()),
        }
    }
}

/// Holds the right to listen on a path: one daemon a socket. The lock file stays; the lock goes with the process.
#[derive(Debug)]
pub struct SocketLock {
    _file: std::fs::File,
}

impl SocketLock {
    /// Takes the lock beside a socket path, or says that another daemon has it.
    pub fn take(socket: &Path) -> Result<SocketLock> {
        let path = lock_path(socket);
        let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        match file.try_lock() {
            Ok(()) => {
                // For those who wonder who holds it.
                file.set_len(0)?;
                std::io::Write::write_all(&mut &file, format!("{}\n", std::process::id()).as_bytes())?;
                Ok(SocketLock { _file: file })
            }
            Err(std::fs::TryLockError::WouldBlock) => Err(Error::new(
                ErrorKind::AddrInUse,
                format!("another subagentd serves {}; use `subagentd connect` to join it", socket.display()),
            )),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

/// The process that serves this socket, as it noted itself in its lock.
pub fn lock_holder(socket: &Path) -> Option<u32> {
    std::fs::read_to_string(lock_path(socket)).ok()?.trim().parse().ok()
}

fn lock_path(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Makes the socket's folder if it is not there, for its owner alone.
pub fn prepare_folder(socket: &Path) -> Result<()> {
    let Some(folder) = socket.parent().filter(|f| !f.as_os_str().is_empty() && !f.exists()) else { return Ok(()) };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Listens on a Unix socket that only its owner can reach. The lock must be held: it is what makes a socket
/// file that is still there a stale one.
pub fn unix(path: &Path, _lock: &SocketLock) -> Result<Listener> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!("{} is there and is no socket; remove it or choose another --socket", path.display()),
            ));
        }
        // SAFETY: geteuid has no preconditions and cannot fail.
        Ok(found) if found.uid() != unsafe { libc::geteuid() } => {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                format!("{} belongs to uid {}; choose another --socket", path.display(), found.uid()),
            ));
        }
        Ok(_) => std::fs::remove_file(path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // The mode must hold from the moment of bind, so it is the mask that makes it, not a later chmod.
    // SAFETY: umask only swaps a number of this process, and nothing else runs yet that makes files.
    let mask = unsafe { libc::umask(0o177) };
    let bound = std::os::unix::net::UnixListener::bind(path);
    // SAFETY: as above.
    unsafe { libc::umask(mask) };
    let listener = bound.map_err(|e| Error::new(e.kind(), format!("cannot listen on {}: {e}", path.display())))?;
    listener.set_nonblocking(true)?;
    Ok(Listener::Unix(UnixListener::from_std(listener)?))
}

/// Listens on loopback; port 0 takes a free one. Gives the port.
pub async fn tcp(port: u16) -> Result<(Listener, u16)> {
    let listener =
        TcpListener::bind(("127.0.0.1", port)).await.map_err(|e| Error::new(e.kind(), format!("cannot listen on port {port}: {e}")))?;
    let port = listener.local_addr()?.port();
    Ok((Listener::Tcp(listener), port))
}
