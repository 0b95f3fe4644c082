//! Replays every exchange that is kept as data in `protocol/vectors`.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use crate::replay::play;

/// Enough to hide the waiting of one vector behind another's.
const PLAYERS: usize = 4;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol").join("vectors")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("protocol/vectors is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn load(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("no JSON: {error}"))
}

fn play_file(path: &Path) -> Result<(), String> {
    let vector = load(path)?;
    catch_unwind(AssertUnwindSafe(|| play(&vector))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(text.unwrap_or_else(|| "panicked".to_owned()))
    })
}

/// `SUBAGENTD_TEST_VECTOR=part-of-a-name` plays only those, for someone who works on one of them.
#[test]
fn every_vector_plays_as_recorded() {
    let wanted = std::env::var("SUBAGENTD_TEST_VECTOR").ok();
    let mut files = files();
    assert!(!files.is_empty(), "no vectors in {}", folder().display());
    if let Some(part) = &wanted {
        files.retain(|path| path.to_string_lossy().contains(part.as_str()));
        assert!(!files.is_empty(), "no vector is named like {part}");
    }
    let waiting = Mutex::new(files.iter());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                loop {
                    let Some(path) = waiting.lock().unwrap().next() else { return };
                    if let Err(why) = play_file(path) {
                        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                        failures.lock().unwrap().push(format!("{name}: {why}"));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "{} of {} vectors failed:\n\n{}\n", failures.len(), files.len(), failures.join("\n\n"));
}

#[test]
fn no_two_vectors_say_the_same_and_both_protocols_are_covered() {
    let mut names = BTreeSet::new();
    let mut protocols = BTreeSet::new();
    for path in files() {
        let vector = load(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let protocol = vector["protocol"].as_u64();
        let name = vector["name"].as_str().unwrap_or_else(|| panic!("{} has no name", path.display())).to_owned();
        protocols.insert(protocol);
        assert!(names.insert((name.clone(), protocol)), "{} repeats the name {name:?}", path.display());
    }
    assert_eq!(protocols, BTreeSet::from([Some(2), Some(3)]));
}
