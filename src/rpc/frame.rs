//! The frame codec: `Content-Length: N\r\n\r\n` and N bytes of body.
//!
//! Strict in what it emits (one header, this capitalisation, one space: the Python SDK reads exactly one
//! header line), lenient in what it accepts (any case, further headers). A length is a promise by a stranger:
//! the buffer grows as bytes arrive, never to what a header says.

use bytes::{Buf, Bytes, BytesMut};
use tokio_util::codec::Decoder;

/// How much one peer may ask us to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLimits {
    /// Bytes from the first of a header to its blank line.
    pub header: usize,
    /// Bytes of one body.
    pub body: usize,
}

impl Default for FrameLimits {
    fn default() -> Self {
        FrameLimits { header: 4 * 1024, body: 64 * 1024 * 1024 }
    }
}

/// Why a stream can no longer be followed. The connection is closed: where the next frame begins is unknown.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FrameError {
    /// The bytes are not a header line.
    #[error("these bytes are no Content-Length frame; speak JSON-RPC with Content-Length framing")]
    NotAFrame,
    /// No blank line within the limit.
    #[error("the frame header is longer than {0} bytes")]
    HeaderTooLong(usize),
    /// A header block without the one header that matters.
    #[error("the frame header has no Content-Length")]
    NoLength,
    /// Two lengths that differ.
    #[error("the frame header has two Content-Length values that differ")]
    ConflictingLengths,
    /// Negative, not a number, or too large for any machine.
    #[error("Content-Length '{0}' is no length")]
    BadLength(String),
    /// More than we are willing to hold.
    #[error("a body of {length} bytes is over the limit of {limit}")]
    BodyTooLong {
        /// What the header promised.
        length: usize,
        /// What we allow.
        limit: usize,
    },
    /// The stream ended inside a frame.
    #[error("the stream ended inside a frame")]
    CutOff,
    /// The socket failed.
    #[error("reading failed: {0}")]
    Io(String),
}

impl From<std::io::Error> for FrameError {
    fn from(error: std::io::Error) -> Self {
        FrameError::Io(error.to_string())
    }
}

/// Splits a byte stream into bodies.
#[derive(Debug, Default)]
pub struct FrameCodec {
    limits: FrameLimits,
    /// Length of the body whose header has been taken off the buffer.
    body: Option<usize>,
    /// How far the header has been searched for its end, so that a trickle is not searched again and again.
    searched: usize,
}

impl FrameCodec {
    /// A codec with these limits.
    pub fn new(limits: FrameLimits) -> Self {
        FrameCodec { limits, ..Default::default() }
    }

    fn header(&mut self, src: &mut BytesMut) -> Result<Option<usize>, FrameError> {
        if !looks_like_header(src) {
            return Err(FrameError::NotAFrame);
        }
        let from = self.searched.saturating_sub(3);
        let Some(end) = memchr::memmem::find(&src[from..], b"\r\n\r\n").map(|at| from + at) else {
            self.searched = src.len();
            return if src.len() > self.limits.header { Err(FrameError::HeaderTooLong(self.limits.header)) } else { Ok(None) };
        };
        if end + 4 > self.limits.header {
            return Err(FrameError::HeaderTooLong(self.limits.header));
        }
        let length = content_length(&src[..end])?;
        if length > self.limits.body {
            return Err(FrameError::BodyTooLong { length, limit: self.limits.body });
        }
        src.advance(end + 4);
        self.searched = 0;
        Ok(Some(length))
    }
}

impl Decoder for FrameCodec {
    type Item = Bytes;
    type Error = FrameError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        if self.body.is_none() && !src.is_empty() {
            self.body = self.header(src)?;
        }
        let Some(length) = self.body else { return Ok(None) };
        if src.len() < length {
            return Ok(None);
        }
        self.body = None;
        Ok(Some(src.split_to(length).freeze()))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        match self.decode(src)? {
            Some(body) => Ok(Some(body)),
            None if src.is_empty() && self.body.is_none() => Ok(None),
            None => Err(FrameError::CutOff),
        }
    }
}

/// Whether the first line can still become a header: a name of letters and dashes, then a colon. An HTTP
/// request fails this at its first space, long before a browser's body could be read as a frame.
fn looks_like_header(src: &[u8]) -> bool {
    let name = src.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'-').count();
    name <= 64 && (name == src.len() || (name > 0 && src[name] == b':'))
}

fn content_length(header: &[u8]) -> Result<usize, FrameError> {
    // What nearly everyone sends: one header and nothing else.
    if let Some(digits) = header.strip_prefix(b"Content-Length: ")
        && !digits.is_empty()
        && digits.len() <= 12
        && digits.iter().all(u8::is_ascii_digit)
    {
        return Ok(digits.iter().fold(0, |n, d| n * 10 + usize::from(d - b'0')));
    }
    let header = std::str::from_utf8(header).map_err(|_| FrameError::NotAFrame)?;
    let mut found = None;
    for line in header.split("\r\n") {
        let (name, value) = line.split_once(':').ok_or(FrameError::NotAFrame)?;
        if !name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-') {
            return Err(FrameError::NotAFrame);
        }
        if !name.eq_ignore_ascii_case("content-length") {
            continue;
        }
        let value = value.trim_matches([' ', '\t']);
        let plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        let length = plain.then(|| value.parse().ok()).flatten().ok_or_else(|| FrameError::BadLength(value.chars().take(40).collect()))?;
        if found.replace(length).is_some_and(|earlier: usize| earlier != length) {
            return Err(FrameError::ConflictingLengths);
        }
    }
    found.ok_or(FrameError::NoLength)
}

#[cfg(test)]
mod tests;
