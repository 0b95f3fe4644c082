//! A plain peer, one message at a time: for subcommands that talk to a runtime or a daemon themselves, and for
//! tests. Nothing on the way of a routed message.

use super::{FrameCodec, OutQueue, write};
use bytes::BytesMut;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::Decoder;

/// How long the other side has to answer a question of ours.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// One end of a conversation.
pub struct Peer {
    reader: Box<dyn AsyncRead + Unpin>,
    writer: Box<dyn AsyncWrite + Unpin>,
    codec: FrameCodec,
    buffer: BytesMut,
    next: u64,
}

impl Peer {
    /// Over these two directions.
    pub fn new(reader: Box<dyn AsyncRead + Unpin>, writer: Box<dyn AsyncWrite + Unpin>) -> Peer {
        Peer { reader, writer, codec: FrameCodec::default(), buffer: BytesMut::new(), next: 0 }
    }

    /// Sends one message.
    pub async fn send(&mut self, message: &Value) -> Result<(), String> {
        let mut out = OutQueue::default();
        out.frame(&write::json(message));
        self.writer.write_all(&out.take()).await.map_err(|e| e.to_string())
    }

    /// Sends a request; gives its id.
    pub async fn request(&mut self, method: &str, params: &Value) -> Result<u64, String> {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})).await?;
        Ok(self.next)
    }

    /// Answers a request.
    pub async fn answer(&mut self, request: &Value, result: Value) -> Result<(), String> {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await
    }

    /// The next message.
    pub async fn next(&mut self) -> Result<Value, String> {
        loop {
            if let Some(body) = self.codec.decode(&mut self.buffer).map_err(|e| e.to_string())? {
                return serde_json::from_slice(&body).map_err(|e| e.to_string());
            }
            if self.reader.read_buf(&mut self.buffer).await.map_err(|e| e.to_string())? == 0 {
                return Err("it closed the connection".into());
            }
        }
    }

    /// Asks, and waits for the answer; what else arrives meanwhile is dropped.
    pub async fn call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let answered = async {
            let id = self.request(method, params).await?;
            loop {
                let mut message = self.next().await?;
                if message["id"] == id && message.get("method").is_none() {
                    return match message.get("error") {
                        Some(error) => Err(error["message"].as_str().unwrap_or("an error").to_owned()),
                        None => Ok(message["result"].take()),
                    };
                }
            }
        };
        tokio::time::timeout(ANSWER_TIME, answered).await.unwrap_or_else(|_| Err(format!("no answer to {method}")))
    }
}
