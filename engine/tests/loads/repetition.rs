//! The same operation again and again, thousands of times: what is counted, where it goes, and what ends it.

use crate::harness::{Outcome, Place, act, on_set, on_slot, passes, set};
use assay_engine::plan::{Access, Action, Backend, FileRef, FileSet, Job, Op, OpKind, Pick, Region, Stop};
use serde_json::json;

const BLOCK: u64 = 512;
/// So many, one after the other.
const MANY: u64 = 3000;

fn own(kind: OpKind) -> Op {
    let mut op = on_set(kind, "op", BLOCK as f64, None);
    op.file = FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
    op
}

fn run(place: &Place, file_bytes: u64, op: Op, stop: Stop) -> Outcome {
    place.one(set(1, 1.0, file_bytes as f64), vec![act(op)], stop)
}

/// What is counted in four places agrees: in intervals, in the histogram, by the worker, and as short transfers.
#[track_caller]
fn check(outcome: &Outcome, ops: u64, bytes: u64, short: u64) {
    assert_eq!((outcome.ops("op"), outcome.sum("op", "bytes")), (ops, bytes));
    let operations = outcome.all("interval").flat_map(|event| event["operations"].as_array().unwrap());
    let counts = operations.filter(|one| one["operation"] == "op").flat_map(|one| one["latency"]["count"].as_array());
    assert_eq!(counts.flatten().map(|count| count.as_u64().unwrap()).sum::<u64>(), ops);
    let facts = &outcome.finished()["jobs"][0];
    assert_eq!((&facts["short_transfers"], &facts["mean_queue_depth"]), (&json!(short), &json!(1.0)));
}

#[test]
fn limits_of_operations_passes_and_bytes_are_kept_to_one() {
    let ops = Stop { ops: Some(MANY), ..Stop::default() };
    let bytes = Stop { bytes: Some(MANY * BLOCK), ..Stop::default() };
    for (stop, name) in [(ops, "ops"), (passes(MANY), "passes"), (bytes, "bytes")] {
        let outcome = run(&Place::new(), 64 * BLOCK, own(OpKind::Read), stop);

        check(outcome.check_clean(), MANY, MANY * BLOCK, 0);
        assert_eq!(outcome.workers()[0]["completed"], MANY);
        assert_eq!(outcome.stopped_by(), name);
    }
}

#[test]
fn a_repeat_in_a_pass_is_done_as_often_as_it_says() {
    let actions = vec![Action::Repeat { times: MANY, actions: vec![act(own(OpKind::Read))] }];

    let outcome = Place::new().one(set(1, 1.0, 64.0 * BLOCK as f64), actions.clone(), passes(2));
    check(outcome.check_clean(), 2 * MANY, 2 * MANY * BLOCK, 0);

    let cut_off = Stop { ops: Some(MANY + 7), ..Stop::default() };
    let outcome = Place::new().one(set(1, 1.0, 64.0 * BLOCK as f64), actions, cut_off);
    check(outcome.check_clean(), MANY + 7, (MANY + 7) * BLOCK, 0);
}

#[test]
fn a_walk_ends_with_its_file_and_a_shorter_last_operation_is_no_short_transfer() {
    let mut op = own(OpKind::Read);
    op.access = Access::Sequential { region: Region::Whole {}, wrap: false };

    let outcome = run(&Place::new(), MANY * BLOCK + 100, op, Stop::default());

    check(outcome.check_clean(), MANY + 1, MANY * BLOCK + 100, 0);
    assert_eq!(outcome.stopped_by(), "exhausted");
}

#[test]
fn a_walk_through_files_none_of_which_has_room_ends() {
    let region = || Region::Whole {};
    for access in [
        Access::Backward { region: region(), wrap: true },
        Access::Stride { region: region(), stride_bytes: 100, wrap: true },
        Access::Sequential { region: Region::Slice {}, wrap: true },
    ] {
        let size = if matches!(access, Access::Sequential { .. }) { BLOCK } else { 11 * BLOCK };
        let read = Op { access, ..on_set(OpKind::Read, "op", size as f64, None) };
        // Two workers: the first one's slice of a file of one block is empty.
        let job = Job { workers: 2, ..crate::harness::job("job", vec![act(read)], passes(100)) };

        let outcome = Place::new().run(set(3, 1.0, BLOCK as f64), vec![job]);

        assert_eq!(outcome.check_clean().workers()[0]["stopped_by"], "exhausted");
        assert_eq!(outcome.workers()[0]["completed"], 0);
    }
}

#[test]
fn time_ends_what_goes_on_for_ever() {
    let run_for =
        |seconds| run(&Place::new(), 64 * BLOCK, own(OpKind::Read), Stop { seconds: Some(seconds), ..Stop::default() });
    // However slow the machine is: so long that it has done many.
    let (seconds, outcome) = (0..10)
        .map(|doubling| 0.3 * f64::from(1 << doubling))
        .map(|seconds| (seconds, run_for(seconds)))
        .find(|(_, outcome)| outcome.ops("op") > MANY)
        .unwrap();

    assert_eq!(outcome.check_clean().stopped_by(), "time");
    // One operation may be at work when time is over.
    assert!(outcome.seconds_of("job") >= seconds);
}

/// The `turn`-th write that keeps its buffer changes one byte of it.
fn change(block: &mut [u8], turn: u64) {
    let byte = &mut block[(turn % BLOCK) as usize];
    *byte = byte.wrapping_add(1);
}

/// Each write changes one more byte of what the last one gave.
fn kept_content(writes: u64) -> Vec<u8> {
    let mut block = vec![0_u8; BLOCK as usize];
    let blocks = (0..writes).map(|turn| {
        change(&mut block, turn);
        block.clone()
    });
    blocks.flatten().collect()
}

