//! JSON-RPC and no agents: frames, envelopes with raw params, the request table, the queue of a peer.

pub mod frame;
pub mod message;
pub mod out;
pub mod peer;
pub mod scan;
pub mod table;
pub mod write;

pub use frame::{FrameCodec, FrameError, FrameLimits};
pub use message::{Kind, Message, MessageError};
pub use out::{Edits, OutQueue};
pub use scan::{Span, Wanted, remove_member};
pub use table::RequestTable;
