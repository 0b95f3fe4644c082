//! stdin and stdout as a connection. SDKs give us pipes (Python, Go) or sockets (Node); both can be waited for
//! without the blocking threads that a terminal or a file needs.

use super::Stream;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

enum Kind {
    Pipe,
    Socket,
    Other,
}

fn kind(fd: &OwnedFd) -> std::io::Result<Kind> {
    let file_type = File::from(fd.try_clone()?).metadata()?.file_type();
    Ok(match () {
        () if file_type.is_fifo() => Kind::Pipe,
        () if file_type.is_socket() => Kind::Socket,
        () => Kind::Other,
    })
}

fn socket(fd: OwnedFd) -> std::io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// This process's stdin and stdout.
pub fn stdio() -> std::io::Result<Stream> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    let reader: Box<dyn AsyncRead + Unpin> = match kind(&input)? {
        Kind::Pipe => Box::new(pipe::Receiver::from_owned_fd(input)?),
        Kind::Socket => Box::new(socket(input)?),
        Kind::Other => Box::new(tokio::io::stdin()),
    };
    let writer: Box<dyn AsyncWrite + Unpin> = match kind(&output)? {
        Kind::Pipe => Box::new(pipe::Sender::from_owned_fd(output)?),
        Kind::Socket => Box::new(socket(output)?),
        Kind::Other => Box::new(tokio::io::stdout()),
    };
    Ok(Stream { reader, writer, uid: None, is_read: Some(stdout_is_read) })
}

/// Whether the other end of stdout is open.
fn stdout_is_read() -> bool {
    let mut stdout = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: one valid pollfd, and a time-out of zero.
    let told = unsafe { libc::poll(&mut stdout, 1, 0) };
    told <= 0 || stdout.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) == 0
}
