//! The envelope of one JSON-RPC message, read by which fields are present; everything inside stays raw.

use super::scan::{ScanError, Span, Wanted, scan};
use bytes::Bytes;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Slots of the envelope itself. A caller's own wanted keys use the slots from [`FIRST_FREE`] on.
pub const ID: usize = 0;
/// Slot of `method`.
pub const METHOD: usize = 1;
/// Slot of `params`.
pub const PARAMS: usize = 2;
/// Slot of `result`.
pub const RESULT: usize = 3;
/// Slot of `error`.
pub const ERROR: usize = 4;
/// The first slot that the envelope does not use.
pub const FIRST_FREE: usize = 5;
/// How many spans a message carries.
pub const SLOTS: usize = 32;

/// What a message is, told by field presence alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `method` and `id`.
    Request,
    /// `method` without `id`.
    Notification,
    /// `id` without `method`.
    Response,
}

/// Why a well-framed body is no message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MessageError {
    /// Not acceptable as JSON.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// An array.
    #[error("batches are not supported; send each message in a frame of its own")]
    Batch,
    /// Params by position, with an object that we would not look into.
    #[error("params by position may have an object in the first place only; send params by name")]
    Positional,
    /// JSON, but neither request, notification nor response.
    #[error("the message has neither a method nor an id with a result or an error")]
    Shapeless,
}

/// One message: its bytes, and where the interesting values stand in them.
#[derive(Debug, Clone)]
pub struct Message {
    body: Bytes,
    kind: Kind,
    spans: [Span; SLOTS],
}

impl Message {
    /// Reads an envelope. `wanted` describes the top-level object and must name the five envelope slots.
    pub fn read(body: Bytes, wanted: &'static [Wanted], max_depth: usize) -> Result<Message, MessageError> {
        let mut spans = [Span::default(); SLOTS];
        scan(&body, wanted, max_depth, &mut spans)?;
        let has = |slot: usize| spans[slot].is_some();
        let kind = match body.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'[') => return Err(MessageError::Batch),
            Some(b'{') => {
                let method = has(METHOD) && body[spans[METHOD].start as usize] == b'"';
                match (method, has(ID)) {
                    (true, true) => Kind::Request,
                    (true, false) => Kind::Notification,
                    (false, true) if has(RESULT) || has(ERROR) => Kind::Response,
                    _ => return Err(MessageError::Shapeless),
                }
            }
            _ => return Err(MessageError::Shapeless),
        };
        if has(PARAMS) && body[spans[PARAMS].start as usize] == b'[' {
            spans[PARAMS] = only_element(&body, spans[PARAMS])?;
        }
        Ok(Message { body, kind, spans })
    }

    /// Request, notification or response.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// All bytes.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Where the value of a slot stands.
    pub fn span(&self, slot: usize) -> Span {
        self.spans[slot]
    }

    /// The raw JSON of a slot.
    pub fn raw(&self, slot: usize) -> Option<&[u8]> {
        self.spans[slot].is_some().then(|| self.spans[slot].of(&self.body))
    }

    /// A slot's value if it is a string, decoded.
    pub fn text(&self, slot: usize) -> Option<Cow<'_, str>> {
        text(self.raw(slot)?)
    }

    /// The method, empty for a response.
    pub fn method(&self) -> Cow<'_, str> {
        self.text(METHOD).unwrap_or_default()
    }

    /// The raw id; `null` when there is none.
    pub fn id(&self) -> &[u8] {
        self.raw(ID).unwrap_or(b"null")
    }

    /// The id as one of the integers that we number our own requests with.
    pub fn own_id(&self) -> Option<u64> {
        std::str::from_utf8(self.raw(ID)?).ok()?.parse().ok()
    }

    /// Raw `params`; `{}` when there are none.
    pub fn params(&self) -> &[u8] {
        self.raw(PARAMS).unwrap_or(b"{}")
    }
}

/// The .NET SDK sends params by position, `[{…}]`, and runtimes read the element as the params: so do we, or a
/// session could be named where we do not look. Arrays of other things stay what they are.
fn only_element(body: &[u8], array: Span) -> Result<Span, MessageError> {
    let elements: Vec<&RawValue> = serde_json::from_slice(array.of(body)).map_err(|_| MessageError::Shapeless)?;
    match elements[..] {
        [only] if only.get().starts_with('{') => {
            let start = (only.get().as_ptr() as usize - body.as_ptr() as usize) as u32;
            Ok(Span { start, end: start + only.get().len() as u32 })
        }
        [_, ref rest @ ..] if rest.iter().any(|other| other.get().starts_with('{')) => Err(MessageError::Positional),
        _ => Ok(array),
    }
}

/// Decodes a raw JSON string; `None` for any other value.
pub fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice::<String>(raw).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    static WANTED: [Wanted; 5] = [
        Wanted { key: "id", slot: ID, inside: &[] },
        Wanted { key: "method", slot: METHOD, inside: &[] },
        Wanted { key: "params", slot: PARAMS, inside: &[] },
        Wanted { key: "result", slot: RESULT, inside: &[] },
        Wanted { key: "error", slot: ERROR, inside: &[] },
    ];

    fn read(body: &'static str) -> Result<Message, MessageError> {
        Message::read(Bytes::from_static(body.as_bytes()), &WANTED, 128)
    }

    #[test]
    fn kind_is_told_by_field_presence() {
        let kind = |body| read(body).unwrap().kind();
        assert_eq!(kind(r#"{"id":1,"method":"a"}"#), Kind::Request);
        assert_eq!(kind(r#"{"method":"a","params":{}}"#), Kind::Notification);
        assert_eq!(kind(r#"{"id":"x","result":null}"#), Kind::Response);
        assert_eq!(kind(r#"{"id":null,"error":{"code":1,"message":"m"}}"#), Kind::Response);
    }

    #[test]
    fn what_is_no_message_is_told_apart_from_what_is_no_json() {
        assert_eq!(read("[]").unwrap_err(), MessageError::Batch);
        assert_eq!(read(r#"[{"id":1,"method":"a"}]"#).unwrap_err(), MessageError::Batch);
        for shapeless in ["{}", "5", "\"x\"", r#"{"id":1}"#, r#"{"method":5,"params":{}}"#] {
            assert_eq!(read(shapeless).unwrap_err(), MessageError::Shapeless, "{shapeless}");
        }
        assert!(matches!(read("{nope}").unwrap_err(), MessageError::Scan(ScanError::Syntax(_))));
    }

    #[test]
    fn params_by_position_are_the_one_object_in_them() {
        assert_eq!(read(r#"{"id":1,"method":"a","params":[ {"x":1} ]}"#).unwrap().params(), br#"{"x":1}"#);
        for other in ["[]", "[1,\"two\"]", "[[]]"] {
            assert_eq!(
                Message::read(format!(r#"{{"id":1,"method":"a","params":{other}}}"#).into(), &WANTED, 128).unwrap().params(),
                other.as_bytes()
            );
        }
        assert_eq!(read(r#"{"id":1,"method":"a","params":[{},{}]}"#).unwrap_err(), MessageError::Positional);
    }

    #[test]
    fn strings_are_decoded_only_when_they_need_it() {
        let m = read(r#"{"id":1,"method":"a\u002eb"}"#).unwrap();
        assert_eq!(m.method(), "a.b");
        assert!(matches!(read(r#"{"id":1,"method":"a.b"}"#).unwrap().text(METHOD), Some(Cow::Borrowed("a.b"))));
        assert_eq!(m.text(ID), None);
    }
}
