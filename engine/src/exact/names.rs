//! Calls on names and handles.

use super::plans::{act, job, on_set, on_slot, set};
use super::{MS, NullModel, Outcome, Trial, buckets, ops};
use crate::events::StoppedBy;
use crate::files::names::PathBuffer;
use crate::plan::{Action, OpKind, Stop};

/// Calls that each take 0.5 ms, and transfers that take 2 ms, on a set without files.
fn run(actions: Vec<Action>, stop: Stop) -> Outcome {
    let model = NullModel { request_ns: vec![2 * MS], call_ns: MS / 2, ..NullModel::default() };
    Trial { job: job("job", actions, stop), set: set(1000, 0.0, 4096.0), model }.run()
}

fn passes(passes: u64) -> Stop {
    Stop { passes: Some(passes), ..Stop::default() }
}

#[test]
fn calls_on_names_take_their_time_and_move_nothing() {
    let actions = vec![
        act(on_set(OpKind::Create, "create", 0.0, Some(0))),
        act(on_slot(OpKind::Write, "write", 4096.0)),
        act(on_slot(OpKind::Fstat, "fstat", 0.0)),
        act(on_slot(OpKind::Truncate, "truncate", 100.0)),
        act(on_slot(OpKind::Close, "close", 0.0)),
        act(on_set(OpKind::Stat, "stat", 0.0, None)),
        act(on_set(OpKind::Rename, "rename", 0.0, None)),
        act(on_set(OpKind::Link, "link", 0.0, None)),
        act(on_set(OpKind::Unlink, "unlink", 0.0, None)),
        act(on_set(OpKind::Unlink, "unlink", 0.0, None)),
    ];

    let outcome = run(actions, passes(100));

    outcome.check_conserved();
    assert_eq!((outcome.stats.failed.get(), &outcome.ended.fatal), (0, &None));
    for name in ["create", "fstat", "truncate", "close", "stat", "rename", "link"] {
        assert_eq!(outcome.latency(name), buckets(vec![MS / 2; 100]), "{name}");
        assert_eq!(outcome.series(name).bytes.get(), 0, "{name}");
    }
    assert_eq!(outcome.latency("unlink"), buckets(vec![MS / 2; 200]));
    assert_eq!(outcome.latency("write"), buckets(vec![2 * MS; 100]));
    assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (1000, 409_600));
}

#[test]
fn a_copy_moves_the_bytes_of_its_file() {
    let actions = vec![act(on_set(OpKind::Copy, "copy", 0.0, None))];
    let model = NullModel { call_ns: MS, ..NullModel::default() };
    let trial = Trial { job: job("job", actions, ops(5)), set: set(20, 0.5, 10_000.0), model };

    let outcome = trial.run();

    outcome.check_conserved();
    assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (5, 50_000));
    assert_eq!(outcome.latency("copy"), buckets(vec![MS; 5]));
}

#[test]
fn listing_a_directory_takes_the_calls_that_it_needs() {
    for (files, calls) in [(10, 4), (2000, 5)] {
        let actions = vec![act(on_set(OpKind::Readdir, "readdir", 0.0, None))];
        let model = NullModel { call_ns: MS, ..NullModel::default() };
        let mut all = set(files, 1.0, 4096.0);
        all.layout = crate::plan::Layout::Flat {};
        let trial = Trial { job: job("job", actions, ops(3)), set: all, model };

        let outcome = trial.run();

        // It is opened, asked until nothing is left, and closed; names of 10 bytes take 32, and 1,024 of these a buffer.
        outcome.check_conserved();
        assert_eq!(outcome.latency("readdir"), buckets(vec![calls * MS; 3]));
    }
}

#[test]
fn names_in_the_order_of_the_listing_come_each_once() {
    let mut op = on_set(OpKind::Unlink, "unlink", 0.0, None);
    op.file = crate::plan::FileRef::Set { set: "data".to_owned(), pick: crate::plan::Pick::Listed {}, slot: None };
    let model = NullModel { call_ns: MS, ..NullModel::default() };
    let trial = Trial { job: job("job", vec![act(op)], Stop::default()), set: set(500, 1.0, 4096.0), model };

    let outcome = trial.run();

    outcome.check_conserved();
    assert_eq!((outcome.ended.stopped_by, outcome.stats.failed.get()), (StoppedBy::Exhausted, 0));
    assert_eq!(outcome.latency("unlink"), buckets(vec![MS; 500]));
}

#[test]
fn what_a_store_has_not_ends_the_worker_with_words() {
    let actions =
        vec![act(on_set(OpKind::Create, "create", 0.0, None)), act(on_set(OpKind::Chmod, "chmod", 0.0, None))];

    let outcome = run(actions, passes(100));

    outcome.check_conserved();
    assert_eq!((outcome.stats.completed.get(), outcome.stats.failed.get()), (1, 1));
    let (text, errno) = outcome.ended.fatal.unwrap();
    assert_eq!(errno, libc::EOPNOTSUPP);
    assert!(text.contains("does not offer it"), "{text}");
}

#[test]
fn operations_on_a_file_that_could_not_be_opened_fail_and_are_counted() {
    let actions = vec![
        act(on_set(OpKind::Create, "create", 0.0, Some(0))),
        act(on_slot(OpKind::Write, "write", 4096.0)),
        act(on_slot(OpKind::Fstat, "fstat", 0.0)),
    ];
    let model = NullModel::default();
    let trial = Trial { job: job("job", actions, passes(1)), set: set(10, 0.0, 4096.0), model };

    let outcome = trial.run_on(|storage, state| {
        let mut path = PathBuffer::new();
        state.path_into(0, &mut path);
        storage.lay_out(path.at(), 1);
    });

    outcome.check_conserved();
    let mut errors = outcome.errors;
    errors.sort();
    let expected = [("create", libc::EEXIST), ("fstat", libc::EBADF), ("write", libc::EBADF)];
    assert_eq!(errors, expected.map(|(name, errno)| (name.to_owned(), errno, 1)));
}
