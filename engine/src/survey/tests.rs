//! Planted trees, whole and in pieces.

use super::*;
use serde_json::Value;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

fn session(place: &Path, state: Option<State>, leg: Option<Duration>) -> Session {
    let request = Request { crosses_mounts: false, threads: 3, samples: true, state_s: leg.map(|_| 1.0), state };
    let mut session = Session::open(&CString::new(place.as_os_str().as_bytes()).unwrap(), request).unwrap();
    (session.leg, session.look) = (leg, Duration::from_micros(200));
    session
}

/// The last line of a survey.
fn surveyed(session: Session, stop: bool) -> Value {
    let mut output = Vec::new();
    session.run(&AtomicBool::new(stop), &mut output).unwrap();
    serde_json::from_slice(output.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap()).unwrap()
}

fn sized(path: &Path, bytes: u64) {
    File::create(path).unwrap().set_len(bytes).unwrap();
}

fn plant(place: &Path) {
    for folder in 0..40 {
        let folder = place.join(format!("d{}/e{folder}", folder % 4));
        fs::create_dir_all(&folder).unwrap();
        (0..100).for_each(|file| sized(&folder.join(format!("f{file}")), file * 100));
    }
    symlink("/etc", place.join("link")).unwrap();
    fs::hard_link(place.join("d0/e0/f50"), place.join("again")).unwrap();
}

#[test]
fn a_planted_tree_is_counted_to_the_byte() {
    let place = tempfile::tempdir().unwrap();
    plant(place.path());

    let found = surveyed(session(place.path(), None, None), false);

    let summary = &found["summary"];
    assert_eq!((&found["is_whole"], &found["is_last"]), (&true.into(), &true.into()));
    assert_eq!(summary["files"], 4001);
    assert_eq!((&summary["directories"], &summary["links"]), (&45.into(), &1.into()));
    assert_eq!(summary["bytes"], 40 * 495_000 + 5000);
    assert_eq!((&summary["bytes_once"], &summary["hard_linked_files"]), (&(40 * 495_000).into(), &2.into()));
    assert_eq!(summary["depths"][3], serde_json::json!({"files": 4000, "directories": 0}));
    assert_eq!(summary["sizes"]["by_number"][4], serde_json::json!([50.0, 5000]));
    assert_eq!(summary["entries"]["by_number"][10], serde_json::json!([100.0, 100]));
    assert_eq!(summary["sizes"]["distinct"], 100);
}

#[test]
fn a_survey_in_many_pieces_is_the_whole_one() {
    let place = tempfile::tempdir().unwrap();
    plant(place.path());
    // More than a block: one that is left in the middle of a directory.
    fs::create_dir(place.path().join("wide")).unwrap();
    (0..5000).for_each(|file| sized(&place.path().join(format!("wide/{file:020}")), file));
    let whole = surveyed(session(place.path(), None, None), false);

    let (mut state, mut pieces) = (None, 0);
    let (found, chosen) = loop {
        let mut session = session(place.path(), state.take(), Some(Duration::ZERO));
        session.walk(&AtomicBool::new(false), &mut Vec::new()).unwrap();
        pieces += 1;
        session.state.left = frontier::to_left(&session.waiting);
        let text = serde_json::to_string(&session.state).unwrap();
        if session.waiting.is_empty() {
            let chosen: Vec<_> = session.state.tally.by_bytes.chosen().cloned().collect();
            break (serde_json::to_value(Summary::new(&session.state.tally)).unwrap(), chosen);
        }
        state = Some(serde_json::from_str(&text).unwrap());
    };

    assert!(pieces > 2, "{pieces}");
    assert_eq!(serde_json::to_value(chosen).unwrap(), whole["sampled_by_bytes"]);
    assert_eq!(found, whole["summary"]);
}

#[test]
fn a_directory_with_more_directories_than_may_wait_is_read_on_after_them() {
    let place = tempfile::tempdir().unwrap();
    for number in 0..3000 {
        let below = place.path().join(format!("{number:020}"));
        fs::create_dir(&below).unwrap();
        sized(&below.join("file"), 7);
    }
    let mut session = session(place.path(), None, None);

    session.walk(&AtomicBool::new(false), &mut Vec::new()).unwrap();

    let tally = &session.state.tally;
    assert_eq!((tally.files(), tally.bytes(), tally.directories), (3000, 21_000, 3001));
    assert_eq!(tally.entries.in_order(), [(1, 3000), (3000, 1)]);
}

#[test]
fn a_survey_that_is_stopped_is_not_whole() {
    let place = tempfile::tempdir().unwrap();
    plant(place.path());

    let found = surveyed(session(place.path(), None, Some(Duration::from_secs(600))), true);

    assert_eq!((&found["is_whole"], &found["is_last"]), (&false.into(), &true.into()));
    assert!(found["state"].is_object());
}

#[test]
fn an_earlier_survey_of_another_directory_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let other = CString::new(place.path().as_os_str().as_bytes()).unwrap();
    let ask = |state| Request { crosses_mounts: false, threads: 1, samples: true, state_s: None, state: Some(state) };

    assert!(matches!(Session::open(&other, ask(new_state(1, false))), Err(Refusal::Call(_))));
    let inode = posix::stat(&other).unwrap().st_ino;
    assert!(matches!(Session::open(&other, ask(new_state(inode, true))), Err(Refusal::Call(_))));
    let left = serde_json::from_str(r#"[{"path": "../..", "position": 0, "entries": 0}]"#).unwrap();
    let state = State { left, ..new_state(inode, false) };
    assert!(matches!(Session::open(&other, ask(state)), Err(Refusal::Call(_))));
}
