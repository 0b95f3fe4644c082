//! The writing half of a connection. Whoever queued something tries to write it at once; what the peer does
//! not take yet is left to the connection's own writer task.

use crate::rpc::OutQueue;
use std::cell::{Cell, RefCell};
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

/// Slices handed to one write.
const SLICES: usize = 16;

/// Writes one connection's queue.
pub struct Socket {
    writer: RefCell<Box<dyn AsyncWrite + Unpin>>,
    /// The peer takes nothing more for now; the writer task waits for it.
    blocked: Cell<bool>,
    /// Tells the writer task that there is something to wait for.
    pub stuck: Notify,
    /// Tells the reader that the connection is to end.
    pub ended: Notify,
    /// Tells whoever holds back for this connection's sake that its queue has shrunk.
    pub drained: Notify,
}

impl Socket {
    /// Around a writing half.
    pub fn new(writer: Box<dyn AsyncWrite + Unpin>) -> Socket {
        Socket {
            writer: RefCell::new(writer),
            blocked: Cell::new(false),
            stuck: Notify::new(),
            ended: Notify::new(),
            drained: Notify::new(),
        }
    }

    /// Writes what the peer takes now. Says whether the queue is empty; `Err` when the peer is gone.
    pub fn flush_now(&self, queue: &mut OutQueue) -> std::io::Result<bool> {
        if self.blocked.get() {
            return Ok(false);
        }
        match self.poll_flush(&mut Context::from_waker(Waker::noop()), queue) {
            Poll::Ready(done) => done.map(|()| true),
            Poll::Pending => {
                self.blocked.set(true);
                self.stuck.notify_one();
                Ok(false)
            }
        }
    }

    /// Writes the queue, waiting for the peer where it must.
    pub fn poll_flush(&self, cx: &mut Context<'_>, queue: &mut OutQueue) -> Poll<std::io::Result<()>> {
        let mut writer = self.writer.borrow_mut();
        while !queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let n = queue.slices(&mut slices);
            let wrote = match Pin::new(&mut **writer).poll_write_vectored(cx, &slices[..n]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(wrote)) => wrote,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            };
            queue.advance(wrote);
            self.drained.notify_waiters();
        }
        self.blocked.set(false);
        Pin::new(&mut **writer).poll_flush(cx)
    }
}
