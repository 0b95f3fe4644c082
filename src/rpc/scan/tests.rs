use super::*;
use proptest::prelude::*;

static WANTED: [Wanted; 2] = [
    Wanted { key: "id", slot: 0, inside: &[] },
    Wanted { key: "params", slot: 1, inside: &[Wanted { key: "sessionId", slot: 2, inside: &[] }] },
];

fn spans(text: &str) -> Result<Vec<Option<&str>>, ScanError> {
    let mut spans = [Span::default(); 3];
    scan(text.as_bytes(), &WANTED, 128, &mut spans)?;
    Ok(spans.iter().map(|s| s.is_some().then(|| std::str::from_utf8(s.of(text.as_bytes())).unwrap())).collect())
}

#[test]
fn wanted_values_are_found_where_they_stand() {
    let text = r#" { "x" : [1, {"id": 9}], "params": {"sessionId" : "s\n1", "id": 4}, "id" : -1.5e3 } "#;
    assert_eq!(spans(text).unwrap(), [Some("-1.5e3"), Some(r#"{"sessionId" : "s\n1", "id": 4}"#), Some(r#""s\n1""#)]);
    assert_eq!(spans(r#"{"params":7}"#).unwrap(), [None, Some("7"), None]);
    assert_eq!(spans(r#"{"params":[{"sessionId":"s"},{"sessionId":"t"}]}"#).unwrap()[2], Some("\"s\""));
}

#[test]
fn a_wanted_key_may_not_come_twice_in_any_spelling() {
    assert_eq!(spans(r#"{"params":{"sessionId":"a","sessionId":"b"}}"#), Err(ScanError::Duplicate("sessionId")));
    assert_eq!(spans(r#"{"params":{"sessionId":"a","session\u0049d":"b"}}"#), Err(ScanError::Duplicate("sessionId")));
    assert_eq!(spans(r#"{"params":{"session\u0049d":"b"}}"#).unwrap()[2], Some("\"b\""));
    assert!(spans(r#"{"other":1,"other":2}"#).is_ok());
}

#[test]
fn a_member_is_cut_out_with_its_comma() {
    for text in [r#"{"id":1}"#, r#"{ "id" : 1 , "x":2}"#, r#"{"x":2, "id": 1}"#, r#"{"x":2,"id":1,"y":3}"#] {
        let mut spans = [Span::default(); 3];
        scan(text.as_bytes(), &WANTED, 128, &mut spans).unwrap();
        let cut = remove_member(text.as_bytes(), spans[0]);
        let left = [&text[..cut.start as usize], &text[cut.end as usize..]].concat();
        let mut expected: serde_json::Value = serde_json::from_str(text).unwrap();
        expected.as_object_mut().unwrap().remove("id");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&left).unwrap(), expected, "{text}");
    }
}

#[test]
fn depth_is_limited() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(spans(&nested(128)).is_ok());
    assert_eq!(spans(&nested(129)), Err(ScanError::TooDeep(128)));
    assert_eq!(spans(&"[".repeat(100_000)), Err(ScanError::TooDeep(128)));
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        Just("true".to_string()),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| f.to_string()),
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|v| format!("[{}]", v.join(" , "))),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|m| format!(
                "{{{}}}",
                m.iter().map(|(k, v)| format!("{}:{v}", serde_json::to_string(k).unwrap())).collect::<Vec<_>>().join(",")
            )),
        ]
    })
}

proptest! {
    #[test]
    fn every_json_text_is_accepted(text in json()) {
        prop_assert_eq!(scan(text.as_bytes(), &[], 128, &mut []), Ok(()));
    }

    #[test]
    fn a_damaged_text_is_judged_as_serde_json_judges_it(text in json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let theirs = serde_json::from_slice::<&serde_json::value::RawValue>(&bytes).is_ok();
        prop_assert_eq!(scan(&bytes, &[], 128, &mut []).is_ok(), theirs, "{}", String::from_utf8_lossy(&bytes));
    }
}
