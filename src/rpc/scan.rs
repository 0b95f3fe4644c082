//! One pass over a JSON text that checks it whole and notes where the few values stand that somebody wants.
//!
//! Nothing is built: a forwarded message keeps its bytes, and routing sees spans into them. Two tricks of a
//! hostile sender are closed here, because the receiver behind us would read the text differently than we do:
//! a wanted key that appears twice (most parsers take the last) is an error, and a key spelled with escapes
//! is decoded before it is compared.

/// Where a value stands in the text; empty when it is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Whether the value is there. No value is of length zero.
    pub fn is_some(self) -> bool {
        self.end > self.start
    }

    /// The value's bytes.
    pub fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.end as usize]
    }
}

/// A wanted key of an object, the slot its value's span goes to, and what is wanted inside it.
#[derive(Debug)]
pub struct Wanted {
    /// The key, decoded.
    pub key: &'static str,
    /// Index into the spans.
    pub slot: usize,
    /// Keys wanted inside, if the value is an object.
    pub inside: &'static [Wanted],
}

/// Why a text was not accepted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ScanError {
    /// Not JSON.
    #[error("the body is no JSON (at byte {0})")]
    Syntax(usize),
    /// Bytes that are no UTF-8.
    #[error("the body is no UTF-8")]
    Utf8,
    /// Deeper than allowed.
    #[error("the body nests deeper than {0} levels")]
    TooDeep(usize),
    /// A key that decides where the message goes is there twice.
    #[error("the field '{0}' appears twice")]
    Duplicate(&'static str),
}

/// The whole member of an object whose value stands at `value`, with the comma that goes with it: what to cut
/// out so that the object stays one. The text must have been accepted by [`scan`].
pub fn remove_member(text: &[u8], value: Span) -> Span {
    let blank = |at: &usize| matches!(text[*at], b' ' | b'\n' | b'\r' | b'\t');
    let mut start = value.start as usize;
    let mut back = |until: u8| {
        while start > 0 && text[start - 1] != until {
            start -= 1;
        }
        start -= 1;
    };
    back(b':');
    back(b'"');
    back(b'"');
    let before = (0..start).rev().find(|at| !blank(at)).unwrap_or(0);
    let after = (value.end as usize..text.len()).find(|at| !blank(at)).unwrap_or(text.len());
    match text.get(after) {
        Some(b',') => Span { start: start as u32, end: after as u32 + 1 },
        _ if text[before] == b',' => Span { start: before as u32, end: value.end },
        _ => Span { start: start as u32, end: value.end },
    }
}

/// Checks `text` and fills `spans` for the keys in `wanted`.
pub fn scan(text: &[u8], wanted: &'static [Wanted], max_depth: usize, spans: &mut [Span]) -> Result<(), ScanError> {
    std::str::from_utf8(text).map_err(|_| ScanError::Utf8)?;
    let mut s = Scanner { text, at: 0, left: max_depth, max_depth, spans };
    s.space();
    s.value(wanted)?;
    s.space();
    if s.at == text.len() { Ok(()) } else { Err(s.wrong()) }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    left: usize,
    max_depth: usize,
    spans: &'a mut [Span],
}

impl Scanner<'_> {
    fn wrong(&self) -> ScanError {
        ScanError::Syntax(self.at)
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Result<(), ScanError> {
        if self.peek() != byte {
            return Err(self.wrong());
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, wanted: &'static [Wanted]) -> Result<(), ScanError> {
        match self.peek() {
            b'"' => self.string().map(drop),
            b'{' => self.nested(|s| s.object(wanted)),
            b'[' => self.nested(|s| s.array(wanted)),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.wrong()),
        }
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Result<(), ScanError>) -> Result<(), ScanError> {
        self.left = self.left.checked_sub(1).ok_or(ScanError::TooDeep(self.max_depth))?;
        self.at += 1;
        self.space();
        inner(self)?;
        self.left += 1;
        Ok(())
    }

    fn object(&mut self, wanted: &'static [Wanted]) -> Result<(), ScanError> {
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let from = self.at;
            let escaped = self.string()?;
            let found = if wanted.is_empty() { None } else { find(wanted, &self.text[from + 1..self.at - 1], escaped) };
            self.space();
            self.eat(b':')?;
            self.space();
            let start = self.at as u32;
            self.value(found.map_or(&[], |w| w.inside))?;
            if let Some(w) = found {
                if self.spans[w.slot].is_some() {
                    return Err(ScanError::Duplicate(w.key));
                }
                self.spans[w.slot] = Span { start, end: self.at as u32 };
            }
            self.space();
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.wrong()),
            }
            self.space();
        }
    }

    /// What is wanted of a value is wanted of the first element if it is an array: params by position.
    fn array(&mut self, mut wanted: &'static [Wanted]) -> Result<(), ScanError> {
        if self.peek() == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(std::mem::take(&mut wanted))?;
            self.space();
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.wrong()),
            }
            self.space();
        }
    }

    /// Skips a string; says whether it has escapes.
    fn string(&mut self) -> Result<bool, ScanError> {
        self.eat(b'"')?;
        let mut escaped = false;
        loop {
            self.at = plain_until(self.text, self.at);
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(escaped);
                }
                b'\\' => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                _ => return Err(self.wrong()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), ScanError> {
        match self.peek() {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                let hex = self.text.get(self.at + 1..self.at + 5).filter(|h| h.iter().all(u8::is_ascii_hexdigit));
                hex.ok_or_else(|| self.wrong())?;
                self.at += 5;
            }
            _ => return Err(self.wrong()),
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), ScanError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.wrong());
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), ScanError> {
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanError> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == from { Err(self.wrong()) } else { Ok(()) }
    }
}

fn find(wanted: &'static [Wanted], key: &[u8], escaped: bool) -> Option<&'static Wanted> {
    if !escaped {
        return wanted.iter().find(|w| w.key.as_bytes() == key);
    }
    let quoted = [b"\"", key, b"\""].concat();
    let key: String = serde_json::from_slice(&quoted).ok()?;
    wanted.iter().find(|w| w.key == key)
}

/// The first byte from `at` on that ends a run of plain string bytes: a quote, a backslash or a control
/// character. Eight bytes a step.
fn plain_until(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |x: u64| x.wrapping_sub(ONES) & !x & HIGH;
    while let Some(chunk) = text.get(at..at + 8) {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let stops = zero_bytes(word ^ (ONES * u64::from(b'"'))) | zero_bytes(word ^ (ONES * u64::from(b'\\'))) | control;
        if stops != 0 {
            // The lowest set bit is exact; bits above it may be borrow noise.
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = text.get(at) {
        if *byte == b'"' || *byte == b'\\' || *byte < 0x20 {
            return at;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
