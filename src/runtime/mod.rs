//! What is behind us: how a runtime is named, started, reached and ended.

mod dial;
pub mod guard;
mod process;
mod spec;

pub use dial::{Dialler, Line};
pub use process::Process;
pub use spec::{RuntimeSpec, SpecError};
