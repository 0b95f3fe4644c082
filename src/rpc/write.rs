//! Bodies that we write ourselves: responses, errors, requests and notifications around raw JSON.

use serde::Serialize;

/// A JSON string literal.
pub fn quote(text: &str) -> Vec<u8> {
    json(text)
}

/// Any serialisable value as JSON text.
pub fn json(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    // Serialising our own plain data has no failing case; null is what a peer can at least parse.
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

/// `{"jsonrpc":"2.0","id":ID,"result":RESULT}`
pub fn result(id: &[u8], result: &[u8]) -> Vec<u8> {
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",\"result\":", result, b"}"].concat()
}

/// `{"jsonrpc":"2.0","id":ID,"error":{"code":CODE,"message":MESSAGE}}`
pub fn error(id: &[u8], code: i64, message: &str) -> Vec<u8> {
    let code = code.to_string();
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",\"error\":{\"code\":", code.as_bytes(), b",\"message\":", &quote(message), b"}}"].concat()
}

/// `{"jsonrpc":"2.0","id":ID,"method":METHOD,"params":PARAMS}`
pub fn request(id: u64, method: &str, params: &[u8]) -> Vec<u8> {
    let id = id.to_string();
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), b",\"method\":", &quote(method), b",\"params\":", params, b"}"].concat()
}

/// `{"jsonrpc":"2.0","method":METHOD,"params":PARAMS}`
pub fn notification(method: &str, params: &[u8]) -> Vec<u8> {
    [b"{\"jsonrpc\":\"2.0\",\"method\":", &quote(method)[..], b",\"params\":", params, b"}"].concat()
}
