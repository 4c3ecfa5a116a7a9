//! Workers that are asked to stop, or whose storage is gone: what they do not do, and how they count what was begun.

use super::plans::{act, job, on_set, op_on};
use super::{MS, NullModel, Outcome, Trial, buckets, ops, own, taking};
use crate::events::StoppedBy;
use crate::plan::{Access, Action, FileRef, OpKind, Pick};

const READ: OpKind = OpKind::Read;

/// Reads of 64 KiB as one operation each: in pieces of 4 KiB, or as a whole file.
fn long_reads() -> Vec<Action> {
    let own_file = || FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
    let mut pieces = op_on(READ, "read", own_file(), 65_536.0);
    pieces.flags.chunk_bytes = 4096;
    let mut whole = op_on(READ, "read", own_file(), 0.0);
    whole.access = Access::Whole { chunk_bytes: 4096, to_end: false };
    vec![act(pieces), act(whole)]
}

/// What was begun, done, has failed, and was given up.
fn fates(outcome: &Outcome) -> [u64; 4] {
    let stats = &outcome.stats;
    [stats.started.get(), stats.completed.get(), stats.failed.get(), outcome.ended.abandoned]
}

#[test]
fn a_stop_is_heard_between_the_pieces_of_an_operation_which_is_given_up() {
    for read in long_reads() {
        let outcome = Trial::new(job("job", vec![read], ops(10)), taking(&[MS])).run_stopped_at(16 + 5);

        assert_eq!(outcome.ended.stopped_by, StoppedBy::Control);
        assert_eq!(outcome.carried_out.len(), 16 + 5);
        assert_eq!(fates(&outcome), [2, 1, 0, 1]);
        assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (1, 65_536));
        assert_eq!(outcome.latency("read"), buckets([16 * MS]));
    }
}

#[test]
fn an_operation_that_was_begun_when_time_is_up_is_done() {
    for read in long_reads() {
        let trial = Trial::new(job("job", vec![read], ops(10)), taking(&[MS]));

        let outcome = trial.run_with_flag_at(16 + 5, |flags| &flags.time_is_up);

        assert_eq!(outcome.ended.stopped_by, StoppedBy::Steady);
        assert_eq!(outcome.carried_out.len(), 2 * 16);
        assert_eq!(fates(&outcome), [2, 2, 0, 0]);
    }
}

#[test]
fn an_operation_whose_last_piece_is_done_when_a_stop_comes_is_done() {
    for read in long_reads() {
        let outcome = Trial::new(job("job", vec![read], ops(10)), taking(&[MS])).run_stopped_at(2 * 16);

        assert_eq!(outcome.ended.stopped_by, StoppedBy::Control);
        assert_eq!(fates(&outcome), [2, 2, 0, 0]);
    }
}

#[test]
fn what_is_in_flight_when_a_stop_comes_is_waited_for() {
    for depth in [1, 4] {
        let trial = Trial::new(job("job", vec![own(READ, "read", 4096.0)], ops(100)), taking(&[MS, 2 * MS]));
        let trial = if depth == 1 { trial } else { trial.queued(depth) };

        let outcome = trial.run_stopped_at(40);

        outcome.check_against_storage("read");
        assert_eq!(outcome.ended.stopped_by, StoppedBy::Control);
        assert!((40..40 + u64::from(depth)).contains(&outcome.stats.completed.get()));
    }
}

#[test]
fn requests_that_a_queue_never_gives_back_are_given_up() {
    // Three times 32, and of the next 32 what was handed over, of which nobody hears.
    for (submit, started) in [(1, 100), (8, 104), (32, 128)] {
        let model = NullModel { breaks_after: Some(100), ..taking(&[MS]) };
        let mut trial = Trial::new(job("job", vec![own(READ, "read", 4096.0)], ops(1000)), model).queued(32);
        trial.job.batch.submit = submit;

        let outcome = trial.run();

        assert_eq!(fates(&outcome), [started, 96, 0, started - 96]);
        assert_eq!(outcome.ended.stopped_by, StoppedBy::Error);
        assert!(outcome.ended.fatal.is_some());
    }
}

#[test]
fn what_closes_a_file_between_two_operations_is_in_no_latency() {
    let actions = vec![act(on_set(OpKind::Open, "open", 0.0, Some(0))), act(on_set(READ, "read", 4096.0, Some(0)))];
    let model = NullModel { call_ns: 7 * MS, ..taking(&[MS]) };

    // The read takes the slot, whose file is closed before it.
    let outcome = Trial::new(job("job", actions, ops(40)), model).run();

    outcome.check_conserved();
    assert_eq!(outcome.latency("read"), buckets(vec![MS; 20]));
    assert_eq!(outcome.latency("open"), buckets(vec![7 * MS; 20]));
}