/// Files whose writes that keep their buffer begin with zeroes.
fn of_zeroes(bytes: u64) -> FileSet {
    let mut files = set(1, 1.0, bytes as f64);
    files.content.zeros = true;
    files
}

fn kept_write(name: &str) -> Op {
    let mut write = on_slot(OpKind::Write, name, BLOCK as f64);
    write.flags.keeps_buffer = true;
    write
}

fn through_a_slot(place: &Place, backend: Backend, actions: Vec<Action>, file_bytes: u64) -> Outcome {
    let mut all = vec![act(on_set(OpKind::Open, "open", 0.0, Some(0)))];
    all.extend(actions);
    all.push(act(on_slot(OpKind::Close, "close", 0.0)));
    let job = Job { backend, ..crate::harness::job("job", all, passes(1)) };
    place.run(of_zeroes(file_bytes), vec![job])
}

#[test]
fn writes_through_a_slot_lie_one_after_the_other_with_what_follows_behind_them() {
    for backend in [Backend::Psync {}, Backend::ReadWrite {}] {
        let place = Place::new();
        let actions =
            vec![Action::Repeat { times: MANY, actions: vec![act(kept_write("op"))] }, act(kept_write("after"))];

        let outcome = through_a_slot(&place, backend, actions, 0);

        check(outcome.check_clean(), MANY, MANY * BLOCK, 0);
        assert!(std::fs::read(place.path(0)).unwrap() == kept_content(MANY + 1));
    }
}

#[test]
fn groups_that_rewrite_a_file_change_each_block_where_it_lies() {
    let mut write = kept_write("write");
    write.access = Access::Backward { region: Region::Whole {}, wrap: true };
    let group = vec![act(on_slot(OpKind::Read, "read", BLOCK as f64)), act(write)];
    let group = Action::Group { name: "op".to_owned(), actions: group, laps: false };
    let actions = vec![
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        Action::Repeat { times: MANY, actions: vec![act(kept_write("fill"))] },
        act(on_slot(OpKind::Close, "close", 0.0)),
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        Action::Repeat { times: MANY, actions: vec![group] },
        act(on_slot(OpKind::Close, "close", 0.0)),
    ];
    let mut expected = kept_content(MANY);
    for (turn, block) in (MANY..).zip(expected.chunks_mut(BLOCK as usize)) {
        change(block, turn);
    }
    for timed in [vec![], vec!["op".to_owned()]] {
        for backend in [Backend::Psync {}, Backend::ReadWrite {}] {
            let place = Place::new();
            let job = crate::harness::job("job", actions.clone(), passes(1));

            let outcome = place.run(of_zeroes(0), vec![Job { backend, timed: timed.clone(), ..job }]);

            check(outcome.check_clean(), MANY, 2 * MANY * BLOCK, 0);
            // Two opens and closes, as many writes to fill it, reads and writes.
            assert_eq!(outcome.workers()[0]["completed"], 4 + 3 * MANY);
            if timed.is_empty() {
                assert_eq!((outcome.ops("read"), outcome.sum("write", "bytes")), (MANY, MANY * BLOCK));
                assert!(outcome.latency_ns("op") == outcome.latency_ns("read") + outcome.latency_ns("write"));
            }
            assert!(std::fs::read(place.path(0)).unwrap() == expected);
        }
    }
}

#[test]
fn a_group_in_a_row_is_broken_off_at_its_first_failure() {
    let reads = |name| act(on_slot(OpKind::Read, name, BLOCK as f64));
    let group = Action::Group { name: "op".to_owned(), actions: vec![reads("first"), reads("second")], laps: false };
    let actions = vec![
        act(on_set(OpKind::Symlink, "symlink", 0.0, None)),
        act(on_set(OpKind::Unlink, "unlink", 0.0, None)),
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        Action::Repeat { times: 500, actions: vec![group] },
    ];

    // The link that the open meets leads nowhere.
    let outcome = Place::new().one(set(10, 0.1, 10.0), actions, passes(1));

    assert_eq!((outcome.sum("op", "errors"), outcome.sum("first", "errors")), (500, 500));
    assert_eq!((outcome.ops("op"), outcome.ops("second"), outcome.sum("second", "errors")), (0, 0, 0));
}

#[test]
fn reads_through_a_slot_that_do_not_start_over_are_short_past_the_end() {
    for backend in [Backend::Psync {}, Backend::ReadWrite {}] {
        let mut read = on_slot(OpKind::Read, "op", BLOCK as f64);
        read.access = Access::Sequential { region: Region::Whole {}, wrap: false };
        let reads = Action::Repeat { times: MANY, actions: vec![act(read)] };

        let outcome = through_a_slot(&Place::new(), backend, vec![reads], 1000 * BLOCK + 1);

        check(outcome.check_clean(), MANY, 1000 * BLOCK + 1, MANY - 1000);
    }
}

#[test]
fn failures_in_a_row_of_operations_are_counted_and_end_it_when_there_are_only_such() {
    let reads = Action::Repeat { times: MANY, actions: vec![act(on_slot(OpKind::Read, "op", BLOCK as f64))] };
    let actions = vec![
        act(on_set(OpKind::Symlink, "symlink", 0.0, None)),
        act(on_set(OpKind::Unlink, "unlink", 0.0, None)),
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        reads,
    ];

    // The link that the open meets leads nowhere.
    let outcome = Place::new().one(set(10, 0.1, 10.0), actions, passes(1));

    let worker = &outcome.workers()[0];
    // The open, and a thousand reads in a row.
    assert_eq!((&worker["failed"], &worker["stopped_by"]), (&json!(1000), &json!("error")));
    assert_eq!(outcome.sum("op", "errors"), 999);
    assert_eq!(outcome.ops("op"), 0);
}
