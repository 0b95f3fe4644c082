//! The framing as this project promises to emit it, read without any leniency.

use std::io::{self, Read, Write};

/// One message as a frame.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Reads frames and accepts nothing but `Content-Length: N\r\n\r\n` and N bytes.
pub struct StrictReader<R> {
    source: io::BufReader<R>,
}

impl<R: Read> StrictReader<R> {
    pub fn new(source: R) -> Self {
        Self { source: io::BufReader::with_capacity(64 * 1024, source) }
    }

    /// The next body; `None` at the end of the stream; an error that shows the bytes that were no frame.
    pub fn next_body(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(header) = self.header()? else { return Ok(None) };
        let digits = header
            .strip_prefix("Content-Length: ")
            .and_then(|rest| rest.strip_suffix("\r\n\r\n"))
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .ok_or_else(|| format!("a header that is not exactly `Content-Length: N`: {header:?}"))?;
        let length: usize = digits.parse().map_err(|_| format!("a length that fits no memory: {header:?}"))?;
        let mut body = vec![0; length];
        self.source.read_exact(&mut body).map_err(|error| format!("the stream ended inside a body of {length} bytes: {error}"))?;
        Ok(Some(body))
    }

    fn header(&mut self) -> Result<Option<String>, String> {
        let mut header = Vec::new();
        let mut byte = [0];
        while !header.ends_with(b"\r\n\r\n") {
            match self.source.read(&mut byte) {
                Ok(0) if header.is_empty() => return Ok(None),
                Ok(0) => return Err(format!("the stream ended inside a header: {:?}", String::from_utf8_lossy(&header))),
                Ok(_) => header.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A peer that goes away with bytes of ours unread resets the connection: an end like any other.
                Err(error) if header.is_empty() && error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(format!("reading failed: {error}")),
            }
            if header.len() > 256 {
                return Err(format!("bytes that are no frame: {:?}", String::from_utf8_lossy(&header)));
            }
        }
        String::from_utf8(header).map(Some).map_err(|error| format!("a header that is no text: {error}"))
    }
}

/// Writes one message as one frame in one call.
pub fn write_frame(sink: &mut dyn Write, body: &[u8]) -> io::Result<()> {
    sink.write_all(&frame(body))?;
    sink.flush()
}
