//! A pair of connected streams inside the process, so that a whole conversation is an ordinary fast test.

use super::Stream;

/// Two ends of one connection.
pub fn pair() -> (Stream, Stream) {
    let (a, b) = tokio::io::duplex(64 * 1024);
    let split = |end| {
        let (reader, writer) = tokio::io::split(end);
        Stream::new(reader, writer)
    };
    (split(a), split(b))
}
