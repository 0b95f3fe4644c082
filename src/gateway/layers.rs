//! What every message passes on its way to the router, one layer a concern, as tower services. The innermost
//! service answers at once (routing waits for nobody), so a call through the whole stack is a plain call.

use crate::error::Refusal;
use crate::routing::PortId;
use crate::rpc::{Kind, Message};
use std::future::{Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use tower::{Layer, Service};

/// A message, and the connection that it came by.
#[derive(Debug, Clone)]
pub struct Inbound {
    /// Where from.
    pub from: PortId,
    /// What.
    pub message: Message,
}

/// A message that could not be handled, for an answer to its sender.
#[derive(Debug)]
pub struct Failed {
    /// Whom to tell.
    pub from: PortId,
    /// The answer.
    pub answer: Vec<u8>,
}

/// What every layer gives back.
pub type Handled = Ready<Result<(), Failed>>;

/// Notes methods and kinds at debug level; never params.
#[derive(Debug, Clone, Copy)]
pub struct TraceLayer;

/// See [`TraceLayer`].
#[derive(Debug, Clone)]
pub struct Trace<S>(S);

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;
    fn layer(&self, inner: S) -> Trace<S> {
        Trace(inner)
    }
}

impl<S: Service<Inbound, Response = (), Error = Failed, Future = Handled>> Service<Inbound> for Trace<S> {
    type Response = ();
    type Error = Failed;
    type Future = Handled;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, inbound: Inbound) -> Handled {
        if tracing::enabled!(tracing::Level::TRACE) {
            let message = &inbound.message;
            tracing::trace!(from = ?inbound.from, kind = ?message.kind(), method = %message.method(), bytes = message.body().len(), "message");
        }
        self.0.call(inbound)
    }
}

/// A defect of ours in the handling of one message costs that message, not the daemon.
#[derive(Debug, Clone, Copy)]
pub struct PanicLayer;

/// See [`PanicLayer`].
#[derive(Debug, Clone)]
pub struct CatchPanic<S>(S);

impl<S> Layer<S> for PanicLayer {
    type Service = CatchPanic<S>;
    fn layer(&self, inner: S) -> CatchPanic<S> {
        CatchPanic(inner)
    }
}

impl<S: Service<Inbound, Response = (), Error = Failed, Future = Handled>> Service<Inbound> for CatchPanic<S> {
    type Response = ();
    type Error = Failed;
    type Future = Handled;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, inbound: Inbound) -> Handled {
        let from = inbound.from;
        let id = (inbound.message.kind() == Kind::Request).then(|| inbound.message.id().to_vec());
        catch_unwind(AssertUnwindSafe(|| self.0.call(inbound))).unwrap_or_else(|_| {
            tracing::error!("handling a message failed inside the daemon; it goes on without that message");
            match id {
                Some(id) => ready(Err(Failed { from, answer: Refusal::Internal("see the daemon's log".into()).answer(&id) })),
                None => ready(Ok(())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fields::ROUTED;
    use std::future::Future;

    #[derive(Clone)]
    struct Fails;

    impl Service<Inbound> for Fails {
        type Response = ();
        type Error = Failed;
        type Future = Handled;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, _: Inbound) -> Handled {
            panic!("a defect")
        }
    }

    #[test]
    fn a_panic_becomes_an_error_for_its_request_and_nothing_else() {
        let mut stack = TraceLayer.layer(PanicLayer.layer(Fails));
        let mut call = |body: &'static str| {
            let message = Message::read(bytes::Bytes::from_static(body.as_bytes()), &ROUTED, 8).unwrap();
            let mut handled = stack.call(Inbound { from: PortId::NOWHERE, message });
            let Poll::Ready(result) = std::pin::Pin::new(&mut handled).poll(&mut Context::from_waker(std::task::Waker::noop())) else {
                panic!("not ready")
            };
            result
        };
        let failed = call(r#"{"id":7,"method":"x"}"#).unwrap_err();
        assert!(String::from_utf8(failed.answer).unwrap().contains(r#""id":7,"error":{"code":-32603"#));
        assert!(call(r#"{"method":"x"}"#).is_ok());
    }
}
