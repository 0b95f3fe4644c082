use super::*;
use proptest::prelude::*;

fn all(stream: &[u8], cuts: &[usize]) -> Result<Vec<Bytes>, FrameError> {
    let (mut codec, mut buffer, mut out, mut from) = (FrameCodec::default(), BytesMut::new(), Vec::new(), 0);
    let mut cuts: Vec<usize> = cuts.iter().map(|c| c % (stream.len() + 1)).collect();
    cuts.push(stream.len());
    cuts.sort_unstable();
    for to in cuts {
        buffer.extend_from_slice(&stream[from..to]);
        from = to;
        while let Some(body) = codec.decode(&mut buffer)? {
            out.push(body);
        }
    }
    codec.decode_eof(&mut buffer)?;
    Ok(out)
}

fn framed(bodies: &[Vec<u8>]) -> Vec<u8> {
    bodies.iter().flat_map(|b| [format!("Content-Length: {}\r\n\r\n", b.len()).into_bytes(), b.clone()].concat()).collect()
}

proptest! {
    #[test]
    fn a_stream_split_anywhere_gives_the_same_messages(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8), cuts in prop::collection::vec(any::<usize>(), 0..20)) {
        let got = all(&framed(&bodies), &cuts).unwrap();
        prop_assert_eq!(got.iter().map(|b| b.to_vec()).collect::<Vec<_>>(), bodies);
    }

    #[test]
    fn no_bytes_make_it_panic_and_a_verdict_does_not_depend_on_the_split(stream in prop::collection::vec(any::<u8>(), 0..300), cuts in prop::collection::vec(any::<usize>(), 0..6)) {
        prop_assert_eq!(all(&stream, &[]).is_err(), all(&stream, &cuts).is_err());
    }
}

#[test]
fn other_spellings_are_accepted() {
    for header in [
        "content-length: 2",
        "CONTENT-LENGTH:2",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2",
        "Content-Length: 2\r\nContent-Length: 2",
    ] {
        assert_eq!(all(format!("{header}\r\n\r\n{{}}").as_bytes(), &[]).unwrap(), [Bytes::from_static(b"{}")], "{header}");
    }
}

#[test]
fn lengths_that_lie_are_refused() {
    let refused = |header: &str| all(format!("{header}\r\n\r\n{{}}").as_bytes(), &[]).unwrap_err();
    assert_eq!(refused("Content-Length: -1"), FrameError::BadLength("-1".into()));
    assert_eq!(refused("Content-Length: 2x"), FrameError::BadLength("2x".into()));
    assert_eq!(refused("Content-Length: NaN"), FrameError::BadLength("NaN".into()));
    assert_eq!(refused("Content-Length: "), FrameError::BadLength(String::new()));
    assert_eq!(refused("Content-Length: 999999999999999999999999"), FrameError::BadLength("999999999999999999999999".into()));
    assert_eq!(refused("Content-Length: 99999999999999"), FrameError::BodyTooLong { length: 99_999_999_999_999, limit: 64 << 20 });
    assert_eq!(refused("Content-Length: 2\r\nContent-Length: 3"), FrameError::ConflictingLengths);
    assert_eq!(refused("Content-Type: x"), FrameError::NoLength);
    assert_eq!(refused("POST / HTTP/1.1\r\nContent-Length: 2"), FrameError::NotAFrame);
    assert_eq!(refused("{\"jsonrpc\""), FrameError::NotAFrame);
}

#[test]
fn http_is_refused_at_its_first_bytes() {
    let (mut codec, mut buffer) = (FrameCodec::default(), BytesMut::from(&b"POST "[..]));
    assert_eq!(codec.decode(&mut buffer), Err(FrameError::NotAFrame));
}

#[test]
fn an_endless_header_is_cut_at_the_limit() {
    let (mut codec, mut buffer) = (FrameCodec::default(), BytesMut::from(&b"Content-Length: "[..]));
    buffer.extend_from_slice(&[b'1'; 5000]);
    assert_eq!(codec.decode(&mut buffer), Err(FrameError::HeaderTooLong(4096)));
}

#[test]
fn the_buffer_never_grows_to_what_a_header_promises() {
    let (mut codec, mut buffer) = (FrameCodec::default(), BytesMut::from(&b"Content-Length: 60000000\r\n\r\nabc"[..]));
    assert_eq!(codec.decode(&mut buffer), Ok(None));
    assert!(buffer.capacity() < 4096, "{}", buffer.capacity());
}
