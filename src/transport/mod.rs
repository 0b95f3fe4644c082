//! Bytes and who is there: stdio, Unix sockets, TCP on loopback, and an in-memory pair for tests. Each gives
//! the same [`Stream`]; nothing outside this folder knows what a socket is.

pub mod listen;
pub mod memory;
pub mod stdio;

use tokio::io::{AsyncRead, AsyncWrite};

/// One connection's two directions.
pub struct Stream {
    /// What the peer sends.
    pub reader: Box<dyn AsyncRead + Unpin>,
    /// What we send.
    pub writer: Box<dyn AsyncWrite + Unpin>,
    /// The peer's uid, where the transport tells.
    pub uid: Option<u32>,
    /// Where the end of what the peer sends does not mean that it is gone (a pipeline into stdin): tells
    /// whether anyone still reads what we send.
    pub is_read: Option<fn() -> bool>,
}

impl Stream {
    /// From any two halves.
    pub fn new(reader: impl AsyncRead + Unpin + 'static, writer: impl AsyncWrite + Unpin + 'static) -> Stream {
        Stream { reader: Box::new(reader), writer: Box::new(writer), uid: None, is_read: None }
    }
}

impl From<tokio::net::UnixStream> for Stream {
    fn from(socket: tokio::net::UnixStream) -> Stream {
        let uid = socket.peer_cred().ok().map(|c| c.uid());
        let (reader, writer) = socket.into_split();
        Stream { uid, ..Stream::new(reader, writer) }
    }
}

impl From<tokio::net::TcpStream> for Stream {
    fn from(socket: tokio::net::TcpStream) -> Stream {
        // Frames are written whole; waiting to fill a segment only adds delay.
        let _ = socket.set_nodelay(true);
        let (reader, writer) = socket.into_split();
        Stream::new(reader, writer)
    }
}
