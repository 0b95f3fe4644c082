//! The writing half of a connection. Whoever queued something tries to write it at once; what the peer does
//! not take yet is left to the connection's own writer task.

use crate::routing::PortId;
use crate::rpc::OutQueue;
use std::cell::{Cell, RefCell};
use std::io::IoSlice;
use std::pin::Pin;
use std::rc::Rc;
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
    /// The connection is to end.
    ended: Cell<bool>,
    /// Who waits for that: the reader, while it has nothing to read.
    reader: RefCell<Option<Waker>>,
    /// Tells whoever holds back for this connection's sake that its queue has shrunk.
    pub drained: Notify,
}

/// The sockets of all connections, found by the place that the router gave them.
#[derive(Default)]
pub struct Sockets(Vec<Option<(PortId, Rc<Socket>)>>);

impl Sockets {
    /// Notes a connection's socket.
    pub fn insert(&mut self, id: PortId, socket: Rc<Socket>) {
        if self.0.len() <= id.index() {
            self.0.resize_with(id.index() + 1, || None);
        }
        self.0[id.index()] = Some((id, socket));
    }

    /// A connection's socket, if it is connected.
    pub fn get(&self, id: PortId) -> Option<&Rc<Socket>> {
        self.0.get(id.index())?.as_ref().filter(|(at, _)| *at == id).map(|(_, socket)| socket)
    }

    /// Forgets a connection's socket.
    pub fn remove(&mut self, id: PortId) {
        if self.get(id).is_some() {
            self.0[id.index()] = None;
        }
    }
}

impl Socket {
    /// Around a writing half.
    pub fn new(writer: Box<dyn AsyncWrite + Unpin>) -> Socket {
        Socket {
            writer: RefCell::new(writer),
            blocked: Cell::new(false),
            stuck: Notify::new(),
            ended: Cell::new(false),
            reader: RefCell::new(None),
            drained: Notify::new(),
        }
    }

    /// Ends the connection: whatever the reader waits for, it waits no longer.
    pub fn end(&self) {
        self.ended.set(true);
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Polls something on the reader's behalf, unless the connection is to end: then there is nothing.
    pub fn poll_unless_ended<T>(&self, cx: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<Option<T>> {
        if self.ended.get() {
            return Poll::Ready(None);
        }
        match poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => {
                let mut reader = self.reader.borrow_mut();
                if !reader.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    *reader = Some(cx.waker().clone());
                }
                Poll::Pending
            }
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
