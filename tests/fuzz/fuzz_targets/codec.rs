//! Any bytes, in any pieces: the codec gives the same verdict and the same bodies, and never panics.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use subagentd::rpc::FrameCodec;
use tokio_util::codec::Decoder;

fn bodies(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, bool) {
    let (mut codec, mut buffer, mut out) = (FrameCodec::default(), BytesMut::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match codec.decode(&mut buffer) {
                Ok(Some(body)) => out.push(body.to_vec()),
                Ok(None) => break,
                Err(_) => return (out, false),
            }
        }
    }
    (out, true)
}

fuzz_target!(|data: &[u8]| {
    let Some((cut, stream)) = data.split_first() else { return };
    let (front, back) = stream.split_at(usize::from(*cut) % (stream.len() + 1));
    assert_eq!(bodies(&[stream]), bodies(&[front, back]));
});
