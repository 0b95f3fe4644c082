//! The hub: reads every connection, hands messages to the router, writes what the router queued, and does for
//! the router what needs the outside (dialling lanes, closing connections, keeping time).

use super::layers::{CatchPanic, Failed, Handled, Inbound, PanicLayer, Trace, TraceLayer};
use super::socket::{Socket, Sockets};
use crate::protocol::fields::ROUTED;
use crate::routing::{Command, Door, PortId, Role, Router};
use crate::rpc::{FrameCodec, FrameError, FrameLimits, Message};
use crate::runtime::Dialler;
use crate::transport::Stream;
use bytes::BytesMut;
use std::cell::RefCell;
use std::future::{poll_fn, ready};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio_util::codec::Decoder;
use tower::{Layer, Service};

/// First read of a connection; an idle one holds no more.
const SMALL_READ: usize = 4 * 1024;
/// Largest read, for a connection that keeps its reads full.
const LARGE_READ: usize = 256 * 1024;
/// Frames of one connection that are handled before others get their turn.
const TURN: usize = 128;
/// How long a client that closed its side of stdio is answered.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// Bytes waiting for a lane (or for the one client of a lane) above which its sender is not read.
const HOLD_BACK: usize = 4 * 1024 * 1024;

/// Everything that runs between the sockets.
pub struct Hub {
    router: Rc<RefCell<Router>>,
    stack: RefCell<Trace<CatchPanic<Routed>>>,
    sockets: RefCell<Sockets>,
    dialler: Dialler,
    limits: FrameLimits,
    json_depth: usize,
    timer: Notify,
    /// Set when the process is to end.
    pub exit: Notify,
    myself: Weak<Hub>,
}

/// The innermost service: the router itself.
#[derive(Clone)]
struct Routed(Rc<RefCell<Router>>);

impl Service<Inbound> for Routed {
    type Response = ();
    type Error = Failed;
    type Future = Handled;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, inbound: Inbound) -> Handled {
        let mut router = self.0.borrow_mut();
        match router.ports.get(inbound.from).map(|p| matches!(p.role, Role::Client(_))) {
            Some(true) => router.client_message(inbound.from, inbound.message),
            Some(false) => router.lane_message(inbound.from, inbound.message),
            None => {}
        }
        ready(Ok(()))
    }
}

impl Hub {
    /// A hub with nobody connected.
    pub fn new(router: Router, dialler: Dialler, limits: FrameLimits, json_depth: usize) -> Rc<Hub> {
        let router = Rc::new(RefCell::new(router));
        let stack = TraceLayer.layer(PanicLayer.layer(Routed(router.clone())));
        Rc::new_cyclic(|myself| Hub {
            router,
            stack: RefCell::new(stack),
            sockets: RefCell::default(),
            dialler,
            limits,
            json_depth,
            timer: Notify::new(),
            exit: Notify::new(),
            myself: myself.clone(),
        })
    }

    /// Serves one client until it leaves.
    pub async fn serve(self: Rc<Self>, stream: Stream, door: Door) {
        let id = self.router.borrow_mut().client_opened(door);
        self.settle();
        self.run(id, stream).await;
        self.router.borrow_mut().set_now(Instant::now());
        self.router.borrow_mut().client_closed(id);
        self.settle();
    }

    /// Whether a client's requests or the runtime's questions still wait for an answer.
    pub fn is_busy(&self) -> bool {
        let router = self.router.borrow();
        let waiting = |role: &Role| match role {
            Role::Lane(lane) => lane.in_flight() > 0,
            Role::Client(_) => false,
        };
        router.ports.iter().any(|(_, port)| waiting(&port.role) || !port.out.is_empty())
    }

