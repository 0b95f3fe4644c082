//! What waits to be written to one peer: frames, batched into few writes, with large bodies shared, not copied.

use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io::IoSlice;

use super::scan::Span;

/// From this size on a piece of a body is shared with the buffer it was read into.
const SHARE_FROM: usize = 16 * 1024;
/// A tail that grew past this gives its memory back once it is written.
const KEEP_TAIL: usize = 64 * 1024;

/// A queue of bytes, in the order in which the peer will see them.
#[derive(Debug, Default)]
pub struct OutQueue {
    chunks: VecDeque<Bytes>,
    tail: BytesMut,
    chunk_bytes: usize,
    newest: usize,
}

impl OutQueue {
    /// Bytes of the frame queued last: one body may be larger than what may wait.
    pub fn newest(&self) -> usize {
        self.newest
    }

    /// Bytes not yet written.
    pub fn len(&self) -> usize {
        self.chunk_bytes + self.tail.len()
    }

    /// Whether all is written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues one frame.
    pub fn frame(&mut self, body: &[u8]) {
        self.header(body.len());
        self.tail.extend_from_slice(body);
    }

    /// Queues one frame whose body is put together from a message's bytes with some parts replaced.
    pub fn spliced(&mut self, body: &Bytes, edits: &Edits<'_>) {
        self.header(edits.length(body.len()));
        let mut from = 0;
        for edit in &edits.list {
            self.piece(body, from, edit.span.start as usize);
            self.tail.extend_from_slice(edit.text);
            from = edit.span.end as usize;
        }
        self.piece(body, from, body.len());
    }

    fn header(&mut self, length: usize) {
        self.newest = length;
        let mut digits = [0u8; 20];
        let (mut at, mut n) = (digits.len(), length);
        loop {
            at -= 1;
            digits[at] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                break;
            }
        }
        self.tail.extend_from_slice(b"Content-Length: ");
        self.tail.extend_from_slice(&digits[at..]);
        self.tail.extend_from_slice(b"\r\n\r\n");
    }

    fn piece(&mut self, body: &Bytes, from: usize, to: usize) {
        if to - from < SHARE_FROM {
            self.tail.extend_from_slice(&body[from..to]);
            return;
        }
        if !self.tail.is_empty() {
            let tail = self.tail.split().freeze();
            self.chunk_bytes += tail.len();
            self.chunks.push_back(tail);
        }
        self.chunk_bytes += to - from;
        self.chunks.push_back(body.slice(from..to));
    }

    /// The next bytes to write, as many slices as fit into `slices`.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut n = 0;
        for chunk in self.chunks.iter().map(|c| &c[..]).chain(Some(&self.tail[..])) {
            if n == slices.len() {
                break;
            }
            if !chunk.is_empty() {
                slices[n] = IoSlice::new(chunk);
                n += 1;
            }
        }
        n
    }

    /// Takes `n` written bytes off the front.
    pub fn advance(&mut self, mut n: usize) {
        while n > 0 {
            let Some(front) = self.chunks.front_mut() else { break };
            let step = n.min(front.len());
            front.advance(step);
            self.chunk_bytes -= step;
            n -= step;
            if front.is_empty() {
                self.chunks.pop_front();
            }
        }
        if n == self.tail.len() {
            // Everything is out: keep the memory for the next frames, unless it was a rare large burst.
            self.tail.clear();
            if self.tail.capacity() > KEEP_TAIL {
                self.tail = BytesMut::new();
            }
        } else {
            self.tail.advance(n);
        }
    }

    /// Everything queued, taken out. For tests and for peers without a socket.
    pub fn take(&mut self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len());
        for chunk in self.chunks.drain(..) {
            all.extend_from_slice(&chunk);
        }
        all.extend_from_slice(&self.tail);
        self.tail.clear();
        self.chunk_bytes = 0;
        all
    }
}

/// Replacements in a body, from front to back.
#[derive(Debug, Default)]
pub struct Edits<'a> {
    list: Vec<Edit<'a>>,
}

#[derive(Debug)]
struct Edit<'a> {
    span: Span,
    text: &'a [u8],
}

impl<'a> Edits<'a> {
    /// No change yet.
    pub fn new() -> Self {
        Edits { list: Vec::new() }
    }

    /// Whether the body stays as it is.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Puts `text` where `span` stands. Spans must not overlap; any order.
    pub fn replace(&mut self, span: Span, text: &'a [u8]) {
        let at = self.list.partition_point(|e| e.span.start <= span.start);
        self.list.insert(at, Edit { span, text });
    }

    /// Takes over another list's edits.
    pub fn append(&mut self, other: Edits<'a>) {
        for edit in other.list {
            self.replace(edit.span, edit.text);
        }
    }

    /// Puts `text` before the byte at `at`.
    pub fn insert(&mut self, at: u32, text: &'a [u8]) {
        self.replace(Span { start: at, end: at }, text);
    }

    fn length(&self, body: usize) -> usize {
        self.list.iter().fold(body, |n, e| n + e.text.len() - (e.span.end - e.span.start) as usize)
    }

    /// The edited body, copied out.
    pub fn apply(&self, body: &[u8]) -> Vec<u8> {
        let (mut out, mut from) = (Vec::with_capacity(self.length(body.len())), 0);
        for edit in &self.list {
            out.extend_from_slice(&body[from..edit.span.start as usize]);
            out.extend_from_slice(edit.text);
            from = edit.span.end as usize;
        }
        out.extend_from_slice(&body[from..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_place_order_whatever_order_they_were_made_in() {
        let body = Bytes::from_static(b"0123456789");
        let mut edits = Edits::new();
        edits.replace(Span { start: 7, end: 9 }, b"XYZ");
        edits.insert(0, b"<");
        edits.replace(Span { start: 2, end: 3 }, b"");
        let mut out = OutQueue::default();
        out.spliced(&body, &edits);
        assert_eq!(out.take(), b"Content-Length: 11\r\n\r\n<013456XYZ9");
        assert_eq!(edits.apply(&body), b"<013456XYZ9");
    }

    #[test]
    fn large_bodies_are_shared_and_stay_in_order() {
        let large = Bytes::from(vec![b'x'; SHARE_FROM]);
        let mut out = OutQueue::default();
        out.frame(b"a");
        out.spliced(&large, &Edits::new());
        out.frame(b"b");
        let expected =
            [b"Content-Length: 1\r\n\r\naContent-Length: 16384\r\n\r\n".as_slice(), &large, b"Content-Length: 1\r\n\r\nb"].concat();
        assert_eq!(out.len(), expected.len());
        let mut written = Vec::new();
        while !out.is_empty() {
            let mut slices = [IoSlice::new(&[]); 2];
            let n = out.slices(&mut slices);
            let step = slices[..n].iter().flat_map(|s| s.iter()).copied().take(7000).collect::<Vec<u8>>();
            out.advance(step.len());
            written.extend(step);
        }
        assert_eq!(written, expected);
        let mut slices = [IoSlice::new(&[]); 2];
        assert_eq!(out.slices(&mut slices), 0);
    }
}