    /// Keeps the router's time. Runs as long as the hub.
    pub async fn keep_time(self: Rc<Self>) {
        loop {
            let next = self.router.borrow().next_deadline();
            let expired = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = expired => {
                    self.router.borrow_mut().tick(Instant::now());
                    self.settle();
                }
                () = self.timer.notified() => {}
            }
        }
    }

    /// Reads a connection to its end, with a task beside it for writes that have to wait.
    async fn run(self: &Rc<Self>, id: PortId, stream: Stream) {
        let socket = Rc::new(Socket::new(stream.writer));
        self.sockets.borrow_mut().insert(id, socket.clone());
        self.flush(id);
        let writer = spawn_local(self.clone().write_when_stuck(id, socket.clone()));
        self.read(id, stream.reader, &socket).await;
        if let Some(is_read) = stream.is_read {
            self.last_answers(is_read).await;
        }
        writer.abort();
        self.sockets.borrow_mut().remove(id);
        socket.drained.notify_waiters();
    }

    /// The one client has said all it wants to say; it may still want the answers.
    async fn last_answers(&self, is_read: fn() -> bool) {
        let deadline = Instant::now() + LAST_ANSWERS;
        while self.is_busy() && is_read() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn write_when_stuck(self: Rc<Self>, id: PortId, socket: Rc<Socket>) {
        loop {
            socket.stuck.notified().await;
            let done = poll_fn(|cx| {
                let mut router = self.router.borrow_mut();
                let Some(port) = router.ports.get_mut(id) else { return Poll::Ready(Ok(())) };
                socket.poll_flush(cx, &mut port.out)
            });
            let done = done.await;
            if done.is_err() || self.is_closing(id) {
                socket.end();
            }
        }
    }

    fn is_closing(&self, id: PortId) -> bool {
        self.router.borrow().ports.get(id).is_none_or(|p| p.closing)
    }

    async fn read(self: &Rc<Self>, id: PortId, mut reader: Box<dyn AsyncRead + Unpin>, socket: &Socket) {
        let mut codec = FrameCodec::new(self.limits);
        let mut buffer = BytesMut::new();
        let mut size = SMALL_READ;
        loop {
            self.hold_back(id).await;
            buffer.reserve(size);
            let spare = buffer.capacity() - buffer.len();
            let n = {
                let reading = reader.read_buf(&mut buffer);
                tokio::pin!(reading);
                match poll_fn(|cx| socket.poll_unless_ended(cx, |cx| reading.as_mut().poll(cx))).await {
                    Some(n) => n.unwrap_or(0),
                    None => return,
                }
            };
            size = if n == spare { (size * 4).min(LARGE_READ) } else { size };
            match self.take_frames(id, &mut codec, &mut buffer).await {
                Ok(()) if n > 0 => {}
                Ok(()) => return self.end_of_stream(id, &mut codec, &mut buffer),
                Err(why) => {
                    self.router.borrow_mut().bad_frame(id, &why);
                    self.settle();
                    // The reason is written before the connection goes; a peer that does not read it loses it.
                    if !self.is_flushed(id) {
                        let ended = poll_fn(|cx| socket.poll_unless_ended(cx, |_| Poll::<()>::Pending));
                        let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
                    }
                    return;
                }
            }
            if buffer.is_empty() && n < spare && size > SMALL_READ {
                size = (size / 2).max(SMALL_READ);
            }
        }
    }

    fn is_flushed(&self, id: PortId) -> bool {
        self.router.borrow().ports.get(id).is_none_or(|p| p.out.is_empty())
    }

    /// Handles the whole frames in the buffer, and lets others have their turn in a long run of them.
    async fn take_frames(self: &Rc<Self>, id: PortId, codec: &mut FrameCodec, buffer: &mut BytesMut) -> Result<(), FrameError> {
        let mut taken = 0;
        while let Some(body) = codec.decode(buffer)? {
            match Message::read(body, &ROUTED, self.json_depth) {
                Ok(message) => self.deliver(Inbound { from: id, message }),
                Err(why) => self.router.borrow_mut().bad_body(id, &why),
            }
            taken += 1;
            if taken % TURN == 0 {
                self.settle();
                tokio::task::yield_now().await;
            }
        }
        self.settle();
        Ok(())
    }

    fn end_of_stream(&self, id: PortId, codec: &mut FrameCodec, buffer: &mut BytesMut) {
        if let Err(why) = codec.decode_eof(buffer) {
            tracing::debug!(port = ?id, "a connection ended badly: {why}");
        }
    }

    fn deliver(&self, inbound: Inbound) {
        let mut handled = self.stack.borrow_mut().call(inbound);
        let now = std::pin::Pin::new(&mut handled);
        if let Poll::Ready(Err(failed)) = std::future::Future::poll(now, &mut Context::from_waker(std::task::Waker::noop())) {
            let mut router = self.router.borrow_mut();
            if let Some(out) = router.ports.out(failed.from) {
                out.frame(&failed.answer);
            }
        }
    }

    /// Does what the router asked for and writes what it queued.
    fn settle(&self) {
        let mut dirty = Vec::new();
        loop {
            let commands = self.router.borrow_mut().take_commands();
            self.router.borrow_mut().ports.take_dirty(&mut dirty);
            if commands.is_empty() && dirty.is_empty() {
                break;
            }
            for id in dirty.drain(..) {
                self.flush(id);
            }
            for command in commands {
                self.execute(command);
            }
        }
        if self.router.borrow_mut().take_deadlines_changed() {
            self.timer.notify_one();
        }
    }

    fn execute(&self, command: Command) {
        match command {
            Command::Dial(lane) => {
                if let Some(hub) = self.myself.upgrade() {
                    spawn_local(hub.run_lane(lane));
                }
            }
            Command::Drop(id) => {
                if let Some(socket) = self.sockets.borrow().get(id) {
                    socket.end();
                }
            }
            Command::Exit => self.exit.notify_one(),
        }
    }

    fn flush(&self, id: PortId) {
        let Some(socket) = self.sockets.borrow().get(id).cloned() else { return };
        let mut router = self.router.borrow_mut();
        let Some(port) = router.ports.get_mut(id) else { return socket.end() };
        match socket.flush_now(&mut port.out) {
            Ok(false) => {}
            Ok(true) if !port.closing => {}
            Ok(true) | Err(_) => socket.end(),
        }
    }

    /// Connects a lane and serves it to its end.
    async fn run_lane(self: Rc<Self>, id: PortId) {
        let why = match self.dialler.dial().await {
            Ok(line) if self.router.borrow().ports.get(id).is_some() => {
                self.router.borrow_mut().lane_up(id);
                self.settle();
                self.run(id, line.stream).await;
                match line.process {
                    Some(process) if self.router.borrow().ports.get(id).is_some_and(|p| !p.closing) => process.obituary().await,
                    _ => "it closed the connection".to_owned(),
                }
            }
            Ok(_) => return,
            Err(why) => why,
        };
        let mut router = self.router.borrow_mut();
        if router.ports.get(id).is_some_and(|p| p.closing) {
            router.ports.remove(id);
        } else {
            router.lane_closed(id, &why);
        }
        drop(router);
        self.settle();
    }

    /// Waits while those that this connection's messages go to are far behind, as a direct connection would.
    async fn hold_back(&self, id: PortId) {
        loop {
            let target = {
                let router = self.router.borrow();
                let targets = router.targets(id);
                targets.into_iter().find(|to| router.ports.get(*to).is_some_and(|p| p.out.len() > HOLD_BACK))
            };
            let Some(socket) = target.and_then(|to| self.sockets.borrow().get(to).cloned()) else { return };
            socket.drained.notified().await;
        }
    }
}
